//! The Gaussian mechanism.

use super::pair::LOWEST_LOSS;
use super::{Pair, grid};
use crate::normal;

/// Losses above this are given to plus infinity.
const HIGHEST_LOSS: f64 = 650.0;

/// The pair of Gaussian noise with standard deviation `noise_multiplier` times the sensitivity:
/// N(mu, 1) over N(0, 1), mu = 1 / `noise_multiplier`.
///
/// It dominates the mechanism for every vector of that L2 sensitivity. The loss is N(mu^2/2, mu^2)
/// under P and N(-mu^2/2, mu^2) under Q; it is cut where less than `tail` is left on either side,
/// what lies beyond going to the end of the grid and to infinity as a mean-preserving spread.
pub fn pair(noise_multiplier: f64, step: f64, tail: f64) -> Pair {
    let shift = 1.0 / noise_multiplier;
    if step > shift {
        // All losses lie in a few cells: take a grid that shows their shape, then split.
        return pair(noise_multiplier, shift / 16.0, tail).regrid(step);
    }
    let half = 0.5 * shift * shift;
    let reach = normal::exceeded_with(tail) * shift;
    let lowest = ((-half - reach).max(LOWEST_LOSS) / step).floor() as i64;
    let highest = (((half + reach).min(HIGHEST_LOSS) / step).ceil() as i64).max(lowest + 1);
    let scale = normal::density(0.0) / shift;
    let mut masses = grid::discretise(step, lowest, highest, shift / 8.0, |loss| {
        let deviation = (loss - half) / shift;
        scale * libm::exp(-0.5 * deviation * deviation)
    });
    let (bottom, top) = (lowest as f64 * step, highest as f64 * step);
    let below_with = normal::below((bottom - half) / shift);
    let below_without = normal::below((bottom + half) / shift);
    let above_with = normal::above((top - half) / shift);
    let at_top = (normal::above((top + half) / shift) * libm::exp(top)).min(above_with);
    let end = masses.len() - 1;
    masses[0] += below_with;
    masses[end] += at_top;
    Pair {
        step,
        lowest,
        masses,
        infinite: above_with - at_top,
        only_without: (below_without - below_with * libm::exp(-bottom)).max(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curve_is_the_closed_form_from_above() {
        for multiplier in [0.05, 0.3, 1.0, 4.0, 100.0] {
            let pair = pair(multiplier, 0.01 / multiplier, 1e-25);
            let (with, without) = pair.totals();
            assert!((with - 1.0).abs() < 1e-12, "{multiplier} {with}");
            assert!((without - 1.0).abs() < 1e-12, "{multiplier} {without}");
            for epsilon in [-1.0, 0.0, 0.01, 0.5, 1.0, 4.0, 20.0] {
                let truth = normal::hockey_stick(libm::exp(epsilon), 1.0 / multiplier);
                let claim = pair.delta(epsilon);
                assert!(claim >= truth * (1.0 - 1e-12) - 1e-25, "{multiplier} {epsilon}");
                assert!(claim <= truth * 1.01 + 1e-5 / multiplier, "{multiplier} {epsilon}");
            }
        }
    }

    #[test]
    fn a_step_far_longer_than_the_losses_is_still_sound() {
        let pair = pair(1000.0, 0.5, 1e-25);
        for epsilon in [-0.1, 0.0, 1e-4, 2e-3, 0.2] {
            let truth = normal::hockey_stick(libm::exp(epsilon), 1e-3);
            assert!(pair.delta(epsilon) >= truth * (1.0 - 1e-12), "{epsilon}");
        }
        assert!((pair.totals().1 - 1.0).abs() < 1e-12);
    }
}
