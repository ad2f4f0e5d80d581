//! What is counted, how a unit is bounded, and which noise it gets.

use crate::{DataError, Samples, Units};
use organza_ledger::{Neighbouring, Unit};
use organza_mechanism::{Bound, CountNoise, HistogramPlan, HistogramSettings, PlanError};

/// Public weights on what a unit counts. None of them may come from the data, but for what was released.
///
/// # Privacy
/// They are applied to one unit at a time, before it is bounded, and so need no account.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairWeights {
    /// What two words at a distance of 1, 2, ... count; 1 without it, 0 beyond its end.
    pub by_distance: Option<Vec<f64>>,
    /// The most that a unit counts in one cell, before the weights of words: 1 asks only whether two
    /// words stand together at all.
    pub most_per_cell: Option<f64>,
    /// The weight of each word; a cell has the product of those of its words. It is divided out of the
    /// noisy counts again, so that the noise of a cell is the larger the smaller its weight.
    pub by_word: Option<Vec<f64>>,
}

impl PairWeights {
    /// The weight of two words at a distance.
    pub(super) fn at_distance(&self, distance: usize) -> f64 {
        match &self.by_distance {
            Some(weights) => weights.get(distance - 1).copied().unwrap_or_default(),
            None => 1.0,
        }
    }

    /// The weight of a word.
    pub(super) fn of_word(&self, word: u32) -> f64 {
        let weight = |weights: &Vec<f64>| weights.get(word as usize).copied().unwrap_or(1.0);
        self.by_word.as_ref().map_or(1.0, weight)
    }

    fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// Settings of a release of pair counts or of word counts.
#[derive(Clone, Debug, PartialEq)]
pub struct CooccurrenceSettings {
    /// What is protected as one: a training pair, a line or a user.
    pub unit: Unit,
    /// The number of words of the vocabulary.
    pub words: u32,
    /// The relation for which the event is stated.
    pub neighbouring: Neighbouring,
    /// Discrete Laplace noise for pairs, rounded Gaussian noise for lines and users.
    pub noise: CountNoise,
    /// The L2 norm to which the counts of a line or a user are clipped, in weighted counts; a pair is
    /// one count and has none.
    pub clip: Option<f64>,
    /// Only noisy counts from here on are released, in weighted counts; without it, all cells.
    pub bar: Option<f64>,
    /// Public weights, for lines and users.
    pub weights: PairWeights,
}

impl CooccurrenceSettings {
    /// The plan of a histogram over `cells` cells.
    pub(super) fn plan(&self, cells: u64) -> Result<HistogramPlan, DataError> {
        let bound = match (self.unit, self.clip) {
            (Unit::Pair, None) if self.weights.is_plain() => Bound::Total(1),
            (Unit::Pair, None) => {
                let reason = "a training pair is one count";
                return Err(wrong(
                    "weights",
                    "given",
                    reason,
                    "leave them out, or take another unit",
                ));
            }
            (Unit::Pair, Some(clip)) => {
                return Err(wrong("clip", clip, "a training pair is one count", "leave it out"));
            }
            (Unit::Line | Unit::User, Some(clip)) => Bound::Norm(clip),
            (Unit::Line | Unit::User, None) => {
                let reason = "the counts of a line or a user have no bound of their own";
                return Err(wrong("clip", "missing", reason, "set one"));
            }
            (unit, _) => return Err(DataError::NoSuchUnit(unit)),
        };
        self.check_weights()?;
        let Self { neighbouring, noise, bar, .. } = *self;
        Ok(HistogramPlan::new(HistogramSettings { cells, neighbouring, bound, noise, bar })?)
    }

    fn check_weights(&self) -> Result<(), DataError> {
        let PairWeights { by_distance, most_per_cell, by_word } = &self.weights;
        let zero_or_more = |weight: &f64| weight.is_finite() && *weight >= 0.0;
        if !by_distance.iter().flatten().chain(most_per_cell).all(zero_or_more) {
            let reason = "a weight is negative or no number";
            return Err(wrong("weights", "given", reason, "take weights from 0"));
        }
        if let Some(weights) = by_word {
            let good = |weight: &f64| (1e-12..=1e12).contains(weight);
            if weights.len() != self.words as usize || !weights.iter().all(good) {
                let reason = format!("there must be {} of them, from 1e-12 to 1e12", self.words);
                return Err(wrong(
                    "weights of words",
                    weights.len(),
                    reason,
                    "give one for each word",
                ));
            }
        }
        Ok(())
    }

    /// Checks that `units` of `samples` are what the settings speak about.
    pub(super) fn check_data(&self, samples: &Samples, units: &Units) -> Result<(), DataError> {
        let words = samples.corpus().vocabulary_size();
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
