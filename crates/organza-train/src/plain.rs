//! Batches without privacy: the plain sum of gradients.

use crate::tables::Reading;
use crate::task::Task;
use organza_mechanism::sample::poisson_subset;
use organza_mechanism::{PlainSum, Purpose, RandomSource, Shape, ShapeError};
use rayon::prelude::*;

/// How many units are summed as one. Sums of floats depend on their order, so this does not depend on the
/// number of threads.
pub(crate) const UNITS_OF_A_SUM: usize = 512;

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

    /// Sums the gradients of the units, of whose draws each sum has a part of its own. The same bits whatever the
    /// number of threads.
    pub(crate) fn sum<T: Task + ?Sized>(&mut self, task: &T, weights: &Reading<'_>) {
        let rows = weights.rows();
        let part = |number: usize, units: &[u64], sum: &mut PlainSum| {
            for (unit, draw) in units.iter().zip(weights.draws(number)) {
                task.gradient(*unit, draw, &rows, sum);
            }
        };
        let count = self.units.len().div_ceil(UNITS_OF_A_SUM);
        if count <= 1 {
            return part(0, &self.units, &mut self.parts[0]);
        }
        let missing = count.saturating_sub(self.parts.len());
        self.parts.extend((0..missing).map(|_| PlainSum::new(self.shape.clone())));
        let units = self.units.par_chunks(UNITS_OF_A_SUM);
        let sums = units.zip(&mut self.parts[..count]).enumerate();
        sums.for_each(|(number, (units, sum))| part(number, units, sum));
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
    use crate::OptimizerSettings;
    use crate::step::plain_step;
    use crate::tables::{Tables, Upkeep};
    use crate::task::Losses;
    use organza_mechanism::random::PrivateRandom;
    use organza_mechanism::sample::unit;
    use organza_mechanism::{ReadRows, WriteRows};

    /// Every unit adds random numbers to three rows.
    struct Numbers;

    impl Task for Numbers {
        fn tables(&self) -> Vec<(u64, u64)> {
            vec![(50, 3)]
        }

        fn units(&self) -> u64 {
            3_000
        }

        fn draw(&self, _: u64, random: &mut PrivateRandom, draw: &mut Vec<u32>) {
            draw.extend((0..12).map(|_| (1e6 * unit(random)) as u32));
        }

        fn gradient(&self, _: u64, draw: &[u32], _: &dyn ReadRows, gradient: &mut dyn WriteRows) {
            for numbers in draw.chunks_exact(4) {
                let row = gradient.row(numbers[0] % 50);
                row.iter_mut()
                    .zip(&numbers[1..])
                    .for_each(|(slope, it)| *slope += *it as f32 / 1e6);
            }
        }

        fn evaluate(&self, _: &dyn ReadRows) -> Losses {
            Losses { train: 0.0, validation: 0.0, test: 0.0 }
        }
    }

    /// The weights after each of three steps of plain gradient descent, from zero.
    fn released(threads: usize, rate: f64) -> Vec<Vec<f32>> {
        let source = RandomSource::from_seed(2);
        let mut batch = PlainBatch::new(&Numbers.tables()).unwrap();
        let sgd = OptimizerSettings::Sgd { learning_rate: 1.0 };
        let shape = Shape::tables(&Numbers.tables()).unwrap();
        let mut tables = Tables::new(shape, sgd, Upkeep::EveryStep, vec![0.0; 150]).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let step = |step| {
            let step = || plain_step(&Numbers, &source, step, rate, 7.0, &mut batch, &mut tables);
            pool.install(step);
            tables.read().all().to_vec()
        };
        (0..3).map(step).collect()
    }

    #[test]
    fn threads_do_not_show_and_the_sum_is_the_sum() {
        for rate in [0.01, 0.9] {
            let one = released(1, rate);
            assert_eq!(one, released(3, rate));
            let total: f64 = one[2].iter().map(|it| -f64::from(*it)).sum();
            // Nine uniform numbers a unit, in three steps, over seven; five deviations of the batches.
            let units = 3.0 * 3_000.0 * rate;
            let bound = 5.0 * 9.0 / 7.0 * f64::sqrt(units);
            assert!((total - units * 4.5 / 7.0).abs() < bound, "{total}");
        }
    }
}
