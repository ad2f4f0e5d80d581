//! Unchecked settings of a private step.

use crate::select::SelectionSettings;
use crate::shape::Shape;
use organza_ledger::Neighbouring;
use serde::{Deserialize, Serialize};

/// All that determines a private step. Anyone may write anything here: [`Plan::new`](super::Plan::new)
/// checks it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
