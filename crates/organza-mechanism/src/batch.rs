//! Poisson batches, and the only way from units to a sum.

use crate::clip::clip;
use crate::gradient::UnitGradient;
use crate::noise::Noised;
use crate::plan::Plan;
use crate::random::{Purpose, RandomSource};
use crate::sample::poisson_subset;
use crate::select::Selection;
use crate::sum::ClippedSum;
use std::sync::atomic::{AtomicU64, Ordering};

/// Draws batches: each unit joins each batch independently, with the plan's rate.
///
/// # Privacy
/// This is exactly the sampling that the plan's event states. Batches have no fixed size; an empty
/// one is an ordinary step. Shuffling and splitting into parts of one size is something else, and
/// not what the account covers.
#[derive(Clone, Debug)]
pub struct PoissonSampler {
    plan: Plan,
    units: u64,
}

impl PoissonSampler {
    pub(crate) fn new(plan: Plan, units: u64) -> Self {
        Self { plan, units }
    }

    /// The batch of `step`.
    pub fn batch(&self, source: &RandomSource, step: u64) -> Batch {
        let mut random = source.substream(Purpose::Batch, step, 0);
        let units = poisson_subset(self.units, self.plan.rate(), &mut random).collect();
        Batch { plan: self.plan.clone(), step, part: Part::whole(), units }
    }
}

/// Which part of which drawing of a batch: parts are joined only if each is there once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    /// Tells drawings apart, also those of the same step.
    drawing: u64,
    number: usize,
    of: usize,
}

impl Part {
    fn whole() -> Self {
        static DRAWINGS: AtomicU64 = AtomicU64::new(0);
        Self { drawing: DRAWINGS.fetch_add(1, Ordering::Relaxed), number: 0, of: 1 }
    }
}

/// A Poisson sample of the units, or a part of one. Only a [`PoissonSampler`] makes it.
#[derive(Debug)]
pub struct Batch {
    plan: Plan,
    step: u64,
    part: Part,
    units: Vec<u64>,
}

impl Batch {
    /// The units that joined. *Not private*: which units joined must not leave the run.
    pub fn units(&self) -> &[u64] {
        &self.units
    }

    /// Cuts the batch into `parts` parts, to be summed on as many threads and joined again.
    pub fn split(self, parts: usize) -> Vec<Batch> {
        if self.part.of > 1 || parts < 2 {
            return vec![self];
        }
        let size = self.units.len().div_ceil(parts).max(1);
        (0..parts)
            .map(|number| {
                let units = self.units.iter().skip(number * size).take(size).copied().collect();
                let part = Part { number, of: parts, ..self.part };
                Batch { plan: self.plan.clone(), step: self.step, part, units }
            })
            .collect()
    }

    /// Clips and sums the gradients of all units; `gradient` writes that of one unit.
    ///
    /// # Privacy
    /// Each unit is asked for once and clipped as one, so it moves the sum by at most S1. This holds
    /// if what `gradient` writes for a unit depends on that unit and on what was released before,
    /// and on no other unit of the data.
    pub fn sum(self, mut gradient: impl FnMut(u64, &mut UnitGradient)) -> BatchSum {
        let shape = self.plan.shared_shape();
        let mut sum = ClippedSum::new(shape.clone(), self.plan.rows_per_unit());
        let mut scratch = UnitGradient::new(shape);
        for unit in self.units {
            scratch.clear();
            gradient(unit, &mut scratch);
            sum.add(&clip(&scratch, self.plan.grid()));
        }
        BatchSum { plan: self.plan, step: self.step, part: self.part, sum }
    }
}

/// The sum of a batch, ready for selection and noise by the plan that drew it.
#[derive(Debug)]
pub struct BatchSum {
    plan: Plan,
    step: u64,
    part: Part,
    sum: ClippedSum,
}

impl BatchSum {
    /// Joins the sums of the parts of one batch, in any order.
    ///
    /// # Privacy
    /// A unit stands in one part of its batch, so the joined sum has the sensitivity of one sum: it
    /// is refused (`None`) unless each part of one drawing of a batch is there exactly once.
    pub fn join(parts: impl IntoIterator<Item = BatchSum>) -> Option<BatchSum> {
        let mut parts: Vec<BatchSum> = parts.into_iter().collect();
        parts.sort_by_key(|sum| sum.part.number);
        let first = parts.first()?;
        let whole = parts.len() == first.part.of
            && parts
                .iter()
                .enumerate()
                .all(|(number, sum)| sum.part == Part { number, of: parts.len(), ..first.part });
        let mut parts = parts.into_iter();
        let mut joined = parts.next().filter(|_| whole)?;
        for part in parts {
            joined.sum.merge(&part.sum);
        }
        joined.part = Part { number: 0, of: 1, ..joined.part };
        Some(joined)
    }

    /// How many gradients held a NaN or an infinity and were counted as zero. *Not private*: it comes
    /// from the data without noise.
    pub fn not_finite(&self) -> u64 {
        self.sum.not_finite()
    }

    /// Private selection: which coordinates or rows this step updates.
    pub fn select(self, source: &RandomSource) -> Selected {
        let mut random = source.substream(Purpose::Selection, self.step, 0);
        let selection = self.plan.selector().select(&self.sum, &mut random);
        Selected { plan: self.plan, step: self.step, sum: self.sum, selection }
    }
}

/// A sum with what was selected of it; the selection is private, the sum still is not.
#[derive(Debug)]
pub struct Selected {
    plan: Plan,
    step: u64,
    sum: ClippedSum,
    selection: Selection,
}

impl Selected {
    /// What was selected: released, and paid for by the plan's event.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// The second clip and the noise, on what was selected and nothing else.
    pub fn noise(self, source: &RandomSource) -> Noised {
        Noised::release(self.plan.noise(), &self.sum, &self.selection, source, self.step)
    }
}
