//! The rounded Gaussian law.

use super::quantile::normal_quantile;
use crate::exact::functions::{normal_tail, ratio};
use crate::exact::interval::Interval;
use crate::exact::inversion::Tail;
use std::f64::consts::FRAC_1_SQRT_2;

/// Z = round(N) for a normal N of standard deviation exactly this float.
///
/// Pr\[Z >= k\] = Pr\[N >= k - 1/2\]; ties have probability zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RoundedGaussian {
    deviation: f64,
}

impl RoundedGaussian {
    /// `deviation` is positive and finite.
    pub(crate) fn new(deviation: f64) -> Self {
        Self { deviation }
    }

    /// The standard deviation after rounding, by Sheppard's correction where it is exact to the last
    /// bit (its error is of order e^(-2 pi^2 sigma^2)), else by summing.
    pub(crate) fn deviation(&self) -> f64 {
        if self.deviation > 2.0 {
            return libm::sqrt(self.deviation * self.deviation + 1.0 / 12.0);
        }
        // E Z^2 = sum over k of (2k - 1) 2 Pr[Z >= k].
        let square: f64 =
            (1..64_i32).map(|k| f64::from(2 * k - 1) * 2.0 * self.tail(k.into())).sum();
        libm::sqrt(square)
    }
}

impl Tail for RoundedGaussian {
    fn tail(&self, value: i64) -> f64 {
        0.5 * libm::erfc((value as f64 - 0.5) / self.deviation * FRAC_1_SQRT_2)
    }

    /// The argument x errs by less than 2^-51 of itself and moves the tail by less than x^2 + 1 times as
    /// much, relatively, where x is below 19 in a ratio of tails above 10^-60; `erfc` errs by less than
    /// 2^-51: together less than 2^-42.
    fn slack(&self) -> f64 {
        1.0 / (1_u64 << 36) as f64
    }

    fn enclosed(&self, value: i64, places: usize) -> Option<Interval> {
        let above = |value: u64| {
            // (2 k - 1) / (2 sigma).
            let place = ratio(2 * value - 1, 2.0 * self.deviation, places);
            normal_tail(place.as_ref(), places)
        };
        match u64::try_from(value) {
            Ok(value @ 1..) => Some(above(value)),
            _ => Some(Interval::whole(1, places).subtract(&above(value.unsigned_abs() + 1))),
        }
    }

    fn guess(&self, chance: f64) -> i64 {
        (0.5 - self.deviation * normal_quantile(chance)).floor() as i64
    }
}
