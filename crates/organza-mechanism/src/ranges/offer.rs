//! What a range offers to whoever decides: the sizes of its candidates, and what is counted beside them.
//!
//! ```text
//! run │ step │ clip │ range │ digest │ units │ not finite │ within │ digest of parts │ squares of what is never left out │ candidates
//!     rows, ascending: number in all tables │ score │ squares, if there is a second clip │ units that count at it, if units count
//!     or coordinates: the rows of the sum that have them, as in a part
//! ```
//!
//! All numbers are little-endian. *Not private*, their number neither.

use super::{RangeSum, RowRanges};
use crate::batch::Run;
use crate::buckets::{BatchOrder, PartError, Reader};
use crate::memory::Lease;
use crate::noise::squares;
use crate::plan::Plan;
use crate::scores::{By, RowSize, row_sizes, selectable_rows};
use crate::shape::Shape;
use crate::sum::ClippedSum;
use std::ops::Range;

/// What a range has to offer.
pub(super) struct Offer {
    pub(super) order: BatchOrder,
    pub(super) range: u16,
    pub(super) digest: u64,
    /// Units, those that were not finite, those within the clip less those beyond, and which parts were joined: the same in all ranges.
    pub(super) counted: [u64; 4],
    /// The squares of all values that no selection leaves out, where the second clip needs them.
    pub(super) always: u128,
    pub(super) candidates: Offered,
}

/// The candidates of touched rows.
pub(super) enum Offered {
    /// Nobody looks at them.
    Nothing,
    Rows(Vec<RowSize>),
    Coordinates(Lease),
}

/// What the rule of a plan looks at, if it looks.
fn looked_at(plan: &Plan) -> Option<By> {
    let selector = plan.selector();
    selector.by().filter(|_| selector.looks() || plan.noise().has_second_clip())
}

/// The bytes of what a range offers.
pub(super) fn write_offer(sum: &RangeSum) -> Vec<u8> {
    let RangeSum { run, range, first, order, memory, digest, parts_digest, .. } = sum;
    let (plan, sum) = (&run.plan, &memory.sum);
    let mut bytes = order.to_bytes();
    bytes.extend(range.to_le_bytes());
    let counted = [sum.units(), sum.not_finite(), sum.within().cast_unsigned(), *parts_digest];
    let numbers = [*digest].into_iter().chain(counted);
    bytes.extend(numbers.flat_map(u64::to_le_bytes));
    bytes.extend(always(plan, sum).to_le_bytes());
    match looked_at(plan) {
        None => {}
        Some(By::Row) => {
            let sizes = row_sizes(sum, plan.noise().has_second_clip());
            bytes.extend((sizes.len() as u64).to_le_bytes());
            for RowSize { row, score, squares, count } in sizes {
                bytes.extend((first + row).to_le_bytes());
                bytes.extend(score.to_le_bytes());
                if plan.noise().has_second_clip() {
                    bytes.extend(squares.to_le_bytes());
                }
                if sum.counts_rows() {
                    bytes.extend(count.to_le_bytes());
                }
            }
        }
        Some(By::Coordinate) => {
            let mut rows = Vec::new();
            selectable_rows(sum, &mut rows);
            sum.write_rows(&rows, |row| first + row, &mut bytes);
        }
    }
    bytes
}

/// The squares of all values that no selection leaves out, where the second clip needs them.
fn always(plan: &Plan, sum: &ClippedSum) -> u128 {
    match (plan.noise().has_second_clip(), plan.selector().by()) {
        (false, _) => 0,
        (true, None) => squares(sum.all_values()),
        (true, Some(_)) => {
            let dense = sum.shape().dense(By::Row).filter_map(|row| sum.row(row as u32));
            squares(dense.flatten().copied())
        }
    }
}

impl Offer {
    /// An offer of a range of the tables of a run.
    pub(super) fn from_bytes(bytes: &[u8], run: &Run) -> Result<Self, PartError> {
        let (plan, mut reader) = (&run.plan, Reader(bytes));
        let order = BatchOrder::from_reader(&mut reader)?;
        let range = u16::from_le_bytes(reader.take()?);
        let digest = reader.number()?;
        let counted = [reader.number()?, reader.number()?, reader.number()?, reader.number()?];
        let always = u128::from_le_bytes(reader.take()?);
        let shape = plan.shared_shape();
        let cut = RowRanges::of(&shape);
        if range >= cut.count() {
            return Err(PartError::OtherTables);
        }
        let rows = cut.rows(range);
        let end = u64::from(rows.end).min(shape.candidates(By::Row));
        let rows = u64::from(rows.start).min(end)..end;
        let candidates = match looked_at(plan) {
            None => Offered::Nothing,
            Some(By::Row) => Offered::Rows(read_sizes(&mut reader, rows, plan, counted[0])?),
            Some(By::Coordinate) => {
                let mut memory = Lease::new(&run.pool, 1 + usize::from(range));
                memory.sum.read_rows(&mut reader, rows, counted[0])?;
                Offered::Coordinates(memory)
            }
        };
        reader.end()?;
        Ok(Self { order, range, digest, counted, always, candidates })
    }
}

fn read_sizes(
    reader: &mut Reader<'_>,
    rows: Range<u64>,
    plan: &Plan,
    units: u64,
) -> Result<Vec<RowSize>, PartError> {
    let (mut sizes, mut next) = (Vec::new(), rows.start);
    for _ in 0..reader.number()? {
        let row = u32::from_le_bytes(reader.take()?);
        let score = f64::from_le_bytes(reader.take()?);
        let squares = match plan.noise().has_second_clip() {
            true => u128::from_le_bytes(reader.take()?),
            false => 0,
        };
        let count = if plan.rows_per_unit() > 0 { reader.number()? } else { 0 };
        if u64::from(row) < next || u64::from(row) >= rows.end {
            return Err(PartError::Damaged("its rows are of another range, or do not ascend"));
        }
        if !(score >= 0.0 && score.is_finite()) || count > units {
            return Err(PartError::Damaged("its candidates make no sense"));
        }
        next = u64::from(row) + 1;
        sizes.push(RowSize { row, score, squares, count });
    }
    Ok(sizes)
}

/// The first candidate of a row, or of the rows after the last.
pub(super) fn first_of(shape: &Shape, by: By, row: u32) -> u64 {
    match by {
        By::Row => u64::from(row),
        By::Coordinate => shape.row(row).map_or(shape.coordinates(), |(first, _)| first),
    }
}
