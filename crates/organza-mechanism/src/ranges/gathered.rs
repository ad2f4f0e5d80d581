//! The sum of a batch on the rows of a range: gathered from buckets, each once, and joined.

use super::RangeDecision;
use super::offer::write_offer;
use crate::batch::{Run, Selected};
use crate::buckets::{BUCKETS, BatchOrder, PartError, PartHeader, behind_length, read_part};
use crate::grid::Grid;
use crate::memory::Lease;
use crate::sum::mixed;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// More units than a batch can have: their sum still has room for all of them.
const MOST_UNITS: u64 = 1 << 32;

/// A batch of a step that is paid for, on the rows of a range. Only a [`RowRange`](super::RowRange) makes it.
///
/// # Privacy
/// A unit is in one bucket, and each bucket is in one part: so a unit stands in one part of the batch, and the joined
/// sum has the sensitivity of one sum. That holds because parts are taken only if they are of this run, step and range,
/// and of buckets that no part before was of, and are joined only when all buckets are there; if all ranges took the same parts, which a
/// [`PaidStep`](super::PaidStep) sees to, since each part carries a digest of what it is in all ranges; and if those who sum parts do so by a
/// [`BucketSampler`](crate::buckets::BucketSampler), which clips. Nothing can be selected from a part, nor from the sum of a range:
/// ```compile_fail,E0599
/// # use organza_mechanism::ranges::RangeSum;
/// # fn release(sum: RangeSum) {
/// sum.select();
/// # }
/// ```
pub struct GatheredBatch {
    run: Arc<Run>,
    range: u16,
    /// The number of its first row in all tables.
    first: u32,
    order: BatchOrder,
    grid: Grid,
    /// By their first bucket.
    parts: BTreeMap<u16, TakenPart>,
    units: u64,
}

struct TakenPart {
    /// The bucket after the last.
    end: u16,
    /// What tells the part, of all ranges, from others.
    whole_digest: u64,
    memory: Lease,
}

/// A part that was read and looked at, to be taken by the batch that did so.
pub struct ReadPart {
    order: BatchOrder,
    range: u16,
    buckets: Range<u16>,
    whole_digest: u64,
    memory: Lease,
}

impl ReadPart {
    /// Its buckets.
    pub fn buckets(&self) -> Range<u16> {
        self.buckets.clone()
    }
}

impl GatheredBatch {
    pub(super) fn new(
        run: Arc<Run>,
        range: u16,
        first: u32,
        order: BatchOrder,
        grid: Grid,
    ) -> Self {
        Self { run, range, first, order, grid, parts: BTreeMap::new(), units: 0 }
    }

    /// Reads a part, as [`parts_of`](crate::buckets::parts_of) gives it. It is not taken yet: a part of several ranges is taken by all of them or by none.
    ///
    /// # Errors
    /// If it is damaged, of another run, step, clip or range, or of buckets that are there already.
    pub fn read(&self, part: &[u8]) -> Result<ReadPart, PartError> {
        let part = behind_length(part);
        let PartHeader { order, buckets, range, whole_digest, .. } = PartHeader::of(part)?;
        self.check(&order, range, &buckets)?;
        let mut memory = Lease::new(&self.run.pool, 1 + self.parts.len());
        read_part(part, &mut memory.sum)?;
        if self.units.saturating_add(memory.sum.units()) >= MOST_UNITS {
            return Err(PartError::Damaged("it has more units than any batch"));
        }
        Ok(ReadPart { order, range, buckets, whole_digest, memory })
    }

    /// Takes a part that it has read, which is its buckets.
    ///
    /// # Errors
    /// If another batch has read it, or a part of these buckets was taken since; the batch is as it was.
    pub fn take(&mut self, part: ReadPart) -> Result<Range<u16>, PartError> {
        let ReadPart { order, range, buckets, whole_digest, memory } = part;
        self.check(&order, range, &buckets)?;
        self.units = self.units.saturating_add(memory.sum.units());
        self.parts.insert(buckets.start, TakenPart { end: buckets.end, whole_digest, memory });
        Ok(buckets)
    }

    fn check(&self, order: &BatchOrder, range: u16, buckets: &Range<u16>) -> Result<(), PartError> {
        if order.run != self.order.run {
            return Err(PartError::OtherRun);
        }
        if *order != self.order {
            return Err(PartError::OtherStep { expected: self.order.step, found: order.step });
        }
        if range != self.range {
            return Err(PartError::OtherTables);
        }
        let before = self.parts.range(..buckets.end).next_back();
        match before.is_some_and(|(_, part)| part.end > buckets.start) {
            true => Err(PartError::Double { buckets: buckets.clone() }),
            false => Ok(()),
        }
    }

    /// The buckets that are still to come, in order.
    pub fn missing(&self) -> Vec<Range<u16>> {
        let ends = std::iter::once(0).chain(self.parts.values().map(|part| part.end));
        let starts = self.parts.keys().copied().chain([BUCKETS]);
        ends.zip(starts).map(|(end, start)| end..start).filter(|gap| !gap.is_empty()).collect()
    }

    /// The sum of all parts; `None` if one is missing.
    pub fn join(self) -> Option<RangeSum> {
        if !self.missing().is_empty() || self.units >= MOST_UNITS {
            return None;
        }
        let Self { run, range, first, order, grid, parts, .. } = self;
        let parts_digest = parts.iter().fold(0, |all, (start, part)| {
            let own = part.whole_digest ^ u64::from(*start) ^ u64::from(part.end) << 16;
            mixed(all, own)
        });
        let mut parts = parts.into_values().map(|part| part.memory);
        let mut memory = parts.next()?;
        parts.for_each(|part| memory.sum.join(part));
        let digest = memory.sum.digest() ^ grid.clip().to_bits().rotate_left(17);
        Some(RangeSum { run, range, first, order, grid, memory, digest, parts_digest })
    }
}

impl std::fmt::Debug for ReadPart {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "ReadPart({:?})", self.buckets)
    }
}

impl std::fmt::Debug for GatheredBatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "GatheredBatch(step {}, range {})", self.order.step, self.range)
    }
}

/// The sum of a batch on the rows of a range, with nothing to read but for whoever decides.
pub struct RangeSum {
    pub(super) run: Arc<Run>,
    pub(super) range: u16,
    pub(super) first: u32,
    pub(super) order: BatchOrder,
    grid: Grid,
    pub(crate) memory: Lease,
    pub(super) digest: u64,
    /// Which parts it was joined of: the same in all ranges.
    pub(super) parts_digest: u64,
}

impl RangeSum {
    /// What the rule of selection looks at, for [`PaidStep::offer`](super::PaidStep::offer). *Not private.*
    pub fn offer(&self) -> Vec<u8> {
        write_offer(self)
    }

    /// Whether this is what a decision was made of.
    ///
    /// # Errors
    /// If the decision is of another step, or was made of another sum.
    pub fn check(&self, decision: &RangeDecision) -> Result<(), PartError> {
        decision.of_range(self).map(drop)
    }

    /// What was selected of it.
    ///
    /// # Errors
    /// If the decision is of another step, or was made of another sum.
    pub fn chosen(self, decision: &RangeDecision) -> Result<Selected, PartError> {
        let (selection, squares) = decision.of_range(&self)?;
        let Self { run, order, grid, memory, .. } = self;
        Ok(Selected { step: order.step, grid, run, memory, selection, squares })
    }
}

impl std::fmt::Debug for RangeSum {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "RangeSum(step {}, range {})", self.order.step, self.range)
    }
}
