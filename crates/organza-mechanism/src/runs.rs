//! What a step releases, as runs of consecutive coordinates in memory that is used again.

use crate::scores::By;
use crate::sum::ClippedSum;

/// Runs of consecutive coordinates and their values.
#[derive(Default)]
pub(crate) struct Runs {
    /// The first coordinate of each run in ascending order, and where it starts in the values; in a list of
    /// touched rows, the row instead.
    pub(crate) runs: Vec<(u64, usize)>,
    /// Values without noise, and then with it, in steps of the released grid.
    pub(crate) sums: Vec<i64>,
    /// Values with noise.
    values: Vec<f32>,
}

impl Runs {
    pub(crate) fn clear(&mut self) {
        self.runs.clear();
        self.sums.clear();
        self.values.clear();
    }

    /// Lists the touched rows, without their values.
    pub(crate) fn list_touched(&mut self, sum: &ClippedSum, rows: &mut Vec<u32>) {
        sum.sorted_rows(rows);
        let shape = sum.shape();
        self.runs.extend(
            rows.iter().filter_map(|row| shape.row(*row).map(|(first, _)| (first, *row as usize))),
        );
    }

    /// Gathers the sums of what was selected, untouched ones included.
    pub(crate) fn gather(&mut self, sum: &ClippedSum, by: By, selected: &[u64]) {
        match by {
            By::Coordinate => {
                self.runs.extend(selected.iter().copied().zip(0..));
                self.sums.extend(selected.iter().map(|coordinate| sum.value(*coordinate)));
            }
            By::Row => selected.iter().for_each(|row| self.push_row(sum, *row as u32)),
        }
    }

    /// Adds a row, touched or not, as a run.
    pub(crate) fn push_row(&mut self, sum: &ClippedSum, row: u32) {
        let Some((first, dimensions)) = sum.shape().row(row) else { return };
        self.runs.push((first, self.sums.len()));
        match sum.row(row) {
            Some(values) => self.sums.extend_from_slice(values),
            None => self.sums.resize(self.sums.len() + dimensions, 0),
        }
    }

    /// Turns the sums, which have noise now, into values of the averaged gradient.
    pub(crate) fn finish(&mut self, step: f64) {
        self.values.extend(self.sums.iter().map(|value| (*value as f64 * step) as f32));
    }

    /// Calls `visit` with the first coordinate and the values of each run.
    pub(crate) fn visit(&self, mut visit: impl FnMut(u64, &[f32])) {
        for (place, (first, start)) in self.runs.iter().enumerate() {
            let end = self.runs.get(place + 1).map_or(self.values.len(), |(_, start)| *start);
            visit(*first, &self.values[*start..end]);
        }
    }
}
