//! The gradient of one unit: a few rows, of any size.

use crate::row_index::RowIndex;
use crate::shape::Shape;
use std::sync::Arc;

/// The gradient of one unit, as sparse rows. Not private, not bounded: it goes nowhere but into
/// [`Batch::sum`](crate::Batch::sum), which clips it.
#[derive(Debug)]
pub struct UnitGradient {
    shape: Arc<Shape>,
    index: RowIndex,
    starts: Vec<usize>,
    values: Vec<f32>,
}

impl UnitGradient {
    pub(crate) fn new(shape: Arc<Shape>) -> Self {
        Self { shape, index: RowIndex::new(), starts: Vec::new(), values: Vec::new() }
    }

    /// The gradient of `row`, to add to: zero at first, and the same row again when asked again, so
    /// that what a unit contributes to one row is merged before the clip. `None` beyond the last row.
    pub fn row(&mut self, row: u32) -> Option<&mut [f32]> {
        let (_, dimensions) = self.shape.row(row)?;
        let (place, new) = self.index.insert(row);
        if new {
            self.starts.push(self.values.len());
            self.values.resize(self.values.len() + dimensions, 0.0);
        }
        let start = self.starts[place];
        Some(&mut self.values[start..start + dimensions])
    }

    /// Whether it is of this shape; one of another plan is not.
    pub(crate) fn is_of(&self, shape: &Arc<Shape>) -> bool {
        Arc::ptr_eq(&self.shape, shape)
    }

    pub(crate) fn clear(&mut self) {
        self.index.clear();
        self.starts.clear();
        self.values.clear();
    }

    pub(crate) fn values(&self) -> &[f32] {
        &self.values
    }

    /// The rows and their values, in the order in which they came.
    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = (u32, &[f32])> {
        self.index.rows().iter().enumerate().map(|(place, row)| {
            let end = self.starts.get(place + 1).copied().unwrap_or(self.values.len());
            (*row, &self.values[self.starts[place]..end])
        })
    }
}
