//! The Gaussian's profile as a function of how much of the record the mask lets through.
//!
//! With t the squared shift and L = ln a > 0, V(t) = H_a(N(sqrt t, 1) || N(0, 1)) has the slope
//! V'(t) = density(d)/(2 sqrt t), d = sqrt(t)/2 - L/sqrt(t), and
//! d/dt ln V'(t) = L^2/(2 t^2) - 1/8 - 1/(2 t): it is convex up to t_c = 2(sqrt(1+L^2) - 1) and
//! concave beyond. So V(t)/t rises to one tangent point t* >= t_c and falls after it.

use crate::normal;

/// Covers the round-off of an exponential of a square of moderate size.
const UP: f64 = 1.0 + 1e-11;

/// What stands for anything smaller, so that products stay normal numbers.
const LEAST: f64 = 1e-250;

/// An upper bound of V, the hockey stick of N(`shift`, 1) over N(0, 1) at e^`log`, above it by no
/// more than its round-off.
pub(super) fn curve(log: f64, shift: f64) -> f64 {
    if log < 0.0 {
        let threshold = libm::exp(log);
        return -libm::expm1(log) + threshold * curve(-log, shift);
    }
    if shift <= 0.0 {
        return 0.0;
    }
    let (near, far) = (0.5 * shift - log / shift, -0.5 * shift - log / shift);
    let hit = normal::below(near);
    let slack = 1e-15 * hit * (4.0 + (1.0 + far.abs()) * (log / shift + shift));
    let charge = libm::exp(log) * normal::below(far);
    // Far out the product is infinity times zero; the first term alone is a bound.
    let value = if charge.is_finite() { (hit - charge).max(0.0) } else { hit };
    (value + slack).min(hit).max(LEAST)
}

/// V'(t) at t = `shift`^2.
fn slope(log: f64, shift: f64) -> f64 {
    UP * normal::density(0.5 * shift - log / shift) / (2.0 * shift)
}

/// How far the tangent at t = `shift`^2 passes above the origin (below it, when negative).
fn intercept(log: f64, shift: f64) -> f64 {
    curve(log, shift) - shift * shift * slope(log, shift)
}

/// t_c: up to this squared shift V is convex in it, for `log` > 0.
pub(super) fn bend(log: f64) -> f64 {
    2.0 * log * log / (libm::sqrt(1.0 + log * log) + 1.0)
}

/// An upper bound of sup V(e^`log`; `shift` x)/x^2 over 0 < x <= 1, for `log` > 0.
///
/// Beyond t_c the tangent at any t0 lies above V, so V/t <= V'(t0) + max(intercept, 0)/t_c, and up
/// to t_c V/t rises: the bound holds for every t0 >= t_c and is met at the tangent point.
pub(super) fn steepest(log: f64, shift: f64) -> f64 {
    let bend = bend(log);
    if shift * shift <= bend || intercept(log, shift) <= 0.0 {
        return curve(log, shift);
    }
    let (mut low, mut high) = (bend.sqrt(), shift);
    while high > low * (1.0 + 1e-9) {
        let middle = (low * high).sqrt();
        if middle <= low || middle >= high {
            break;
        }
        if intercept(log, middle) > 0.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    let bound = |at: f64| slope(log, at) + intercept(log, at).max(0.0) / bend;
    UP * shift * shift * bound(low).min(bound(high))
}

/// An upper bound of the concave envelope of V in t on \[0, `shift`^2\], at the share `share`, for
/// `log` >= 0: the largest mean of V over all laws of t with that mean (privacy of a uniform mask).
pub(super) fn envelope(log: f64, shift: f64, share: f64) -> f64 {
    let mean = shift * share.sqrt();
    let value = curve(log, mean);
    if log <= 0.0 || share >= 1.0 {
        return value;
    }
    // Past the tangent point the envelope is V itself; in doubt the tangent through 0 is a bound.
    if mean * mean >= bend(log) && intercept(log, mean) > 1e-9 * value {
        return value;
    }
    (share * steepest(log, shift)).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_is_above_the_truth_by_round_off_only() {
        // 40-digit values.
        for (log, shift, value) in [
            (0.0, 1.0, 0.382_924_922_548_026_2),
            (1.0, 1.0, 0.126_936_737_506_643_95),
            (3.0, 0.5, 3.400_911_735_673_529e-10),
        ] {
            let claimed = curve(log, shift);
            assert!(claimed >= value * (1.0 - 1e-15), "{claimed} {value}");
            assert!(claimed <= value * (1.0 + 1e-12), "{claimed} {value}");
        }
        for log in [0.0, 0.3, 5.0, 800.0, -0.5, -30.0] {
            for shift in [0.0, 1e-7, 0.1, 1.0, 20.0, 2e4] {
                let value = curve(log, shift);
                assert!((0.0..=1.0).contains(&value), "{log} {shift} {value}");
            }
        }
    }

    #[test]
    fn the_steepest_ratio_is_the_supremum() {
        for log in [1e-4, 0.01, 0.2, 1.0, 4.0, 15.0] {
            for shift in [0.02, 0.5, 2.0, 10.0] {
                let claimed = steepest(log, shift);
                let searched = (1..=4000)
                    .map(|i| (f64::from(i) / 4000.0).powi(2))
                    .map(|x| normal::hockey_stick(log.exp(), shift * x) / (x * x))
                    .fold(0.0, f64::max);
                assert!(claimed >= searched * (1.0 - 1e-12), "{log} {shift}: {claimed} {searched}");
                assert!(claimed <= searched * 1.01 + 1e-200, "{log} {shift}: {claimed} {searched}");
            }
        }
    }

    #[test]
    fn the_envelope_is_concave_and_above_the_curve() {
        for log in [0.0, 0.05, 0.5, 3.0] {
            for shift in [0.3, 2.0, 8.0] {
                let at = |i: u32| envelope(log, shift, f64::from(i) / 200.0);
                for i in 1..200 {
                    let value = curve(log, shift * (f64::from(i) / 200.0).sqrt());
                    assert!(at(i) >= value * (1.0 - 1e-12));
                    assert!(
                        at(i) >= 0.5 * (at(i - 1) + at(i + 1)) * (1.0 - 1e-8),
                        "{log} {shift} {i}"
                    );
                }
                assert!((at(200) / curve(log, shift) - 1.0).abs() < 1e-9);
            }
        }
    }
}
