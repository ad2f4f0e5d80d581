//! The settings of a recommender, as they stand in `settings.json`.

use crate::method::dpsgd;
use crate::release::Rules;
use organza_data::table::TableForm;
use organza_ledger::{LedgerSettings, Neighbouring, Unit};
use organza_train::check::{SettingError, optional, require};
use organza_train::settings::{EngineSettings, PrivacySettings, RunSettings, Steps};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The version of the settings file that this library reads and writes.
const VERSION: u64 = 1;
/// The part of delta that private item names may spend: the chance that an item of one person alone shows.
pub(crate) const NAMES_DELTA: f64 = 0.1;
/// The most items that a table may have: its cells are released one by one.
const MOST_ITEMS: f64 = 8_192.0;

/// How a recommender is made. All but the first are there to compare with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// From a noisy table of pairs beside what everybody likes, by what stands out of its noise.
    #[default]
    Spectrum,
    /// What everybody likes, and nothing else.
    Popularity,
    /// From a noisy covariance of items (McSherry and Mironov 2009).
    Covariance,
    /// Private alternating least squares (Chien et al. 2021).
    Als,
    /// Matrix factorisation by DP-SGD.
    Dpsgd,
    /// Regression of each item on all others (Steck 2019), *without privacy*.
    Ease,
    /// The leading eigenvectors of the table of pairs, *without privacy*.
    LowRank,
}

impl Method {
    /// All of them, by their names.
    pub const NAMES: [&str; 7] =
        ["spectrum", "popularity", "covariance", "als", "dpsgd", "ease", "low-rank"];

    /// Whether what it makes is private.
    pub fn is_private(self) -> bool {
        !matches!(self, Self::Ease | Self::LowRank)
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(formatter)
    }
}

/// All that determines a run, beside the data and the key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The version of the format.
    pub version: u64,
    /// How it is made.
    #[serde(default)]
    pub method: Method,
    /// Where events come from; none is the built-in synthetic shop.
    pub data: Option<EventSettings>,
    /// A file that names all items, one a line, which declares them public; without it which items occur is private.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<PathBuf>,
    /// A public file of titles: `item <tab> title` a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub titles: Option<PathBuf>,
    /// Public numbers by which a budget is split and items are weighted.
    pub rules: Rules,
    /// What is promised.
    pub privacy: PrivacySettings,
    /// The ledger of the data set, where several runs share one budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerSettings>,
    /// A seed makes the run reproducible and *not private*.
    pub seed: Option<u64>,
}

/// Where events come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventSettings {
    /// A table: CSV, TSV, JSON lines, Parquet or Arrow, or a folder of such; `-` is standard input.
    pub path: PathBuf,
    /// The form of the table, if the names of its files do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TableForm>,
    /// The column that says who.
    pub user: String,
    /// The column that says what.
    pub item: String,
    /// The column that says how much, if all events are not alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<WeightColumn>,
    /// The column that says when, and how many of the newest items of a person count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest: Option<NewestEvents>,
}

/// A column of weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightColumn {
    /// Its name.
    pub column: String,
    /// The weight that counts in full, declared public: larger ones are taken for it.
    pub full: f64,
}

/// How many of the newest items count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewestEvents {
    /// The column of times.
    pub column: String,
    /// The most items of a person.
    pub last: usize,
}

impl Settings {
    /// Private items at a budget, on `data`.
    pub fn new(data: Option<EventSettings>, epsilon: f64, delta: f64) -> Self {
        let engine = EngineSettings::new("recommender", Unit::User, epsilon, delta);
        Self {
            version: VERSION,
            method: Method::default(),
            data,
            items: None,
            titles: None,
            rules: Rules::default(),
            privacy: engine.privacy,
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
        let Rules { item_share, most_items } = *rules;
        let most = most_items as f64;
        require("--most-items", most_items, (2.0..=MOST_ITEMS).contains(&most), "from 2 to 8192")?;
        let part = (0.001..=0.999).contains(&item_share);
        require("--item-share", item_share, part, "above 0 and below 1")?;
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if let Some(weight) = data.as_ref().and_then(|data| data.weight.as_ref()) {
            require("--full-weight", weight.full, positive(weight.full), "a positive number")?;
        }
        if let Some(newest) = data.as_ref().and_then(|data| data.newest.as_ref()) {
            require("--last", newest.last, newest.last > 0, "at least 1")?;
        }
        let fits = |_: &f64| self.method != Method::Dpsgd;
        let expected = "left out for --method dpsgd, and --epsilon given in its place: what steps cost follows the number of \
                        persons, which is released";
        optional("--noise-multiplier", privacy.noise_multiplier, fits, expected)?;
        require("unit", privacy.unit, privacy.unit == Unit::User, "user: a person is the unit")?;
        self.engine().check()
    }

    /// The relation that the promise is about.
    pub(crate) fn neighbouring(&self) -> Neighbouring {
        self.privacy.neighbouring
    }
}

impl RunSettings for Settings {
    fn engine(&self) -> EngineSettings {
        let usual = EngineSettings::new("recommender", Unit::User, 1.0, 1e-6);
        let steps = self.method == Method::Dpsgd;
        EngineSettings {
            name: ["recommender".into(), self.method.to_string().into()],
            private: self.method.is_private(),
            steps: steps.then_some(Steps::Everywhere),
            privacy: self.privacy,
            training: dpsgd::training(),
            // Without steps no number of persons is released or used.
            units_are_public: !steps,
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
        }
    }

    fn check(&self) -> Result<(), SettingError> {
        Self::check(self)
    }
}
