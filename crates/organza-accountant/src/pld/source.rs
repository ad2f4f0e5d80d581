//! Where the losses of a phase come from.

use super::cells::Cells;
use super::comonotone::Comonotone;
use super::mixture::Mixture;
use super::plan::Phase;
use super::prepared::Prepared;
use super::sample::Atoms;
use super::{Direction, Pair, replace};
use organza_ledger::{AccountError, Neighbouring};

/// What the masses of cells may lose to rounding beyond what was added to them, relative to them.
const MASS_ERROR: f64 = 64.0 * f64::EPSILON;

/// What is known of one step of a phase, ready to be put on any grid.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// One unit: the pair of what the batch is used for, to be sampled.
    Unit { prepared: Prepared, rate: f64 },
    /// A group of units whose step is Gaussian noise on a batch.
    Mixture(Mixture),
    /// A group of units whose step is anything else on a batch.
    Comonotone(Comonotone),
}

/// The same on one grid.
#[derive(Clone, Debug)]
pub(super) enum Gridded {
    /// Before sampling.
    Unit {
        pair: Pair,
        rate: f64,
        /// What the masses may have lost to rounding, relative to them.
        rounding: f64,
    },
    /// After sampling, with what the masses may have lost to rounding.
    Group(Cells, f64),
}

impl Source {
    /// For a group of `records` units; less than `tail` is cut off at either end.
    pub(super) fn new(phase: &Phase, records: u64, tail: f64) -> Result<Self, AccountError> {
        let rate = phase.rate;
        if records == 1 || rate >= 1.0 {
            let prepared = Prepared::new(&phase.batch.of_group(records)?, tail)?;
            return Ok(Self::Unit { prepared, rate });
        }
        if phase.batch.parts.is_empty() {
            let shift = phase.batch.shift_square.sqrt();
            return Ok(Self::Mixture(Mixture::new(shift, rate, records, tail)));
        }
        Ok(Self::Comonotone(Comonotone::new(&phase.batch, rate, records, tail)?))
    }

    /// A grid that is coarse and cheap, yet shows the shape of the loss.
    pub(super) fn coarse_step(&self) -> f64 {
        match self {
            Self::Unit { prepared, .. } => prepared.coarse_step(),
            Self::Mixture(_) | Self::Comonotone(_) => 1.0,
        }
    }

    /// The grid nearest to `wanted` that is not too fine to handle.
    pub(super) fn fitting(&self, wanted: f64) -> f64 {
        match self {
            Self::Unit { prepared, .. } => prepared.fitting(wanted),
            Self::Mixture(mixture) => mixture.fitting(wanted),
            Self::Comonotone(group) => group.fitting(wanted),
        }
    }

    /// Whether a finer grid gains nothing.
    pub(super) fn is_exact(&self) -> bool {
        match self {
            Self::Unit { prepared, .. } => prepared.is_exact(),
            Self::Mixture(_) => false,
            Self::Comonotone(group) => group.is_exact(),
        }
    }

    /// The pair on the grid `step`.
    pub(super) fn gridded(&self, step: f64) -> Gridded {
        match self {
            Self::Unit { prepared, rate } => {
                let pair = prepared.pair(step);
                let rounding = prepared.rounding(pair.masses.len());
                Gridded::Unit { pair, rate: *rate, rounding }
            }
            Self::Mixture(mixture) => Gridded::Group(mixture.cells(step), MASS_ERROR),
            Self::Comonotone(group) => {
                let (cells, rounding) = group.cells(step);
                Gridded::Group(cells, rounding)
            }
        }
    }
}

impl Gridded {
    /// The loss of one step in one direction, and what its masses may have lost to rounding.
    pub(super) fn atoms(&self, neighbouring: Neighbouring, direction: Direction) -> (Atoms, f64) {
        match self {
            Self::Unit { pair, rate, rounding } => {
                let atoms = match neighbouring {
                    Neighbouring::AddRemove => Atoms::sampled(pair, *rate, direction),
                    Neighbouring::ReplaceOne => replace::replaced(pair, *rate, direction),
                };
                (atoms, *rounding)
            }
            Self::Group(cells, rounding) => (cells.atoms(direction), *rounding),
        }
    }
}
