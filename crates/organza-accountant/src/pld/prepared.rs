//! A batch's mechanisms, ready to be put on any grid.

use super::plan::{Batch, Part};
use super::sample::Atoms;
use super::sparse_vector;
use super::{Direction, Pair, bounded_range, gaussian, joint, laplace, pure, selection};
use crate::normal;
use organza_ledger::AccountError;

/// The largest number of losses of one batch that takes no convolution.
const MOST_CELLS: f64 = 524_288.0;
/// The largest number of losses of one batch that does.
const MOST_CONVOLVED: f64 = 16_384.0;

/// What the mass of a single mechanism may lose to rounding, relative to it.
const MASS_ERROR: f64 = 64.0 * f64::EPSILON;

/// The mechanisms of one batch. What has a natural grid is computed once, on that grid.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    shift_square: f64,
    on_grids: Vec<Pair>,
    smooth: Vec<(Smooth, u64)>,
    /// How many uses the pairs of `on_grids` hold.
    folds: u64,
    tail: f64,
}

/// A mechanism that is computed anew on each grid.
#[derive(Clone, Debug)]
enum Smooth {
    Laplace(f64),
    Cluster(u64, Prepared),
    Sampled(f64, Prepared),
}

impl Prepared {
    /// Losses that carry less than `tail` at either end are given to infinity.
    pub(super) fn new(batch: &Batch, tail: f64) -> Result<Self, AccountError> {
        let mut prepared = Self {
            shift_square: batch.shift_square,
            on_grids: Vec::new(),
            smooth: Vec::new(),
            folds: 0,
            tail,
        };
        for (part, times) in &batch.parts {
            let (pair, times) = match part {
                Part::Laplace { noise_multiplier } => {
                    prepared.smooth.push((Smooth::Laplace(*noise_multiplier), *times));
                    continue;
                }
                Part::Cluster { groups, batch } => {
                    let inner = Self::new(batch, tail)?;
                    prepared.smooth.push((Smooth::Cluster(*groups, inner), *times));
                    continue;
                }
                Part::Sampled { rate, batch } => {
                    let inner = Self::new(batch, tail)?;
                    prepared.smooth.push((Smooth::Sampled(*rate, inner), *times));
                    continue;
                }
                Part::Masked { share, noise_multiplier } => {
                    (joint::uniform_mask(*share, *noise_multiplier, tail)?, *times)
                }
                Part::Approximate { epsilon, delta } => {
                    (pure::approximate_pair(*epsilon, *delta, natural(*epsilon)), *times)
                }
                Part::BoundedRange { epsilon, draws, delta } => {
                    // Repeated on one batch, adaptive draws are just more draws.
                    let (rounds, draws) = match draws.checked_mul(*times) {
                        Some(all) if *delta == 0.0 => (1, all),
                        _ => (*times, *draws),
                    };
                    let pair = bounded_range::pair(*epsilon, draws, tail);
                    let failing = pure::approximate_pair(0.0, *delta, pair.step);
                    (pair.convolve(&failing), rounds)
                }
                Part::SparseVector(run) => {
                    let unit = natural(run.threshold_epsilon + run.query_epsilon);
                    (sparse_vector::pair(run, unit / 4.0, tail), *times)
                }
                Part::CappedSelection(capped) => (selection::capped(capped, tail)?, *times),
                Part::Selected(selected) => (selection::selected(selected, tail)?, *times),
            };
            prepared.folds = prepared.folds.saturating_add(times);
            prepared.on_grids.push(if times == 1 { pair } else { pair.power(times, tail) });
        }
        Ok(prepared)
    }

    /// A grid that is coarse and cheap, yet shows the shape of the loss.
    pub(super) fn coarse_step(&self) -> f64 {
        self.fitting(self.detail())
    }

    /// The grid nearest to `wanted` that holds the natural one and is not too fine to handle.
    pub(super) fn fitting(&self, wanted: f64) -> f64 {
        let least = self.span() / if self.is_simple() { MOST_CELLS } else { MOST_CONVOLVED };
        let step = match self.unit() {
            Some(unit) => unit / (unit / wanted.max(least)).ceil().max(1.0),
            None => wanted,
        };
        step.max(least)
    }

    /// The natural grid, where there is one.
    fn unit(&self) -> Option<f64> {
        let clustered = self.smooth.iter().filter_map(|(smooth, _)| match smooth {
            Smooth::Cluster(_, inner) => inner.unit(),
            _ => None,
        });
        self.on_grids.iter().map(|pair| pair.step).chain(clustered).reduce(f64::min)
    }

    /// Whether there is just one mechanism, so that nothing is convolved.
    fn is_simple(&self) -> bool {
        let smooth: u64 = self.smooth.iter().map(|(_, times)| *times).sum();
        self.folds <= 1 && self.folds + smooth + u64::from(self.shift_square > 0.0) == 1
    }

    /// What the masses of [`Self::pair`] may have lost to rounding, relative to them.
    ///
    /// A convolution adds the errors of its factors and that of a sum of at most as many terms as
    /// the shorter factor has; n uses are n - 1 convolutions.
    pub(super) fn rounding(&self, cells: usize) -> f64 {
        let inner: f64 = self
            .smooth
            .iter()
            .map(|(smooth, times)| {
                let one = match smooth {
                    Smooth::Laplace(_) => MASS_ERROR,
                    Smooth::Cluster(_, inner) | Smooth::Sampled(_, inner) => {
                        MASS_ERROR + inner.rounding(cells)
                    }
                };
                *times as f64 * one
            })
            .sum();
        let uses = self.folds + self.smooth.iter().map(|(_, times)| *times).sum::<u64>();
        let convolutions = if self.is_simple() { 0.0 } else { uses as f64 };
        inner
            + MASS_ERROR * (1 + self.folds) as f64
            + convolutions * 0.5 * f64::EPSILON * cells as f64
    }

    /// Whether every loss lies on the natural grid, so that a finer one gains nothing.
    pub(super) fn is_exact(&self) -> bool {
        self.shift_square == 0.0
            && match (self.on_grids.as_slice(), self.smooth.as_slice()) {
                ([_], []) => true,
                ([], [(Smooth::Cluster(_, inner), 1)]) => inner.is_exact(),
                _ => false,
            }
    }

    fn detail(&self) -> f64 {
        let mut detail: f64 = 0.5;
        if self.shift_square > 0.0 {
            detail = detail.min(self.shift_square.sqrt() / 8.0);
        }
        for (smooth, _) in &self.smooth {
            detail = detail.min(match smooth {
                Smooth::Laplace(multiplier) => 0.1 / multiplier,
                Smooth::Cluster(_, inner) | Smooth::Sampled(_, inner) => inner.coarse_step(),
            });
        }
        detail
    }

    /// The distance from the lowest to the highest loss.
    fn span(&self) -> f64 {
        let shift = self.shift_square.sqrt();
        let reach = 0.5 * self.shift_square + normal::exceeded_with(self.tail) * shift;
        let mut span = 2.0 * reach.min(650.0);
        span += self.on_grids.iter().map(|pair| pair.step * pair.masses.len() as f64).sum::<f64>();
        for (smooth, times) in &self.smooth {
            span += match smooth {
                Smooth::Laplace(multiplier) => {
                    let most = 2.0 * *times as f64 / multiplier;
                    let squares = *times as f64 / (multiplier * multiplier);
                    let likely = 2.0 * (squares + 2.0 * (-squares * libm::log(self.tail)).sqrt());
                    most.min(likely)
                }
                Smooth::Cluster(_, inner) | Smooth::Sampled(_, inner) => {
                    inner.span() * (*times as f64).sqrt()
                }
            };
        }
        span
    }

    /// The pair of all that is done to the batch, on the grid `step`.
    pub(super) fn pair(&self, step: f64) -> Pair {
        let mut product: Option<Pair> = (self.shift_square > 0.0)
            .then(|| gaussian::pair(1.0 / self.shift_square.sqrt(), step, self.tail));
        let mut compose = |pair: Pair| {
            product = Some(match product.take() {
                None => pair,
                Some(before) => before.convolve(&pair).trimmed(self.tail),
            });
        };
        for pair in &self.on_grids {
            compose(pair.regrid(step));
        }
        for (smooth, times) in &self.smooth {
            let one = match smooth {
                Smooth::Laplace(multiplier) => laplace::pair(*multiplier, step),
                Smooth::Cluster(groups, inner) => inner.pair(step).diluted(1.0 / *groups as f64),
                Smooth::Sampled(rate, inner) => {
                    let base = inner.pair(inner.fitting(inner.detail().min(step)));
                    let atoms = Atoms::sampled(&base, *rate, Direction::Remove);
                    let losses = atoms.losses.iter().copied().zip(atoms.masses.iter().copied());
                    // What only Q has keeps a loss of log(1-q), which sampling turned finite.
                    let rest = if *rate >= 1.0 { base.only_without } else { 0.0 };
                    Pair::from_atoms(step, losses, atoms.infinite, rest)
                }
            };
            compose(if *times == 1 { one } else { one.power(*times, self.tail).regrid(step) });
        }
        product.unwrap_or_else(|| Pair::identity(step))
    }
}

/// The grid of a randomised response.
fn natural(epsilon: f64) -> f64 {
    if epsilon > 0.0 { epsilon } else { 1.0 }
}
