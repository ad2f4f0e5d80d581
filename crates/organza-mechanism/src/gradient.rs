//! The gradient of one unit: a few rows, of any size.

use crate::row_index::RowIndex;
use crate::shape::Shape;
use std::ops::Range;
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
        let values = match self.index.get(row) {
            Some(place) => self.place(place),
            None => {
                let (_, dimensions) = self.shape.row(row)?;
                let start = self.values.len();
                self.index.insert(row);
                self.starts.push(start);
                self.values.resize(start + dimensions, 0.0);
                start..start + dimensions
            }
        };
        Some(&mut self.values[values])
    }

    /// Adds `parts`, one after another, times `factor` to `row`, which is as if they were added to what [`UnitGradient::row`] gives,
    /// but that a row which is new is written once. What is beyond the last row, or the end of this one, is left out.
    pub fn add<'a>(&mut self, row: u32, factor: f32, parts: impl IntoIterator<Item = &'a [f32]>) {
        let values = parts.into_iter();
        if self.index.get(row).is_some() {
            let mut sums = self.row(row).unwrap_or_default();
            for part in values {
                let (now, later) = sums.split_at_mut(part.len().min(sums.len()));
                now.iter_mut().zip(part).for_each(|(sum, value)| *sum += factor * value);
                sums = later;
            }
            return;
        }
        let Some((_, dimensions)) = self.shape.row(row) else { return };
        let start = self.values.len();
        self.index.insert(row);
        self.starts.push(start);
        for part in values {
            self.values.extend(part.iter().map(|value| factor * value));
        }
        self.values.resize(start + dimensions, 0.0);
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

    pub(crate) fn row_numbers(&self) -> &[u32] {
        self.index.rows()
    }

    /// The rows and their values, in the order in which they came.
    #[inline(always)]
    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = (u32, &[f32])> {
        self.index.rows().iter().enumerate().map(|(place, row)| (*row, self.row_at(place)))
    }

    /// Hands out the values of each row that a selection chooses among, to be changed.
    pub(crate) fn change_selectable(&mut self, mut change: impl FnMut(&mut [f32])) {
        for place in 0..self.starts.len() {
            if self.shape.is_selectable(self.index.rows()[place]) {
                let values = self.place(place);
                change(&mut self.values[values]);
            }
        }
    }

    #[inline(always)]
    fn row_at(&self, place: usize) -> &[f32] {
        &self.values[self.place(place)]
    }

    /// Where the values of the row at `place` stand.
    #[inline(always)]
    fn place(&self, place: usize) -> Range<usize> {
        self.starts[place]..self.starts.get(place + 1).copied().unwrap_or(self.values.len())
    }
}

/// The plain sum of gradients, for training without privacy: no clip, no noise. *Not private.*
///
/// It takes the way of a unit's gradient, and its memory is used again.
#[derive(Debug)]
pub struct PlainSum {
    sum: UnitGradient,
    /// (row, place), to be sorted.
    order: Vec<(u32, u32)>,
}

impl PlainSum {
    /// A sum over tables of this shape.
    pub fn new(shape: Shape) -> Self {
        Self { sum: UnitGradient::new(Arc::new(shape)), order: Vec::new() }
    }

    /// The sum at `row`, to add to: zero at first. `None` beyond the last row.
    pub fn row(&mut self, row: u32) -> Option<&mut [f32]> {
        self.sum.row(row)
    }

    /// Adds all of `other`, which is of the same shape, and leaves it zero.
    pub fn take(&mut self, other: &mut Self) {
        for (row, values) in other.sum.rows() {
            if let Some(sums) = self.sum.row(row) {
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
        }
        other.sum.clear();
    }

    /// Calls `visit` with the first coordinate and the values, times `scale`, of each touched row, in
    /// ascending order if it is asked for, and leaves zero.
    pub fn drain(&mut self, scale: f32, ascending: bool, mut visit: impl FnMut(u64, &[f32])) {
        let Self { sum, order } = self;
        sum.values.iter_mut().for_each(|value| *value *= scale);
        order.clear();
        order.extend(sum.index.rows().iter().copied().zip(0..));
        if ascending {
            order.sort_unstable();
        }
        for (row, place) in order {
            if let Some((first, _)) = sum.shape.row(*row) {
                visit(first, sum.row_at(*place as usize));
            }
        }
        sum.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_parts_is_adding_to_the_row() {
        let shape = Arc::new(Shape::tables(&[(2, 3)]).expect("a good shape"));
        let [mut added, mut written] = [0, 1].map(|_| UnitGradient::new(shape.clone()));
        let whole = [1.0, -2.0, 0.5, 9.0];
        // Parts of all lengths, shorter and longer than the row, on rows that are new and on those that are there.
        for (row, cut, end) in [(1, 1, 3), (0, 2, 2), (1, 0, 4), (0, 3, 4), (1, 1, 1), (2, 1, 3)] {
            added.add(row, -0.5, [&whole[..cut.min(end)], &whole[cut.min(end)..end]]);
            for (sum, value) in written.row(row).into_iter().flatten().zip(&whole[..end]) {
                *sum += -0.5 * value;
            }
        }
        assert_eq!(added.row_numbers(), [1, 0], "there is no third row");
        assert!(added.rows().eq(written.rows()), "{added:?} {written:?}");
    }

    #[test]
    fn a_plain_sum_is_the_sum_in_order_and_then_zero() {
        let shape = Shape::tables(&[(4, 2), (3, 1)]).expect("a good shape");
        let mut sum = PlainSum::new(shape);
        for round in 1..4 {
            for row in [5, 1, 5, 0] {
                sum.row(row).expect("inside")[0] += round as f32;
            }
            assert!(sum.row(7).is_none());
            let mut seen = Vec::new();
            sum.drain(0.5, true, |first, values| seen.push((first, values.to_vec())));
            let half = 0.5 * round as f32;
            assert_eq!(seen, [(0, vec![half, 0.0]), (2, vec![half, 0.0]), (9, vec![2.0 * half])]);
            for row in [5, 1] {
                sum.row(row).expect("inside")[0] += 1.0;
            }
            seen.clear();
            sum.drain(1.0, false, |first, values| seen.push((first, values.to_vec())));
            assert_eq!(seen, [(9, vec![1.0]), (2, vec![1.0, 0.0])]);
        }
    }
}
