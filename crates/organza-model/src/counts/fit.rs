//! The convex problem and its solution: accelerated proximal steps.

use super::cells::Cells;
use super::eigen::symmetric_eigen;
use super::low_rank::{Block, LowRank};

/// Vectors that are sought beyond those that are wanted, so that the wanted ones settle sooner.
const SPARE_VECTORS: usize = 8;
/// How often the first block is multiplied with the first gradient before it is used.
const FIRST_PRODUCTS: usize = 6;
/// By what a step is shortened that would overshoot.
const SHORTEN: f64 = 1.5;
/// A solution has settled when a pass moves it by less than this share of its size.
const SETTLED: f64 = 2e-3;

/// The solution, in whitened coordinates.
#[derive(Debug)]
pub(super) struct Solution {
    pub(super) matrix: LowRank,
    pub(super) passes: usize,
    pub(super) settled: bool,
}

/// Minimises (loss of the cells) + `penalty` (sum of absolute eigenvalues), over symmetric matrices of
/// at most `rank`.
///
/// # Method
/// FISTA (Beck and Teboulle 2009) with backtracking, and a restart where momentum points uphill
/// (O'Donoghue and Candes 2015). A step from Y goes to the matrix M that minimises
/// L/2 |M - (Y - gradient / L)|^2 + penalty |M|_nuclear: the eigenvectors of Y - gradient / L, with each
/// eigenvalue moved towards zero by penalty / L, and dropped if it would cross it. L grows until
/// L/2 |M - Y|^2 bounds how far the loss bends between the two. Eigenvectors come from subspace
/// iteration that goes on from those of the step before: only products of the matrix with a block are
/// needed, whose cost follows the entries.
pub(super) fn solve(cells: &Cells, penalty: f64, rank: usize, most_passes: usize) -> Solution {
    let words = cells.words.len();
    let mut block = Block::without_pattern(words, words.min(rank + SPARE_VECTORS));
    block.orthonormalise();
    let entries = cells.entries.len();
    let (mut current, mut point) = (LowRank::zero(), LowRank::zero());
    let (mut at_current, mut at_point) = (vec![0.0; entries], vec![0.0; entries]);
    let (mut at_next, mut descent) = (vec![0.0; entries], vec![0.0; entries]);
    let mut stiffness = cells.first_stiffness();
    let mut age = 1.0_f64;
    for pass in 1..=most_passes {
        let loss = cells.descent(&at_point, &mut descent);
        let products = if pass == 1 { FIRST_PRODUCTS } else { 1 };
        let next = loop {
            let step = Step { cells, descent: &descent, point: &point, stiffness };
            let next = step.take(&mut block, products, penalty, rank);
            cells.evaluate(&next, &mut at_next);
            let moved = next.combined(1.0, &point, -1.0);
            let bend = cells.bend(&at_point, &at_next, &descent, loss)
                + moved.inner(&moved, |row| cells.curvature(row)) / 2.0;
            // Sums over many cells are rounded: what is below their noise is no overshoot.
            let bound = stiffness / 2.0 * moved.inner(&moved, |_| 1.0);
            if bend <= bound + 1e-9 * loss.abs() || !bend.is_finite() {
                break next;
            }
            stiffness *= SHORTEN;
        };
        let moved = next.combined(1.0, &current, -1.0);
        let ahead = point.combined(1.0, &next, -1.0);
        let uphill = ahead.inner(&moved, |_| 1.0) > 0.0;
        let distance = moved.inner(&moved, |_| 1.0).max(0.0).sqrt();
        let size = next.inner(&next, |_| 1.0).max(0.0).sqrt();
        if distance <= SETTLED * size {
            return Solution { matrix: next, passes: pass, settled: true };
        }
        let older = if uphill { 1.0 } else { (1.0 + (1.0 + 4.0 * age * age).sqrt()) / 2.0 };
        let momentum = if uphill { 0.0 } else { (age - 1.0) / older };
        age = older;
        point = next.combined(1.0 + momentum, &current, -momentum);
        for ((at_point, next), current) in at_point.iter_mut().zip(&at_next).zip(&at_current) {
            *at_point = next + momentum as f32 * (next - current);
        }
        current = next;
        std::mem::swap(&mut at_current, &mut at_next);
    }
    Solution { matrix: current, passes: most_passes, settled: false }
}

/// One proximal step from a point.
struct Step<'a> {
    cells: &'a Cells,
    descent: &'a [f32],
    point: &'a LowRank,
    stiffness: f64,
}

impl Step<'_> {
    /// (point - gradient / stiffness) times a block.
    fn product(&self, block: &Block) -> Block {
        let mut result = Block::zero(self.cells.words.len(), block.columns);
        self.point.apply(block, |_| 1.0, 1.0, &mut result);
        let scale = 1.0 / self.stiffness;
        self.cells.apply_descent(self.descent, self.point, block, scale, &mut result);
        result
    }

    fn take(&self, block: &mut Block, products: usize, penalty: f64, rank: usize) -> LowRank {
        for _ in 0..products {
            *block = self.product(block);
            block.orthonormalise();
        }
        let columns = block.columns;
        let mut small = block.product(&self.product(block), |_| 1.0);
        for row in 0..columns {
            for column in 0..row {
                let mean = (small[row * columns + column] + small[column * columns + row]) / 2.0;
                (small[row * columns + column], small[column * columns + row]) = (mean, mean);
            }
        }
        let (values, vectors) = symmetric_eigen(columns, small);
        let threshold = penalty / self.stiffness;
        let mut order: Vec<usize> = (0..columns).collect();
        order.sort_by(|left, right| values[*right].abs().total_cmp(&values[*left].abs()));
        let turned = |chosen: &[usize]| {
            let mut turn = vec![0.0; columns * chosen.len()];
            for (place, vector) in chosen.iter().enumerate() {
                for row in 0..columns {
                    turn[row * chosen.len() + place] = vectors[vector * columns + row];
                }
            }
            block.times(&turn, chosen.len())
        };
        let kept: Vec<usize> = order
            .iter()
            .copied()
            .filter(|place| values[*place].abs() > threshold)
            .take(rank)
            .collect();
        let shrunk = kept.iter().map(|place| values[*place] - threshold.copysign(values[*place]));
        let next = LowRank { basis: turned(&kept), values: shrunk.collect() };
        *block = turned(&order);
        next
    }
}
