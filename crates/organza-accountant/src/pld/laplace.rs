//! Laplace noise.

use super::{Pair, grid, pure};

/// Beyond this epsilon, pure differential privacy is charged instead: it costs no less.
const WIDEST: f64 = 300.0;

/// The pair of Laplace noise of scale `noise_multiplier` times the L1 sensitivity.
///
/// With e = 1 / `noise_multiplier`: loss -e with P-mass exp(-e)/2, loss e with P-mass 1/2, and in
/// between the P-density exp((l - e)/2) / 4; that is, H_a = 1 - min(1, a, sqrt(a) exp(-e/2)).
///
/// One coordinate that moves by the whole sensitivity is the worst case: a product of the pairs for
/// s >= t is dominated by the pair for s + t. Its curve is 1 - E_P\[min(1, a/r, sqrt(a/r) exp(-s/2))\]
/// with r in \[exp(-t), exp(t)\] the ratio of the second. If t - s <= log a <= s + t, each of the three
/// terms is at least sqrt(a) exp(-(s+t)/2), as claimed; above, both curves vanish; below, exchange P
/// and Q (H_a(P||Q) = 1 - a + a H_{1/a}(Q||P), and both pairs are symmetric).
pub(crate) fn pair(noise_multiplier: f64, step: f64) -> Pair {
    let epsilon = 1.0 / noise_multiplier;
    if epsilon > WIDEST {
        return pure::pair(epsilon, step);
    }
    let cells = epsilon / step;
    let whole = cells.round().max(1.0);
    // But for the rounding of the quotient, which must not cost a cell at either end.
    if (cells - whole).abs() <= 4.0 * f64::EPSILON * whole {
        let (lowest, highest) = (-whole as i64, whole as i64);
        let mut masses = grid::discretise(step, lowest, highest, 0.25, |loss| {
            0.25 * libm::exp(0.5 * (loss - epsilon))
        });
        let end = masses.len() - 1;
        masses[0] += 0.5 * libm::exp(-epsilon);
        masses[end] += 0.5;
        return Pair { step, lowest, masses, infinite: 0.0, only_without: 0.0 };
    }
    // The ends do not lie on the grid: take one on which they do, then split.
    pair(noise_multiplier, epsilon / cells.ceil()).regrid(step)
}

/// The hockey stick of the Laplace pair at the threshold exp(`level`) (exact).
pub(super) fn hockey_stick(level: f64, noise_multiplier: f64) -> f64 {
    let epsilon = 1.0 / noise_multiplier;
    if level <= -epsilon {
        return -libm::expm1(level);
    }
    if level >= epsilon {
        return 0.0;
    }
    // For |level| < e: P(L > level) - exp(level) Q(L > level) = 1 - exp((level - e)/2).
    -libm::expm1(0.5 * (level - epsilon))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_hold_from_above() {
        for multiplier in [0.2, 1.0, 3.7] {
            let fine = pair(multiplier, 1e-3);
            let (with, without) = fine.totals();
            assert!((with - 1.0).abs() < 1e-12 && (without - 1.0).abs() < 1e-12);
            for epsilon in [-4.0, -0.5, -0.1, 0.0, 0.1, 0.2, 0.9, 3.0, 7.0] {
                let truth = hockey_stick(epsilon, multiplier);
                let claim = fine.delta(epsilon);
                assert!(claim >= truth - 1e-14 && claim <= truth + 1e-3, "{multiplier} {epsilon}");
            }
        }
    }

    /// A quotient that rounds to just above a whole number takes no cell more, whose masses would be too many.
    #[test]
    fn the_ends_lie_on_every_grid_that_divides_them() {
        for tenths in 1..1_000_u32 {
            let multiplier = 0.1 * f64::from(tenths);
            for cells in 1..40_u32 {
                let (with, without) =
                    pair(multiplier, 1.0 / multiplier / f64::from(cells)).totals();
                let apart = (with - 1.0).abs().max((without - 1.0).abs());
                assert!(apart < 1e-12, "{multiplier} on {cells} cells: {with} and {without}");
            }
        }
    }

    /// Two-sided geometric noise is charged as pure privacy: a count that moves by one has just the two losses
    /// plus and minus epsilon, and the continuous pair of the same scale does not dominate it.
    #[test]
    fn discrete_noise_is_not_charged_as_continuous() {
        // Exact: Pr[z] = (1-a)/(1+a) a^|z|, shifted by one; total variation (1-a)/(1+a).
        let decay = libm::exp(-1.0);
        let truth = (1.0 - decay) / (1.0 + decay);
        assert!((pure::pair(1.0, 0.25).delta(0.0) - truth).abs() < 1e-14);
        assert!(pair(1.0, 0.25).delta(0.0) < truth);
    }
}
