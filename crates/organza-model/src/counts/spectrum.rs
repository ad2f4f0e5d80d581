//! The leading eigenvectors of a sum of cells and matrices of low rank, by subspace iteration.
//!
//! Tall products (words x rank x rank) are what a wide vocabulary pays for, so each is made once: how a
//! matrix of low rank looks in the coordinates of the block is kept, and turned when the block turns.

use super::cells::Cells;
use super::eigen::symmetric_eigen;
use super::low_rank::{Block, LowRank};
use rayon::prelude::*;

/// Vectors that are sought beyond those that are wanted, so that the wanted ones settle sooner.
const SPARE_VECTORS: usize = 8;

/// A matrix B diag(v) B^T, and how it looks from the block.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) matrix: LowRank,
    /// B^T block, by rows.
    plain: Vec<f64>,
    /// B^T diag(curvature) block; empty without a background.
    bent: Vec<f64>,
}

impl Part {
    pub(super) fn zero() -> Self {
        Self { matrix: LowRank::zero(), plain: Vec::new(), bent: Vec::new() }
    }
}

/// The sum over entries of A_ij C_ij, plain and with the curvature of the background as a weight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inner {
    pub(super) plain: f64,
    pub(super) bent: f64,
}

/// A block of orthonormal vectors that follows the leading eigenvectors from step to step.
pub(super) struct Spectrum<'a> {
    cells: &'a Cells,
    block: Block,
    /// The most vectors that may be sought.
    most: usize,
}

impl<'a> Spectrum<'a> {
    pub(super) fn new(cells: &'a Cells, rank: usize) -> Self {
        let words = cells.words.len();
        let most = words.min(rank + SPARE_VECTORS);
        let mut block = Block::without_pattern(words, most);
        block.orthonormalise();
        Self { cells, block, most }
    }

    /// One proximal step from the sum of `point`: the leading eigenvectors of point - gradient /
    /// stiffness, after so many more products with it, at most `rank` of them, with eigenvalues moved
    /// towards zero by `penalty` / stiffness.
    ///
    /// `descent` is the entries' part of minus the gradient.
    pub(super) fn step(
        &mut self,
        descent: &[f32],
        point: &mut [(f64, &mut Part)],
        stiffness: f64,
        products: usize,
        penalty: f64,
        rank: usize,
    ) -> Part {
        let scale = 1.0 / stiffness;
        for _ in 0..products {
            self.multiply(descent, point, scale);
            self.block.orthonormalise();
            for (_, part) in &mut *point {
                self.look(part);
            }
        }
        let columns = self.block.columns;
        let (values, vectors) = symmetric_eigen(columns, self.quotient(descent, point, scale));
        let threshold = penalty / stiffness;
        let mut order: Vec<usize> = (0..columns).collect();
        order.sort_by(|left, right| values[*right].abs().total_cmp(&values[*left].abs()));
        let mut turn = vec![0.0; columns * columns];
        for (place, vector) in order.iter().enumerate() {
            for row in 0..columns {
                turn[row * columns + place] = vectors[vector * columns + row];
            }
        }
        self.block = self.block.times(&turn, columns);
        for (_, part) in &mut *point {
            part.plain = small_product(&part.plain, &turn, columns);
            part.bent = small_product(&part.bent, &turn, columns);
        }
        let kept = order.iter().filter(|place| values[**place].abs() > threshold).take(rank);
        let shrunk: Vec<f64> =
            kept.map(|place| values[*place] - threshold.copysign(values[*place])).collect();
        let kept = shrunk.len();
        let mut plain = vec![0.0; kept * columns];
        for place in 0..kept {
            plain[place * columns + place] = 1.0;
        }
        let basis = self.block.first(kept);
        let bent = self.bent(&basis);
        Part { matrix: LowRank { basis, values: shrunk }, plain, bent }
    }

    /// The inner product of a matrix with one that was found by the last step.
    pub(super) fn inner(&self, part: &Part, found: &Part) -> Inner {
        let columns = self.block.columns;
        let sum = |seen: &[f64]| {
            let rows = seen.chunks(columns).zip(&part.matrix.values);
            rows.map(|(row, left)| {
                let terms = row.iter().zip(&found.matrix.values);
                terms.map(|(entry, right)| left * right * entry * entry).sum::<f64>()
            })
            .sum()
        };
        Inner { plain: sum(&part.plain), bent: sum(&part.bent) }
    }

    /// Fits the width of the block to the rank: what is not needed costs as much as what is.
    pub(super) fn fit_width(&mut self, rank: usize, parts: [&mut Part; 2]) {
        let columns = self.block.columns;
        let wanted = (rank + rank / 4 + SPARE_VECTORS).min(self.most);
        if rank + SPARE_VECTORS / 2 > columns && columns < self.most {
            let rows = self.cells.words.len();
            let new = Block::without_pattern(rows, wanted - columns);
            self.block = self.block.with_columns_of(&new);
            self.block.orthonormalise();
            for part in parts {
                self.look(part);
            }
        } else if wanted + wanted / 4 < columns {
            self.block = self.block.first(wanted);
            for part in parts {
                for seen in [&mut part.plain, &mut part.bent] {
                    *seen = seen.chunks(columns).flat_map(|row| &row[..wanted]).copied().collect();
                }
            }
        }
    }

    /// Looks at a matrix from the block.
    fn look(&self, part: &mut Part) {
        part.plain = part.matrix.basis.product(&self.block, |_| 1.0);
        part.bent = self.bent(&part.matrix.basis);
    }

    fn bent(&self, basis: &Block) -> Vec<f64> {
        if self.cells.missing.is_none() {
            return Vec::new();
        }
        basis.product(&self.block, |row| self.cells.curvature(row))
    }

    /// Replaces the block by (point - gradient / stiffness) times it.
    fn multiply(&mut self, descent: &[f32], point: &[(f64, &mut Part)], scale: f64) {
        let columns = self.block.columns;
        let mut result = Block::zero(self.cells.words.len(), columns);
        self.cells.apply_descent(descent, &self.block, scale, &mut result);
        for (share, part) in point {
            let values = &part.matrix.values;
            if *share == 0.0 || values.is_empty() {
                continue;
            }
            // Both products at once: B v (B^T block), and what the curvature makes of it.
            let both = if part.bent.is_empty() { 1 } else { 2 };
            let mut small = vec![0.0; values.len() * both * columns];
            for (place, (row, value)) in small.chunks_mut(both * columns).zip(values).enumerate() {
                let seen = place * columns..(place + 1) * columns;
                let (plain, bent) = row.split_at_mut(columns);
                for (target, entry) in plain.iter_mut().zip(&part.plain[seen.clone()]) {
                    *target = share * value * entry;
                }
                if both == 2 {
                    for (target, entry) in bent.iter_mut().zip(&part.bent[seen]) {
                        *target = -scale * share * value * entry;
                    }
                }
            }
            let basis = &part.matrix.basis;
            basis.each_product(&small, both * columns, &mut result, |row, product, result| {
                let (plain, bent) = product.split_at(columns);
                for (result, plain) in result.iter_mut().zip(plain) {
                    *result += plain;
                }
                let weight = self.cells.curvature(row) as f32;
                for (result, bent) in result.iter_mut().zip(bent) {
                    *result += weight * bent;
                }
            });
        }
        self.block = result;
    }

    /// block^T (point - gradient / stiffness) block.
    fn quotient(&self, descent: &[f32], point: &[(f64, &mut Part)], scale: f64) -> Vec<f64> {
        let columns = self.block.columns;
        let mut result = Block::zero(self.cells.words.len(), columns);
        self.cells.apply_descent(descent, &self.block, scale, &mut result);
        let mut small = self.block.product(&result, |_| 1.0);
        for (share, part) in point {
            for (seen, factor) in [(&part.plain, *share), (&part.bent, -scale * share)] {
                for (row, value) in seen.chunks(columns).zip(&part.matrix.values) {
                    small.par_chunks_mut(columns).zip(row).for_each(|(small, left)| {
                        for (small, right) in small.iter_mut().zip(row) {
                            *small += factor * value * left * right;
                        }
                    });
                }
            }
        }
        for row in 0..columns {
            for column in 0..row {
                let mean = (small[row * columns + column] + small[column * columns + row]) / 2.0;
                (small[row * columns + column], small[column * columns + row]) = (mean, mean);
            }
        }
        small
    }
}

/// The product of a small matrix with a square one, both by rows.
fn small_product(left: &[f64], right: &[f64], columns: usize) -> Vec<f64> {
    let mut result = vec![0.0; left.len()];
    result.par_chunks_mut(columns).zip(left.par_chunks(columns)).for_each(|(result, left)| {
        for (left, right) in left.iter().zip(right.chunks(columns)) {
            for (result, right) in result.iter_mut().zip(right) {
                *result += left * right;
            }
        }
    });
    result
}

#[cfg(test)]
mod tests {
    use super::super::cells::{Entry, Word, mirrors};
    use super::*;

    const WORDS: usize = 30;

    /// A symmetric table with entries in every third place, and minus their slopes.
    fn cells() -> (Cells, Vec<f32>) {
        let word = |place: usize| Word {
            count: 10.0 + place as f64,
            bias: 0.0,
            unlikely: 0.5,
            negatives: 1.0,
            whitening: 1.0 + 1.0 / (1.0 + place as f64),
            background: 0.5 + 0.01 * place as f64,
        };
        let (mut entries, mut starts, mut descent) = (Vec::new(), vec![0], Vec::new());
        for row in 0..WORDS {
            for column in (row..WORDS).filter(|column| (row + column) % 3 == 0) {
                entries.push(Entry { column: column as u32, count: 0.0, trust: 1.0 });
                descent.push(((row * column) as f32 + 1.0).sin());
            }
            starts.push(entries.len());
        }
        let words = (0..WORDS).map(word).collect();
        let mirrors = mirrors(&entries, &starts).expect("there are few cells");
        (Cells { words, entries, starts, mirrors, total: 700.0, missing: Some(0.3) }, descent)
    }

    fn dense(matrix: &LowRank) -> Vec<f64> {
        let entry = |place: usize| {
            let (row, column) = (matrix.basis.row(place / WORDS), matrix.basis.row(place % WORDS));
            let terms = row.iter().zip(column).zip(&matrix.values);
            terms.map(|((row, column), value)| f64::from(*row) * f64::from(*column) * value).sum()
        };
        (0..WORDS * WORDS).map(entry).collect()
    }

    /// point - gradient / stiffness, entry by entry.
    fn expected(cells: &Cells, descent: &[f32], point: &[f64], stiffness: f64) -> Vec<f64> {
        let mut matrix = vec![0.0; WORDS * WORDS];
        for row in 0..WORDS {
            let places = cells.starts[row]..cells.starts[row + 1];
            for (entry, slope) in cells.entries[places.clone()].iter().zip(&descent[places]) {
                let column = entry.column as usize;
                matrix[row * WORDS + column] += f64::from(*slope) / stiffness;
                if column != row {
                    matrix[column * WORDS + row] += f64::from(*slope) / stiffness;
                }
            }
            for column in 0..WORDS {
                let (left, right) = (&cells.words[row], &cells.words[column]);
                let weight = left.background * right.background * left.whitening * right.whitening;
                let slope = weight * (left.count * right.count / cells.total + 0.3);
                let own = point[row * WORDS + column];
                let bent = cells.curvature(row) * cells.curvature(column) * own;
                matrix[row * WORDS + column] += own - (slope + bent) / stiffness;
            }
        }
        matrix
    }

    #[test]
    fn steps_agree_with_dense_matrices() {
        let (cells, descent) = cells();
        let stiffness = 4.0;
        let mut spectrum = Spectrum::new(&cells, WORDS);
        let mut current = Part::zero();
        let mut former = Part::zero();
        let shares = [1.4, -0.4];
        // From zero, and then from what was found.
        for _ in 0..3 {
            let (one, other) = (dense(&current.matrix), dense(&former.matrix));
            let point: Vec<f64> =
                one.iter().zip(&other).map(|(one, other)| 1.4 * one - 0.4 * other).collect();
            let matrix = expected(&cells, &descent, &point, stiffness);
            let mut parts = [(shares[0], &mut current), (shares[1], &mut former)];
            let next = spectrum.step(&descent, &mut parts, stiffness, 1, 0.0, WORDS);
            let found = dense(&next.matrix);
            for (found, matrix) in found.iter().zip(&matrix) {
                assert!((found - matrix).abs() < 1e-4, "{found} {matrix}");
            }
            let inner = spectrum.inner(&current, &next);
            let (mut plain, mut bent) = (0.0, 0.0);
            for (place, (one, found)) in one.iter().zip(&found).enumerate() {
                let curvature = cells.curvature(place / WORDS) * cells.curvature(place % WORDS);
                plain += one * found;
                bent += curvature * one * found;
            }
            assert!((inner.plain - plain).abs() < 1e-4 * (1.0 + plain.abs()), "{inner:?} {plain}");
            assert!((inner.bent - bent).abs() < 1e-4 * (1.0 + bent.abs()), "{inner:?} {bent}");
            former = std::mem::replace(&mut current, next);
        }
    }

    /// A narrow block finds the leading eigenvalues, in every width that it takes on the way.
    #[test]
    fn few_vectors_find_the_leading_eigenvalues() {
        let (cells, descent) = cells();
        let matrix = expected(&cells, &descent, &[0.0; WORDS * WORDS], 1.0);
        let mut values = symmetric_eigen(WORDS, matrix).0;
        values.sort_by(|left, right| right.abs().total_cmp(&left.abs()));
        let mut spectrum = Spectrum::new(&cells, 12);
        let (mut one, mut other) = (Part::zero(), Part::zero());
        for rank in [1, 3, 8, 8] {
            let mut parts = [(1.0, &mut one), (0.0, &mut other)];
            let next = spectrum.step(&descent, &mut parts, 1.0, 40, 0.0, rank);
            for (found, value) in next.matrix.values.iter().zip(&values) {
                assert!((found - value).abs() < 1e-3 * values[0].abs(), "{found} {value}");
            }
            spectrum.fit_width(rank, [&mut one, &mut other]);
            assert!(spectrum.block.columns >= rank + SPARE_VECTORS.min(4));
        }
    }
}
