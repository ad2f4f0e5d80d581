//! The sum of some buckets on the rows of a range as bytes, on its way to where all are joined.
//!
//! ```text
//! magic, version │ run │ step │ clip │ first bucket, end │ range of rows │ digest of all ranges │ units │ not finite │ within │ rows
//!     each row, ascending: number in the range (in an offer: in all tables) │ units that count at it, if any count │ bytes of a value │ values
//! checksum of all before
//! ```
//!
//! All numbers are little-endian. Values of a row take as many bytes as the largest of them needs. The bytes are the same
//! for the same sum, whatever the order in which it was made. *Not private*, their number neither. What a worker hands over is such a part of
//! each range, one after another, each behind its length.

use super::{BUCKETS, BatchOrder};
use crate::grid::STEPS_OF_CLIP;
use crate::ranges::RowRanges;
use crate::sum::{ClippedSum, mixed};
use std::ops::Range;
use thiserror::Error;

const MAGIC: &[u8; 8] = b"organza\x02";
/// Bytes of the checksum.
const CHECKSUM: usize = 8;

/// Why a part of a batch, or an order for one, is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PartError {
    /// It is no part, or not whole.
    #[error("the part of the batch is damaged ({0}): let its worker sum it again")]
    Damaged(&'static str),
    /// It is of another run.
    #[error("the part or order is of another run, or of another purpose")]
    OtherRun,
    /// It is of another step, or of this one with another clip.
    #[error(
        "a part of step {found} came while parts of step {expected} are gathered, or with another clip: it is left out"
    )]
    OtherStep {
        /// The step whose parts are gathered.
        expected: u64,
        /// That of the part.
        found: u64,
    },
    /// Some of its buckets are there already.
    #[error("buckets {}..{} are there already, at least in part: a unit must not count twice", buckets.start, buckets.end)]
    Double {
        /// Its buckets.
        buckets: Range<u16>,
    },
    /// Whoever has it has other tables than the run, or other rows.
    #[error(
        "it is of tables of another shape than those of the run, or of other rows: give all the same settings"
    )]
    OtherTables,
    /// Its range has made an offer already.
    #[error("range {range} of the rows is there already")]
    DoubleRange {
        /// The range.
        range: u16,
    },
    /// A range has joined other parts than others.
    #[error(
        "range {range} of the rows has other parts of the batch than others: a worker made it twice, and its data or program changed in between"
    )]
    OtherParts {
        /// The range.
        range: u16,
    },
    /// No driver of the run has sealed it.
    #[error(
        "it is not from the driver of this run: noise is drawn for what a driver has charged alone"
    )]
    NotSealed,
    /// The noise of the step was drawn before.
    #[error(
        "step {step} or one after it was drawn here before: begin again from the last checkpoint"
    )]
    DrawnBefore {
        /// The step.
        step: u64,
    },
    /// The decision is of another sum.
    #[error("what was decided is of another sum than that of these rows")]
    OtherSum,
    /// The message is of another version.
    #[error("it is of another version: give all processes of a run the same")]
    OtherVersion,
    /// A worker has keys of other buckets than those of its units.
    #[error("the worker has keys of buckets {}..{} and units of {}..{}", keys.start, keys.end, units.start, units.end)]
    OtherBuckets {
        /// The buckets of the keys.
        keys: Range<u16>,
        /// Those of the units.
        units: Range<u16>,
    },
}

/// Reads numbers off bytes.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    const SHORT: PartError = PartError::Damaged("it is too short");

    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], PartError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Self::SHORT)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn number(&mut self) -> Result<u64, PartError> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn slice(&mut self, length: usize) -> Result<&'a [u8], PartError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Self::SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn end(&self) -> Result<(), PartError> {
        if self.is_empty() { Ok(()) } else { Err(PartError::Damaged("it is too long")) }
    }
}

/// What a part is of.
pub(crate) struct PartHeader<'a> {
    pub(crate) order: BatchOrder,
    pub(crate) buckets: Range<u16>,
    /// The range of rows.
    pub(crate) range: u16,
    /// A number that tells the part, of all ranges, from others: those that belong together have the same.
    pub(crate) whole_digest: u64,
    /// The sum.
    sum: &'a [u8],
}

impl<'a> PartHeader<'a> {
    pub(crate) fn of(part: &'a [u8]) -> Result<Self, PartError> {
        let whole = part.split_last_chunk::<CHECKSUM>();
        let (body, sum) = whole.ok_or(PartError::Damaged("it is too short"))?;
        if checksum(body) != u64::from_le_bytes(*sum) {
            return Err(PartError::Damaged("its checksum is wrong"));
        }
        let mut reader = Reader(body);
        if reader.take()? != *MAGIC {
            return Err(PartError::Damaged("it is of another version, or not a part"));
        }
        let order = BatchOrder::from_reader(&mut reader)?;
        let mut short = || Ok::<_, PartError>(u16::from_le_bytes(reader.take()?));
        let [start, end, range] = [short()?, short()?, short()?];
        let whole_digest = reader.number()?;
        if start >= end || end > BUCKETS {
            return Err(PartError::Damaged("it is of no buckets"));
        }
        Ok(Self { order, buckets: start..end, range, whole_digest, sum: reader.0 })
    }
}

/// The bytes of the parts of all ranges.
pub(super) fn write_parts(order: &BatchOrder, buckets: &Range<u16>, sum: &ClippedSum) -> Vec<u8> {
    let (cut, mut rows) = (RowRanges::of(sum.shape()), Vec::new());
    sum.sorted_rows(&mut rows);
    let (mut left, whole_digest) = (&rows[..], sum.digest());
    let mut bytes = Vec::new();
    for range in 0..cut.count() {
        let within = cut.rows(range);
        let (own, later) = left.split_at(left.partition_point(|row| *row < within.end));
        left = later;
        let length = bytes.len();
        bytes.extend(0_u64.to_le_bytes());
        let start = bytes.len();
        bytes.extend(MAGIC);
        bytes.extend(order.to_bytes());
        let numbers = [buckets.start, buckets.end, range];
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend(whole_digest.to_le_bytes());
        for number in [sum.units(), sum.not_finite(), sum.within().cast_unsigned()] {
            bytes.extend(number.to_le_bytes());
        }
        sum.write_rows(own, |row| row - within.start, &mut bytes);
        bytes.extend(checksum(&bytes[start..]).to_le_bytes());
        let size = (bytes.len() - start) as u64;
        bytes[length..start].copy_from_slice(&size.to_le_bytes());
    }
    bytes
}

/// The parts of ranges that stand one after another, each with its range and with its length before it.
///
/// # Errors
/// If they are damaged.
pub fn parts_of(bytes: &[u8]) -> Result<Vec<(u16, &[u8])>, PartError> {
    let mut reader = Reader(bytes);
    let mut parts = Vec::new();
    while !reader.is_empty() {
        let whole = reader.0;
        let length = usize::try_from(reader.number()?).unwrap_or(usize::MAX);
        let part = reader.slice(length)?;
        parts.push((PartHeader::of(part)?.range, &whole[..8 + length]));
    }
    Ok(parts)
}

/// The part of a range behind its length.
pub(crate) fn behind_length(part: &[u8]) -> &[u8] {
    part.get(8..).unwrap_or_default()
}

/// Reads the sum of a part into one that is empty.
pub(crate) fn read_part(part: &[u8], sum: &mut ClippedSum) -> Result<(), PartError> {
    sum.read(PartHeader::of(part)?.sum)
}

/// A number by which damage is noticed; nobody is kept from anything by it.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let rest = rest.iter().map(|byte| u64::from(*byte));
    words.chain(rest).fold(bytes.len() as u64, mixed)
}

/// How many bytes hold all of `values`, with their signs.
fn width(values: &[i64]) -> usize {
    // A negative number has as many bits as that of which it is the complement.
    let bits = values.iter().fold(0, |bits, value| bits | (value ^ value >> 63).cast_unsigned());
    (64 - bits.leading_zeros()) as usize / 8 + 1
}

impl ClippedSum {
    /// Writes its ascending `rows`, under the numbers that `number` gives.
    pub(crate) fn write_rows(&self, rows: &[u32], number: impl Fn(u32) -> u32, to: &mut Vec<u8>) {
        to.extend((rows.len() as u64).to_le_bytes());
        for row in rows {
            let (values, count) = self.row_with_count(*row);
            let width = width(values);
            to.extend(number(*row).to_le_bytes());
            to.extend(count.iter().flat_map(|count| count.to_le_bytes()));
            to.push(width as u8);
            to.reserve(width * values.len());
            for value in values {
                to.extend_from_slice(&value.to_le_bytes()[..width]);
            }
        }
    }

    /// Reads a sum that was written, into one that is empty: no value is larger than its units can make it, so that whatever
    /// is added up later has room.
    fn read(&mut self, bytes: &[u8]) -> Result<(), PartError> {
        let mut reader = Reader(bytes);
        let [units, not_finite, within] = [reader.number()?, reader.number()?, reader.number()?];
        let within = within.cast_signed();
        let counted = units.checked_add(not_finite).filter(|all| *all < 1 << 32);
        if counted.is_none() || within.unsigned_abs() >= 1 << 32 {
            return Err(PartError::Damaged("it has more units than any batch"));
        }
        self.begin(units, not_finite, within);
        let rows = 0..self.shape().rows();
        self.read_rows(&mut reader, rows, units)?;
        reader.end()
    }

    /// Adds rows among these, which ascend and were written of so many units, to a sum that has none of them.
    pub(crate) fn read_rows(
        &mut self,
        reader: &mut Reader<'_>,
        rows: Range<u64>,
        units: u64,
    ) -> Result<(), PartError> {
        // One unit moves a value by the clip at most.
        let most = units.saturating_mul(STEPS_OF_CLIP as u64);
        let counts = self.counts_rows();
        let mut next = rows.start;
        for _ in 0..reader.number()? {
            let row = u32::from_le_bytes(reader.take()?);
            if u64::from(row) < next || u64::from(row) >= rows.end {
                return Err(PartError::Damaged("its rows do not ascend, or are others"));
            }
            next = u64::from(row) + 1;
            let count = if counts { reader.number()? } else { 0 };
            let width = usize::from(u8::from_le_bytes(reader.take()?));
            let length = self.shape().row(row).map(|(_, length)| length);
            let length = length.ok_or(PartError::Damaged("it has a row that no table has"))?;
            if !(1..=8).contains(&width) || count > units {
                return Err(PartError::Damaged("its rows make no sense"));
            }
            let values = reader.slice(length * width)?.chunks_exact(width);
            let mut large = false;
            self.push_row(
                row,
                count,
                values.map(|bytes| {
                    let mut word = [0; 8];
                    word[8 - width..].copy_from_slice(bytes);
                    let value = i64::from_le_bytes(word) >> (8 * (8 - width));
                    large |= value.unsigned_abs() > most;
                    value
                }),
            );
            if large {
                return Err(PartError::Damaged("a value is larger than its units can make it"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_as_many_bytes_as_they_need() {
        for (value, bytes) in [(0, 1), (127, 1), (-128, 1), (128, 2), (-129, 2), (i64::MAX, 8)] {
            assert_eq!(width(&[0, value, 0]), bytes, "{value}");
        }
        assert_eq!(width(&[i64::MIN, 5]), 8);
        assert_eq!(width(&[]), 1);
    }
}
