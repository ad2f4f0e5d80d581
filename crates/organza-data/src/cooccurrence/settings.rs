//! What is counted, how a unit is bounded, and which noise it gets.

use crate::{DataError, Samples, Units};
use organza_ledger::{Neighbouring, Unit};
use organza_mechanism::{Bound, CountNoise, HistogramPlan, HistogramSettings, PlanError};

/// Settings of a release of pair counts or of word counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CooccurrenceSettings {
    /// What is protected as one: a training pair, a line or a user.
    pub unit: Unit,
    /// The number of words of the vocabulary.
    pub words: u32,
    /// The relation for which the event is stated.
    pub neighbouring: Neighbouring,
    /// Discrete Laplace noise for pairs, rounded Gaussian noise for lines and users.
    pub noise: CountNoise,
    /// The L2 norm to which the counts of a line or a user are clipped; a pair is
    /// one count and has none.
    pub clip: Option<f64>,
    /// Only noisy counts from here on are released; without it, all cells.
    pub bar: Option<f64>,
}

impl CooccurrenceSettings {
    /// The plan of a histogram over `cells` cells.
    pub(super) fn plan(&self, cells: u64) -> Result<HistogramPlan, DataError> {
        let bound = match (self.unit, self.clip) {
            (Unit::Pair, None) => Bound::Total(1),
            (Unit::Pair, Some(clip)) => {
                return Err(wrong("clip", clip, "a training pair is one count", "leave it out"));
            }
            (Unit::Line | Unit::User | Unit::Document, Some(clip)) => Bound::Norm(clip),
            (Unit::Line | Unit::User | Unit::Document, None) => {
                let reason = "the counts of a line or a user have no bound of their own";
                return Err(wrong("clip", "missing", reason, "set one"));
            }
            (unit, _) => return Err(DataError::NoSuchUnit(unit)),
        };
        let Self { neighbouring, noise, bar, .. } = *self;
        Ok(HistogramPlan::new(HistogramSettings {
            dense: 0,
            cells,
            neighbouring,
            bound,
            noise,
            bar,
        })?)
    }

    /// Checks that `units` of `samples` are what the settings speak about.
    pub(super) fn check_data(&self, samples: &Samples, units: &Units) -> Result<(), DataError> {
        let words = samples.corpus().vocabulary_size;
        if words != self.words as usize {
            let reason = format!("the text has a vocabulary of {words} words");
            return Err(wrong("words", self.words, reason, "make the plan for that vocabulary"));
        }
        if units.unit() != self.unit {
            let reason = format!("the data has units of another kind, `{}`", units.unit());
            return Err(wrong("unit", self.unit, reason, "make the plan for that unit"));
        }
        if self.unit != Unit::Pair && units.lines_of(0).is_none() && !units.is_empty() {
            return Err(DataError::NoSuchUnit(self.unit));
        }
        Ok(())
    }
}

pub(super) fn wrong(
    setting: &'static str,
    value: impl ToString,
    reason: impl ToString,
    remedy: impl ToString,
) -> DataError {
    let (value, reason, remedy) = (value.to_string(), reason.to_string(), remedy.to_string());
    DataError::Counts(PlanError { setting, value, reason, remedy })
}
