//! Sums and differences of exponentials, in logarithms and without cancellation.

/// ln(e^`left` + e^`right`).
pub(super) fn add(left: f64, right: f64) -> f64 {
    let (low, high) = if left < right { (left, right) } else { (right, left) };
    if high.is_infinite() {
        return high;
    }
    high + libm::log1p(libm::exp(low - high))
}

/// ln(1 + e^`exponent`): from the logarithm of A - 1 to that of A.
pub(super) fn one_more(exponent: f64) -> f64 {
    if exponent > 40.0 { exponent } else { libm::log1p(libm::exp(exponent)) }
}

/// ln(e^`exponent` - 1), for a positive exponent; minus infinity at 0.
pub(crate) fn one_less(exponent: f64) -> f64 {
    if exponent > 40.0 { exponent } else { libm::log(libm::expm1(exponent)) }
}

/// ln(1 - `share` + `share` e^`exponent`): the moment of a mechanism that runs with that probability
/// and is then seen to have run.
pub(super) fn mixed(share: f64, exponent: f64) -> f64 {
    if share <= 0.0 {
        return 0.0;
    }
    one_more(libm::log(share) + one_less(exponent))
}

/// ln(e^t - 1 - t), which is never negative inside the logarithm; minus infinity at 0.
pub(super) fn log_second_remainder(t: f64) -> f64 {
    if t > 40.0 {
        return t + libm::log1p(-(1.0 + t) * libm::exp(-t));
    }
    libm::log(second_remainder(t))
}

/// e^t - 1 - t, for t that does not overflow.
pub(super) fn second_remainder(t: f64) -> f64 {
    if t.abs() >= 0.5 {
        return libm::expm1(t) - t;
    }
    // Horner's scheme for 2 (e^t - 1 - t) / t^2; the first term left out is below 1e-17.
    let series = RECIPROCALS.iter().rev().fold(1.0, |tail, reciprocal| 1.0 + t * reciprocal * tail);
    0.5 * t * t * series
}

/// 1/3, 1/4, ..., 1/16.
const RECIPROCALS: [f64; 14] = {
    let mut reciprocals = [0.0; 14];
    let mut index = 0;
    while index < 14 {
        reciprocals[index] = 1.0 / (index + 3) as f64;
        index += 1;
    }
    reciprocals
};

/// A running ln(sum of e^x), scaled by the largest term so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogSum {
    largest: f64,
    scaled: f64,
}

impl LogSum {
    pub(super) fn new() -> Self {
        Self { largest: f64::NEG_INFINITY, scaled: 0.0 }
    }

    /// What is not a number stays in the sum, so that no term is lost unseen.
    pub(super) fn add(&mut self, term: f64) {
        if term.is_nan() || self.largest.is_nan() {
            self.largest = f64::NAN;
        } else if term == f64::INFINITY {
            *self = Self { largest: term, scaled: 1.0 };
        } else if term > self.largest {
            self.scaled = self.scaled * libm::exp(self.largest - term) + 1.0;
            self.largest = term;
        } else if term > f64::NEG_INFINITY {
            self.scaled += libm::exp(term - self.largest);
        }
    }

    pub(super) fn ln(self) -> f64 {
        if self.scaled > 0.0 { self.largest + libm::log(self.scaled) } else { self.largest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_keep_their_relative_accuracy() {
        // 50-digit values of e^t - 1 - t.
        for (t, value) in [
            (1e-9, 5.000_000_001_666_667e-19),
            (-1e-4, 4.999_833_337_499_917e-9),
            (0.3, 0.049_858_807_576_003_1),
            (-0.49, 0.102_626_394_184_416_07),
            (0.5, 0.148_721_270_700_128_15),
            (-20.0, 19.000_000_002_061_153),
            (41.0, 6.398_434_935_300_549e17),
        ] {
            let relative = libm::exp(log_second_remainder(t)) / value - 1.0;
            assert!(relative.abs() < 2e-14, "{t}: {relative}");
        }
        assert_eq!(log_second_remainder(0.0), f64::NEG_INFINITY);
        assert_eq!(log_second_remainder(1e6), 1e6);
    }

    #[test]
    fn sums_survive_the_ends_of_the_range() {
        let mut sum = LogSum::new();
        assert_eq!(sum.ln(), f64::NEG_INFINITY);
        for term in [f64::NEG_INFINITY, -1e6, 2e6, 2e6] {
            sum.add(term);
        }
        assert!((sum.ln() - (2e6 + std::f64::consts::LN_2)).abs() < 1e-9);
        sum.add(f64::INFINITY);
        sum.add(f64::INFINITY);
        assert_eq!(sum.ln(), f64::INFINITY);
        sum.add(f64::NAN);
        sum.add(1.0);
        assert!(sum.ln().is_nan());
        assert_eq!(add(f64::NEG_INFINITY, f64::NEG_INFINITY), f64::NEG_INFINITY);
        assert_eq!(mixed(0.0, 1e9), 0.0);
        assert!((mixed(1.0, 1e9) - 1e9).abs() < 1e-3);
    }
}
