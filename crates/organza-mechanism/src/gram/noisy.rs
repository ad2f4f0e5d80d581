//! Noise on every cell.

use super::plan::{GramPlan, RELEASED_BITS};
use super::row::NORM_BITS;
use super::sum::row_start;
use crate::noise::further;
use crate::random::{StepRandom, Words};
use crate::sample::{CHUNK, size_of_block};
use crate::wide::WideNumbers;
use rayon::prelude::*;

/// So many cells have a substream of their own: whatever the number of threads, the noise is the same.
const BLOCK: usize = 64 * CHUNK;

/// Steps of the released values that 2^64 steps of the sums are: noise is drawn on the lowest 64 bits of a sum, and
/// round((s + 2^64 k) / 2^23 + N) is round(s / 2^23 + N) + 2^41 k.
const CARRIED_BITS: u32 = 64 - (NORM_BITS - RELEASED_BITS);

/// A noisy table of pairs: a released result.
#[derive(Clone, Debug)]
pub struct NoisyGram {
    plan: GramPlan,
    /// Unordered pairs by rows.
    cells: Vec<f32>,
    private: bool,
}

impl NoisyGram {
    pub(super) fn new(
        plan: GramPlan,
        sums: &WideNumbers,
        random: &StepRandom,
        private: bool,
    ) -> Self {
        let mut cells = vec![0.0_f32; sums.len()];
        let unit = plan.unit();
        cells.par_chunks_mut(BLOCK).zip(sums.low().par_chunks(BLOCK)).enumerate().for_each(
            |(block, (cells, low))| {
                let mut stream = random.shard(block as u64);
                let (mut words, mut padded) = (Words::default(), [0; CHUNK]);
                let mut made = [0_i64; CHUNK];
                for (number, (cells, low)) in
                    cells.chunks_mut(CHUNK).zip(low.chunks(CHUNK)).enumerate()
                {
                    let size = size_of_block(cells.len());
                    padded[..low.len()].copy_from_slice(low);
                    let largest = low.iter().map(|sum| sum.unsigned_abs()).max().unwrap_or(0);
                    let words = stream.fill(&mut words, size);
                    let first = block * BLOCK + number * CHUNK;
                    plan.normals.fill(
                        words,
                        Some(&padded[..size]),
                        largest as f64,
                        1.0,
                        &mut made[..size],
                        |pair| further(random, (first + pair) as u64),
                    );
                    for (place, (cell, steps)) in cells.iter_mut().zip(&made).enumerate() {
                        let steps = steps.wrapping_add(sums.high(first + place) << CARRIED_BITS);
                        *cell = (steps as f64 * unit) as f32;
                    }
                }
            },
        );
        Self { plan, cells, private }
    }

    /// What was released elsewhere.
    pub(super) fn of_cells(plan: GramPlan, cells: Vec<f32>, private: bool) -> Self {
        Self { plan, cells, private }
    }

    /// Unordered pairs by rows.
    pub(super) fn cells(&self) -> &[f32] {
        &self.cells
    }

    /// The plan it was made by.
    pub fn plan(&self) -> &GramPlan {
        &self.plan
    }

    /// The cell of two columns, in any order, where those of a unit have norm 1.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn cell(&self, one: usize, other: usize) -> f32 {
        let (row, column) = (one.min(other), one.max(other));
        self.row(row)[column - row]
    }

    /// The cells of a column with itself and all later ones.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn row(&self, row: usize) -> &[f32] {
        let columns = self.plan.columns();
        &self.cells[row_start(columns, row)..][..columns - row]
    }

    /// Whether nobody can know the noise.
    pub fn is_private(&self) -> bool {
        self.private
    }
}
