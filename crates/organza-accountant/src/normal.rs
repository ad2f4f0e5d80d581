//! The standard normal distribution, accurate in relative terms far into its tails.

use std::f64::consts::FRAC_1_SQRT_2;

/// The density at `x`.
pub fn density(x: f64) -> f64 {
    libm::exp(-0.5 * x * x) / (2.0 * std::f64::consts::PI).sqrt()
}

/// The probability of a value below `x`; relative accuracy holds down to the smallest floats.
pub(crate) fn below(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// The probability of a value above `x`.
pub(crate) fn above(x: f64) -> f64 {
    below(-x)
}

/// The probability of a value between `low` and `high`, computed in the tail where it is small.
pub fn between(low: f64, high: f64) -> f64 {
    if low > 0.0 { above(low) - above(high) } else { below(high) - below(low) }
}

/// The hockey stick of N(`shift`, 1) over N(0, 1) at `threshold`: E_Q\[(dP/dQ - threshold)+\].
///
/// It is convex and falls in `threshold`, and rises in `shift`. What is beyond the largest float is
/// taken at it, from above.
pub fn hockey_stick(threshold: f64, shift: f64) -> f64 {
    if threshold <= 0.0 {
        return 1.0 - threshold;
    }
    hockey_stick_at(libm::log(threshold.min(f64::MAX)), shift)
}

/// The hockey stick at the threshold exp(`level`), which need not be a float.
///
/// Above a level of 600 it is bounded by its first term, P\[dP/dQ > threshold\], which is close there:
/// the second is smaller by (x / (x + shift)) for a tail at x standard deviations.
pub(crate) fn hockey_stick_at(level: f64, shift: f64) -> f64 {
    if shift <= 0.0 {
        return (-libm::expm1(level)).max(0.0);
    }
    let centre = level / shift;
    let first = below(0.5 * shift - centre);
    if level > 600.0 {
        return first;
    }
    (first - libm::exp(level) * below(-0.5 * shift - centre)).max(0.0)
}

/// The epsilon of Gaussian noise at `delta`, exactly (Balle and Wang 2018), rounded up.
///
/// It solves delta = Phi(m/2 - e/m) - e^e Phi(-m/2 - e/m) with m = 1 / multiplier. Not a number if the
/// question is none.
pub fn gaussian_epsilon(noise_multiplier: f64, delta: f64) -> f64 {
    if !(noise_multiplier > 0.0 && delta > 0.0 && delta < 1.0) {
        return f64::NAN;
    }
    let shift = 1.0 / noise_multiplier;
    // The first term alone is above delta(epsilon), which gives a start from above.
    let mut high = 0.5 * shift * shift + shift * exceeded_with(delta).max(0.0);
    let profile = |epsilon: f64| {
        let (first, second) = (0.5 * shift - epsilon / shift, -0.5 * shift - epsilon / shift);
        let tail = below(second);
        let second = if tail > 0.0 { libm::exp(epsilon + libm::log(tail)) } else { 0.0 };
        below(first) - second
    };
    let mut low = 0.0;
    if profile(low) <= delta {
        return 0.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if profile(middle) <= delta {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// The value that a normal exceeds with probability `probability`, by Newton steps on the tail.
pub(crate) fn exceeded_with(probability: f64) -> f64 {
    if probability > 0.5 {
        return -exceeded_with(1.0 - probability);
    }
    if probability <= 0.0 {
        return f64::INFINITY;
    }
    // The logarithm of the tail is concave, so Newton steps that start above the root stay above it.
    let mut x = (-2.0 * libm::log(probability)).sqrt();
    for _ in 0..60 {
        let tail = above(x);
        let next = x + libm::log1p(tail / probability - 1.0) * tail / density(x);
        if (next - x).abs() <= 1e-15 * x.abs().max(1.0) {
            return next;
        }
        x = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_relatively_accurate() {
        // 50-digit values of the upper tail.
        for (x, tail) in [(1.0, 0.158_655_253_931_457_05), (8.0, 6.220_960_574_271_784e-16)] {
            assert!((above(x) / tail - 1.0).abs() < 1e-13, "{x}");
        }
        for probability in [0.5, 0.3, 1e-3, 1e-9, 1e-18, 1e-100, 1e-300] {
            assert!((above(exceeded_with(probability)) / probability - 1.0).abs() < 1e-11);
        }
        // Far beyond the largest float the curve still falls from 1 to 0 around shift^2 / 2.
        for shift in [40.0, 1e3, 6e5] {
            let level = |deviations: f64| 0.5 * shift * shift + deviations * shift;
            assert!(hockey_stick_at(level(-9.0), shift) > 1.0 - 1e-15);
            let tail = hockey_stick_at(level(6.0), shift);
            assert!((0.8 * above(6.0)..=above(6.0) * (1.0 + 1e-9)).contains(&tail), "{shift}");
        }
        assert!(hockey_stick(f64::INFINITY, 100.0) > 0.999);
        assert!((exceeded_with(0.9) + exceeded_with(0.1)).abs() < 1e-12);
    }
}
