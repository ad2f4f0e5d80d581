//! What is done to a batch, for several units at once.

use super::plan::{Batch, CappedSelection, Part};
use super::sparse_vector::SparseVector;
use crate::group;
use organza_ledger::{AccountError, SelectedNoise};

impl Batch {
    /// The same for a change of `records` units of the batch, each of which is there or not.
    ///
    /// # Proof
    /// Sensitivities add along a chain of data sets that differ in one unit each, in every norm; so do
    /// the bounded ranges and the logarithms of ratios of which a pure guarantee is made, for each
    /// fixed past of an adaptive composition. A record of capped scores moves their vector by `l2` and
    /// no score beyond its cap, so that the weight of a score stays what it is while the range of a
    /// draw grows to min(2 cap, sqrt2 records l2) times it.
    pub(super) fn of_group(&self, records: u64) -> Result<Self, AccountError> {
        let size = records as f64;
        let parts = self.parts.iter().map(|(part, times)| Ok((part.of_group(records)?, *times)));
        let parts = parts.collect::<Result<_, AccountError>>()?;
        Ok(Self { shift_square: size * size * self.shift_square, parts })
    }
}

impl Part {
    fn of_group(&self, records: u64) -> Result<Self, AccountError> {
        let size = records as f64;
        Ok(match self {
            _ if records == 1 => self.clone(),
            Self::Laplace { noise_multiplier } => {
                Self::Laplace { noise_multiplier: noise_multiplier / size }
            }
            Self::Approximate { epsilon, delta } => {
                let (epsilon, delta) = group::guarantee(*epsilon, *delta, records);
                Self::Approximate { epsilon, delta }
            }
            Self::BoundedRange { epsilon, draws, delta } if *delta == 0.0 => {
                Self::BoundedRange { epsilon: size * epsilon, draws: *draws, delta: 0.0 }
            }
            Self::SparseVector(run) => Self::SparseVector(SparseVector {
                threshold_epsilon: size * run.threshold_epsilon,
                query_epsilon: size * run.query_epsilon,
                value_epsilon: run.value_epsilon.map(|epsilon| size * epsilon),
                ..*run
            }),
            Self::CappedSelection(capped) => Self::CappedSelection(CappedSelection {
                epsilon: range_of_group(capped.epsilon, capped.cap, capped.l2, size),
                l2: size * capped.l2,
                ..*capped
            }),
            Self::Selected(selected) => Self::Selected(SelectedNoise {
                epsilon: range_of_group(selected.epsilon, selected.cap, selected.l2, size),
                l2: size * selected.l2,
                sensitivity: size * selected.sensitivity,
                noise_multiplier: selected.noise_multiplier / size,
                ..*selected
            }),
            Self::Masked { share, noise_multiplier } => {
                Self::Masked { share: *share, noise_multiplier: noise_multiplier / size }
            }
            Self::BoundedRange { .. } => return Err(unsupported("limited_domain")),
            // Which of the fixed groups, or of the inner batch, hold the units is not known.
            Self::Cluster { .. } => return Err(unsupported("cluster")),
            Self::Sampled { .. } => return Err(unsupported("poisson")),
        })
    }
}

/// The bounded range of a draw among scores up to `cap` that move `size` times as far as `l2`.
fn range_of_group(epsilon: f64, cap: f64, l2: f64, size: f64) -> f64 {
    let range = |l2: f64| (2.0 * cap).min(std::f64::consts::SQRT_2 * l2);
    epsilon * range(size * l2) / range(l2)
}

fn unsupported(kind: &'static str) -> AccountError {
    AccountError::Unsupported {
        kind: kind.into(),
        reason: "no pair is known that dominates it for several units at once".into(),
    }
}
