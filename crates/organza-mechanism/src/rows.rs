//! Rows of tables, as whoever computes gradients sees them.

use crate::gradient::{PlainSum, UnitGradient};
use crate::shape::Shape;

/// Rows to read. They may stand anywhere: in one list, in pieces, in a table that is brought up to date on the way.
///
/// Rows are counted through all tables, and are as long as their table is wide. One that does not exist is empty:
/// a task with a mistake in one unit must not stop a run, which would tell that the unit is there.
pub trait ReadRows: Sync {
    /// The values of `row`.
    fn row(&self, row: u32) -> &[f32];
}

/// Rows to add to: where gradients go.
pub trait WriteRows {
    /// The gradient of `row`, to add to: zero at first, and the same values again when asked again, so that what
    /// is contributed twice to one row is merged. Empty for a row that does not exist, as in [`ReadRows`].
    fn row(&mut self, row: u32) -> &mut [f32];
}

impl WriteRows for UnitGradient {
    fn row(&mut self, row: u32) -> &mut [f32] {
        UnitGradient::row(self, row).unwrap_or_default()
    }
}

impl WriteRows for PlainSum {
    fn row(&mut self, row: u32) -> &mut [f32] {
        PlainSum::row(self, row).unwrap_or_default()
    }
}

/// Tables that stand in one list, one after another.
#[derive(Clone, Debug)]
pub struct FlatRows<'a> {
    shape: Shape,
    values: &'a [f32],
}

impl<'a> FlatRows<'a> {
    /// The rows of tables of this shape; those beyond the end of `values` are empty.
    pub fn new(shape: Shape, values: &'a [f32]) -> Self {
        Self { shape, values }
    }
}

impl ReadRows for FlatRows<'_> {
    #[inline]
    fn row(&self, row: u32) -> &[f32] {
        self.values.get(self.shape.range(row)).unwrap_or_default()
    }
}
