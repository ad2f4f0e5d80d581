//! The settings of a typeahead, as they stand in `settings.json`.

use crate::network;
use organza_data::CanarySettings;
use organza_data::settings::{DataSettings, SplitSettings};
use organza_ledger::{LedgerSettings, Neighbouring, Unit};
use organza_train::check::{BETWEEN, SettingError, is_between, no_problem, optional, require};
use organza_train::settings::{EngineSettings, PrivacySettings, RunSettings, Steps};
use serde::{Deserialize, Serialize};

/// The version of the settings file that this library reads and writes.
const VERSION: u64 = 1;
/// The part of delta that a private vocabulary may spend: the chance that a word of one writer alone shows.
pub(crate) const VOCABULARY_DELTA: f64 = 0.1;
/// The share of epsilon for word counts, of what words have left of it, where steps follow.
const WORDS_SHARE: f64 = 0.1;

/// How a typeahead is made. All but the first are there to compare with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// N-grams that are released once, order by order.
    #[default]
    Ngrams,
    /// How frequent words are, and nothing else.
    Unigrams,
    /// A small network, by DP-SGD.
    Dpsgd,
    /// N-grams *without privacy*.
    None,
}

impl Method {
    /// All of them, by their names.
    pub const NAMES: [&str; 4] = ["ngrams", "unigrams", "dpsgd", "none"];

    /// Whether what it makes is private.
    pub fn is_private(self) -> bool {
        self != Self::None
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(formatter)
    }
}

/// Public numbers by which a budget is split.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The share of epsilon for a private vocabulary.
    pub vocabulary_share: f64,
    /// The longest n-grams: 2 for bigrams, 3 for trigrams and so on.
    pub order: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self { vocabulary_share: 0.1, order: 3 }
    }
}

/// All that determines a run, beside the data and the key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The version of the format.
    pub version: u64,
    /// How it is made.
    pub method: Method,
    /// Where text comes from and how it is cut.
    pub data: DataSettings,
    /// How the budget is split.
    pub rules: Rules,
    /// What is promised.
    pub privacy: PrivacySettings,
    /// Phrases that are put into the training data, to be audited for; each is all that one more unit wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canaries: Option<CanarySettings>,
    /// The ledger of the data set, where several runs share one budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerSettings>,
    /// A seed makes the run reproducible and *not private*.
    pub seed: Option<u64>,
}

impl Settings {
    /// Private words at a budget, on `data`; the unit is the writer.
    pub fn new(data: DataSettings, epsilon: f64, delta: f64) -> Self {
        let engine = EngineSettings::new("typeahead", Unit::User, epsilon, delta);
        Self {
            version: VERSION,
            method: Method::default(),
            data: DataSettings {
                split: SplitSettings::Units { validation: 0.0, test: 0.05 },
                ..data
            },
            rules: Rules::default(),
            privacy: engine.privacy,
            canaries: None,
            ledger: None,
            seed: None,
        }
    }

    /// Checks everything that can be checked without the data.
    ///
    /// # Errors
    /// Names the first setting that makes no sense.
    pub fn check(&self) -> Result<(), SettingError> {
        let Self { version, data, rules, privacy, .. } = self;
        require("version", version, *version == VERSION, "1: settings of another version")?;
        let unit = privacy.unit;
        let is_unit = matches!(unit, Unit::User | Unit::Document | Unit::Line);
        require("--unit", unit, is_unit, "user, document or line")?;
        no_problem(data.problem(unit))?;
        let test = match data.split {
            SplitSettings::Units { validation: 0.0, test } => test,
            _ => f64::NAN,
        };
        require("--test-share", test, (0.0..1.0).contains(&test), "0 or more and below 1")?;
        let share = rules.vocabulary_share;
        require("--vocabulary-share", share, is_between(share), BETWEEN)?;
        require("--order", rules.order, (1..=3).contains(&rules.order), "from 1 to 3")?;
        let fits = |_: &f64| self.method != Method::Dpsgd;
        let expected = "left out for --method dpsgd, and --epsilon given in its place: what steps cost follows the number of \
                        writers, which is released";
        optional("--noise-multiplier", privacy.noise_multiplier, fits, expected)?;
        // A canary is a unit of its own whatever units are, so tossed ones go with each of them.
        no_problem(self.canaries.and_then(|canaries| canaries.problem(privacy.neighbouring)))?;
        self.engine().check()
    }

    /// The relation that the promise is about.
    pub(crate) fn neighbouring(&self) -> Neighbouring {
        self.privacy.neighbouring
    }

    /// The parts of 1 / deviation^2 that the stages get: words, what follows endings, words, and two words.
    pub(crate) fn shares(&self) -> &'static [f64] {
        match self.order() {
            1 => &[1.0],
            2 => &[0.03, 0.1, 0.87],
            _ => &[0.03, 0.1, 0.47, 0.4],
        }
    }

    /// The longest n-grams; steps have a part of the budget of their own.
    pub(crate) fn order(&self) -> usize {
        match self.method {
            Method::Unigrams | Method::Dpsgd => 1,
            Method::Ngrams | Method::None => self.rules.order,
        }
    }

    /// The share of epsilon that is spent when all stages are released.
    pub(crate) fn stages_until(&self) -> f64 {
        let words = if self.data.has_own_words() { self.rules.vocabulary_share } else { 0.0 };
        match self.method {
            Method::Dpsgd => words + WORDS_SHARE * (1.0 - words),
            _ => 1.0,
        }
    }
}

impl RunSettings for Settings {
    fn engine(&self) -> EngineSettings {
        let usual = EngineSettings::new("typeahead", self.privacy.unit, 1.0, 1e-6);
        let steps = self.method == Method::Dpsgd;
        EngineSettings {
            name: ["typeahead".into(), self.method.to_string().into()],
            private: self.method.is_private(),
            steps: steps.then_some(Steps::Everywhere),
            training: network::training(),
            privacy: self.privacy,
            // Without steps no number of writers is released or used.
            units_are_public: !steps,
            strict: self.data.strict,
            ledger: self.ledger.clone(),
            seed: self.seed,
            ..usual
        }
    }

    fn ledger(&mut self) -> Option<&mut LedgerSettings> {
        self.ledger.as_mut()
    }

    fn moved(&mut self, now: &Self) {
        self.data.path.clone_from(&now.data.path);
    }

    fn check(&self) -> Result<(), SettingError> {
        Self::check(self)
    }
}
