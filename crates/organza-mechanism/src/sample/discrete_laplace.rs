//! The discrete Laplace law: two-sided geometric noise.

use crate::exact::functions::{exp_negative, ratio};
use crate::exact::interval::Interval;
use crate::exact::inversion::Tail;

/// Pr\[Z = z\] = (1 - a) / (1 + a) a^|z| with a = e^(-1 / `scale`), for exactly this float.
///
/// Pr\[Z >= k\] is a^k / (1 + a) from zero on, and 1 - Pr\[Z >= 1 - k\] below, by symmetry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DiscreteLaplace {
    scale: f64,
    /// 1 + a.
    one_and_ratio: f64,
}

impl DiscreteLaplace {
    /// `scale` is positive and finite.
    pub(crate) fn new(scale: f64) -> Self {
        Self { scale, one_and_ratio: 1.0 + libm::exp(-1.0 / scale) }
    }

    /// The standard deviation: sqrt(2 a) / (1 - a).
    pub(crate) fn deviation(&self) -> f64 {
        let ratio = libm::exp(-1.0 / self.scale);
        libm::sqrt(2.0 * ratio) / -libm::expm1(-1.0 / self.scale)
    }
}

impl Tail for DiscreteLaplace {
    fn tail(&self, value: i64) -> f64 {
        let from_zero = |value: f64| libm::exp(-value / self.scale) / self.one_and_ratio;
        if value >= 0 { from_zero(value as f64) } else { 1.0 - from_zero(1.0 - value as f64) }
    }

    /// The exponent is below 45 (and below 190 in a ratio of tails above 10^-60) and errs by 2^-53 of
    /// itself, and `exp` by less than 2^-52: this is more than a thousand times as much.
    fn slack(&self) -> f64 {
        1.0 / (1_u64 << 36) as f64
    }

    fn enclosed(&self, value: i64, places: usize) -> Option<Interval> {
        let one = Interval::whole(1, places);
        let from_zero = |value: u64| {
            let top = exp_negative(ratio(value, self.scale, places).as_ref(), places);
            let ratio = exp_negative(ratio(1, self.scale, places).as_ref(), places);
            top.quotient(&one.add(&ratio)?)
        };
        match u64::try_from(value) {
            Ok(value) => from_zero(value),
            Err(_) => Some(one.subtract(&from_zero(value.unsigned_abs() + 1)?)),
        }
    }

    fn guess(&self, chance: f64) -> i64 {
        let steps = |chance: f64| -self.scale * libm::log(chance * self.one_and_ratio);
        let above = steps(chance);
        if above >= 0.0 { above as i64 } else { -(steps(1.0 - chance).max(0.0) as i64) }
    }
}
