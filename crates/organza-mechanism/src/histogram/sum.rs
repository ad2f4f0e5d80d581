//! The sums of all units, at the cost of the cells that occur.

use super::noisy::NoisyHistogram;
use super::plan::HistogramPlan;
use super::unit::UnitCounts;
use crate::due::NotPaid;
use crate::exchange::{ReleasedNumbers, Summed, Sums as Handed};
use crate::random::StepRandom;
use crate::release::Release;
use organza_ledger::{Charged, Event};

/// How many new entries are gathered before they are sorted into the others, at the least.
const FEWEST_FRESH: usize = 1 << 16;
/// Up to so many cells have a place each, 32 MB in all.
const MOST_PLACES: u64 = 1 << 22;

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
    sums: Sums,
}

/// What the cells hold.
enum Sums {
    /// Every cell in its place.
    Dense(Vec<u64>),
    /// Cells that occur.
    Sparse {
        /// In the order of the cells, each once.
        sums: Vec<(u64, u64)>,
        fresh: Vec<(u64, u64)>,
    },
}

impl Histogram {
    pub(super) fn new(plan: HistogramPlan) -> Self {
        let cells = plan.settings().cells;
        let sums = if cells <= MOST_PLACES {
            Sums::Dense(vec![0; cells as usize])
        } else {
            Sums::Sparse { sums: Vec::new(), fresh: Vec::new() }
        };
        Self { plan, sums }
    }

    /// Adds a unit, cut to its bound by a rule that sees this unit alone, and empties it.
    pub fn add(&mut self, unit: &mut UnitCounts) {
        let settings = self.plan.settings();
        let sums = &mut self.sums;
        unit.bounded(settings.bound, settings.cells, |cell, steps| sums.add(cell, steps));
        self.sums.settle_some();
    }

    /// The counts of all units of both, which have no unit in common. One of another plan, whose units may be bounded in
    /// another way, counts as none.
    pub fn joined(mut self, other: Self) -> Self {
        if other.plan != self.plan {
            return self;
        }
        match other.sums {
            Sums::Dense(sums) => {
                sums.into_iter().zip(0..).for_each(|(sum, cell)| self.sums.add(cell, sum));
            }
            Sums::Sparse { sums, fresh } => {
                sums.into_iter().chain(fresh).for_each(|(cell, sum)| self.sums.add(cell, sum));
            }
        }
        self.sums.settle_some();
        self
    }

    /// The noise, and the bar on what has it.
    ///
    /// # Errors
    /// If the charge is not for this release of this plan, or it was released before.
    pub fn noise(self, release: &Release, paid: Charged) -> Result<NoisyHistogram, NotPaid> {
        release.of_sum(self, paid)
    }
}

impl Summed for Histogram {
    type Released = NoisyHistogram;

    fn event(&self) -> Event {
        self.plan.event()
    }

    fn plan(&self) -> String {
        format!("histogram {:?}", self.plan.settings())
    }

    fn into_sums(self) -> Handed {
        Handed::Counts(self.sums.into_cells())
    }

    fn with_sums(mut self, sums: Handed) -> Option<Self> {
        let Handed::Counts(cells) = sums else { return None };
        let number = self.plan.settings().cells;
        if cells.last().is_some_and(|(cell, _)| *cell >= number) {
            return None;
        }
        cells.into_iter().for_each(|(cell, sum)| self.sums.add(cell, sum));
        Some(self)
    }

    fn drawn(self, random: &StepRandom, private: bool) -> NoisyHistogram {
        let sums = self.sums.into_cells();
        NoisyHistogram::new(self.plan, &sums, random, private)
    }

    fn told(released: &NoisyHistogram) -> ReleasedNumbers {
        ReleasedNumbers::Cells(released.in_steps().to_vec())
    }

    fn with_told(self, told: ReleasedNumbers, private: bool) -> Option<NoisyHistogram> {
        let ReleasedNumbers::Cells(cells) = told else { return None };
        NoisyHistogram::of_steps(self.plan, cells, private)
    }
}

impl Sums {
    fn add(&mut self, cell: u64, steps: u64) {
        match self {
            Self::Dense(sums) => {
                if let Some(sum) = sums.get_mut(cell as usize) {
                    *sum = sum.saturating_add(steps);
                }
            }
            Self::Sparse { fresh, .. } => fresh.push((cell, steps)),
        }
    }

    /// Settles where it is time to.
    fn settle_some(&mut self) {
        if let Self::Sparse { sums, fresh } = self
            && fresh.len() >= FEWEST_FRESH.max(sums.len())
        {
            settle(sums, fresh);
        }
    }

    /// The cells that hold something, in their order.
    fn into_cells(self) -> Vec<(u64, u64)> {
        match self {
            Self::Dense(sums) => (0..).zip(sums).filter(|(_, sum)| *sum > 0).collect(),
            Self::Sparse { mut sums, mut fresh } => {
                settle(&mut sums, &mut fresh);
                sums
            }
        }
    }
}

/// Sorts the new entries into the others, so that each cell is there once.
fn settle(sums: &mut Vec<(u64, u64)>, fresh: &mut Vec<(u64, u64)>) {
    sums.append(fresh);
    // Mostly sorted already: runs are found and merged.
    sums.sort_by_key(|(cell, _)| *cell);
    sums.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        same
    });
}

/// Without anything of the counts.
impl std::fmt::Debug for Histogram {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Histogram({} cells)", self.plan.settings().cells)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::histogram::{Bound, CountNoise, HistogramSettings};
    use organza_ledger::Neighbouring;

    fn plan(cells: u64, most: u64) -> HistogramPlan {
        let noise = CountNoise::DiscreteLaplace { epsilon: 1.0 };
        let (bound, neighbouring) = (Bound::Total(most), Neighbouring::AddRemove);
        let bar = (cells > MOST_PLACES).then_some(3.0);
        HistogramPlan::new(HistogramSettings { dense: 0, cells, neighbouring, bound, noise, bar })
            .unwrap()
    }

    fn of(plan: &HistogramPlan, units: &[&[u64]]) -> Histogram {
        let mut histogram = plan.histogram();
        for cells in units {
            let mut unit = UnitCounts::new();
            cells.iter().for_each(|cell| unit.add(*cell, 1.0));
            histogram.add(&mut unit);
        }
        histogram
    }

    /// Cells with places of their own and cells that are listed hold the same, however the units are parted; units of
    /// another bound are not taken in.
    #[test]
    fn parts_hold_what_the_whole_does() {
        let units: [&[u64]; 4] = [&[5, 0, 5], &[7], &[5, 7], &[1, 2, 3]];
        for cells in [8, MOST_PLACES + 1] {
            let plan_of_two = plan(cells, 2);
            let all = of(&plan_of_two, &units).sums.into_cells();
            assert_eq!(all, [(0, 1), (1, 1), (2, 1), (5, 2), (7, 2)]);
            for parted in 0..=units.len() {
                let (one, other) = units.split_at(parted);
                let joined = of(&plan_of_two, one).joined(of(&plan_of_two, other));
                assert_eq!(joined.sums.into_cells(), all, "{cells} {parted}");
            }
            let loose = of(&plan(cells, 9), &units);
            assert_eq!(of(&plan_of_two, &units).joined(loose).sums.into_cells(), all);
        }
    }
}
