//! Noise on every coordinate, in one pass: draw, scale, round, add, convert.

use crate::memory::Memory;
use crate::noise::{Noise, Projection};
use crate::random::{PrivateRandom, Word, Words};
use crate::sample::{CHUNK, Scratch, normals_of, size_of_block};
use crate::whole::large_integer;
use pulp::{Arch, Simd, WithSimd};

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
    noise: &'a Noise,
    /// Whether all integers are exact as doubles.
    exact: bool,
    rows: DenseRows<'a>,
    random: PrivateRandom,
    words: Words,
    sums: Scratch<i64>,
}

impl<'a> DenseNoise<'a> {
    pub(crate) fn new(
        noise: &'a Noise,
        exact: bool,
        rows: DenseRows<'a>,
        random: PrivateRandom,
    ) -> Self {
        Self { noise, exact, rows, random, words: Words::default(), sums: Scratch([0; CHUNK]) }
    }

    /// Fills `values` with the averaged values and their noise, from the coordinate `first` on, which is
    /// the one after the last of the call before. Only the last chunk of a block may be short.
    pub(crate) fn fill(&mut self, first: u64, values: &mut [f32]) {
        for (values, first) in values.chunks_mut(CHUNK).zip((first..).step_by(CHUNK)) {
            let Self { noise, exact, rows, random, words, sums } = &mut *self;
            let touched = rows.put_into(first, &mut sums.0[..values.len()]);
            let size = size_of_block(values.len());
            let words = random.fill(words, size);
            let of_words = touched.then_some(&sums.0[..size]);
            if size == values.len() {
                chunk(noise, *exact, words, of_words, values);
            } else {
                // Normals come in whole vectors: those beyond the end go nowhere.
                let mut padded = [0.0; CHUNK];
                chunk(noise, *exact, words, of_words, &mut padded[..size]);
                values.copy_from_slice(&padded[..values.len()]);
            }
            if touched {
                sums.0.fill(0);
            }
        }
    }
}

/// Puts the averaged `sums` and their noise into `values`; there are as many words as values, which are whole
/// vectors, and perhaps fewer sums.
pub(crate) fn noised_piece(
    noise: &Noise,
    exact: bool,
    words: &[Word],
    sums: &[i64],
    values: &mut Scratch<f32>,
) {
    let values = &mut values.0[..words.len()];
    if words.len() == sums.len() {
        chunk(noise, exact, words, Some(sums), values);
    } else {
        let mut padded = [0; CHUNK];
        padded[..sums.len()].copy_from_slice(sums);
        chunk(noise, exact, words, Some(&padded[..words.len()]), values);
    }
}

const ZEROS: &[i64] = &[0; CHUNK];

/// As many values as there are words; no sums stand for zeros.
fn chunk(noise: &Noise, exact: bool, words: &[Word], sums: Option<&[i64]>, values: &mut [f32]) {
    let (deviation, step) = (noise.deviation, noise.released_step());
    if exact {
        Arch::new().dispatch(InDoubles { words, sums, values, deviation, step });
    } else {
        let sums = sums.unwrap_or(&ZEROS[..words.len()]);
        let multiple = noise.multiple();
        Arch::new().dispatch(InIntegers { words, sums, values, deviation, step, multiple });
    }
}

/// Noise and sums as doubles that are whole numbers: the same bits as in integers, without a conversion.
struct InDoubles<'a> {
    words: &'a [Word],
    /// None where all are zero.
    sums: Option<&'a [i64]>,
    values: &'a mut [f32],
    deviation: f64,
    step: f64,
}

impl WithSimd for InDoubles<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { words, values, deviation, step, .. } = self;
        match self.sums {
            None => normals_of(words, deviation, &[(); CHUNK], values, |(), normal| {
                (normal.round_ties_even() * step) as f32
            }),
            Some(sums) => normals_of(words, deviation, sums, values, |sum, normal| {
                ((sum as f64 + normal.round_ties_even()) * step) as f32
            }),
        }
    }
}

/// The same for integers of any size.
struct InIntegers<'a> {
    words: &'a [Word],
    sums: &'a [i64],
    values: &'a mut [f32],
    deviation: f64,
    step: f64,
    /// A power of two.
    multiple: i64,
}

impl WithSimd for InIntegers<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (half, mask) = (self.multiple / 2, -self.multiple);
        normals_of(self.words, self.deviation, self.sums, self.values, |sum, normal| {
            let noise = large_integer(normal.round_ties_even());
            let noisy = sum.wrapping_add(noise).wrapping_add(half) & mask;
            (noisy as f64 * self.step) as f32
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums up to 2^51 and noise of every size that is allowed there.
    #[test]
    fn doubles_and_integers_give_the_same_bits() {
        let words: Vec<u64> =
            (1..=CHUNK as u64).map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        for bits in 0..32 {
            let deviation = 1.37 * f64::from(1_u32 << bits);
            let sums: Vec<i64> =
                words.iter().map(|word| (*word as i64) >> (13 + word % 50)).collect();
            let zeros = vec![0; CHUNK];
            for sums in [&zeros, &sums] {
                let (mut doubles, mut integers) = ([0.0; CHUNK], [1.0; CHUNK]);
                let step = 3e-9;
                let words: Vec<Word> = words.iter().map(|word| word.to_le_bytes()).collect();
                let words = words.as_slice();
                let values = &mut doubles;
                let some = sums.iter().any(|sum| *sum != 0).then_some(sums.as_slice());
                Arch::new().dispatch(InDoubles { words, sums: some, values, deviation, step });
                let (values, multiple) = (&mut integers, 1);
                Arch::new().dispatch(InIntegers { words, sums, values, deviation, step, multiple });
                assert_eq!(doubles, integers);
            }
        }
    }
}
