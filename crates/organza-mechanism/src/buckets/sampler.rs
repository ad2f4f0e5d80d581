//! A batch where its units are: who of some buckets joins, and the sum of their clipped gradients as bytes.

use super::bytes::{PartError, Reader, write_parts};
use super::{BucketKeys, BucketUnits};
use crate::batch::{Run, Sampler};
use crate::candidate_clip::CandidateClip;
use crate::gradient::UnitGradient;
use crate::grid::Grid;
use crate::memory::{Lease, Pool};
use crate::random::{PrivateRandom, Purpose, StepRandom};
use crate::sample::poisson_subset;
use crate::shape::Shape;
use organza_ledger::KeyFingerprint;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// What whoever computes gradients has to know of a plan. It is public.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerSettings {
    /// The public name of the key under which the run draws.
    pub run: KeyFingerprint,
    /// The probability with which each unit joins a batch.
    pub rate: f64,
    /// The public constant that sums are divided by.
    pub expected_batch: f64,
    /// How many rows a unit counts at, where the selection looks at counts.
    pub rows_per_unit: usize,
    /// The clip of a unit at each candidate of a selection, if there is one: the noise is relative to it.
    pub(crate) candidates: Option<CandidateClip>,
    /// The tables. Which of them are dense belongs to it: a clip at each candidate leaves those out.
    pub shape: Shape,
}

impl Sampler {
    /// What those who sum parts of batches have to know; `None` where the plan is for [groups](crate::Plan::in_groups), which
    /// do not fall into buckets.
    pub fn worker_settings(&self) -> Option<WorkerSettings> {
        let Run { plan, source, .. } = &*self.run;
        plan.groups().is_none().then(|| WorkerSettings {
            run: source.fingerprint(),
            rate: plan.rate(),
            expected_batch: plan.settings().expected_batch,
            rows_per_unit: plan.rows_per_unit(),
            candidates: plan.clips_candidates(),
            shape: (*plan.shared_shape()).clone(),
        })
    }

    /// The keys by which the units of `buckets` join batches, and draw what chance decides of them.
    pub fn bucket_keys(&self, buckets: Range<u16>) -> BucketKeys {
        BucketKeys::of(&self.run.source, buckets)
    }
}

/// The order to sum a batch: which step, and the clip, which was released. It is public.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchOrder {
    /// The public name of the key under which the run draws.
    pub run: KeyFingerprint,
    /// The step.
    pub step: u64,
    /// The clip of a unit's gradient in this step.
    pub clip: f64,
}

impl BatchOrder {
    /// The order as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.run.bytes()[..], &self.step.to_le_bytes(), &self.clip.to_le_bytes()].concat()
    }

    /// An order that came as bytes.
    ///
    /// # Errors
    /// If it is none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PartError> {
        let mut reader = Reader(bytes);
        let order = Self::from_reader(&mut reader)?;
        reader.end()?;
        Ok(order)
    }

    pub(crate) fn from_reader(reader: &mut Reader<'_>) -> Result<Self, PartError> {
        let run = KeyFingerprint::new(reader.take()?);
        let (step, clip) = (reader.number()?, f64::from_le_bytes(reader.take()?));
        Ok(Self { run, step, clip })
    }
}

/// Draws who of some buckets joins a batch, and sums their clipped gradients: all that whoever holds data has to do.
///
/// # Privacy
/// See [`buckets`](crate::buckets).
#[derive(Clone)]
pub struct BucketSampler {
    settings: WorkerSettings,
    pool: Arc<Pool>,
    keys: BucketKeys,
    units: Arc<BucketUnits>,
}

impl BucketSampler {
    /// A sampler of `units` with the keys of their buckets, for gradients of tables of this shape.
    ///
    /// # Errors
    /// If the run has tables of another shape, or the keys are of other buckets.
    pub fn new(
        settings: WorkerSettings,
        shape: Shape,
        keys: BucketKeys,
        units: BucketUnits,
    ) -> Result<Self, PartError> {
        if shape != settings.shape {
            return Err(PartError::OtherTables);
        }
        if keys.buckets() != units.buckets() {
            return Err(PartError::OtherBuckets { keys: keys.buckets(), units: units.buckets() });
        }
        let pool = Pool::new(Arc::new(shape), settings.rows_per_unit, settings.candidates);
        Ok(Self { settings, pool, keys, units: Arc::new(units) })
    }

    /// The batch of an order, as far as it is of these units. The same as often as it is asked for.
    ///
    /// # Errors
    /// If the order is of another run.
    pub fn batch(&self, order: &BatchOrder) -> Result<BucketBatch, PartError> {
        let WorkerSettings { run, rate, expected_batch, .. } = self.settings;
        if order.run != run {
            return Err(PartError::OtherRun);
        }
        let mut batch = BucketBatch {
            order: *order,
            grid: Grid::new(order.clip, expected_batch),
            buckets: self.units.buckets(),
            pool: self.pool.clone(),
            members: Vec::new(),
            draws: Vec::new(),
        };
        for (bucket, units) in self.units.filled() {
            let Some(joins) = self.keys.step(bucket, Purpose::Batch, order.step) else { continue };
            let mut joins = joins.shard(0);
            let members = poisson_subset(units.len() as u64, rate, &mut joins);
            let before = batch.members.len();
            batch.members.extend(members.map(|place| (units[place as usize], place)));
            if let Some(draws) = self.keys.step(bucket, Purpose::Negatives, order.step)
                && batch.members.len() > before
            {
                batch.draws.push((batch.members.len(), draws));
            }
        }
        Ok(batch)
    }
}

impl std::fmt::Debug for BucketSampler {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "BucketSampler({:?})", self.units)
    }
}

/// The units of some buckets that joined a batch.
///
/// It may be summed again and again: the bytes are always the same, and nothing is selected from them or noised but by
/// whoever gathers each part once.
pub struct BucketBatch {
    order: BatchOrder,
    grid: Grid,
    buckets: Range<u16>,
    pool: Arc<Pool>,
    /// The numbers of the units, and their places in their buckets.
    members: Vec<(u64, u64)>,
    /// What chance decides of the units of each bucket, and the place after the last of them.
    draws: Vec<(usize, StepRandom)>,
}

impl BucketBatch {
    /// How many units joined. *Not private.*
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// The units that joined, in the order of the list. *Not private.*
    pub fn units(&self) -> impl Iterator<Item = u64> {
        self.members.iter().map(|(unit, _)| *unit)
    }

    /// Calls `visit` with each unit at `places` of the list, and randomness of its own: what chance decides of the unit in this
    /// step. No data has touched it, and no other bucket has its bits.
    pub fn draw(&self, places: Range<usize>, mut visit: impl FnMut(u64, &mut PrivateRandom)) {
        let mut start = places.start;
        let mut bucket = self.draws.partition_point(|(end, _)| *end <= start);
        while start < places.end.min(self.members.len()) {
            let (end, random) = &self.draws[bucket];
            let mut random = random.shard(0);
            for (unit, place) in &self.members[start..places.end.min(*end)] {
                random.turn_to(*place);
                visit(*unit, &mut random);
            }
            (start, bucket) = (*end, bucket + 1);
        }
    }

    /// Clips and sums the gradients of all units, `each` of them on a thread; `gradient` writes that of a unit, which it is
    /// given with its place in the list. The parts of all ranges of rows as bytes. *Not private*: they are a sum without noise.
    ///
    /// # Privacy
    /// As [`Batch::sum`](crate::Batch::sum): each unit is clipped as one, and moves the sum by at most S1 if what
    /// `gradient` writes for it depends on no other unit. The bytes do not depend on the number of threads.
    pub fn sum(
        &self,
        each: usize,
        gradient: impl Fn(usize, u64, &mut UnitGradient) + Sync,
    ) -> Vec<u8> {
        let sum_of = |(part, members): (usize, &[(u64, u64)])| {
            let mut memory = Lease::new(&self.pool, part);
            let placed = (part * each.max(1)..).zip(members);
            memory.add_units(placed, &self.grid, |(place, (unit, _)), unit_gradient| {
                gradient(place, *unit, unit_gradient);
            });
            memory
        };
        let parts: Vec<Lease> =
            self.members.par_chunks(each.max(1)).enumerate().map(sum_of).collect();
        let mut parts = parts.into_iter();
        let mut sum = parts.next().unwrap_or_else(|| Lease::new(&self.pool, 0));
        parts.for_each(|part| sum.sum.join(part));
        write_parts(&self.order, &self.buckets, &sum.sum)
    }
}

/// Without who joined.
impl std::fmt::Debug for BucketBatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "BucketBatch(step {}, {:?})", self.order.step, self.buckets)
    }
}
