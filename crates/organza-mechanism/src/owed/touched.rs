//! The rows that a batch touched, with their noise of the step, for a table that leaves that of all others for later.

use super::OwedNoise;
use crate::memory::{Lease, Memory};
use crate::random::{Secret, StepRandom};
use crate::row_words::each_row_words;
use crate::sample::{CHUNK, Scratch};
use std::ops::Range;

/// A table with debts: what may learn which rows a batch touched, because it tells nobody.
///
/// # Privacy
/// Whoever implements it promises the conditions of [`OwedNoise`].
pub trait Indebted {
    /// Takes the released gradients of the rows that the batch touched.
    fn take(&mut self, touched: &Touched<'_>);
}

/// The rows that a batch touched, each with its noise of this step.
///
/// Each value is private, but *which* rows there are is not: they can only be handed to an [`Indebted`]
/// table, which leaves the noise of all other rows for later.
pub struct TouchedRows {
    /// The touched rows in ascending order, and their sums without noise.
    memory: Lease,
    owed: OwedNoise,
    random: StepRandom,
    /// The largest size of a sum.
    largest: f64,
}

impl TouchedRows {
    pub(crate) fn release(mut memory: Lease, owed: &OwedNoise, step: u64) -> Self {
        let random = owed.run.source.secret(Secret::TouchedNoise, step);
        let Memory { sum, workspace, release, .. } = &mut *memory;
        release.list_touched(sum, workspace.rows());
        let largest = sum.largest();
        Self { memory, owed: owed.clone(), random, largest }
    }

    /// Hands all rows to a table with debts, once: twice the same noise would not be what other rows owe for two steps.
    pub fn pay_into(self, table: &mut impl Indebted) {
        table.take(&Touched { rows: &self });
    }
}

impl std::fmt::Debug for TouchedRows {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("TouchedRows(secret)")
    }
}

/// The touched rows as an [`Indebted`] table sees them, in ascending order. Noise is drawn when a row is asked
/// for, the same when it is asked for again; rows are independent, so they may be asked for on different threads.
pub struct Touched<'a> {
    rows: &'a TouchedRows,
}

impl Touched<'_> {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.rows.memory.release.runs.len()
    }

    /// The row at `place`, which is below the count.
    pub fn row(&self, place: usize) -> u32 {
        self.rows.memory.release.runs[place].1 as u32
    }

    /// Calls `visit` with each place in `places`, and the released gradient of its row with its noise of this step, in
    /// whole [units](OwedNoise::unit), modulo 2^32: in pieces, each with where in the row it starts.
    pub fn gradients(&self, places: Range<usize>, mut visit: impl FnMut(usize, usize, &[i32])) {
        let TouchedRows { memory, owed, random, largest } = self.rows;
        let sums = |place: usize| memory.sum.row(self.row(place)).unwrap_or(&[]);
        let of = |place: usize| (self.row(place), sums(place).len());
        let mut values = Scratch([0; CHUNK]);
        let mut padded = Scratch([0; CHUNK]);
        each_row_words(random, places, of, |place, start, words| {
            let sums = sums(place);
            let sums = &sums[start..sums.len().min(start + words.len())];
            let count = sums.len();
            let sums = if count == words.len() {
                sums
            } else {
                padded.0[..count].copy_from_slice(sums);
                &padded.0[..words.len()]
            };
            let values = &mut values.0[..words.len()];
            owed.fill(words, Some(sums), *largest, 1, values, random, (self.row(place), start));
            visit(place, start, &values[..count]);
        });
    }
}

impl std::fmt::Debug for Touched<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Touched(secret)")
    }
}
