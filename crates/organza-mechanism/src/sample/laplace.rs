//! The Laplace distribution.

use super::exponential::exponential;
use crate::random::PrivateRandom;

/// A Laplace variable of scale 1: an exponential with a fair sign.
#[inline]
pub fn laplace(random: &mut PrivateRandom) -> f64 {
    let size = exponential(random);
    if random.word() & 1 == 0 { size } else { -size }
}

/// The probability that a Laplace variable of scale 1 is at least `x`.
#[inline]
pub fn laplace_above(x: f64) -> f64 {
    if x >= 0.0 { 0.5 * libm::exp(-x) } else { 1.0 - 0.5 * libm::exp(x) }
}
