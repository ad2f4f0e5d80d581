//! Poisson sampling, once for all that a step does to its batch.

use super::{Direction, Pair};

/// A discrete privacy loss: the losses of one use of a mechanism in one direction, with the mass of
/// the law that comes first in that direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Atoms {
    pub(super) losses: Vec<f64>,
    pub(super) masses: Vec<f64>,
    /// How much a loss moves when the loss before sampling moves: what a coarser grid would cost.
    pub(super) slopes: Vec<f64>,
    /// The mass at plus infinity.
    pub(super) infinite: f64,
    /// The distance of which all losses are multiples, where there is one.
    pub(super) lattice: Option<f64>,
}

impl Atoms {
    /// The loss of `pair` on a batch that a unit joins with probability `rate`.
    ///
    /// Condition on the other units of the batch: with the unit the output is (1-q)Q + qP, without
    /// it Q. The ratio 1 - q + q r is an affine image of r, which keeps the convex order, so
    /// ((1-q)Q + qP, Q) dominates removal, and exchanged it dominates addition (Zhu, Dong, Wang
    /// 2022, Theorem 11). A loss l becomes l' = log(1 + q (e^l - 1)):
    ///
    /// * removal: loss l', mass p (q + (1-q) e^{-l}); what only Q has, loss log(1-q); infinity q p;
    /// * addition: loss -l', mass p e^{-l}; what only Q has, loss -log(1-q); infinity nothing.
    ///
    /// Losses are raised by four units in the last place, which covers their rounding. `pair` has
    /// to be that of everything the batch is used for: two mechanisms on one batch have to be
    /// composed first, since they see or miss the unit together.
    pub(super) fn sampled(pair: &Pair, rate: f64, direction: Direction) -> Self {
        let removal = direction == Direction::Remove;
        let mut atoms = Self {
            lattice: (rate >= 1.0).then_some(pair.step),
            infinite: match (removal, rate < 1.0) {
                (true, _) => rate * pair.infinite,
                (false, true) => 0.0,
                (false, false) => pair.only_without,
            },
            ..Self::default()
        };
        for (loss, mass) in pair.atoms() {
            let odds = (1.0 - rate) * libm::exp(-loss);
            let (sampled, slope) = if rate >= 1.0 {
                (loss, 1.0)
            } else if loss < 600.0 {
                (libm::log1p(rate * libm::expm1(loss)), rate / (rate + odds))
            } else {
                (loss + libm::log(rate), 1.0)
            };
            if removal {
                atoms.push(sampled, mass * (rate + odds), slope);
            } else {
                atoms.push(-sampled, mass * libm::exp(-loss), slope);
            }
        }
        if rate < 1.0 && pair.only_without > 0.0 {
            let lowest = libm::log1p(-rate);
            if removal {
                atoms.push(lowest, (1.0 - rate) * pair.only_without, 0.0);
            } else {
                atoms.push(-lowest, pair.only_without, 0.0);
            }
        }
        atoms
    }

    pub(super) fn push(&mut self, loss: f64, mass: f64, slope: f64) {
        if mass > 0.0 {
            let raised = if self.lattice.is_some() { 0.0 } else { 4.0 * f64::EPSILON * loss.abs() };
            self.losses.push(loss + raised);
            self.masses.push(mass);
            self.slopes.push(slope);
        }
    }

    /// The largest finite loss.
    pub(super) fn largest(&self) -> f64 {
        self.losses.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }
}
