//! Tables whose rows are in many places: rows fall into fixed ranges, each with a key of its own for the noise on it.
//!
//! ```text
//! whoever holds the key of the run            whoever holds rows, and the keys of their ranges
//! Sampler ─range_settings(), range_keys()─▶   RowRange
//!         ─open(step, &Charged)─▶ PaidStep ─opening()─▶ GatheredBatch ◀─read, take (parts)
//!                                 ◀─offer()───────────── RangeSum ◀─join()──┘
//!           ReleasedClip ◀─decide()──┴─▶ Decision ─for_ranges()─▶ Selected ─(clip S2, noise)─▶ Noised, TouchedRows
//! ```
//!
//! # Privacy
//! **The law.** A step in one place takes a sum x, selects S by a rule that sees the sizes of candidates, clips what was selected to S2 and
//! adds noise N to it that is independent from coordinate to coordinate. Here each range r has x_r, the rows of x in the range, and
//!
//! - hands over what a rule looks at: the score, the count and the squares of each touched row, as they would be computed
//!   in one place, or the values of these rows, where single coordinates are selected. The rule runs on all of them, joined, once, by the same code. So S has the very law of that rule
//!   on x, whichever rule it is;
//! - is told which of its candidates are in S, and the squares of all that was selected anywhere: whole numbers, so their sum is exact.
//!   So the second clip is the projection of the whole, the same factor in each range;
//! - adds the noise of its own key. Ranges have different keys, so noise is independent from range to range as it is within one.
//!
//! Hence what all ranges release together has exactly the law of the step's event, which is charged once, for all. Where noise is left for later the
//! same holds row by row, and what it costs ([`DeferredGrid`](crate::DeferredGrid)) is by the coordinates and steps of all tables.
//!
//! **The keys.** The key of a range is [named](crate::RandomSource::named) under that of the purpose. So whoever holds rows can draw the noise on these, and
//! neither that on others, nor who joins a batch, nor what is selected. And it draws noise on nothing that was not paid for: a message of a
//! [`PaidStep`], which is made against the proof of a charge alone, is sealed for those rows by a key that only the driver and whoever holds them has.
//! A range draws a step once, and only on the sum whose digest the decision names.
//!
//! **One part.** A part has the rows of its units in all ranges. If ranges took parts of the same buckets that a worker made of other data, or by another program,
//! a unit could be in both, clipped twice. So each range offers which parts it has joined, by digests of all their rows, and nothing is decided
//! unless they are the same everywhere.
//!
//! **What is not hidden.** Whoever holds rows sees the sums of these without noise, and has the key of the noise on them: it is trusted as
//! the one process of an ordinary run is, for its rows. It has no data of units. Whoever decides sees the sizes of touched rows, or their sums where single
//! coordinates are selected.
//!
//! **Bits.** Ranges follow the shape of the tables alone. So bits do not depend on how many places there are, one among them.

mod decision;
mod gathered;
mod keys;
mod offer;
mod row_range;
mod step;
#[cfg(test)]
mod tests;

pub use decision::{Decision, RangeDecision};
pub use gathered::{GatheredBatch, RangeSum, ReadPart};
pub use keys::{PaidOrder, RangeKeys};
pub use row_range::{RangeSettings, RowRange};
pub use step::PaidStep;

use crate::shape::Shape;
use std::ops::Range;

/// The most ranges that tables have: many more than machines, so that they can be divided evenly.
const MOST_RANGES: u64 = 256;
/// Fewer rows are not worth a range of their own.
const ROWS_OF_A_RANGE: u64 = 1_024;

/// How the rows of tables are cut into ranges: a public function of their number, the same for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowRanges {
    rows: u64,
    count: u64,
}

impl RowRanges {
    /// Those of tables of this shape.
    pub fn of(shape: &Shape) -> Self {
        let rows = shape.rows();
        Self { rows, count: (rows / ROWS_OF_A_RANGE).clamp(1, MOST_RANGES) }
    }

    /// How many there are.
    pub fn count(&self) -> u16 {
        self.count as u16
    }

    /// The rows of a range.
    pub fn rows(&self, range: u16) -> Range<u32> {
        let start = |range: u64| (self.rows * range.min(self.count) / self.count) as u32;
        start(u64::from(range))..start(u64::from(range) + 1)
    }

    /// The range of a row; of one beyond the last, one beyond the last.
    pub fn of_row(&self, row: u32) -> u16 {
        let row = u64::from(row).min(self.rows);
        // The last range that starts at this row or before it.
        (((row + 1) * self.count - 1) / self.rows.max(1)).min(self.count) as u16
    }

    /// The ranges of a place, where they are shared by `of` places: each range is of one place, and each place has the same number of them, or one more.
    pub fn of_place(&self, number: usize, of: usize) -> Range<u16> {
        ranges_of_place(self.count(), number, of)
    }
}

/// Of so many ranges, those of a place, where they are shared by `of` places.
pub fn ranges_of_place(count: u16, number: usize, of: usize) -> Range<u16> {
    let count = usize::from(count);
    let of = of.clamp(1, count.max(1));
    let start = |number: usize| (number.min(of) * count / of) as u16;
    start(number)..start(number + 1)
}
