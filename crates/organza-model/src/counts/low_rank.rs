//! Symmetric matrices of low rank, and the block of vectors that finds them.

use super::eigen::symmetric_eigen;
use crate::kernels::add_scaled;
use rayon::prelude::*;

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

    /// The sum over rows i of weight(i) left_i right_i^T: columns x columns, in double precision.
    ///
    /// Rows are summed in chunks of a fixed size, and chunks in their order: the bits do not depend on
    /// the number of threads.
    pub(super) fn product(&self, other: &Self, weight: impl Fn(usize) -> f64 + Sync) -> Vec<f64> {
        const CHUNK: usize = 1 << 10;
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
                let rows = left.chunks(self.columns).zip(right.chunks(other.columns));
                for (row, (left, right)) in rows.enumerate() {
                    let weight = weight(chunk * CHUNK + row);
                    for (sums, left) in part.chunks_mut(other.columns).zip(left) {
                        let left = weight * f64::from(*left);
                        for (sum, right) in sums.iter_mut().zip(right) {
                            *sum += left * f64::from(*right);
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

    /// This block times a small matrix, given by rows.
    pub(super) fn times(&self, small: &[f64], columns: usize) -> Self {
        let rows = self.values.len() / self.columns.max(1);
        let mut result = Self::zero(rows, columns);
        let small: Vec<f32> = small.iter().map(|value| *value as f32).collect();
        if columns > 0 && self.columns > 0 {
            result
                .values
                .par_chunks_mut(columns)
                .zip(self.values.par_chunks(self.columns))
                .for_each(|(result, row)| {
                    for (value, small) in row.iter().zip(small.chunks(columns)) {
                        add_scaled(result, *value, small);
                    }
                });
        }
        result
    }

    /// Makes the columns orthonormal without changing the space they span; a column that adds nothing
    /// to those before becomes zero.
    ///
    /// With B^T B = E diag(g) E^T, the columns of B E diag(g)^(-1/2) are orthonormal. In single
    /// precision the first round leaves an error that grows with the condition of B; the second removes
    /// it.
    pub(super) fn orthonormalise(&mut self) {
        for _ in 0..2 {
            let size = self.columns;
            let gram = self.product(self, |_| 1.0);
            let (values, vectors) = symmetric_eigen(size, gram);
            let most = values.iter().copied().fold(0.0, f64::max);
            let mut small = vec![0.0; size * size];
            for column in 0..size {
                // What is left of a column after rounding points nowhere.
                let scale =
                    if values[column] > 1e-12 * most { values[column].powf(-0.5) } else { 0.0 };
                for row in 0..size {
                    small[row * size + column] = vectors[column * size + row] * scale;
                }
            }
            *self = self.times(&small, size);
        }
    }
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

    /// The sum over entries of weight(i) weight(j) A_ij C_ij, for A = B diag(v) B^T and C likewise:
    /// sum over r, s of v_r u_s (b_r^T diag(weight) c_s)^2.
    pub(super) fn inner(&self, other: &Self, weight: impl Fn(usize) -> f64 + Sync) -> f64 {
        let product = self.basis.product(&other.basis, weight);
        let rows = product.chunks(other.basis.columns.max(1)).zip(&self.values);
        rows.map(|(row, left)| {
            row.iter()
                .zip(&other.values)
                .map(|(entry, right)| left * right * entry * entry)
                .sum::<f64>()
        })
        .sum()
    }

    /// `own` times this plus `share` times another, as one matrix of low rank.
    pub(super) fn combined(&self, own: f64, other: &Self, share: f64) -> Self {
        let (left, right) = (self.basis.columns, other.basis.columns);
        let columns = left + right;
        let rows =
            (self.basis.values.len() / left.max(1)).max(other.basis.values.len() / right.max(1));
        let mut basis = Block::zero(rows, columns);
        if columns > 0 {
            basis.values.par_chunks_mut(columns).enumerate().for_each(|(row, target)| {
                target[..left].copy_from_slice(self.basis.row(row));
                target[left..].copy_from_slice(other.basis.row(row));
            });
        }
        let values = self.values.iter().map(|value| own * value);
        let values = values.chain(other.values.iter().map(|value| share * value)).collect();
        Self { basis, values }
    }

    /// Adds this matrix times a block, each row scaled before and after by weight(row).
    pub(super) fn apply(
        &self,
        block: &Block,
        weight: impl Fn(usize) -> f32 + Sync,
        scale: f64,
        result: &mut Block,
    ) {
        if self.values.is_empty() {
            return;
        }
        let mut small = self.basis.product(block, |row| f64::from(weight(row)));
        for (row, value) in small.chunks_mut(block.columns).zip(&self.values) {
            row.iter_mut().for_each(|entry| *entry *= value * scale);
        }
        let product = self.basis.times(&small, block.columns);
        let columns = block.columns;
        result
            .values
            .par_chunks_mut(columns)
            .zip(product.values.par_chunks(columns))
            .enumerate()
            .for_each(|(row, (result, product))| add_scaled(result, weight(row), product));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(matrix: &LowRank, rows: usize) -> Vec<f64> {
        let entry = |place: usize| {
            let (row, column) = (matrix.basis.row(place / rows), matrix.basis.row(place % rows));
            let terms = row.iter().zip(column).zip(&matrix.values);
            terms.map(|((row, column), value)| f64::from(*row) * f64::from(*column) * value).sum()
        };
        (0..rows * rows).map(entry).collect()
    }

    fn some(rows: usize, values: Vec<f64>) -> LowRank {
        LowRank { basis: Block::without_pattern(rows, values.len()), values }
    }

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
    fn products_and_sums_agree_with_dense_matrices() {
        let rows = 17;
        let (one, other) = (some(rows, vec![3.0, -1.0]), some(rows, vec![0.5, 2.0, 1.0]));
        let weight = |row: usize| 1.0 + row as f64 / 10.0;
        let (left, right) = (dense(&one, rows), dense(&other, rows));
        let mut sum = 0.0;
        for (place, (left, right)) in left.iter().zip(&right).enumerate() {
            sum += weight(place / rows) * weight(place % rows) * left * right;
        }
        assert!((one.inner(&other, weight) - sum).abs() < 1e-6 * sum.abs());

        let between = dense(&one.combined(1.25, &other, -0.25), rows);
        for ((left, right), between) in left.iter().zip(&right).zip(&between) {
            assert!((1.25 * left - 0.25 * right - between).abs() < 1e-6);
        }

        let block = Block::without_pattern(rows, 3);
        let mut result = Block::zero(rows, 3);
        one.apply(&block, |row| weight(row) as f32, 2.0, &mut result);
        for row in 0..rows {
            for column in 0..3 {
                let mut sum = 0.0;
                for place in 0..rows {
                    let entry = f64::from(block.values[place * 3 + column]);
                    sum += 2.0 * weight(row) * left[row * rows + place] * weight(place) * entry;
                }
                assert!((f64::from(result.values[row * 3 + column]) - sum).abs() < 1e-4);
            }
        }
    }
}
