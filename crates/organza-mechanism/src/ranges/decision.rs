//! What was selected of all ranges, on its way to those who hold their rows.
//!
//! ```text
//! run │ step │ clip │ squares, if there is a second clip │ what is selected │ ranges
//!     each: number │ digest of its sum │ how many are selected │ each, as it is numbered in the range
//! seal
//! ```

use super::{RangeKeys, RangeSum};
use crate::adaptive::ReleasedClip;
use crate::buckets::{BatchOrder, PartError, Reader};
use crate::random::RandomSource;
use crate::scores::By;
use crate::select::Choice;
use std::collections::BTreeMap;
use std::ops::Range;

/// What a step updates in all ranges: released, and paid for by the plan's event; and what those who hold rows have to know beside it.
pub struct Decision {
    pub(super) order: BatchOrder,
    pub(super) choice: Choice,
    /// The squares of all that was selected, where there is a second clip. *Not private.*
    pub(super) squares: Option<u128>,
    /// The digest of the sum of each range.
    pub(super) digests: BTreeMap<u16, u64>,
    /// The first candidate of each range; none where nothing is selected.
    pub(super) firsts: Vec<u64>,
    /// How many candidates there are: what comes after them is never left out, and each range knows its own of that.
    pub(super) selectable: u64,
    /// The source of the purpose, for seals.
    pub(super) source: RandomSource,
    pub(super) next_clip: Option<ReleasedClip>,
}

const ALL: u8 = 0;
const BY_COORDINATE: u8 = 1;
const BY_ROW: u8 = 2;

impl Decision {
    /// What was selected.
    pub fn selection(&self) -> &Choice {
        &self.choice
    }

    /// What the next step clips to; `None` if the plan's clip does not adapt.
    pub fn next_clip(&self) -> Option<ReleasedClip> {
        self.next_clip
    }

    /// What whoever holds the rows of `ranges` has to know, sealed. *Not private.*
    pub fn for_ranges(&self, ranges: Range<u16>) -> Vec<u8> {
        let mut bytes = self.order.to_bytes();
        bytes.push(u8::from(self.squares.is_some()));
        bytes.extend(self.squares.unwrap_or(0).to_le_bytes());
        let (kind, indices) = match &self.choice {
            Choice::All => (ALL, &[][..]),
            Choice::Some { by: By::Coordinate, indices } => (BY_COORDINATE, &indices[..]),
            Choice::Some { by: By::Row, indices } => (BY_ROW, &indices[..]),
        };
        bytes.push(kind);
        for (range, digest) in self.digests.range(ranges.clone()) {
            bytes.extend(range.to_le_bytes());
            bytes.extend(digest.to_le_bytes());
            let first = self.firsts.get(usize::from(*range)).copied().unwrap_or(0);
            let end = self.firsts.get(usize::from(*range) + 1).copied().unwrap_or(u64::MAX);
            let end = end.min(self.selectable).max(first);
            let start = indices.partition_point(|index| *index < first);
            let own = &indices[start..indices.partition_point(|index| *index < end)];
            bytes.extend((own.len() as u64).to_le_bytes());
            bytes.extend(own.iter().flat_map(|index| (index - first).to_le_bytes()));
        }
        RangeKeys::of(&self.source, ranges).seal(bytes)
    }
}

impl std::fmt::Debug for Decision {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Decision(step {})", self.order.step)
    }
}

/// A decision where rows are held.
pub struct RangeDecision {
    order: BatchOrder,
    squares: Option<u128>,
    by: Option<By>,
    /// Of each range, the digest of its sum and what is selected.
    ranges: BTreeMap<u16, (u64, Vec<u64>)>,
}

impl RangeKeys {
    /// A decision that came as bytes.
    ///
    /// # Errors
    /// If no driver of this run sealed it.
    pub fn decided(&self, decision: &[u8]) -> Result<RangeDecision, PartError> {
        let mut reader = Reader(self.unsealed(decision)?);
        let order = BatchOrder::from_reader(&mut reader)?;
        let [has_squares] = reader.take()?;
        let squares = u128::from_le_bytes(reader.take()?);
        let by = match reader.take()? {
            [ALL] => None,
            [BY_COORDINATE] => Some(By::Coordinate),
            [BY_ROW] => Some(By::Row),
            _ => return Err(PartError::OtherVersion),
        };
        let mut ranges = BTreeMap::new();
        while !reader.is_empty() {
            let (range, digest) = (u16::from_le_bytes(reader.take()?), reader.number()?);
            let count = reader.number()?;
            let indices = (0..count).map(|_| reader.number()).collect::<Result<Vec<u64>, _>>()?;
            ranges.insert(range, (digest, indices));
        }
        Ok(RangeDecision { order, squares: (has_squares != 0).then_some(squares), by, ranges })
    }
}

impl RangeDecision {
    /// The order of the step that it is of.
    pub fn order(&self) -> BatchOrder {
        self.order
    }

    /// What is selected of a sum, and the squares of all that is selected anywhere.
    pub(super) fn of_range(&self, sum: &RangeSum) -> Result<(Choice, Option<u128>), PartError> {
        if self.order != sum.order {
            let (expected, found) = (sum.order.step, self.order.step);
            return Err(PartError::OtherStep { expected, found });
        }
        let own = self.ranges.get(&sum.range).filter(|(digest, _)| *digest == sum.digest);
        let (_, indices) = own.ok_or(PartError::OtherSum)?;
        let choice = match self.by {
            None => Choice::All,
            Some(by) => {
                let indices = indices.iter().copied().chain(sum.memory.sum.shape().dense(by));
                Choice::Some { by, indices: indices.collect() }
            }
        };
        Ok((choice, self.squares))
    }
}

impl std::fmt::Debug for RangeDecision {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "RangeDecision(step {})", self.order.step)
    }
}
