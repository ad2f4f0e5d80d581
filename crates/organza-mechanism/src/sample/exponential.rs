//! The exponential distribution.

use super::uniform::unit;
use crate::random::PrivateRandom;

/// An exponential of mean 1, complete at both ends.
///
/// -ln(u) is coarse where u is near 1 and -ln(1-u) is cut where u is near 1, so a fair bit chooses
/// the half of the unit interval and each half is taken from its own end.
#[inline]
pub fn exponential(random: &mut PrivateRandom) -> f64 {
    let half = 0.5 * unit(random);
    if random.word() & 1 == 0 { -libm::log(half) } else { -libm::log1p(-half) }
}
