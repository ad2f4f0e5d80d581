//! The noisy table of pairs.

use super::settings::CooccurrenceSettings;
use super::table::PairTable;
use super::together::{Seen, counted};
use crate::{DataError, Samples, Units};
use organza_ledger::{Charged, Event, Unit};
use organza_mechanism::{HistogramPlan, RandomSource, Release, UnitCounts};

/// A checked plan for the counts of pairs.
///
/// # Privacy
/// - Unit `pair`: each ordered training pair is one unit and one count in one unordered cell: L1
///   sensitivity 1.
/// - Units `line` and `user`: two places within a window of each other are one count in the cell of
///   their words; the counts of the whole unit are clipped in L2.
///
/// The vocabulary must be public or released before; which cells there are follows from it alone.
#[derive(Clone, Debug)]
pub struct PairCounts {
    settings: CooccurrenceSettings,
    table: PairTable,
    plan: HistogramPlan,
}

impl PairCounts {
    /// Checks settings.
    ///
    /// # Errors
    /// Names the first setting with which there can be no such release.
    pub fn new(settings: CooccurrenceSettings) -> Result<Self, DataError> {
        let table = PairTable::new(settings.words);
        let plan = settings.plan(table.cells())?;
        Ok(Self { settings, table, plan })
    }

    /// What the release costs.
    pub fn event(&self) -> Event {
        self.plan.event()
    }

    /// The histogram behind it: bar, deviation and what corrects for the bar.
    pub fn histogram_plan(&self) -> &HistogramPlan {
        &self.plan
    }

    /// The release, under the purpose `pair counts`: charge it, then count.
    pub fn release(&self, source: &RandomSource) -> Release {
        self.plan.release("pair counts", source)
    }

    /// Counts all units, and releases the noisy table.
    ///
    /// # Errors
    /// If the data is not what the plan is for, or the charge not for this release.
    pub fn count(
        &self,
        samples: &Samples,
        units: &Units,
        release: &Release,
        paid: Charged,
    ) -> Result<NoisyPairs, DataError> {
        self.settings.check_data(samples, units)?;
        let histogram = counted(samples, units, (&self.plan, release), "counting pairs", || {
            let mut unit = UnitCounts::new();
            move |seen, histogram| match seen {
                Seen::Together(one, other) => unit.add_one(self.table.cell(one, other)),
                Seen::EndOfUnit => histogram.add(&mut unit),
            }
        })?;
        let noisy = histogram.noise(release, paid)?;
        let pairs = noisy
            .cells()
            .map(|(cell, count)| {
                let (larger, smaller) = self.table.words_of(cell);
                NoisyPair { larger, smaller, count }
            })
            .collect();
        Ok(NoisyPairs { pairs, plan: self.plan.clone(), unit: self.settings.unit })
    }
}

/// The noisy count of two words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoisyPair {
    /// The word of the larger number.
    pub larger: u32,
    /// The word of the smaller number, or the same one.
    pub smaller: u32,
    /// How often they stand together, with noise.
    pub count: f64,
}

/// A released table of pairs: every cell that is not listed was below the bar.
#[derive(Clone, Debug)]
pub struct NoisyPairs {
    pairs: Vec<NoisyPair>,
    plan: HistogramPlan,
    unit: Unit,
}

impl NoisyPairs {
    /// The released cells, by the larger and then by the smaller word.
    pub fn pairs(&self) -> &[NoisyPair] {
        &self.pairs
    }

    /// The histogram it came from.
    pub fn histogram_plan(&self) -> &HistogramPlan {
        &self.plan
    }

    /// How many ordered training pairs one count stands for: 1 where a training pair is the unit, and 2
    /// for lines and users, because any two places are (target, context) in both directions.
    pub fn pairs_per_count(&self) -> f64 {
        if self.unit == Unit::Pair { 1.0 } else { 2.0 }
    }
}
