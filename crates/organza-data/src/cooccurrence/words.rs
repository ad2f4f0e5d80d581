//! The noisy counts of words, which are paid for on their own.

use super::settings::{CooccurrenceSettings, wrong};
use super::together::{Seen, counted};
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
///   their words; the counts of the whole unit are clipped in L2.
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
        let one_sided = self.settings.unit == Unit::Pair;
        let histogram = counted(samples, units, (&self.plan, release), "counting words", || {
            let mut unit = UnitCounts::new();
            move |seen, histogram| match seen {
                Seen::Together(one, other) => {
                    unit.add_one(other.into());
                    if !one_sided {
                        unit.add_one(one.into());
                    }
                }
                Seen::EndOfUnit => histogram.add(&mut unit),
            }
        })?;
        let noisy = histogram.noise(release, paid)?;
        let counts = noisy.cells().map(|(_, count)| count).collect();
        Ok(NoisyWords { counts, deviation: self.plan.deviation() })
    }
}

/// Released counts of words.
#[derive(Clone, Debug)]
pub struct NoisyWords {
    counts: Vec<f64>,
    deviation: f64,
}

impl NoisyWords {
    /// The noisy count of each word: of the ordered training pairs in which it is to be predicted.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// The standard deviation of the noise on a count.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }
}
