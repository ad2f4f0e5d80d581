//! Unchecked settings of a private step.

use crate::scores::By;
use crate::shape::Shape;
use organza_ledger::{MaxNoise, Neighbouring};

/// All that determines a private step. Anyone may write anything here: [`Plan::new`](super::Plan::new)
/// checks it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanSettings {
    /// The shape of the model.
    pub shape: Shape,
    /// The neighbouring relation that the guarantee is for.
    pub neighbouring: Neighbouring,
    /// The probability with which each unit joins a batch.
    pub rate: f64,
    /// The public constant that sums are divided by (b); the true size of a batch never is.
    pub expected_batch: f64,
    /// The L2 clip of a unit's gradient (S1).
    pub clip: f64,
    /// How coordinates or rows are selected.
    pub selection: SelectionSettings,
    /// What noise the selected values get.
    pub noise: NoiseSettings,
}

/// What noise the selected values get.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoiseSettings {
    /// Gaussian noise, after a second clip if there is one (the paper's Algorithm 3).
    Gaussian {
        /// Standard deviation over sensitivity (sigma).
        multiplier: f64,
        /// The L2 clip of what was selected of the averaged gradient (S2).
        second_clip: Option<f64>,
    },
    /// Laplace noise on each value, with sparse vector selection only (the paper's Algorithm 1).
    Laplace {
        /// Sensitivity of a value over the scale of its noise.
        epsilon: f64,
    },
}

/// How coordinates or rows are selected. Scores, caps and thresholds are in the units of the averaged
/// gradient.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectionSettings {
    /// Not at all: dense noise, as in DP-SGD.
    Everything,
    /// The exponential mechanism without replacement (the paper's Algorithm 4).
    Exponential {
        /// Coordinates or rows.
        by: By,
        /// The exact number selected: floor(gamma p).
        draws: u64,
        /// The bounded range of one draw (eta).
        epsilon: f64,
        /// The cap on scores (S0).
        cap: f64,
    },
    /// The sparse vector technique with a refreshed threshold.
    SparseVector {
        /// Coordinates or rows.
        by: By,
        /// The number of hits after which it stops.
        hits: u64,
        /// The threshold on scores.
        threshold: f64,
        /// Sensitivity over the scale of the threshold's noise.
        threshold_epsilon: f64,
        /// Twice the sensitivity over the scale of a query's noise.
        query_epsilon: f64,
        /// The cap on scores (S0), if any.
        cap: Option<f64>,
    },
    /// Report noisy max, several times with fresh noise.
    NoisyMax {
        /// Coordinates or rows.
        by: By,
        /// The exact number selected.
        draws: u64,
        /// The guarantee of one draw.
        epsilon: f64,
        /// The noise on scores.
        noise: MaxNoise,
        /// The cap on scores (S0), if any.
        cap: Option<f64>,
    },
    /// The limited-domain top-k of Durfee and Rogers, on the number of units that touch a row.
    LimitedDomain {
        /// The largest number of rows selected.
        draws: u64,
        /// How many rows of the largest counts are considered.
        domain: u64,
        /// In how many rows a unit counts.
        rows_per_unit: u64,
        /// The bounded range of one draw.
        epsilon: f64,
        /// The probability that a row outside the common domain shows.
        delta: f64,
    },
    /// A uniform mask.
    Uniform {
        /// Coordinates or rows.
        by: By,
        /// The exact number selected.
        draws: u64,
    },
}
