//! Batches without privacy: the plain sum of gradients.

use crate::task::{IntoSum, Task};
use organza_mechanism::sample::poisson_subset;
use organza_mechanism::{PlainSum, Purpose, RandomSource, Shape, ShapeError};
use rayon::prelude::*;

/// How many units are summed as one. Sums of floats depend on their order, so this does not depend on the
/// number of threads.
const UNITS_OF_A_PART: usize = 512;

/// A Poisson batch without privacy and the sum of its gradients, in memory that is used again. *Not private.*
pub(crate) struct PlainBatch {
    shape: Shape,
    units: Vec<u64>,
    /// The sums of parts; that of the first becomes the sum of all.
    parts: Vec<PlainSum>,
}

impl PlainBatch {
    /// For tables of (rows, dimensions).
    pub(crate) fn new(tables: &[(u64, u64)]) -> Result<Self, ShapeError> {
        let shape = Shape::tables(tables)?;
        let parts = vec![PlainSum::new(shape.clone())];
        Ok(Self { shape, units: Vec::new(), parts })
    }

    /// Draws the units of `step`: each joins with probability `rate`.
    pub(crate) fn draw(
        &mut self,
        units: u64,
        rate: f64,
        source: &RandomSource,
        step: u64,
    ) -> &[u64] {
        let mut random = source.substream(Purpose::Batch, step, 0);
        self.units.clear();
        self.units.extend(poisson_subset(units, rate, &mut random));
        &self.units
    }

    /// Sums the gradients of the units that were drawn. The same bits whatever the number of threads.
    pub(crate) fn sum<T: Task + ?Sized>(
        &mut self,
        task: &T,
        parameters: &[f32],
        source: &RandomSource,
        step: u64,
    ) {
        let draws = source.step(Purpose::Negatives, step);
        let part = |units: &[u64], sum: &mut PlainSum| {
            let mut rows = IntoSum { sum, nowhere: Vec::new() };
            let mut random = draws.shard(0);
            for unit in units {
                random.turn_to(*unit);
                task.gradient(parameters, *unit, &mut random, &mut rows);
            }
        };
        let count = self.units.len().div_ceil(UNITS_OF_A_PART);
        if count <= 1 {
            return part(&self.units, &mut self.parts[0]);
        }
        let missing = count.saturating_sub(self.parts.len());
        self.parts.extend((0..missing).map(|_| PlainSum::new(self.shape.clone())));
        let units = self.units.par_chunks(UNITS_OF_A_PART);
        units.zip(&mut self.parts[..count]).for_each(|(units, sum)| part(units, sum));
        if let Some((first, others)) = self.parts[..count].split_first_mut() {
            others.iter_mut().for_each(|other| first.take(other));
        }
    }

    /// Calls `visit` with the first coordinate and the values of each touched row, divided by
    /// `expected_batch`, in ascending order if it is asked for, and forgets them.
    pub(crate) fn drain(
        &mut self,
        expected_batch: f64,
        ascending: bool,
        visit: impl FnMut(u64, &[f32]),
    ) {
        self.parts[0].drain((1.0 / expected_batch) as f32, ascending, visit);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::task::{Losses, Rows};
    use organza_mechanism::random::PrivateRandom;
    use organza_mechanism::sample::unit;

    /// Every unit adds random numbers to three rows.
    struct Numbers;

    impl Task for Numbers {
        fn tables(&self) -> Vec<(u64, u64)> {
            vec![(50, 3)]
        }

        fn units(&self) -> u64 {
            3_000
        }

        fn gradient(&self, _: &[f32], _: u64, random: &mut PrivateRandom, rows: &mut dyn Rows) {
            for _ in 0..3 {
                let row = (50.0 * unit(random)) as u32;
                rows.row(row).iter_mut().for_each(|value| *value += unit(random) as f32);
            }
        }

        fn evaluate(&self, _: &[f32]) -> Losses {
            Losses { train: 0.0, validation: 0.0, test: 0.0 }
        }
    }

    fn released(threads: usize, rate: f64) -> Vec<(u64, Vec<f32>)> {
        let source = RandomSource::from_seed(2);
        let mut batch = PlainBatch::new(&Numbers.tables()).unwrap();
        let mut seen = Vec::new();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for step in 0..3 {
            batch.draw(Numbers.units(), rate, &source, step);
            pool.install(|| batch.sum(&Numbers, &[], &source, step));
            batch.drain(7.0, true, |first, values| seen.push((first, values.to_vec())));
        }
        seen
    }

    #[test]
    fn threads_do_not_show_and_the_sum_is_the_sum() {
        for rate in [0.01, 0.9] {
            let one = released(1, rate);
            assert_eq!(one, released(3, rate));
            let total: f64 = one.iter().flat_map(|(_, row)| row).map(|it| f64::from(*it)).sum();
            // Nine uniform numbers a unit, in three steps, over seven; five deviations of the batches.
            let units = 3.0 * 3_000.0 * rate;
            let bound = 5.0 * 9.0 / 7.0 * f64::sqrt(units);
            assert!((total - units * 4.5 / 7.0).abs() < bound, "{total}");
        }
    }
}
