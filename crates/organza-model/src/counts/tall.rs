//! Products of tall matrices, in tiles that stay in the registers of the processor.

use pulp::{Arch, Simd, WithSimd};

/// A tile of a product: so many of its rows, and so many of its columns.
const TILE_ROWS: usize = 4;
const TILE_COLUMNS: usize = 16;

/// A copy of a matrix by rows, each padded with zeros to whole tiles.
#[derive(Clone, Debug, Default)]
pub(super) struct Padded {
    columns: usize,
    values: Vec<f32>,
}

impl Padded {
    fn fill(&mut self, rows: usize, columns: usize) {
        self.columns = columns.next_multiple_of(TILE_COLUMNS);
        self.values.clear();
        self.values.resize(rows * self.columns, 0.0);
    }

    /// The rows of a matrix with `columns` columns, each times its weight.
    pub(super) fn copy(&mut self, source: &[f32], columns: usize, weight: impl Fn(usize) -> f32) {
        self.fill(source.len() / columns, columns);
        let rows = self.values.chunks_mut(self.columns).zip(source.chunks(columns));
        for (place, (row, source)) in rows.enumerate() {
            let weight = weight(place);
            for (value, source) in row.iter_mut().zip(source) {
                *value = weight * source;
            }
        }
    }

    /// The columns of a matrix with `columns` columns, as rows.
    pub(super) fn transpose(&mut self, source: &[f32], columns: usize) {
        self.fill(columns, source.len() / columns);
        for (place, row) in source.chunks(columns).enumerate() {
            for (target, value) in self.values.chunks_mut(self.columns).zip(row) {
                target[place] = *value;
            }
        }
    }

    /// The rows, with their padding.
    pub(super) fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks(self.columns.max(1))
    }
}

/// Sets `result` to the sum over rows t of left_t^T right_t, in single precision and in the order of
/// rows, so that its bits are the same on every processor.
pub(super) fn sum_of_products(left: &Padded, right: &Padded, result: &mut Padded) {
    result.fill(left.columns, right.columns);
    Arch::new().dispatch(Sum { left, right, result });
}

struct Sum<'a> {
    left: &'a Padded,
    right: &'a Padded,
    result: &'a mut Padded,
}

impl WithSimd for Sum<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (rows, columns) = (self.left.columns, self.right.columns);
        if rows == 0 || columns == 0 {
            return;
        }
        for first_row in (0..rows).step_by(TILE_ROWS) {
            for first_column in (0..columns).step_by(TILE_COLUMNS) {
                let mut tile = [[0.0_f32; TILE_COLUMNS]; TILE_ROWS];
                let pairs = self.left.values.chunks_exact(rows);
                for (left, right) in pairs.zip(self.right.values.chunks_exact(columns)) {
                    let left = &left[first_row..first_row + TILE_ROWS];
                    let right = &right[first_column..first_column + TILE_COLUMNS];
                    for (sums, left) in tile.iter_mut().zip(left) {
                        for (sum, right) in sums.iter_mut().zip(right) {
                            *sum += left * right;
                        }
                    }
                }
                for (place, sums) in tile.iter().enumerate() {
                    let start = (first_row + place) * columns + first_column;
                    self.result.values[start..start + TILE_COLUMNS].copy_from_slice(sums);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_agree_with_plain_loops() {
        let value = |place: usize| ((place * 37 % 23) as f32 - 11.0) / 8.0;
        for (rows, left_columns, right_columns) in [(5, 3, 17), (64, 16, 1), (9, 33, 48)] {
            let left: Vec<f32> = (0..rows * left_columns).map(value).collect();
            let right: Vec<f32> = (7..7 + rows * right_columns).map(value).collect();
            let mut padded = [Padded::default(), Padded::default(), Padded::default()];
            let [one, other, result] = &mut padded;
            one.copy(&left, left_columns, |row| row as f32);
            other.copy(&right, right_columns, |_| 1.0);
            sum_of_products(one, other, result);
            for (row, found) in result.rows().take(left_columns).enumerate() {
                for (column, found) in found.iter().take(right_columns).enumerate() {
                    let terms = (0..rows).map(|place| {
                        place as f32
                            * left[place * left_columns + row]
                            * right[place * right_columns + column]
                    });
                    let sum: f32 = terms.sum();
                    assert!((found - sum).abs() <= 1e-4 * (1.0 + sum.abs()), "{found} {sum}");
                }
            }
            other.transpose(&right, right_columns);
            let (row, column) = (right_columns / 2, rows / 2);
            let found = other.rows().nth(row).expect("a row")[column];
            assert_eq!(found, right[column * right_columns + row]);
        }
    }
}
