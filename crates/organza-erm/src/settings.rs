//! What a fit is asked to do.

use crate::bounds::InputBounds;
use crate::loss::Loss;
use crate::reader::Reader;
use organza_data::sparse::Classes;
use organza_ledger::{LedgerSettings, Neighbouring, Unit};
use organza_mechanism::{NoisyCount, SelectionRule};
use organza_train::check::{
    AT_LEAST_ONE, BETWEEN, POSITIVE, is_between, is_positive, optional, positive, require,
};
use organza_train::settings::{EngineSettings, RunSettings, Steps};
use organza_train::{Constraint, SettingError};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::PathBuf;

/// The version of the settings' form.
const SETTINGS_VERSION: u64 = 3;
/// More classes than anyone tells apart by a linear model.
const MOST_CLASSES: usize = 1_000;
/// The weight of the squared norm unless asked otherwise.
pub(crate) const L2: f64 = 1e-4;

/// How a model is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The exact minimum, without any privacy.
    None,
    /// Objective perturbation: one minimum of a randomly tilted objective (logistic regression).
    Objective,
    /// Noise on every coordinate of every step (DP-SGD).
    Dpsgd,
    /// Private selection of coordinates first (the paper's Algorithm 3).
    Sparse,
    /// The paper's Algorithm 2 with an account that holds: the unit is a record, the visited group is
    /// visible, and nothing is amplified.
    Corrected,
    /// The paper's Algorithm 2 on Poisson batches of groups: the unit is a group.
    PoissonGroups,
    /// The paper's Algorithm 2 with its printed noise: *not sound*.
    Printed,
}

impl Method {
    /// The best private method for a model, by the experiments in the guide.
    pub fn best(loss: Loss) -> Self {
        if loss == Loss::Logistic { Self::Objective } else { Self::Dpsgd }
    }

    /// The relation that its guarantee speaks about.
    ///
    /// A record of a fixed group is replaced, as in the paper: adding one would move the borders of
    /// contiguous groups, and with them other records.
    pub fn neighbouring(self) -> Neighbouring {
        match self {
            Self::Corrected | Self::Printed => Neighbouring::ReplaceOne,
            _ => Neighbouring::AddRemove,
        }
    }

    /// Whether it can protect a group of records as one.
    pub fn protects_groups(self) -> bool {
        matches!(self, Self::Dpsgd | Self::Sparse | Self::PoissonGroups)
    }

    /// Whether it does something with groups, whatever it protects.
    pub fn has_groups(self) -> bool {
        self.protects_groups() || matches!(self, Self::Corrected | Self::Printed)
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::None => "none",
            Self::Objective => "objective",
            Self::Dpsgd => "dpsgd",
            Self::Sparse => "sparse",
            Self::Corrected => "corrected",
            Self::PoissonGroups => "poisson-groups",
            Self::Printed => "printed",
        })
    }
}

/// Where rows come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSettings {
    /// The rows to fit.
    pub path: PathBuf,
    /// Rows to measure the model with.
    pub test: Option<PathBuf>,
    /// How both are read.
    pub reader: Reader,
    /// Whether a row that cannot be used ends the fit with an error, which tells that it is there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
}

fn record() -> Unit {
    Unit::Record
}

/// All that determines a fit beside the data. What is `None` follows from public numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The version of this form.
    pub version: u64,
    /// Where rows come from; none if they are handed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataSettings>,
    /// The model.
    pub model: Loss,
    /// The method.
    pub method: Method,
    /// What is protected as one: a record, or all records of a group.
    #[serde(default = "record")]
    pub unit: Unit,
    /// The budget.
    pub epsilon: f64,
    /// Its delta.
    pub delta: f64,
    /// Makes the noise repeatable: with a seed nothing is private.
    pub seed: Option<u64>,
    /// The ledger of the data set, where several runs share one budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerSettings>,
    /// The number of units (records, or groups), declared public.
    pub units: Option<u64>,
    /// The L2 norm of a row; longer rows are scaled down to it. 1 for private methods, none for
    /// [`Method::None`].
    pub bound: Option<f64>,
    /// The size of labels of linear and Poisson regression, which sets the clip; private methods bring larger ones
    /// within.
    pub label_bound: f64,
    /// The clip of a unit's gradient (S1); the bound on a gradient where there is one.
    pub clip: Option<f64>,
    /// Whether there is an intercept.
    pub intercept: bool,
    /// The weight of |w|^2 / 2 beside the mean loss; 1e-4, and at least what objective perturbation
    /// needs.
    pub l2: Option<f64>,
    /// The set that weights are kept in; a ball of radius 10 for methods that visit groups.
    pub constraint: Option<Constraint>,
    /// Contiguous groups of equal size, where rows have no group of their own; for methods whose unit is a record.
    pub groups: Option<u64>,
    /// How many coordinates a step of Algorithm 2 may release (c1).
    pub hits: Option<u64>,
    /// The threshold of the sparse vector technique (alpha).
    pub threshold: Option<f64>,
    /// How `sparse` selects.
    pub selection: SelectionRule,
    /// How many coordinates `sparse` selects in a step.
    pub draws: Option<u64>,
    /// The share of the budget that selection gets.
    pub share: f64,
    /// The number of steps (T).
    pub steps: Option<u64>,
    /// The expected number of units in a batch.
    pub batch: Option<f64>,
    /// The step size (eta).
    pub learning_rate: Option<f64>,
}

impl Settings {
    /// The usual settings of a model, for the best private method.
    pub fn new(model: Loss) -> Self {
        Self {
            version: SETTINGS_VERSION,
            data: None,
            model,
            method: Method::best(model),
            unit: Unit::Record,
            epsilon: 1.0,
            delta: 1e-6,
            seed: None,
            ledger: None,
            units: None,
            bound: None,
            label_bound: 1.0,
            clip: None,
            intercept: true,
            l2: None,
            constraint: None,
            groups: None,
            hits: None,
            threshold: None,
            selection: SelectionRule::Exponential,
            draws: None,
            share: 0.25,
            steps: None,
            batch: None,
            learning_rate: None,
        }
    }

    /// Whether what is protected as one is a group.
    pub fn by_group(&self) -> bool {
        self.unit() == Unit::Group
    }

    /// What is protected as one; always a group for [`Method::PoissonGroups`].
    pub fn unit(&self) -> Unit {
        if self.method == Method::PoissonGroups { Unit::Group } else { self.unit }
    }

    /// What labels are divided by, so that noise and steps suit them; weights are multiplied by it at the end.
    ///
    /// # Privacy
    /// It is declared. Private linear regression on labels of size B is that on labels of size 1, in units of B.
    pub(crate) fn label_unit(&self) -> f64 {
        let is_scaled = self.model == Loss::Linear && self.method != Method::None;
        if is_scaled { self.label_bound } else { 1.0 }
    }

    /// The bound on rows that is used.
    pub(crate) fn row_bound(&self) -> Option<f64> {
        match self.method {
            Method::None => self.bound,
            _ => Some(self.bound.unwrap_or(1.0)),
        }
    }

    /// The set that weights are kept in.
    pub(crate) fn region(&self) -> Constraint {
        let usual = match self.method {
            Method::Corrected | Method::PoissonGroups | Method::Printed => Constraint::Ball(10.0),
            _ => Constraint::Free,
        };
        match self.constraint {
            Some(Constraint::Ball(radius)) => Constraint::Ball(radius / self.label_unit()),
            Some(Constraint::Box(limit)) => Constraint::Box(limit / self.label_unit()),
            other => other.unwrap_or(usual),
        }
    }

    /// The declared bounds on the input.
    pub(crate) fn input(&self) -> InputBounds {
        let norm = self.row_bound().unwrap_or(f64::INFINITY);
        InputBounds { norm, label: self.label_bound, intercept: self.intercept }
    }

    /// The clip of a record's gradient (S1): the bound on it, or what a label's size makes of a row.
    pub(crate) fn record_clip(&self) -> f64 {
        let whole = self.input().whole_norm();
        let usual = match self.model {
            Loss::Logistic | Loss::Sigmoid => self.model.slope_bound(0.0, 1.0) * whole,
            Loss::Linear | Loss::Poisson => self.label_bound / self.label_unit() * whole,
        };
        self.clip.map_or(usual, |clip| clip / self.label_unit())
    }

    /// Checks what can be checked without the data.
    ///
    /// # Errors
    /// Names the first setting that makes no sense.
    pub fn check(&self) -> Result<(), SettingError> {
        require("version", self.version, self.version == SETTINGS_VERSION, "3")?;
        positive("--epsilon", self.epsilon)?;
        require("--delta", self.delta, is_between(self.delta), BETWEEN)?;
        require("--share", self.share, is_between(self.share), BETWEEN)?;
        positive("--label-bound", self.label_bound)?;
        let (radius, limit) = match self.constraint {
            Some(Constraint::Ball(radius)) => (Some(radius), None),
            Some(Constraint::Box(limit)) => (None, Some(limit)),
            _ => (None, None),
        };
        for (setting, value) in [
            ("--bound", self.bound),
            ("--clip", self.clip),
            ("--batch", self.batch),
            ("--learning-rate", self.learning_rate),
            ("--radius", radius),
            ("--box", limit),
        ] {
            optional(setting, value, is_positive, POSITIVE)?;
        }
        optional("--l2", self.l2, |l2| *l2 >= 0.0 && l2.is_finite(), "0 or more and finite")?;
        for (setting, value) in [
            ("--units", self.units),
            ("--groups", self.groups),
            ("--hits", self.hits),
            ("--draws", self.draws),
            ("--steps", self.steps),
        ] {
            optional(setting, value, |value| *value >= 1, AT_LEAST_ONE)?;
        }
        let by_group = self.by_group();
        let fits = matches!(self.unit, Unit::Record | Unit::Group);
        let fits = fits && (!by_group || self.method.protects_groups());
        let expected = "record, or group with --method dpsgd, sparse or poisson-groups";
        require("--unit", self.unit, fits, expected)?;
        let expected = "left out if the unit is a group: the number of groups would show how many rows there are, \
                        and one more group would change all the others; name a column with --user-column";
        optional("--groups", self.groups, |_| !by_group, expected)?;
        let ledger = self.ledger.as_ref().map(|ledger| ledger.path.display());
        let covered = !matches!(self.method, Method::None | Method::Printed) && self.seed.is_none();
        let expected =
            "left out with --method none, --method printed and --seed, which no budget covers";
        optional("--ledger", ledger, |_| covered, expected)?;
        optional("--threshold", self.threshold, |it| it.is_finite(), "finite")?;
        self.check_classes()?;
        let objective = self.method != Method::Objective || self.model == Loss::Logistic;
        let expected = "logistic with --method objective, which needs a slope and a curvature that \
                        are bounded and a slope of one sign; dpsgd fits any model";
        require("--model", self.model, objective, expected)?;
        let free = self.method != Method::Objective || self.constraint.is_none();
        let expected =
            "without --radius and --box: its proof is for free weights, which --l2 keeps small";
        require("--method", self.method, free, expected)
    }
}

impl Settings {
    /// Checks what labels are called.
    fn check_classes(&self) -> Result<(), SettingError> {
        let columns = self.data.as_ref().and_then(|data| data.reader.columns.as_ref());
        let Some(classes) = columns.map(|columns| &columns.classes) else { return Ok(()) };
        if let Classes::Listed(names) = classes {
            let distinct = names.iter().collect::<HashSet<_>>().len() == names.len();
            let fits = names.len() >= 2 && names.len() <= MOST_CLASSES && distinct;
            let expected = "between 2 and 1000 names, each once";
            require("--classes", names.join(","), fits, expected)?;
        }
        let fits = *classes == Classes::Usual || self.model == Loss::Logistic;
        require("--model", self.model, fits, "logistic where labels are names of classes")
    }
}

impl RunSettings for Settings {
    fn engine(&self) -> EngineSettings {
        let Self { method, epsilon, delta, .. } = *self;
        let mut engine = EngineSettings::new("erm", self.unit(), epsilon, delta);
        engine.name[1] = method.to_string().into();
        engine.private = method != Method::None;
        engine.steps = match method {
            Method::None | Method::Objective => None,
            Method::Dpsgd => Some(Steps::Everywhere),
            _ => Some(Steps::Selected),
        };
        engine.privacy.neighbouring = method.neighbouring();
        // What the printed noise costs has no bound, and is only told.
        engine.privacy.epsilon = (method != Method::Printed).then_some(epsilon);
        engine.privacy.units = self.units;
        engine.units_are_public = NoisyCount::is_public(method.neighbouring());
        // Fits are short: all steps are one charge.
        (engine.training.evaluations, engine.training.checkpoints) = (1, 1);
        engine.strict = self.data.as_ref().is_some_and(|data| data.strict);
        (engine.ledger, engine.seed) = (self.ledger.clone(), self.seed);
        engine
    }

    fn ledger(&mut self) -> Option<&mut LedgerSettings> {
        self.ledger.as_mut()
    }

    fn moved(&mut self, now: &Self) {
        if let (Some(data), Some(now)) = (&mut self.data, &now.data) {
            (data.path, data.test) = (now.path.clone(), now.test.clone());
        }
    }

    fn check(&self) -> Result<(), SettingError> {
        Self::check(self)
    }
}
