//! The settings of a click model, as they stand in `settings.json`.

use crate::layout::MOST_DIMENSIONS;
use crate::reader::ClickReader;
use organza_data::sparse::CategoryRelease;
use organza_ledger::{LedgerSettings, Neighbouring, Unit};
use organza_mechanism::{By, NoisyCount, Selection};
use organza_train::OptimizerSettings;
use organza_train::check::{BETWEEN, SettingError, is_between, optional, require};
use organza_train::settings::{
    EngineSettings, PrivacySettings, RunSettings, Steps, TrainingSettings,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The version of the settings file that this library reads and writes.
const VERSION: u64 = 1;

/// How a click model is trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// From noisy counts that are released once, and nothing else: a logistic regression.
    #[default]
    OneShot,
    /// From such counts with a part of the budget, then by DP-SGD with the rest.
    OneShotDpsgd,
    /// By DP-SGD.
    Dpsgd,
    /// By private selection (the paper's Algorithm 3).
    Sparse,
    /// *Without privacy.*
    None,
}

impl Method {
    /// All of them, by their names.
    pub const NAMES: [&str; 5] = ["one-shot", "one-shot-dpsgd", "dpsgd", "sparse", "none"];

    /// Whether what it makes is private.
    pub fn is_private(self) -> bool {
        self != Self::None
    }

    /// Whether it releases counts before anything else.
    pub fn releases_counts(self) -> bool {
        matches!(self, Self::OneShot | Self::OneShotDpsgd)
    }

    /// Where its steps put their noise; none if it takes no steps.
    pub fn steps(self) -> Option<Steps> {
        match self {
            Self::OneShot => None,
            Self::Sparse => Some(Steps::Selected),
            Self::OneShotDpsgd | Self::Dpsgd | Self::None => Some(Steps::Everywhere),
        }
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(formatter)
    }
}

/// What is trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// A weight for each bucket and each number.
    #[default]
    Logistic,
    /// And a vector for each bucket, whose products count for pairs.
    FactorisationMachine,
}

impl Model {
    /// All of them, by their names.
    pub const NAMES: [&str; 2] = ["logistic", "factorisation-machine"];
}

impl std::fmt::Display for Model {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(formatter)
    }
}

/// Public numbers by which a budget is split.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The share of epsilon that counts get where steps follow.
    pub start_share: f64,
    /// Of what counts get, the part for those of buckets, as a part of 1 / deviation^2; the moments get the rest.
    pub bucket_share: f64,
}

impl Default for Rules {
    fn default() -> Self {
        Self { start_share: 0.5, bucket_share: 0.9 }
    }
}

/// Where rows come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSettings {
    /// The rows to learn from: a table, or a folder of such.
    pub path: PathBuf,
    /// Rows to measure the model with, in the same form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<PathBuf>,
    /// How both are read.
    pub reader: ClickReader,
    /// Whether a row that cannot be used ends the run with an error, which tells that it is there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

/// All that determines a run, beside the data and the key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The version of the format.
    pub version: u64,
    /// What is trained.
    pub model: Model,
    /// How it is trained.
    pub method: Method,
    /// The dimensions of the vectors of a factorisation machine.
    pub dimensions: u64,
    /// Where rows come from; none are made-up ones.
    pub data: Option<DataSettings>,
    /// Public numbers by which a budget is split.
    pub rules: Rules,
    /// What is promised.
    pub privacy: PrivacySettings,
    /// How steps go, if there are some.
    pub training: TrainingSettings,
    /// How `sparse` selects.
    pub selection: Selection,
    /// The ledger of the data set, where several runs share one budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerSettings>,
    /// A seed makes the run reproducible and *not private*.
    pub seed: Option<u64>,
}

impl Settings {
    /// The usual settings of a method at a budget; the unit is the user where rows name one.
    pub fn new(data: Option<DataSettings>, method: Method, epsilon: f64, delta: f64) -> Self {
        let by_user = data.as_ref().is_none_or(|data| data.reader.columns.group.is_some());
        let unit = if by_user { Unit::User } else { Unit::Record };
        let engine = EngineSettings::new("clicks", unit, epsilon, delta);
        Self {
            version: VERSION,
            model: Model::default(),
            method,
            dimensions: 8,
            data,
            rules: Rules::default(),
            privacy: engine.privacy,
            training: training(method, epsilon),
            selection: Selection { by: By::Row, gamma: 0.5, ..Selection::default() },
            ledger: None,
            seed: None,
        }
    }

    /// Checks everything that can be checked without the data.
    ///
    /// # Errors
    /// Names the first setting that makes no sense.
    pub fn check(&self) -> Result<(), SettingError> {
        let Self { version, rules, dimensions, .. } = *self;
        require("version", version, version == VERSION, "1: settings of another version")?;
        let linear = self.method != Method::OneShot || self.model == Model::Logistic;
        let expected = "logistic with --method one-shot, whose counts make a linear model; with one-shot-dpsgd a \
                        factorisation machine goes on from it";
        require("--model", self.model, linear, expected)?;
        let fits = (1..=MOST_DIMENSIONS).contains(&dimensions);
        require("--dimensions", dimensions, fits, "from 1 to 1024")?;
        require("--start-share", rules.start_share, is_between(rules.start_share), BETWEEN)?;
        require("--bucket-share", rules.bucket_share, is_between(rules.bucket_share), BETWEEN)?;
        let fits = |_: &f64| self.method.steps().is_none();
        let expected = "left out for methods with steps, and --epsilon given in its place: what steps cost follows the number \
                        of units, which is released";
        optional("--noise-multiplier", self.privacy.noise_multiplier, fits, expected)?;
        let unit = self.privacy.unit;
        let is_unit = matches!(unit, Unit::User | Unit::Record);
        require("unit", unit, is_unit, "user or record")?;
        let named = self.data.as_ref().is_none_or(|data| data.reader.columns.group.is_some());
        let fits = named || unit != Unit::User;
        require("unit", unit, fits, "record where no column names the user: give --user-column")?;
        self.engine().check()
    }

    /// How private categories are released.
    pub(crate) fn private_categories(&self) -> CategoryRelease {
        let PrivacySettings { unit, neighbouring, delta, .. } = self.privacy;
        CategoryRelease { unit, by_group: !self.by_row(), neighbouring, delta }
    }

    /// Whether each row is protected alone.
    pub fn by_row(&self) -> bool {
        self.privacy.unit == Unit::Record
    }

    /// The dimensions of vectors; none for a logistic regression.
    pub(crate) fn vectors(&self) -> usize {
        match self.model {
            Model::Logistic => 0,
            Model::FactorisationMachine => self.dimensions as usize,
        }
    }

    /// The relation that the promise is about.
    pub(crate) fn neighbouring(&self) -> Neighbouring {
        self.privacy.neighbouring
    }
}

/// Up to this epsilon steps are half as long.
const SMALL_EPSILON: f64 = 2.0;

/// How steps go: public numbers that were found on made-up data.
fn training(method: Method, epsilon: f64) -> TrainingSettings {
    let usual = TrainingSettings { evaluations: 1, checkpoints: 10, ..TrainingSettings::default() };
    let learning_rate = match method {
        // Half of the rows move in a step that selects.
        Method::Sparse => 4.0,
        _ if epsilon > SMALL_EPSILON => 4.0,
        _ => 2.0,
    };
    match method {
        Method::None => TrainingSettings {
            batch: 200.0,
            epochs: 3.0,
            optimizer: OptimizerSettings::adam(0.002),
            ..usual
        },
        _ => TrainingSettings {
            batch: 1_000.0,
            epochs: 10.0,
            clip: 1.0,
            optimizer: OptimizerSettings::Sgd { learning_rate },
            average: true,
            ..usual
        },
    }
}

impl RunSettings for Settings {
    fn engine(&self) -> EngineSettings {
        let usual = EngineSettings::new("clicks", self.privacy.unit, 1.0, 1e-6);
        let steps = self.method.steps();
        EngineSettings {
            name: ["clicks".into(), self.method.to_string().into()],
            private: self.method.is_private(),
            steps,
            selection: self.selection,
            privacy: self.privacy,
            training: self.training,
            // Without steps no number of units is released or used.
            units_are_public: steps.is_none() || NoisyCount::is_public(self.neighbouring()),
            strict: self.data.as_ref().is_some_and(|data| data.strict),
            ledger: self.ledger.clone(),
            seed: self.seed,
            ..usual
        }
    }

    fn ledger(&mut self) -> Option<&mut LedgerSettings> {
        self.ledger.as_mut()
    }

    fn moved(&mut self, now: &Self) {
        if let (Some(data), Some(now)) = (&mut self.data, &now.data) {
            data.path.clone_from(&now.path);
            data.test.clone_from(&now.test);
        }
    }

    fn check(&self) -> Result<(), SettingError> {
        Self::check(self)
    }
}
