//! A batch whose parts come from elsewhere: gathered, each bucket once, and joined.

use super::bytes::{PartError, PartHeader, read_part};
use super::{BUCKETS, BatchOrder, BucketKeys, WorkerSettings};
use crate::adaptive::ReleasedClip;
use crate::batch::{BatchSum, Run, Sampler};
use crate::due::NotPaid;
use crate::grid::Grid;
use crate::memory::Lease;
use organza_ledger::Charged;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// More units than a batch can have: their sum still has room for all of them.
const MOST_UNITS: u64 = 1 << 32;

/// A batch of a step that is paid for, summed elsewhere. Only a [`Sampler`] makes it.
///
/// # Privacy
/// A unit is in one bucket, and each bucket is in one part: so a unit stands in one part of the batch, and the joined
/// sum has the sensitivity of one sum. That holds because parts are taken only if they are of this run and step,
/// and of buckets that no part before was of, and are joined only when all buckets are there; and if those who sum parts do so by a
/// [`BucketSampler`](super::BucketSampler), which clips. Nothing can be selected from a part, as it is no
/// [`BatchSum`]:
/// ```compile_fail,E0599
/// # use organza_mechanism::buckets::GatheredBatch;
/// # fn release(gathered: GatheredBatch) {
/// gathered.select();
/// # }
/// ```
pub struct GatheredBatch {
    run: Arc<Run>,
    step: u64,
    grid: Grid,
    /// By their first bucket: the bucket after the last, and the sum.
    parts: BTreeMap<u16, (u16, Lease)>,
    units: u64,
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

    /// The batch of `step`, which `paid` pays for, to be summed elsewhere. It takes the turn of the step, as
    /// [`Sampler::batch`] does.
    ///
    /// # Errors
    /// As [`Sampler::batch`].
    pub fn gather(&self, step: u64, paid: &Charged) -> Result<GatheredBatch, NotPaid> {
        self.run.due.hand_out(step, paid)?;
        let (run, grid) = (self.run.clone(), *self.run.plan.grid());
        Ok(GatheredBatch { run, step, grid, parts: BTreeMap::new(), units: 0 })
    }
}

impl GatheredBatch {
    /// The batch with a clip that an earlier step has released, where the plan's clip adapts.
    pub fn at_clip(mut self, clip: ReleasedClip) -> Self {
        self.grid = self.run.plan.grid_at(clip);
        self
    }

    /// What those who sum parts are told.
    pub fn order(&self) -> BatchOrder {
        BatchOrder { run: self.run.source.fingerprint(), step: self.step, clip: self.grid.clip() }
    }

    /// Takes a part, which is its buckets.
    ///
    /// # Errors
    /// If it is damaged, of another run, step or clip, or of buckets that are there already; the batch is as it was.
    pub fn add(&mut self, part: &[u8]) -> Result<Range<u16>, PartError> {
        let PartHeader { order, buckets, .. } = PartHeader::of(part)?;
        let own = self.order();
        if order.run != own.run {
            return Err(PartError::OtherRun);
        }
        if order != own {
            return Err(PartError::OtherStep { expected: own.step, found: order.step });
        }
        let before = self.parts.range(..buckets.end).next_back();
        if before.is_some_and(|(_, (end, _))| *end > buckets.start) {
            return Err(PartError::Double { buckets });
        }
        let mut memory = Lease::new(&self.run.pool, 1 + self.parts.len());
        read_part(part, &mut memory.sum)?;
        let units = self.units.saturating_add(memory.sum.units());
        if units >= MOST_UNITS {
            return Err(PartError::Damaged("it has more units than any batch"));
        }
        self.units = units;
        self.parts.insert(buckets.start, (buckets.end, memory));
        Ok(buckets)
    }

    /// The buckets that are still to come, in order.
    pub fn missing(&self) -> Vec<Range<u16>> {
        let ends = std::iter::once(0).chain(self.parts.values().map(|(end, _)| *end));
        let starts = self.parts.keys().copied().chain([BUCKETS]);
        ends.zip(starts).map(|(end, start)| end..start).filter(|gap| !gap.is_empty()).collect()
    }

    /// The sum of all parts; `None` if one is missing.
    pub fn join(self) -> Option<BatchSum> {
        if !self.missing().is_empty() {
            return None;
        }
        let mut parts = self.parts.into_values().map(|(_, memory)| memory);
        let mut memory = parts.next()?;
        parts.for_each(|part| memory.sum.join(part));
        Some(BatchSum { step: self.step, grid: self.grid, run: self.run, memory })
    }
}

impl std::fmt::Debug for GatheredBatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "GatheredBatch(step {})", self.step)
    }
}
