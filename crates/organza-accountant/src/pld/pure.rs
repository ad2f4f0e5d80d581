//! Mechanisms known by (epsilon, delta) alone.

use super::Pair;
use super::pair::LOWEST_LOSS;

/// Randomised response: the losses plus and minus `epsilon`, P-mass 1/(1 + exp(-`epsilon`)) at plus.
///
/// It dominates every `epsilon`-differentially private mechanism (Kairouz, Oh, Viswanath 2015).
pub(crate) fn pair(epsilon: f64, step: f64) -> Pair {
    approximate_pair(epsilon, 0.0, step)
}

/// Randomised response that fails openly with probability `delta`.
///
/// It dominates every (`epsilon`, `delta`)-differentially private mechanism.
pub(crate) fn approximate_pair(epsilon: f64, delta: f64, step: f64) -> Pair {
    let up = (1.0 - delta) / (1.0 + libm::exp(-epsilon));
    if epsilon > -LOWEST_LOSS {
        let apart = (1.0 - delta) / (1.0 + libm::exp(-epsilon));
        return Pair::from_atoms(step, [(epsilon, up)], delta, delta + apart);
    }
    let down = (1.0 - delta) / (1.0 + libm::exp(epsilon));
    Pair::from_atoms(step, [(-epsilon, down), (epsilon, up)], delta, delta)
}

/// The hockey stick of randomised response at the threshold exp(`level`) (exact).
pub(super) fn hockey_stick(level: f64, epsilon: f64) -> f64 {
    if level <= -epsilon {
        return -libm::expm1(level);
    }
    if level >= epsilon {
        return 0.0;
    }
    -libm::expm1(level - epsilon) / (1.0 + libm::exp(-epsilon))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composition_is_the_binomial_sum() {
        // 50-digit values of the exact sum for RR(0.1)^10 at 0.3 and RR(1)^5 at 3.
        for (epsilon, times, at, delta) in
            [(0.1, 10, 0.3, 0.035_097_126_129_787_81), (1.0, 5, 3.0, 0.180_554_628_602_783_47)]
        {
            let claim = pair(epsilon, epsilon).power(times, 0.0).delta(at);
            assert!((claim / delta - 1.0).abs() < 1e-12, "{claim}");
        }
        let failing = approximate_pair(0.1, 1e-3, 0.1);
        assert!((failing.delta(5.0) - 1e-3).abs() < 1e-18);
        assert!((failing.power(2, 0.0).infinite - 1.999e-3).abs() < 1e-15);
    }
}
