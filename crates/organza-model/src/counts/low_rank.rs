//! Symmetric matrices of low rank, and the block of vectors that finds them.

use super::tall::{Padded, sum_of_products};
use rayon::prelude::*;

/// Rows that one thread works on at a time, and those of them that are summed in single precision.
const CHUNK: usize = 1 << 10;
const FEW: usize = 1 << 6;

/// The most rounds of orthonormalisation; after two there is nothing left to do but for odd blocks.
const ROUNDS: usize = 4;
/// The share of a column that must lie outside of the span of those before for one round to do.
const FAR: f64 = 0.1;
/// What is left of a column after rounding points nowhere.
const NOTHING: f64 = 1e-12;

/// A tall matrix: `rows` x `columns`, by rows.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) columns: usize,
    pub(super) values: Vec<f32>,
}

impl Block {
    pub(super) fn zero(rows: usize, columns: usize) -> Self {
        Self { columns, values: vec![0.0; rows * columns] }
    }

    /// Numbers without pattern, the same in every run: where the search for eigenvectors begins.
    /// They hide nothing, so they need no private source.
    pub(super) fn without_pattern(rows: usize, columns: usize) -> Self {
        let mut state = 0_u64;
        let next = || {
            // SplitMix64 (Steele, Lea, Flood 2014), its upper bits as a number between -1 and 1.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed >> 40) as f32 + 0.5) / 8_388_608.0 - 1.0
        };
        Self { columns, values: std::iter::repeat_with(next).take(rows * columns).collect() }
    }

    pub(super) fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// The sum over rows i of weight(i) left_i right_i^T: columns x columns.
    ///
    /// A few rows at a time are summed in single precision, and these sums in double precision, in chunks
    /// of a fixed size and then in the order of chunks: the bits do not depend on the number of threads.
    pub(super) fn product(&self, other: &Self, weight: impl Fn(usize) -> f64 + Sync) -> Vec<f64> {
        let size = self.columns * other.columns;
        if size == 0 {
            return Vec::new();
        }
        let parts: Vec<Vec<f64>> = self
            .values
            .par_chunks(CHUNK * self.columns)
            .zip(other.values.par_chunks(CHUNK * other.columns))
            .enumerate()
            .map(|(chunk, (left, right))| {
                let mut part = vec![0.0; size];
                let (mut one, mut two, mut sum) = <(Padded, Padded, Padded)>::default();
                let few = left.chunks(FEW * self.columns).zip(right.chunks(FEW * other.columns));
                for (place, (left, right)) in few.enumerate() {
                    let first = chunk * CHUNK + place * FEW;
                    one.copy(left, self.columns, |row| weight(first + row) as f32);
                    two.copy(right, other.columns, |_| 1.0);
                    sum_of_products(&one, &two, &mut sum);
                    for (part, sum) in part.chunks_mut(other.columns).zip(sum.rows()) {
                        for (part, sum) in part.iter_mut().zip(sum) {
                            *part += f64::from(*sum);
                        }
                    }
                }
                part
            })
            .collect();
        let mut total = vec![0.0; size];
        for part in parts {
            for (total, part) in total.iter_mut().zip(part) {
                *total += part;
            }
        }
        total
    }

    /// Hands each row of this block times a small matrix, given by rows, to `take`, with the number of
    /// the row and the row of `result` to change.
    pub(super) fn each_product(
        &self,
        small: &[f64],
        columns: usize,
        result: &mut Self,
        take: impl Fn(usize, &[f32], &mut [f32]) + Sync,
    ) {
        if columns == 0 || self.columns == 0 || result.columns == 0 {
            return;
        }
        let small: Vec<f32> = small.iter().map(|value| *value as f32).collect();
        let mut padded = Padded::default();
        padded.copy(&small, columns, |_| 1.0);
        let width = result.columns;
        result
            .values
            .par_chunks_mut(FEW * width)
            .zip(self.values.par_chunks(FEW * self.columns))
            .enumerate()
            .for_each_init(<(Padded, Padded)>::default, |(turned, product), (chunk, rows)| {
                let (result, rows) = rows;
                turned.transpose(rows, self.columns);
                sum_of_products(turned, &padded, product);
                let rows = result.chunks_mut(width).zip(product.rows());
                for (place, (result, product)) in rows.enumerate() {
                    take(chunk * FEW + place, &product[..columns], result);
                }
            });
    }

    /// This block times a small matrix, given by rows.
    pub(super) fn times(&self, small: &[f64], columns: usize) -> Self {
        let rows = self.values.len() / self.columns.max(1);
        let mut result = Self::zero(rows, columns);
        self.each_product(small, columns, &mut result, |_, product, row| {
            row.copy_from_slice(product);
        });
        result
    }

    /// The first columns.
    pub(super) fn first(&self, columns: usize) -> Self {
        let rows = self.values.chunks(self.columns.max(1));
        let values = rows.flat_map(|row| &row[..columns]).copied().collect();
        Self { columns, values }
    }

    /// The columns of this block and then those of another.
    pub(super) fn with_columns_of(&self, other: &Self) -> Self {
        let rows = self.values.chunks(self.columns).zip(other.values.chunks(other.columns));
        let values = rows.flat_map(|(left, right)| left.iter().chain(right)).copied().collect();
        Self { columns: self.columns + other.columns, values }
    }

    /// Makes the columns orthonormal without changing the space they span; a column that adds nothing
    /// to those before becomes zero.
    ///
    /// With B^T B = R^T R (Cholesky), the columns of B R^-1 are orthonormal. In single precision a round
    /// leaves an error that grows with the condition of B, so there is another one unless each column
    /// was far from the span of those before.
    pub(super) fn orthonormalise(&mut self) {
        for _ in 0..ROUNDS {
            let gram = self.product(self, |_| 1.0);
            let (inverse, least) = inverse_root(self.columns, &gram);
            *self = self.times(&inverse, self.columns);
            if least > FAR {
                break;
            }
        }
    }
}

/// R^-1 for a positive matrix R^T R, by rows, and the least share of a column's square that lies outside
/// of the span of those before; columns of which nothing lies outside are zero, and do not count.
fn inverse_root(size: usize, gram: &[f64]) -> (Vec<f64>, f64) {
    let length = |column: usize| gram[column * size + column].sqrt();
    let mut root = vec![0.0; size * size];
    let mut least = f64::INFINITY;
    for column in 0..size {
        for row in 0..=column {
            let terms = (0..row).map(|at| root[at * size + row] * root[at * size + column]);
            let rest = gram[row * size + column] - terms.sum::<f64>();
            if row < column {
                let pivot = root[row * size + row];
                root[row * size + column] = if pivot > 0.0 { rest / pivot } else { 0.0 };
            } else if rest > NOTHING * length(column).powi(2) {
                least = least.min(rest / length(column).powi(2));
                root[row * size + row] = rest.sqrt();
            }
        }
    }
    let mut inverse = vec![0.0; size * size];
    for column in 0..size {
        if root[column * size + column] == 0.0 {
            continue;
        }
        inverse[column * size + column] = 1.0 / root[column * size + column];
        for row in (0..column).rev() {
            let pivot = root[row * size + row];
            let terms =
                (row + 1..=column).map(|at| root[row * size + at] * inverse[at * size + column]);
            let sum: f64 = terms.sum();
            inverse[row * size + column] = if pivot > 0.0 { -sum / pivot } else { 0.0 };
        }
    }
    (inverse, least)
}

/// The symmetric matrix B diag(v) B^T.
#[derive(Clone, Debug)]
pub(super) struct LowRank {
    pub(super) basis: Block,
    pub(super) values: Vec<f64>,
}

impl LowRank {
    pub(super) fn zero() -> Self {
        Self { basis: Block { columns: 0, values: Vec::new() }, values: Vec::new() }
    }

    /// What an entry is to be multiplied with on the side of the row: B diag(v).
    pub(super) fn scaled_row(&self, row: usize, scaled: &mut Vec<f32>) {
        scaled.clear();
        let entries = self.basis.row(row).iter().zip(&self.values);
        scaled.extend(entries.map(|(entry, value)| (f64::from(*entry) * value) as f32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_become_orthonormal() {
        let mut block = Block::without_pattern(300, 12);
        // Nearly the same direction twice, and quite different lengths.
        for row in block.values.chunks_mut(12) {
            row[1] = row[0] + 1e-3 * row[1];
            row[2] *= 100.0;
        }
        block.orthonormalise();
        let gram = block.product(&block, |_| 1.0);
        for (place, value) in gram.iter().enumerate() {
            let identity = if place / 12 == place % 12 { 1.0 } else { 0.0 };
            assert!((value - identity).abs() < 1e-5, "{place}: {value}");
        }
    }

    #[test]
    fn products_agree_with_plain_sums() {
        // More than one chunk, and a last one that is not full.
        let rows = CHUNK + FEW + 3;
        let (one, other) = (Block::without_pattern(rows, 5), Block::without_pattern(rows, 18));
        let weight = |row: usize| 1.0 + row as f64 / 1000.0;
        let product = one.product(&other, weight);
        for (place, found) in product.iter().enumerate() {
            let terms = (0..rows).map(|row| {
                let (left, right) = (one.row(row)[place / 18], other.row(row)[place % 18]);
                weight(row) * f64::from(left) * f64::from(right)
            });
            assert!((found - terms.sum::<f64>()).abs() < 1e-3, "{place}");
        }
        let small: Vec<f64> = (0..5 * 3).map(|place| f64::from(place) - 4.0).collect();
        let turned = one.times(&small, 3);
        for row in 0..rows {
            for column in 0..3 {
                let terms = one.row(row).iter().enumerate();
                let sum: f64 = terms.map(|(at, v)| f64::from(*v) * small[at * 3 + column]).sum();
                assert!((f64::from(turned.row(row)[column]) - sum).abs() < 1e-5);
            }
        }
        let both = one.with_columns_of(&other);
        assert_eq!((both.first(5).values, both.row(7)[5]), (one.values.clone(), other.row(7)[0]));
    }
}
