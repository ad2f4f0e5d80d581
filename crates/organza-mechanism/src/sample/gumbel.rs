//! The Gumbel distribution.

use super::exponential::exponential;
use crate::random::PrivateRandom;

/// A standard Gumbel: minus the logarithm of an exponential.
///
/// The largest of scores with Gumbel noise has the law of a draw with weights exp(score), and the k
/// largest that of k draws without replacement.
#[inline]
pub fn gumbel(random: &mut PrivateRandom) -> f64 {
    -libm::log(exponential(random))
}
