//! Batches, and the only way from units to a sum.

use crate::adaptive::ReleasedClip;
use crate::due::{Due, NotPaid};
use crate::gradient::UnitGradient;
use crate::grid::Grid;
use crate::groups::Units;
use crate::memory::{Lease, Memory, Pool};
use crate::noised::Noised;
use crate::owed::{Deferral, DeferredGrid, OwedNoise, TouchedRows};
use crate::plan::Plan;
use crate::random::{Purpose, RandomSource, Secret};
use crate::sample::{below, poisson_subset};
use crate::scores::Candidates;
use crate::select::Choice;
use organza_ledger::{Charge, Charged};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// More parts than any machine has threads.
const MOST_PARTS: usize = 4_096;

/// Draws batches: each unit joins each batch independently, with the plan's rate; or, where the plan is for
/// [groups](Plan::in_groups), all units of a group that is picked uniformly join, and nobody else.
///
/// # Privacy
/// This is exactly the sampling that the plan's event states. Batches have no fixed size; an empty
/// one is an ordinary step. Shuffling and splitting into parts of one size is something else, and
/// not what the account covers.
///
/// All randomness of its steps comes from the one source it was made with, under the name of its
/// purpose, so samplers of different purposes never share noise. A step is handed out against the proof of a charge
/// that covers it, and once: neither this sampler nor another of the same purpose and source draws it again.
#[derive(Clone)]
pub struct Sampler {
    pub(crate) run: Arc<Run>,
    units: Units,
}

/// What all steps of a sampler share.
pub(crate) struct Run {
    pub(crate) plan: Plan,
    /// What every step needs before it is drawn.
    pub(crate) due: Due,
    pub(crate) source: RandomSource,
    pub(crate) pool: Arc<Pool>,
}

impl Sampler {
    pub(crate) fn new(plan: Plan, purpose: &str, units: Units, source: &RandomSource) -> Self {
        let neighbouring = plan.settings().neighbouring;
        let due = Due::new(purpose, plan.step_event().clone(), neighbouring, source);
        let pool = Pool::new(plan.shared_shape(), plan.rows_per_unit(), plan.clips_candidates());
        let run = Run { plan, source: due.source.clone(), due, pool };
        Self { run: Arc::new(run), units }
    }

    /// The charge for `steps`: the plan's event, relation and purpose, and the key of the noise.
    pub fn charge(&self, steps: Range<u64>) -> Charge {
        self.run.due.charge(steps)
    }

    /// Leave to defer the noise of untouched rows on this grid; `None` unless the plan puts Gaussian noise
    /// on everything, without a second clip, and has a grid at least as fine.
    pub fn defer(&self, grid: &DeferredGrid) -> Option<Deferral> {
        Deferral::of(&self.run, grid)
    }

    /// The batch of `step`, which `paid` pays for. Steps are drawn in ascending order, each once.
    ///
    /// # Errors
    /// If the charge is for another event, purpose, key, relation or other steps; if this step or one after it was
    /// drawn before, by any sampler of this purpose and source.
    pub fn batch(&self, step: u64, paid: &Charged) -> Result<Batch, NotPaid> {
        self.run.due.hand_out(step, paid)?;
        let Run { plan, source, .. } = &*self.run;
        let mut random = source.substream(Purpose::Batch, step, 0);
        let memory = Lease::new(&self.run.pool, 0);
        let mut batch = Batch { step, grid: *plan.grid(), run: self.run.clone(), memory };
        let joined = &mut batch.memory.units;
        match plan.groups() {
            None => joined.extend(poisson_subset(self.units.count(), plan.rate(), &mut random)),
            Some(groups) => joined.extend(self.units.of_group(below(groups, &mut random), groups)),
        }
        Ok(batch)
    }
}

/// Without the number of units, which may be private.
impl std::fmt::Debug for Sampler {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Sampler({})", self.run.due.purpose())
    }
}

/// The units of a step, which is paid for. Only a [`Sampler`] makes it.
///
/// Its memory is that of a step before it, and goes to a step after it when it, or what came of it, is
/// dropped: steps that follow each other allocate nothing.
pub struct Batch {
    step: u64,
    /// That of the clip of this step.
    grid: Grid,
    run: Arc<Run>,
    memory: Lease,
}

impl Batch {
    /// The batch with a clip that an earlier step has released, where the plan's clip adapts.
    pub fn at_clip(mut self, clip: ReleasedClip) -> Self {
        self.grid = self.run.plan.grid_at(clip);
        self
    }

    /// The units that joined. *Not private*: which units joined must not leave the run.
    pub fn units(&self) -> &[u64] {
        &self.memory.units
    }

    /// Cuts the batch into `parts` parts, to be summed on as many threads and joined again.
    pub fn split(self, parts: usize) -> Vec<BatchPart> {
        static DRAWINGS: AtomicU64 = AtomicU64::new(0);
        let drawing = DRAWINGS.fetch_add(1, Ordering::Relaxed);
        let of = parts.clamp(1, MOST_PARTS);
        let size = self.units().len().div_ceil(of).max(1);
        (0..of)
            .map(|number| {
                let mut memory = Lease::new(&self.run.pool, 1 + number);
                memory.units.extend(self.units().iter().skip(number * size).take(size));
                let batch =
                    Batch { step: self.step, grid: self.grid, run: self.run.clone(), memory };
                BatchPart { part: Part { drawing, number, of }, batch }
            })
            .collect()
    }

    /// Clips and sums the gradients of all units; `gradient` writes that of one unit.
    ///
    /// # Privacy
    /// Each unit is asked for once and clipped as one, so it moves the sum by at most S1. This holds
    /// if what `gradient` writes for a unit depends on that unit and on what was released before,
    /// and on no other unit of the data.
    pub fn sum(self, gradient: impl FnMut(u64, &mut UnitGradient)) -> BatchSum {
        let Self { step, grid, run, mut memory } = self;
        let units = std::mem::take(&mut memory.units);
        memory.add_units(units.iter().copied(), &grid, gradient);
        memory.units = units;
        BatchSum { step, grid, run, memory }
    }
}

/// Without the units that joined.
impl std::fmt::Debug for Batch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Batch(step {})", self.step)
    }
}

/// Which part of which drawing of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    /// Tells drawings apart, also those of the same step.
    drawing: u64,
    number: usize,
    of: usize,
}

/// A part of a batch, for one thread.
#[derive(Debug)]
pub struct BatchPart {
    part: Part,
    batch: Batch,
}

impl BatchPart {
    /// The units of the part. *Not private*: which units joined must not leave the run.
    pub fn units(&self) -> &[u64] {
        self.batch.units()
    }

    /// Clips and sums the gradients of the part's units, as [`Batch::sum`] does.
    pub fn sum(self, gradient: impl FnMut(u64, &mut UnitGradient)) -> PartSum {
        PartSum { part: self.part, sum: self.batch.sum(gradient) }
    }
}

/// The sum of a part: nothing can be selected from it before it is joined with the others, because
/// the parts of a batch share their noise.
#[derive(Debug)]
pub struct PartSum {
    part: Part,
    sum: BatchSum,
}

impl PartSum {
    /// Joins the sums of the parts of one batch, in any order.
    ///
    /// # Privacy
    /// A unit stands in one part of its batch, so the joined sum has the sensitivity of one sum: it
    /// is refused (`None`) unless each part of one drawing of a batch is there exactly once.
    pub fn join(parts: impl IntoIterator<Item = PartSum>) -> Option<BatchSum> {
        let mut parts: Vec<PartSum> = parts.into_iter().collect();
        parts.sort_by_key(|sum| sum.part.number);
        let first = parts.first()?.part;
        let whole = parts.len() == first.of
            && parts.iter().enumerate().all(|(number, sum)| sum.part == Part { number, ..first });
        let mut parts = parts.into_iter();
        let mut joined = parts.next().filter(|_| whole)?.sum;
        for part in parts {
            joined.memory.sum.join(part.sum.memory);
        }
        Some(joined)
    }
}

/// The sum of a batch, ready for selection and noise by the plan that drew it.
pub struct BatchSum {
    pub(crate) step: u64,
    pub(crate) grid: Grid,
    pub(crate) run: Arc<Run>,
    pub(crate) memory: Lease,
}

impl BatchSum {
    /// How many gradients held a NaN or an infinity and were counted as zero. *Not private*: it comes
    /// from the data without noise.
    pub fn not_finite(&self) -> u64 {
        self.memory.sum.not_finite()
    }

    /// A number that tells sums apart, for a run that makes a step again and has to make it of the same gradients, under the
    /// same clip. It does not depend on the order of units or rows. *Not private*, and no secret-keeping hash: it stays
    /// where the key of the noise is kept.
    pub fn digest(&self) -> u64 {
        self.memory.sum.digest() ^ self.grid.clip().to_bits().rotate_left(17)
    }

    /// All sums in grid steps, and how many units are within the clip, less those beyond it.
    #[cfg(test)]
    pub(crate) fn before_noise(&self) -> (Vec<i64>, i64) {
        (self.memory.sum.all_values().collect(), self.memory.sum.within())
    }

    /// Private selection: which coordinates or rows this step updates.
    pub fn select(mut self) -> Selected {
        let Run { plan, source, .. } = &*self.run;
        let selector = plan.selector();
        let Memory { sum, workspace, indices, .. } = &mut *self.memory;
        let selection = match selector.by() {
            None => Choice::All,
            Some(by) => {
                let mut random = source.secret(Secret::Selection, self.step).shard(0);
                let mut indices = std::mem::take(indices);
                selector.select(Candidates::OfSum(sum), &mut random, workspace, &mut indices);
                indices.extend(sum.shape().dense(by));
                Choice::Some { by, indices }
            }
        };
        let Self { step, grid, run, memory } = self;
        Selected { step, grid, run, memory, selection, squares: None }
    }
}

impl std::fmt::Debug for BatchSum {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "BatchSum(step {})", self.step)
    }
}

/// A sum with what was selected of it; the selection is private, the sum still is not.
pub struct Selected {
    pub(crate) step: u64,
    pub(crate) grid: Grid,
    pub(crate) run: Arc<Run>,
    pub(crate) memory: Lease,
    pub(crate) selection: Choice,
    /// The squares of all that was selected, where that is in other places too.
    pub(crate) squares: Option<u128>,
}

impl Selected {
    /// What was selected: released, and paid for by the plan's event.
    pub fn selection(&self) -> &Choice {
        &self.selection
    }

    /// The second clip and the noise, on what was selected and nothing else.
    pub fn noise(self) -> Noised {
        Noised::release(self)
    }

    /// The noise on touched rows alone, where that on all others is left for later; `None` if `owed` is the
    /// right of another sampler, or for fewer steps.
    pub fn noise_touched(self, owed: &OwedNoise) -> Option<TouchedRows> {
        let covered = owed.covers(&self.run, self.step);
        covered.then(|| TouchedRows::release(self.memory, owed, self.step))
    }
}

impl std::fmt::Debug for Selected {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Selected(step {})", self.step)
    }
}

#[cfg(test)]
mod tests {
    use crate::{NoiseSettings, Plan, PlanSettings, RandomSource, SelectionSettings, Shape};
    use organza_ledger::Neighbouring;
    use organza_ledger::testing::paid;

    #[test]
    fn nothing_private_is_printed() {
        let plan = Plan::new(PlanSettings {
            shape: Shape::table(4, 2).expect("a good shape"),
            neighbouring: Neighbouring::AddRemove,
            rate: 1.0,
            expected_batch: 1.0,
            clip: 1.0,
            selection: SelectionSettings::Everything,
            noise: NoiseSettings::Gaussian { multiplier: 1.0, second_clip: None },
        })
        .expect("a good plan");
        let sampler = plan.sampler("training", 98_765, &RandomSource::from_seed(3));
        assert_eq!(format!("{sampler:?}"), "Sampler(training)");
        let batch = sampler.batch(7, &paid(sampler.charge(7..8))).expect("paid");
        assert_eq!(format!("{batch:?}"), "Batch(step 7)");
        let sum = batch.sum(|_, gradient| {
            gradient.row(0).expect("inside")[0] = 0.5;
        });
        assert_eq!(format!("{sum:?}"), "BatchSum(step 7)");
        let selected = sum.select();
        assert_eq!(format!("{selected:?}"), "Selected(step 7)");
        assert!(!selected.noise().is_private());
    }

    /// Sums that differ in where a value stands, in its sign, in who was counted or in the clip are told apart; the order of
    /// units says nothing.
    #[test]
    fn a_digest_tells_sums_apart() {
        type Rows = [(u32, [f32; 2])];
        let digest = |clip: f64, units: &[&Rows]| {
            let plan = Plan::new(PlanSettings {
                shape: Shape::table(4, 2).expect("a good shape"),
                neighbouring: Neighbouring::AddRemove,
                rate: 1.0,
                expected_batch: 1.0,
                clip,
                selection: SelectionSettings::Everything,
                noise: NoiseSettings::Gaussian { multiplier: 1.0, second_clip: None },
            });
            let (plan, source) = (plan.expect("a good plan"), RandomSource::from_seed(3));
            let sampler = plan.sampler("training", units.len() as u64, &source);
            let batch = sampler.batch(0, &paid(sampler.charge(0..1))).expect("paid");
            let sum = batch.sum(|unit, gradient| {
                for (row, values) in units[unit as usize] {
                    gradient.row(*row).expect("inside").copy_from_slice(values);
                }
            });
            sum.digest()
        };
        let whole = digest(1.0, &[&[(0, [0.5, 0.0])], &[(2, [0.0, 0.25])]]);
        assert_eq!(whole, digest(1.0, &[&[(2, [0.0, 0.25])], &[(0, [0.5, 0.0])]]));
        let others: [&[&Rows]; 7] = [
            &[&[(0, [0.0, 0.5])], &[(2, [0.0, 0.25])]],
            &[&[(1, [0.5, 0.0])], &[(2, [0.0, 0.25])]],
            &[&[(0, [-0.5, 0.0])], &[(2, [0.0, 0.25])]],
            &[&[(0, [0.5, 0.0]), (2, [0.0, 0.25])]],
            &[&[(0, [0.5, 0.0])], &[(2, [0.0, 0.25])], &[]],
            &[&[(0, [0.5, 0.0])], &[(2, [0.0, 0.25])], &[(1, [f32::NAN, 0.0])]],
            &[&[(0, [0.5, 0.0]), (1, [0.0, 0.0])], &[(2, [0.0, 0.25])]],
        ];
        for other in others {
            assert_ne!(whole, digest(1.0, other), "{other:?}");
        }
        assert_ne!(whole, digest(2.0, &[&[(0, [1.0, 0.0])], &[(2, [0.0, 0.5])]]));
    }

    #[test]
    fn purposes_share_no_noise() {
        let settings = PlanSettings {
            shape: Shape::table(4, 2).expect("a good shape"),
            neighbouring: Neighbouring::ReplaceOne,
            rate: 1.0,
            expected_batch: 1.0,
            clip: 1.0,
            selection: SelectionSettings::Everything,
            noise: NoiseSettings::Gaussian { multiplier: 1.0, second_clip: None },
        };
        let plan = Plan::new(settings).expect("a good plan");
        let source = RandomSource::from_seed(3);
        let release = |purpose: &str| {
            let mut values = Vec::new();
            let sampler = plan.sampler(purpose, 1, &RandomSource::from_seed(3));
            let batch = sampler.batch(0, &paid(sampler.charge(0..1))).expect("paid");
            batch.sum(|_, _| ()).select().noise().visit(|_, run| values.extend_from_slice(run));
            values
        };
        assert_eq!(release("training"), release("training"));
        let (one, other) = (release("training"), release("curve"));
        assert!(one.iter().zip(&other).all(|(one, other)| one != other));
        let charge = plan.sampler("curve", 1, &source).charge(3..9);
        assert_eq!((charge.purpose.as_str(), charge.range()), ("curve", 3..9));
        assert_eq!(charge.neighbouring, Some(Neighbouring::ReplaceOne));
        assert_eq!(charge.key, Some(source.fingerprint()));
    }
}
