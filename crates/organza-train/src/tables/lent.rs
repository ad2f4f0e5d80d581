//! Rows that are read: for as long as they are, the table holds what they are worth in the place of what is kept.

use super::regions::Region;
use organza_mechanism::Shape;

/// Marks a row that is being read, in a list by row of numbers below it.
pub(super) const LENT: u32 = 1 << 31;

/// Rows that are being read, and what is kept of them, one after another.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lent {
    pub(super) rows: Vec<u32>,
    pub(super) kept: Vec<f32>,
}

/// Puts everything that was kept back to its place in the table, bit for bit.
pub(super) fn give_back(shape: &Shape, region: Region<'_, Lent>) {
    let Region { first_row, by_row, first, weights, memory } = region;
    let Lent { rows, kept } = &mut memory[0];
    let mut left = &kept[..];
    for row in &*rows {
        by_row[(row - first_row) as usize] &= !LENT;
        let place = shape.range(*row);
        let weights = &mut weights[place.start - first..place.end - first];
        let (own, after) = left.split_at(weights.len());
        weights.copy_from_slice(own);
        left = after;
    }
    // A copy of everything is needed now and then, and memory for it in between is not.
    let everything = rows.len() == by_row.len();
    rows.clear();
    kept.clear();
    if everything {
        (*rows, *kept) = (Vec::new(), Vec::new());
    }
}
