//! The noisy counts of words, which are paid for on their own.

use super::settings::{CooccurrenceSettings, PairWeights, wrong};
use super::together::{Seen, walk};
use crate::{DataError, Samples, Units};
use organza_ledger::{Charged, Event, Unit};
use organza_mechanism::{HistogramPlan, RandomSource, Release, UnitCounts};

/// A checked plan for the counts of words: in how many ordered training pairs each word is the one to be
/// predicted. The sums of a noisy pair table are poor estimates of these, because the noise of a
/// thousand cells adds up.
///
/// # Privacy
/// - Unit `pair`: a pair is one count for its context word: L1 sensitivity 1. (Its target word is
///   left out: any two places are a pair in both directions, so targets and contexts have the same
///   counts, and counting both would double the sensitivity with the counts.)
/// - Units `line` and `user`: two places within a window of each other are one count for each of
///   their words; the counts of the whole unit, weighted, are clipped in L2.
#[derive(Clone, Debug)]
pub struct WordCounts {
    settings: CooccurrenceSettings,
    plan: HistogramPlan,
}

impl WordCounts {
    /// Checks settings.
    ///
    /// # Errors
    /// Names the first setting with which there can be no such release.
    pub fn new(settings: CooccurrenceSettings) -> Result<Self, DataError> {
        if let Some(bar) = settings.bar {
            let reason = "the counts of all words are released";
            return Err(wrong("bar", bar, reason, "leave it out"));
        }
        let plan = settings.plan(settings.words.into())?;
        Ok(Self { settings, plan })
    }

    /// What the release costs.
    pub fn event(&self) -> Event {
        self.plan.event()
    }

    /// The histogram behind it, in weighted counts.
    pub fn histogram_plan(&self) -> &HistogramPlan {
        &self.plan
    }

    /// The release, under the purpose `word counts`: charge it, then count.
    pub fn release(&self, source: &RandomSource) -> Release {
        self.plan.release("word counts", source)
    }

    /// Counts all units, and releases the noisy counts.
    ///
    /// # Errors
    /// If the data is not what the plan is for, or the charge not for this release.
    pub fn count(
        &self,
        samples: &Samples,
        units: &Units,
        release: &Release,
        paid: Charged,
    ) -> Result<NoisyWords, DataError> {
        self.settings.check_data(samples, units)?;
        let mut histogram = self.plan.histogram();
        let mut unit = UnitCounts::new();
        let weights = &self.settings.weights;
        let one_sided = self.settings.unit == Unit::Pair;
        walk(samples, units, weights, |seen| match seen {
            Seen::Together(one, other, weight) => {
                unit.add(other.into(), weight);
                if !one_sided {
                    unit.add(one.into(), weight);
                }
            }
            Seen::EndOfUnit => {
                weigh(weights, &mut unit);
                histogram.add(&mut unit);
            }
        })?;
        let noisy = histogram.noise(release, paid)?;
        let counts =
            noisy.cells().map(|(word, count)| count / weights.of_word(word as u32)).collect();
        let deviation = self.plan.deviation();
        Ok(NoisyWords { counts, deviation, weights: weights.clone() })
    }
}

fn weigh(weights: &PairWeights, unit: &mut UnitCounts) {
    if weights.most_per_cell.is_none() && weights.by_word.is_none() {
        return;
    }
    for (word, amount) in unit.merge() {
        let most = weights.most_per_cell.unwrap_or(f64::INFINITY);
        *amount = amount.min(most) * weights.of_word(*word as u32);
    }
}

/// Released counts of words.
#[derive(Clone, Debug)]
pub struct NoisyWords {
    counts: Vec<f64>,
    deviation: f64,
    weights: PairWeights,
}

impl NoisyWords {
    /// The noisy count of each word: of the ordered training pairs in which it is to be predicted.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// The standard deviation of the noise on the count of a word.
    pub fn deviation(&self, word: u32) -> f64 {
        self.deviation / self.weights.of_word(word)
    }
}
