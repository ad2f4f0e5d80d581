//! The eigenvalues of a noisy table that stand out of its noise, with their vectors.
//!
//! All of it works on what was released.

use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::prelude::ReborrowMut;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

/// So many rows are multiplied at a time, whatever the number of threads: the result is the same.
const ROWS_AT_ONCE: usize = 128;
/// The number of vectors that are sought at first, and at the most.
const FIRST_VECTORS: usize = 48;
const MOST_VECTORS: usize = 384;
/// Filters before the vectors are taken for settled, and the highest degree of one: an eigenvalue a tenth above the edge
/// grows by a factor of 40 in a filter of degree 10, against all below the edge.
const FILTERS: usize = 3;
const HIGHEST_DEGREE: f64 = 10.0;
/// Beyond this no filter may make one vector larger than another: the smaller one would drown in rounding.
const MOST_GROWTH: f64 = 1e11;
/// Products that estimate the largest eigenvalue.
const ESTIMATES: usize = 8;
/// Products that find leading vectors, and vectors that are sought beside them.
const POWERS: usize = 24;
const SPARE_VECTORS: usize = 16;
/// So many columns are made orthonormal at a time.
const COLUMNS_AT_ONCE: usize = 16;

/// Eigenvalues above the edge of the noise, the largest first, as columns of `vectors`; and what is left of each without noise.
#[derive(Clone, Debug)]
pub(crate) struct Spectrum {
    /// As they were found.
    pub(crate) values: Vec<f64>,
    /// Without what noise adds to them.
    pub(crate) shrunk: Vec<f64>,
    pub(crate) vectors: Mat<f64>,
    /// Half the edge: the deviation of a cell times the root of the number of columns.
    pub(crate) half_edge: f64,
}

impl Spectrum {
    /// Of a symmetric table whose cells have noise of this deviation.
    ///
    /// Symmetric noise of deviation s on n columns has its eigenvalues within 2 s sqrt(n) (Wigner). An eigenvalue e of
    /// what is below shows at e + s^2 n / e if it is above half of that; the inverse with the loss of direction is
    /// sqrt(l^2 - 4 s^2 n) (Gavish and Donoho's rule of least squares for symmetric noise).
    pub(crate) fn new(table: MatRef<'_, f64>, deviation: f64) -> Self {
        let size = table.nrows();
        let half_edge = deviation * (size as f64).sqrt();
        let edge = 2.0 * half_edge;
        let mut columns = FIRST_VECTORS.min(size);
        let mut block = Mat::from_fn(size, columns, start);
        let degree = degree(largest(table) / edge);
        loop {
            for _ in 0..FILTERS {
                block = orthonormal(&filtered(table, block, edge, degree));
            }
            let image = product(table, block.as_ref());
            let (values, turns) = eigen(product_of_columns(&block, &image).as_ref());
            let above = values.iter().take_while(|value| **value > edge).count();
            if above == columns && columns < MOST_VECTORS.min(size) {
                let more = (2 * columns).min(MOST_VECTORS).min(size);
                let from = &block;
                block = Mat::from_fn(size, more, |row, column| match column < columns {
                    true => from[(row, column)],
                    false => start(row, column),
                });
                columns = more;
                continue;
            }
            let vectors = product(block.as_ref(), turns.as_ref().subcols(0, above));
            let values = values[..above].to_vec();
            let shrunk = values.iter().map(|value| (value * value - edge * edge).sqrt()).collect();
            return Self { values, shrunk, vectors, half_edge };
        }
    }
}

/// The largest eigenvalues of a symmetric table without those below `-shift`, so many of them, and their vectors as columns.
pub(crate) fn leading(table: MatRef<'_, f64>, shift: f64, rank: usize) -> (Vec<f64>, Mat<f64>) {
    let size = table.nrows();
    let columns = (rank + SPARE_VECTORS).min(size);
    let mut block = Mat::from_fn(size, columns, start);
    for _ in 0..POWERS {
        block = orthonormal(&(product(table, block.as_ref()) + &block * faer::Scale(shift)));
    }
    let image = product(table, block.as_ref());
    let (values, turns) = eigen(product_of_columns(&block, &image).as_ref());
    let kept = rank.min(columns);
    (values[..kept].to_vec(), product(block.as_ref(), turns.as_ref().subcols(0, kept)))
}

/// Entries without a pattern (a finaliser of splitmix64).
fn start(row: usize, column: usize) -> f64 {
    let mut bits = (row as u64) << 32 ^ column as u64 ^ 0x9e37_79b9_7f4a_7c15;
    for (shift, factor) in [(30, 0xbf58_476d_1ce4_e5b9), (27, 0x94d0_49bb_1331_11eb)] {
        bits = (bits ^ bits >> shift).wrapping_mul(factor);
    }
    (bits ^ bits >> 31) as f64 / u64::MAX as f64 - 0.5
}

/// About the largest eigenvalue.
fn largest(table: MatRef<'_, f64>) -> f64 {
    let mut vector = Mat::from_fn(table.nrows(), 1, start);
    let mut size = 0.0;
    for _ in 0..ESTIMATES {
        let image = product(table, vector.as_ref());
        size = image.norm_l2() / vector.norm_l2().max(f64::MIN_POSITIVE);
        vector = image;
    }
    size
}

/// The highest degree at which an eigenvalue of so many edges does not grow too much: (2 x)^n is about 2 T_n(x).
fn degree(edges: f64) -> usize {
    let growth = (2.0 * edges.max(1.0)).ln();
    ((MOST_GROWTH.ln() / growth).min(HIGHEST_DEGREE) as usize).max(1)
}

/// Chebyshev's polynomial of the table over the edge: at most 1 within the noise, and large beyond it.
fn filtered(table: MatRef<'_, f64>, block: Mat<f64>, edge: f64, degree: usize) -> Mat<f64> {
    let factor = if edge > 0.0 { 1.0 / edge } else { 1.0 };
    let mut before = block;
    let mut now = product(table, before.as_ref()) * faer::Scale(factor);
    for _ in 1..degree {
        let next = product(table, now.as_ref()) * faer::Scale(2.0 * factor) - &before;
        before = std::mem::replace(&mut now, next);
    }
    now
}

/// A product, in parallel, with the same bits for any number of threads.
pub(crate) fn product(left: MatRef<'_, f64>, right: MatRef<'_, f64>) -> Mat<f64> {
    let mut made = Mat::zeros(left.nrows(), right.ncols());
    if left.nrows() > 0 && right.ncols() > 0 {
        made.as_mut().par_row_chunks_mut(ROWS_AT_ONCE).enumerate().for_each(
            |(number, mut part)| {
                let rows = left.subrows(number * ROWS_AT_ONCE, part.nrows());
                matmul(part.rb_mut(), Accum::Replace, rows, right, 1.0, Par::Seq);
            },
        );
    }
    made
}

/// The inner products of the columns of two matrices.
pub(crate) fn product_of_columns(left: &Mat<f64>, right: &Mat<f64>) -> Mat<f64> {
    product(left.as_ref().transpose(), right.as_ref())
}

/// The columns made orthonormal, each against those before it, twice over; one that depends on them becomes zero.
fn orthonormal(block: &Mat<f64>) -> Mat<f64> {
    let mut made = block.clone();
    let mut first = 0;
    while first < block.ncols() {
        let number = COLUMNS_AT_ONCE.min(block.ncols() - first);
        let mut panel = made.as_ref().subcols(first, number).to_owned();
        let norms: Vec<f64> = (0..number).map(|column| panel.col(column).norm_l2()).collect();
        for _ in 0..2 {
            let done = made.as_ref().subcols(0, first);
            let parts = product(done.transpose(), panel.as_ref());
            panel -= product(done, parts.as_ref());
            for column in 0..number {
                for other in 0..column {
                    let part: f64 = panel.col(other).transpose() * panel.col(column);
                    for row in 0..panel.nrows() {
                        panel[(row, column)] -= part * panel[(row, other)];
                    }
                }
                let norm = panel.col(column).norm_l2();
                let factor = if norm > 1e-13 * norms[column] { 1.0 / norm } else { 0.0 };
                panel.col_mut(column).iter_mut().for_each(|entry| *entry *= factor);
            }
        }
        made.as_mut().subcols_mut(first, number).copy_from(&panel);
        first += number;
    }
    made
}

/// Eigenvalues of a small symmetric matrix, the largest first, and their vectors as columns.
pub(crate) fn eigen(matrix: MatRef<'_, f64>) -> (Vec<f64>, Mat<f64>) {
    let size = matrix.nrows();
    if size == 0 {
        return (Vec::new(), Mat::zeros(0, 0));
    }
    let (mut values, mut vectors) = (faer::diag::Diag::<f64>::zeros(size), Mat::zeros(size, size));
    let params = Default::default();
    let scratch = self_adjoint_evd_scratch::<f64>(size, ComputeEigenvectors::Yes, Par::Seq, params);
    let mut memory = faer::dyn_stack::MemBuffer::new(scratch);
    let stack = faer::dyn_stack::MemStack::new(&mut memory);
    let found =
        self_adjoint_evd(matrix, values.as_mut(), Some(vectors.as_mut()), Par::Seq, stack, params);
    let order: Vec<usize> = (0..size).rev().collect();
    // What has no eigenvalues, because it is no number, has nothing above any edge.
    let value = |place: &usize| if found.is_ok() { values[*place] } else { 0.0 };
    let values = order.iter().map(value).collect();
    (values, Mat::from_fn(size, size, |row, column| vectors[(row, order[column])]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_out_is_found_and_noise_is_not() {
        let size = 300;
        let noise = |row: usize, column: usize| {
            let (low, high) = (row.min(column), row.max(column));
            // Uniform, with deviation 1.
            start(low + 7, high + 1_000_000) * 12_f64.sqrt()
        };
        let one = |place: usize| {
            (if place.is_multiple_of(2) { 1.0 } else { -1.0 }) / (size as f64).sqrt()
        };
        let two = |_: usize| 1.0 / (size as f64).sqrt();
        let table = Mat::from_fn(size, size, |row, column| {
            noise(row, column) + 200.0 * one(row) * one(column) + 60.0 * two(row) * two(column)
        });
        let spectrum = Spectrum::new(table.as_ref(), 1.0);
        assert_eq!(spectrum.values.len(), 2, "{:?}", spectrum.values);
        assert!((spectrum.shrunk[0] - 200.0).abs() < 5.0, "{:?}", spectrum.shrunk);
        let along: f64 = (0..size).map(|row| spectrum.vectors[(row, 0)] * one(row)).sum();
        assert!(along.abs() > 0.99);
        let image = product(table.as_ref(), spectrum.vectors.as_ref());
        for column in 0..2 {
            for row in 0..size {
                let off = image[(row, column)]
                    - spectrum.values[column] * spectrum.vectors[(row, column)];
                assert!(off.abs() < 1e-3 * spectrum.values[column], "{off}");
            }
        }
    }

    #[test]
    fn many_that_stand_out_are_all_found() {
        let table =
            Mat::from_fn(
                150,
                150,
                |row, column| {
                    if row == column { 3.0 + row as f64 / 10.0 } else { 0.0 }
                },
            );
        let spectrum = Spectrum::new(table.as_ref(), 0.1);
        assert_eq!(spectrum.values.len(), 150);
        assert!(
            (spectrum.values[0] - 17.9).abs() < 1e-6 && (spectrum.values[149] - 3.0).abs() < 1e-6
        );
    }
}
