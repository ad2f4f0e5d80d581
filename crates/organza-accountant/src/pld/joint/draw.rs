//! The profile of one draw, by itself (fact F5).

use super::curve::Curve;
use super::facts::Facts;

/// Relative allowance for a supremum taken at a root that Newton's method found: the error there is
/// of second order.
const UP: f64 = 1.0 + 1e-9;

/// An upper bound of H at e^`log` for one draw, `log` >= 0: the least of a bound by the variance of
/// the ratio, a bound by how rarely a moved candidate is drawn, and the bounded range.
pub(super) fn profile(facts: &Facts, log: f64) -> f64 {
    by_variance(facts.variance, log).min(by_rarity(facts, log)).min(by_range(facts.range, log))
}

/// The curve of one draw up to the loss beyond which it is zero, its step at most `step`.
pub(super) fn curve(facts: &Facts, step: f64) -> Curve {
    let top = facts.range.min(facts.largest_loss());
    let count = (top / step).ceil() as usize + 1;
    Curve::tabulate(step, count, |log| profile(facts, log)).convex()
}

/// E(x)+ = (E x + E|x|)/2 for x = ratio - a, with E x = 1 - a and E x^2 <= (a-1)^2 + v.
fn by_variance(variance: f64, log: f64) -> f64 {
    if !variance.is_finite() {
        return 1.0;
    }
    let above = libm::expm1(log);
    0.5 * variance / (above.hypot(variance.sqrt()) + above).max(f64::MIN_POSITIVE)
}

/// The profile of everything with bounded range `range` (Dong, Durfee, Rogers 2020).
fn by_range(range: f64, log: f64) -> f64 {
    if log >= range {
        return 0.0;
    }
    let root = -libm::expm1(0.5 * (log - range));
    UP * root * root / -libm::expm1(-range)
}

/// H = E_P(1 - a/ratio)+. The ratio at a candidate with change y of its log-weight is at most
/// e^(y + zeta), and E_P y^2 <= w reach^2, so H <= w reach^2 sup_y (1 - e^(x-y))/y^2, x = log - zeta > 0.
fn by_rarity(facts: &Facts, log: f64) -> f64 {
    let past = log - facts.drift;
    if past <= 0.0 {
        return 1.0;
    }
    if past >= facts.jump {
        return 0.0;
    }
    // The supremum is where y = 2(e^s - 1), s = y - x, and grows up to there; the root in s is
    // unique, and Newton's steps from ln(1+x), which lies above it, come down to it.
    let mut excess = libm::log1p(past);
    for _ in 0..60 {
        let next =
            excess - (2.0 * libm::expm1(excess) - excess - past) / (2.0 * libm::exp(excess) - 1.0);
        let close = (next - excess).abs() <= 1e-14 * excess;
        excess = next;
        if close {
            break;
        }
    }
    let excess = excess.min(facts.jump - past);
    let ratio = facts.reach / (past + excess);
    UP * facts.likeliest * ratio * ratio * -libm::expm1(-excess)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn rarity_is_the_supremum() {
        let facts = Facts::new(2.0, 3, 1000, 0.4, 1.0).unwrap();
        for log in [0.15, 0.3, 0.6, 0.9] {
            let past = log - facts.drift;
            let searched = (1..=200_000)
                .map(|i| past + (facts.jump - past) * f64::from(i) / 200_000.0)
                .map(|y| facts.likeliest * (facts.reach / y).powi(2) * (1.0 - (past - y).exp()))
                .fold(0.0, f64::max);
            let claimed = by_rarity(&facts, log);
            assert!(claimed >= searched && claimed < searched * (1.0 + 1e-6), "{log}");
        }
    }

    #[test]
    fn it_is_zero_past_the_largest_loss_and_never_negative_or_undefined() {
        for range in [0.0, 1e-6, 0.3, 5.0, 400.0] {
            let facts = Facts::new(range, 2, 100, 0.1, 0.75).unwrap();
            for log in [0.0, 1e-9, 0.01, 0.5, 3.0, 1000.0] {
                let value = profile(&facts, log);
                assert!(value >= 0.0, "{range} {log}");
                assert!(log <= facts.largest_loss() || value == 0.0);
            }
        }
    }
}
