//! The shape of a model: tables of rows, one after another.

use crate::scores::By;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use thiserror::Error;

/// The largest number of rows: row numbers and the number of rows take 32 bits.
const MOST_ROWS: u64 = (1 << 32) - 1;

/// Tables of embedding rows, laid out one after another.
///
/// Rows are numbered through all tables, and so are coordinates: row 0 of the second table comes
/// after the last row of the first. A linear model is one table of dimension 1.
///
/// The last tables may be [dense](Shape::with_dense): layers of a network beside its embedding tables, which every step
/// moves, whatever is selected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    tables: Vec<Table>,
    rows: u64,
    coordinates: u64,
    /// The rows and coordinates before those of dense tables.
    selectable: (u64, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Table {
    first_row: u64,
    first_coordinate: u64,
    rows: u64,
    dimensions: u64,
}

/// A shape that no model has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ShapeError {
    /// There is nothing to train.
    #[error("a table has no rows or no dimensions: give each table at least one of both")]
    Empty,
    /// Row or coordinate numbers would overflow.
    #[error("{rows} rows of {dimensions} are more than 2^32 rows or 2^62 coordinates in all")]
    TooWide {
        /// The rows of the table that was too much.
        rows: u64,
        /// Its dimensions.
        dimensions: u64,
    },
}

impl Shape {
    /// One table of `rows` rows with `dimensions` numbers each.
    ///
    /// # Errors
    /// When there is no coordinate, or too many.
    pub fn table(rows: u64, dimensions: u64) -> Result<Self, ShapeError> {
        Self::tables(&[(rows, dimensions)])
    }

    /// Several tables, each (rows, dimensions).
    ///
    /// # Errors
    /// When one of them is empty, or all together are too wide.
    pub fn tables(sizes: &[(u64, u64)]) -> Result<Self, ShapeError> {
        let mut shape = Self { tables: Vec::new(), rows: 0, coordinates: 0, selectable: (0, 0) };
        for &(rows, dimensions) in sizes {
            if rows == 0 || dimensions == 0 {
                return Err(ShapeError::Empty);
            }
            let too_wide = ShapeError::TooWide { rows, dimensions };
            let size = rows.checked_mul(dimensions).ok_or(too_wide.clone())?;
            shape.tables.push(Table {
                first_row: shape.rows,
                first_coordinate: shape.coordinates,
                rows,
                dimensions,
            });
            shape.rows = shape.rows.saturating_add(rows);
            shape.coordinates = shape.coordinates.saturating_add(size);
            if shape.rows > MOST_ROWS || shape.coordinates > 1 << 62 {
                return Err(too_wide);
            }
        }
        if shape.tables.is_empty() {
            return Err(ShapeError::Empty);
        }
        shape.selectable = (shape.rows, shape.coordinates);
        Ok(shape)
    }

    /// The same tables, of which the last `dense` are no candidates of a selection: all of their coordinates get noise in
    /// every step.
    ///
    /// # Errors
    /// When there is no other table.
    pub fn with_dense(self, dense: usize) -> Result<Self, ShapeError> {
        if dense == 0 {
            return Ok(self);
        }
        let first = self.tables.len().checked_sub(dense).filter(|tables| *tables > 0);
        let first = self.tables[first.ok_or(ShapeError::Empty)?];
        Ok(Self { selectable: (first.first_row, first.first_coordinate), ..self })
    }

    /// Some of the rows, as tables of their own, in the same order.
    pub fn part(&self, rows: Range<u32>) -> Self {
        let (start, end) = (u64::from(rows.start), u64::from(rows.end));
        let mut part = Self { tables: Vec::new(), rows: 0, coordinates: 0, selectable: (0, 0) };
        for table in &self.tables {
            let first = table.first_row.max(start);
            let rows = (table.first_row + table.rows).min(end).saturating_sub(first);
            if rows == 0 {
                continue;
            }
            let (first_row, first_coordinate) = (part.rows, part.coordinates);
            part.tables.push(Table { first_row, first_coordinate, rows, ..*table });
            part.rows += rows;
            part.coordinates += rows * table.dimensions;
            if table.first_row < self.selectable.0 {
                part.selectable = (part.rows, part.coordinates);
            }
        }
        part
    }

    /// How many coordinates or rows a selection chooses among: all that are not of dense tables.
    pub fn candidates(&self, by: By) -> u64 {
        match by {
            By::Coordinate => self.selectable.1,
            By::Row => self.selectable.0,
        }
    }

    /// The coordinates or rows of dense tables, which no selection leaves out.
    pub(crate) fn dense(&self, by: By) -> Range<u64> {
        match by {
            By::Coordinate => self.selectable.1..self.coordinates,
            By::Row => self.selectable.0..self.rows,
        }
    }

    /// Whether a row is of no dense table.
    pub(crate) fn is_selectable(&self, row: u32) -> bool {
        u64::from(row) < self.selectable.0
    }

    /// Whether there are dense tables.
    pub(crate) fn has_dense(&self) -> bool {
        self.selectable.0 < self.rows
    }

    /// The number of rows of all tables.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The number of coordinates of all tables (p).
    pub fn coordinates(&self) -> u64 {
        self.coordinates
    }

    /// The number of coordinates in the widest row that is not of a dense table.
    pub fn widest(&self) -> u64 {
        let selectable = self.tables.iter().filter(|table| table.first_row < self.selectable.0);
        selectable.map(|table| table.dimensions).max().unwrap_or(0)
    }

    /// The first coordinate of a row, and how many it has; `None` beyond the last row.
    #[inline]
    pub fn row(&self, row: u32) -> Option<(u64, usize)> {
        let row = u64::from(row);
        let table = self.tables.iter().find(|table| row < table.first_row + table.rows)?;
        let first = table.first_coordinate + (row - table.first_row) * table.dimensions;
        Some((first, table.dimensions as usize))
    }

    /// The coordinates of a row: none beyond the last.
    #[inline]
    pub fn range(&self, row: u32) -> Range<usize> {
        let row = u64::from(row);
        for table in &self.tables {
            let inside = row.wrapping_sub(table.first_row);
            if inside < table.rows {
                let first = (table.first_coordinate + inside * table.dimensions) as usize;
                return first..first + table.dimensions as usize;
            }
        }
        0..0
    }

    /// The row of a coordinate, and its place in the row; `None` beyond the last coordinate.
    pub fn place(&self, coordinate: u64) -> Option<(u32, usize)> {
        let table = self
            .tables
            .iter()
            .find(|table| coordinate < table.first_coordinate + table.rows * table.dimensions)?;
        let inside = coordinate - table.first_coordinate;
        let row = table.first_row + inside / table.dimensions;
        Some((row as u32, (inside % table.dimensions) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_places_are_inverse() {
        let shape = Shape::tables(&[(3, 4), (2, 1), (5, 2)]).expect("a good shape");
        assert_eq!((shape.rows(), shape.coordinates()), (10, 24));
        for row in 0..10 {
            let (first, dimensions) = shape.row(row).expect("inside");
            for place in 0..dimensions {
                assert_eq!(shape.place(first + place as u64), Some((row, place)));
            }
        }
        assert_eq!(shape.row(10), None);
        assert_eq!(shape.place(24), None);
    }

    #[test]
    fn parts_are_the_whole() {
        let tables = [(3, 4), (2, 1), (5, 2), (4, 3)];
        let shape = Shape::tables(&tables).and_then(|shape| shape.with_dense(1)).expect("good");
        assert_eq!(shape.part(0..14), shape);
        for (start, end) in [(0, 4), (1, 9), (4, 5), (8, 12), (10, 14), (12, 13)] {
            let (part, (first, _)) = (shape.part(start..end), shape.row(start).expect("inside"));
            assert_eq!(part.rows(), u64::from(end - start));
            for row in start..end {
                let (place, dimensions) = shape.row(row).expect("inside");
                assert_eq!(part.row(row - start), Some((place - first, dimensions)));
                assert_eq!(part.is_selectable(row - start), shape.is_selectable(row));
            }
            let selectable = shape.candidates(By::Coordinate).saturating_sub(first);
            assert_eq!(part.candidates(By::Coordinate), selectable.min(part.coordinates()));
            assert_eq!(part.row(end - start), None);
        }
    }

    #[test]
    fn shapes_without_sense_are_refused() {
        assert_eq!(Shape::table(0, 5), Err(ShapeError::Empty));
        assert_eq!(Shape::tables(&[]), Err(ShapeError::Empty));
        assert!(matches!(Shape::table(1 << 33, 1), Err(ShapeError::TooWide { .. })));
        assert!(matches!(Shape::table(1 << 20, u64::MAX), Err(ShapeError::TooWide { .. })));
    }
}
