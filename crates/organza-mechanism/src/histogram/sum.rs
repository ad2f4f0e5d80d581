//! The sums of all units, at the cost of the cells that occur.

use super::noisy::NoisyHistogram;
use super::plan::HistogramPlan;
use super::unit::UnitCounts;
use crate::due::NotPaid;
use crate::release::Release;
use organza_ledger::Charged;

/// How many new entries are gathered before they are sorted into the others, at the least.
const FEWEST_FRESH: usize = 1 << 16;

/// The bounded counts of all units, which have no noise yet: there is nothing to read.
///
/// # Privacy
/// Each unit is added once, and bounded as one. Sums are of whole numbers, so neither the order of the
/// units nor threads matter; a sum that does not fit stays at the largest number, which moves it less,
/// not more.
///
/// ```compile_fail,E0599
/// # fn read(histogram: organza_mechanism::Histogram) {
/// histogram.cells();
/// # }
/// ```
pub struct Histogram {
    plan: HistogramPlan,
    /// In the order of the cells, each once.
    sums: Vec<(u64, u64)>,
    fresh: Vec<(u64, u64)>,
}

impl Histogram {
    pub(super) fn new(plan: HistogramPlan) -> Self {
        Self { plan, sums: Vec::new(), fresh: Vec::new() }
    }

    /// Adds a unit, cut to its bound by a rule that sees this unit alone, and empties it.
    pub fn add(&mut self, unit: &mut UnitCounts) {
        let settings = self.plan.settings();
        unit.bounded(settings.bound, settings.cells, |cell, steps| self.fresh.push((cell, steps)));
        if self.fresh.len() >= FEWEST_FRESH.max(self.sums.len()) {
            self.settle();
        }
    }

    /// The noise, and the bar on what has it.
    ///
    /// # Errors
    /// If the charge is not for this release of this plan, or it was released before.
    pub fn noise(mut self, release: &Release, paid: Charged) -> Result<NoisyHistogram, NotPaid> {
        let random = release.random(paid, &self.plan.event())?;
        self.settle();
        Ok(NoisyHistogram::new(self.plan, &self.sums, &random, release.is_private()))
    }

    /// Sorts the new entries into the others, so that each cell is there once.
    fn settle(&mut self) {
        self.sums.append(&mut self.fresh);
        // Mostly sorted already: runs are found and merged.
        self.sums.sort_by_key(|(cell, _)| *cell);
        self.sums.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
    }
}

/// Without anything of the counts.
impl std::fmt::Debug for Histogram {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Histogram({} cells)", self.plan.settings().cells)
    }
}
