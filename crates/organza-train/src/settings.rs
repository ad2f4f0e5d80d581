//! The settings that every application has: what is promised, and how steps go.

use crate::check::SettingError;
use crate::optimizer::OptimizerSettings;
use organza_ledger::{LedgerSettings, Neighbouring, Share, Unit};
use organza_mechanism::Selection;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The settings of an application, as they stand in `settings.json`, with all that the engine goes by among them.
pub trait RunSettings: Clone + PartialEq + Serialize + DeserializeOwned {
    /// What the engine goes by.
    fn engine(&self) -> EngineSettings;

    /// Where the ledger of the data set is named, if the run is on one.
    fn ledger(&mut self) -> Option<&mut LedgerSettings>;

    /// Takes from `now` where data lies, which may move while a run is stopped: whether it is the same is seen by its
    /// content.
    fn moved(&mut self, _now: &Self) {}

    /// Checks everything that can be checked without the data.
    ///
    /// # Errors
    /// Names the first setting that makes no sense.
    fn check(&self) -> Result<(), SettingError> {
        self.engine().check()
    }
}

/// What the engine goes by. An application that has no other settings needs no more than this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineSettings {
    /// The application, in a word, and the method, in another: `train`, `counts`.
    pub name: [Cow<'static, str>; 2],
    /// Without privacy nothing is charged, and all that comes of the run says so.
    pub private: bool,
    /// How steps are made; none if all is learned from what is released before them.
    pub steps: Option<Steps>,
    /// How coordinates or rows are selected, if steps select.
    pub selection: Selection,
    /// What is promised.
    pub privacy: PrivacySettings,
    /// How training goes.
    pub training: TrainingSettings,
    /// Whether the number of training units is the same in all neighbouring data sets. If not, and it is not declared, it
    /// is released with a charge.
    pub units_are_public: bool,
    /// Units that were put into the data on purpose, a number that does not depend on it.
    pub added_units: u64,
    /// Whether a record that cannot be used ends the run with an error instead of being left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// The ledger of the data set, where several runs share one budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerSettings>,
    /// A seed makes the run reproducible and *not private*.
    pub seed: Option<u64>,
}

/// Where a step puts its noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Steps {
    /// On every coordinate: DP-SGD.
    Everywhere,
    /// On what was selected privately: the paper's Algorithm 3.
    Selected,
}

/// What is promised.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivacySettings {
    /// What is protected as one.
    pub unit: Unit,
    /// At most so many samples of a unit in a step.
    pub per_unit: u64,
    /// The neighbouring relation.
    pub neighbouring: Neighbouring,
    /// The budget; without it `noise_multiplier` says how much noise there is.
    pub epsilon: Option<f64>,
    /// The delta of the guarantee: never from the data.
    pub delta: f64,
    /// Deviation over sensitivity.
    pub noise_multiplier: Option<f64>,
    /// The number of training units, declared public; without it, it is released with a charge.
    pub units: Option<u64>,
}

/// How training goes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingSettings {
    /// The expected number of units in a batch (b).
    pub batch: f64,
    /// How often each unit is seen, in expectation.
    pub epochs: f64,
    /// The number of steps, instead of epochs.
    pub steps: Option<u64>,
    /// The clip of a unit's gradient (S1).
    pub clip: f64,
    /// The part of the units whose gradients are to be within the clip, which follows it from `clip` on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptive_clip: Option<f64>,
    /// The clip of a unit's gradient at each candidate of a selection, a coordinate or a row, if steps select.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate_clip: Option<f64>,
    /// The clip of what was selected (S2), if steps select.
    pub second_clip: Option<f64>,
    /// How parameters move.
    pub optimizer: OptimizerSettings,
    /// Whether the result is the average over the second half of the run.
    pub average: bool,
    /// How often losses are computed on the way.
    pub evaluations: u64,
    /// How often the run is saved on the way.
    pub checkpoints: u64,
}

impl EngineSettings {
    /// DP-SGD within a budget: epsilon at delta for each `unit` that is added or removed; all else as usual.
    pub fn new(application: &'static str, unit: Unit, epsilon: f64, delta: f64) -> Self {
        Self {
            name: [Cow::Borrowed(application), Cow::Borrowed("dpsgd")],
            private: true,
            steps: Some(Steps::Everywhere),
            selection: Selection::default(),
            privacy: PrivacySettings {
                unit,
                per_unit: 16,
                neighbouring: Neighbouring::AddRemove,
                epsilon: Some(epsilon),
                delta,
                noise_multiplier: None,
                units: None,
            },
            training: TrainingSettings::default(),
            units_are_public: false,
            added_units: 0,
            strict: false,
            ledger: None,
            seed: None,
        }
    }

    /// Whether the number of units has to be released before steps can be planned.
    pub fn releases_units(&self) -> bool {
        let is_known = self.units_are_public || self.privacy.units.is_some();
        self.private && self.steps.is_some() && !is_known
    }

    /// Whether noise of steps may be left for later, which depends on the width of the tables and costs a part of delta.
    pub fn may_defer(&self) -> bool {
        let training = &self.training;
        self.private
            && self.steps == Some(Steps::Everywhere)
            && !training.average
            // Whole numbers of a table need one grid for all steps.
            && training.adaptive_clip.is_none()
            && training.optimizer.can_defer()
    }

    /// What a run with these settings asks of the ledger of its data set: its whole budget. None without a budget.
    ///
    /// # Privacy
    /// Every charge of the run goes through a [`Budget`](organza_ledger::Budget) of just this epsilon and delta, so
    /// the run keeps to it whatever it releases on the way.
    pub fn share(&self) -> Option<Share> {
        let privacy = &self.privacy;
        Some(Share {
            purpose: self.name.join(" "),
            epsilon: privacy.epsilon?,
            delta: privacy.delta,
            unit: privacy.unit,
            neighbouring: privacy.neighbouring,
        })
    }
}

impl RunSettings for EngineSettings {
    fn engine(&self) -> EngineSettings {
        self.clone()
    }

    fn ledger(&mut self) -> Option<&mut LedgerSettings> {
        self.ledger.as_mut()
    }
}

impl Default for TrainingSettings {
    fn default() -> Self {
        Self {
            batch: 1_000.0,
            epochs: 20.0,
            steps: None,
            clip: 0.3,
            adaptive_clip: None,
            candidate_clip: None,
            second_clip: None,
            optimizer: OptimizerSettings::adam(0.02),
            average: false,
            evaluations: 20,
            checkpoints: 20,
        }
    }
}
