//! Noise on every coordinate, in one pass: draw, scale, round, add, convert.

use crate::memory::Memory;
use crate::noise::{Noise, Projection, further};
use crate::random::{PrivateRandom, StepRandom, Words};
use crate::sample::{CHUNK, RoundedNormals, Scratch, size_of_block};

/// The touched rows of a sum, read in the order of coordinates.
pub(crate) struct DenseRows<'a> {
    memory: &'a Memory,
    projection: Projection,
    /// The first run that may still matter.
    next: usize,
}

impl<'a> DenseRows<'a> {
    /// From the coordinate `first` on.
    pub(crate) fn from(memory: &'a Memory, projection: Projection, first: u64) -> Self {
        // The run before the first that starts there may reach beyond it.
        let next = memory.release.runs.partition_point(|(start, _)| *start < first);
        Self { memory, projection, next: next.saturating_sub(1) }
    }

    /// Puts what lies at `first` and after it into `sums`, and tells whether there was anything.
    fn put_into(&mut self, first: u64, sums: &mut [i64]) -> bool {
        let end = first + sums.len() as u64;
        let mut any = false;
        while let Some((start, row)) = self.memory.release.runs.get(self.next) {
            let values = self.memory.sum.row(*row as u32).unwrap_or(&[]);
            let (from, to) = ((*start).max(first), (start + values.len() as u64).min(end));
            if from < to {
                any = true;
                let values = &values[(from - start) as usize..(to - start) as usize];
                let sums = &mut sums[(from - first) as usize..(to - first) as usize];
                match self.projection {
                    Projection::None => sums.copy_from_slice(values),
                    projection => {
                        for (sum, value) in sums.iter_mut().zip(values) {
                            *sum = projection.apply(*value);
                        }
                    }
                }
            }
            if start + values.len() as u64 > end || *start >= end {
                break;
            }
            self.next += 1;
        }
        any
    }
}

/// The noised values of one block, from its first coordinate to its last.
pub(crate) struct DenseNoise<'a> {
    normals: RoundedNormals,
    /// A step of the released values, in the averaged gradient.
    unit: f64,
    /// The largest size of a sum.
    largest: f64,
    rows: DenseRows<'a>,
    step: &'a StepRandom,
    random: PrivateRandom,
    words: Words,
    sums: Scratch<i64>,
}

impl<'a> DenseNoise<'a> {
    /// Noise of block `block`, on sums up to `largest`, in steps of `scale` times those of the plan.
    pub(crate) fn new(
        noise: &Noise,
        scale: f64,
        largest: f64,
        rows: DenseRows<'a>,
        step: &'a StepRandom,
        block: u64,
    ) -> Self {
        let (normals, unit) = noise.released();
        let unit = unit * scale;
        let random = step.shard(block);
        let (words, sums) = (Words::default(), Scratch([0; CHUNK]));
        Self { normals, unit, largest, rows, step, random, words, sums }
    }

    /// Fills `values` with the averaged values and their noise, from the coordinate `first` on, which is
    /// the one after the last of the call before. Only the last chunk of a block may be short.
    pub(crate) fn fill(&mut self, first: u64, values: &mut [f32]) {
        for (values, first) in values.chunks_mut(CHUNK).zip((first..).step_by(CHUNK)) {
            let Self { normals, unit, largest, rows, step, random, words, sums } = &mut *self;
            let touched = rows.put_into(first, &mut sums.0[..values.len()]);
            let size = size_of_block(values.len());
            let words = random.fill(words, size);
            let of_words = touched.then_some(&sums.0[..size]);
            let more = |pair: usize| further(step, first + pair as u64);
            if size == values.len() {
                normals.fill(words, of_words, *largest, *unit, values, more);
            } else {
                // Normals come in whole vectors: those beyond the end go nowhere.
                let mut padded = [0.0; CHUNK];
                normals.fill(words, of_words, *largest, *unit, &mut padded[..size], more);
                values.copy_from_slice(&padded[..values.len()]);
            }
            if touched {
                sums.0.fill(0);
            }
        }
    }
}
