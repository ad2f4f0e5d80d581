//! The sum of clipped gradients, in integers, with nothing to read.

use crate::clip::{AddTruncated, Clipped};
use crate::row_index::RowIndex;
use crate::scores::By;
use crate::shape::Shape;
use pulp::Arch;
use std::sync::Arc;

/// The sum of a batch's clipped gradients in grid steps, and how many units touched each row.
///
/// # Privacy
/// Adding or removing one unit changes the sum by at most 2^30 steps (S1) in L2, and the count of at
/// most `rows_per_unit` rows, by one each. Integer sums do not depend on order or threads. It never
/// leaves this crate: only a mechanism can look inside.
pub(crate) struct ClippedSum {
    shape: Arc<Shape>,
    index: RowIndex,
    starts: Vec<usize>,
    values: Vec<i64>,
    counts: Vec<u64>,
    rows_per_unit: usize,
    not_finite: u64,
}

/// Without a value: whoever holds a sum may print it.
impl std::fmt::Debug for ClippedSum {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ClippedSum(secret)")
    }
}

impl ClippedSum {
    pub(crate) fn new(shape: Arc<Shape>, rows_per_unit: usize) -> Self {
        Self {
            shape,
            index: RowIndex::new(),
            starts: Vec::new(),
            values: Vec::new(),
            counts: Vec::new(),
            rows_per_unit,
            not_finite: 0,
        }
    }

    /// How many gradients held a NaN or an infinity and were counted as zero.
    pub(crate) fn not_finite(&self) -> u64 {
        self.not_finite
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Adds one unit.
    pub(crate) fn add(&mut self, unit: &Clipped<'_>) {
        if unit.not_finite {
            self.not_finite += 1;
            return;
        }
        let arch = Arch::new();
        for (row, values) in unit.gradient.rows() {
            let start = self.start(row, values.len());
            let sums = &mut self.values[start..start + values.len()];
            arch.dispatch(AddTruncated { values, factor: unit.factor, sums });
        }
        self.count(unit);
    }

    /// Counts the unit at the rows where it is largest (ties: the lower row), `rows_per_unit` at the
    /// most: a rule that looks at this unit alone.
    fn count(&mut self, unit: &Clipped<'_>) {
        if self.rows_per_unit == 0 {
            return;
        }
        let size = |values: &[f32]| values.iter().map(|value| value.abs()).fold(0.0, f32::max);
        let mut rows: Vec<(f32, u32)> =
            unit.gradient.rows().map(|(row, values)| (size(values), row)).collect();
        if rows.len() > self.rows_per_unit {
            rows.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
            rows.truncate(self.rows_per_unit);
        }
        for (_, row) in rows {
            if let Some(place) = self.index.get(row) {
                self.counts[place] += 1;
            }
        }
    }

    /// Adds the sum of another part of the same batch.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.not_finite += other.not_finite;
        for (place, (row, values)) in other.rows().enumerate() {
            let start = self.start(row, values.len());
            for (sum, value) in self.values[start..].iter_mut().zip(values) {
                *sum += value;
            }
            if let Some(own) = self.index.get(row) {
                self.counts[own] += other.counts[place];
            }
        }
    }

    fn start(&mut self, row: u32, dimensions: usize) -> usize {
        let (place, new) = self.index.insert(row);
        if new {
            self.starts.push(self.values.len());
            self.values.resize(self.values.len() + dimensions, 0);
            self.counts.push(0);
        }
        self.starts[place]
    }

    fn rows(&self) -> impl Iterator<Item = (u32, &[i64])> {
        self.index.rows().iter().enumerate().map(|(place, row)| (*row, self.row_at(place)))
    }

    fn row_at(&self, place: usize) -> &[i64] {
        let end = self.starts.get(place + 1).copied().unwrap_or(self.values.len());
        &self.values[self.starts[place]..end]
    }

    /// The values of `row`, if any unit touched it.
    pub(crate) fn row(&self, row: u32) -> Option<&[i64]> {
        self.index.get(row).map(|place| self.row_at(place))
    }

    /// The value at `coordinate`: zero where no unit touched its row.
    pub(crate) fn value(&self, coordinate: u64) -> i64 {
        let Some((row, place)) = self.shape.place(coordinate) else { return 0 };
        self.row(row).map_or(0, |values| values[place])
    }

    /// How many candidates the touched rows have.
    pub(crate) fn touched(&self, by: By) -> u64 {
        match by {
            By::Coordinate => self.values.len() as u64,
            By::Row => self.index.rows().len() as u64,
        }
    }

    /// The touched rows in ascending order: an order that says nothing about the batch's own.
    pub(crate) fn sorted_rows(&self) -> Vec<u32> {
        let mut rows = self.index.rows().to_vec();
        rows.sort_unstable();
        rows
    }

    /// The rows that some unit counted at, in ascending order, with their counts.
    pub(crate) fn counted_rows(&self) -> Vec<(u32, u64)> {
        let mut counts: Vec<(u32, u64)> =
            self.index.rows().iter().copied().zip(self.counts.iter().copied()).collect();
        counts.retain(|(_, count)| *count > 0);
        counts.sort_unstable();
        counts
    }
}
