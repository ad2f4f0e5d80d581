//! Which optimizer, with which constants.

use crate::tables::AdamSettings;
use serde::{Deserialize, Serialize};

/// Which optimizer, with which constants. It works on gradients that are private already.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum OptimizerSettings {
    /// Plain gradient descent.
    Sgd {
        /// The step size.
        learning_rate: f32,
    },
    /// Adam (Kingma and Ba 2015), with PyTorch's conventions and dense semantics: the moments of all
    /// coordinates decay at every step, and all coordinates move, whether or not they were selected.
    Adam {
        /// The step size.
        learning_rate: f32,
        /// The decay of the first moment.
        beta1: f32,
        /// The decay of the second moment.
        beta2: f32,
        /// What keeps the division finite.
        epsilon: f32,
    },
}

impl OptimizerSettings {
    /// Adam with its usual decays.
    pub fn adam(learning_rate: f32) -> Self {
        Self::Adam { learning_rate, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }

    /// The constants of Adam, if it is Adam.
    pub(crate) fn adam_settings(&self) -> Option<AdamSettings> {
        match *self {
            Self::Sgd { .. } => None,
            Self::Adam { learning_rate, beta1, beta2, epsilon } => {
                Some(AdamSettings { learning_rate, beta1, beta2, epsilon })
            }
        }
    }
}
