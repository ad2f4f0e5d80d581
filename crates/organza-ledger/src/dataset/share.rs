//! What a run takes of a data set's budget, and what all runs have taken.

use super::{DataSetError, DataSetLedger};
use crate::{Charge, Event, HeaderError, KeyFingerprint, Neighbouring, TornLine, Unit};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// The longest name, in bytes.
const LONGEST_NAME: usize = 64;

/// A data set that several runs use, by the name that a person gave it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSet {
    /// Its name: never anything that was computed from the data.
    pub name: String,
    /// What all runs together may spend, at the delta of the header.
    pub epsilon: f64,
}

impl DataSet {
    pub(crate) fn check(&self) -> Result<(), HeaderError> {
        let is_short = (1..=LONGEST_NAME).contains(&self.name.len());
        if !is_short || self.name.chars().any(char::is_control) {
            return Err(HeaderError::DataSetName);
        }
        if !(self.epsilon > 0.0 && self.epsilon.is_finite()) {
            return Err(HeaderError::DataSetEpsilon(self.epsilon));
        }
        Ok(())
    }
}

/// Which data set's ledger a run is put on, as it stands in the settings of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerSettings {
    /// The file.
    pub path: PathBuf,
    /// The name that the data set must have, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
}

impl LedgerSettings {
    /// Whether all of `shares` fit at this moment: to refuse early.
    ///
    /// # Errors
    /// As [`DataSetLedger::named`] and [`DataSetLedger::reserve`].
    pub fn check(&self, shares: &[Share]) -> Result<(), DataSetError> {
        DataSetLedger::named(self)?.check(shares)
    }

    /// Reserves what a run with this key may spend, before it releases anything.
    ///
    /// # Errors
    /// As [`DataSetLedger::named`] and [`DataSetLedger::reserve`].
    pub fn reserve(&self, share: &Share, key: KeyFingerprint) -> Result<Reserved, DataSetError> {
        DataSetLedger::named(self)?.reserve(share, key)
    }
}

/// What a run asks for: the most that it may spend.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// What kind of run it is, such as `train counts`.
    pub purpose: String,
    /// The whole budget of the run.
    pub epsilon: f64,
    /// The delta of the run.
    pub delta: f64,
    /// What the run protects as one.
    pub unit: Unit,
    /// The relation that the run speaks about.
    pub neighbouring: Neighbouring,
}

impl Share {
    /// The share as it stands on the file: any mechanism that is (epsilon, delta)-differentially private.
    pub(super) fn charge(&self) -> Charge {
        let event = Event::Approximate { epsilon: self.epsilon, delta: self.delta };
        Charge::once(self.purpose.clone(), event).for_neighbours(self.neighbouring)
    }

    /// Whether a line is the share of a run.
    pub(super) fn is_one(charge: &Charge) -> bool {
        matches!(charge.event, Event::Approximate { .. })
            && charge.steps == 1
            && charge.key.is_some()
    }
}

/// Sums over the shares of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) runs: u64,
    pub(super) epsilon: f64,
    pub(super) delta: f64,
}

impl Sums {
    /// With one run more. What is no share costs everything.
    pub(super) fn with(self, charge: &Charge) -> Self {
        let (epsilon, delta) = match charge.event {
            Event::Approximate { epsilon, delta } if charge.steps == 1 => (epsilon, delta),
            _ => (f64::INFINITY, f64::INFINITY),
        };
        Self { runs: self.runs + 1, epsilon: self.epsilon + epsilon, delta: self.delta + delta }
    }

    /// Whether the sums are within a budget, but for the rounding of the additions.
    pub(super) fn is_within(self, epsilon: f64, delta: f64) -> bool {
        let rounding = 1.0 + self.runs as f64 * f64::EPSILON;
        self.epsilon <= epsilon * rounding && self.delta <= delta * rounding
    }
}

/// What all runs on a data set may have spent, up to one of them: the sums of their budgets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedTotal {
    /// The name of the data set.
    pub dataset: String,
    /// The number of runs.
    pub runs: u64,
    /// Epsilon of all of them.
    pub epsilon: f64,
    /// Delta of all of them.
    pub delta: f64,
    /// The epsilon that they share.
    pub epsilon_budget: f64,
    /// The delta that they share.
    pub delta_budget: f64,
}

impl fmt::Display for SharedTotal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dataset, runs, epsilon, delta, epsilon_budget, delta_budget } = self;
        let runs = if *runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
        write!(
            formatter,
            "data set `{dataset}`: epsilon {} of {epsilon_budget} and delta {} of {} are taken, by {runs}",
            rounded(*epsilon),
            scientific(rounded(*delta)),
            scientific(*delta_budget),
        )
    }
}

/// A run's place on the ledger of its data set.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "the run may begin"]
pub struct Reserved {
    /// What is taken with this run and all that reserved before it.
    pub total: SharedTotal,
    /// A last line that was cut short and did not count; it was cut off, and the user must be told.
    pub torn: Option<TornLine>,
}

/// To nine digits, which no sum of decimals errs by.
pub(super) fn rounded(value: f64) -> f64 {
    format!("{value:.8e}").parse().unwrap_or(value)
}

/// As people write a delta.
pub(super) fn scientific(value: f64) -> String {
    if value != 0.0 && value < 1e-3 { format!("{value:e}") } else { value.to_string() }
}
