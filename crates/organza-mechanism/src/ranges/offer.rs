//! What a range offers to whoever decides: the sizes of its candidates, and what is counted beside them.
//!
//! ```text
//! run │ step │ clip │ range │ digest │ units │ not finite │ within │ digest of parts │ squares of what is never left out │ candidates
//!     each, ascending: number in all tables │ score │ squares │ units that count at it
//! ```
//!
//! All numbers are little-endian. *Not private*, their number neither.

use super::{RangeSum, RowRanges};
use crate::batch::Run;
use crate::buckets::{BatchOrder, PartError, Reader};
use crate::noise::squares;
use crate::scores::{By, Size, sizes};
use crate::shape::Shape;

/// What a range has to offer.
pub(super) struct Offer {
    pub(super) order: BatchOrder,
    pub(super) range: u16,
    pub(super) digest: u64,
    /// Units, those that were not finite, those within the clip less those beyond, and which parts were joined: the same in all ranges.
    pub(super) counted: [u64; 4],
    /// The squares of all values that no selection leaves out, where the second clip needs them.
    pub(super) always: u128,
    pub(super) sizes: Vec<Size>,
}

impl Offer {
    pub(super) fn of(sum: &RangeSum) -> Self {
        let RangeSum { run, range, first, order, memory, digest, parted, .. } = sum;
        let Run { plan, .. } = &**run;
        let (sum, with_squares) = (&memory.sum, plan.noise().has_second_clip());
        let counted = [sum.units(), sum.not_finite(), sum.within().cast_unsigned(), *parted];
        let mut offer = Self {
            order: *order,
            range: *range,
            digest: *digest,
            counted,
            always: 0,
            sizes: Vec::new(),
        };
        match plan.selector().by() {
            None if with_squares => offer.always = squares(sum.all_values()),
            None => {}
            Some(_) if !with_squares && !plan.selector().looks() => {}
            Some(by) => {
                let first = match by {
                    By::Row => first.row,
                    By::Coordinate => first.coordinate,
                };
                sizes(sum, by, with_squares, |size| {
                    offer.sizes.push(Size { candidate: first + size.candidate, ..size });
                });
                if with_squares {
                    let dense = sum.shape().dense(By::Row);
                    let rows = dense.filter_map(|row| sum.row(row as u32));
                    offer.always = squares(rows.flatten().copied());
                }
            }
        }
        offer
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.order.to_bytes();
        bytes.extend(self.range.to_le_bytes());
        bytes.extend(self.digest.to_le_bytes());
        bytes.extend(self.counted.iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend(self.always.to_le_bytes());
        bytes.extend((self.sizes.len() as u64).to_le_bytes());
        for Size { candidate, score, squares, count } in &self.sizes {
            bytes.extend(candidate.to_le_bytes());
            bytes.extend(score.to_le_bytes());
            bytes.extend(squares.to_le_bytes());
            bytes.extend(count.to_le_bytes());
        }
        bytes
    }

    /// An offer of a range of tables of this shape, for a rule that selects `by` something.
    pub(super) fn from_bytes(
        bytes: &[u8],
        shape: &Shape,
        by: Option<By>,
    ) -> Result<Self, PartError> {
        let mut reader = Reader(bytes);
        let order = BatchOrder::from_reader(&mut reader)?;
        let range = u16::from_le_bytes(reader.take()?);
        let digest = reader.number()?;
        let counted = [reader.number()?, reader.number()?, reader.number()?, reader.number()?];
        let always = u128::from_le_bytes(reader.take()?);
        let cut = RowRanges::of(shape);
        if range >= cut.count() {
            return Err(PartError::OtherTables);
        }
        let rows = cut.rows(range);
        let within = by.map_or(0..0, |by| {
            let end = first_of(shape, by, rows.end).min(shape.candidates(by));
            first_of(shape, by, rows.start).min(end)..end
        });
        let (mut sizes, mut next) = (Vec::new(), within.start);
        for _ in 0..reader.number()? {
            let candidate = reader.number()?;
            let score = f64::from_le_bytes(reader.take()?);
            let squares = u128::from_le_bytes(reader.take()?);
            let count = reader.number()?;
            if candidate < next || candidate >= within.end {
                return Err(PartError::Damaged(
                    "its candidates are of another range, or do not ascend",
                ));
            }
            if !(score >= 0.0 && score.is_finite()) || count > counted[0] {
                return Err(PartError::Damaged("its candidates make no sense"));
            }
            next = candidate + 1;
            sizes.push(Size { candidate, score, squares, count });
        }
        reader.end()?;
        Ok(Self { order, range, digest, counted, always, sizes })
    }
}

/// The first candidate of a row, or of the rows after the last.
pub(super) fn first_of(shape: &Shape, by: By, row: u32) -> u64 {
    match by {
        By::Row => u64::from(row),
        By::Coordinate => shape.row(row).map_or(shape.coordinates(), |(first, _)| first),
    }
}
