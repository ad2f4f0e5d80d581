//! One step of private training: the paper's Algorithm 3, from top to bottom.

use crate::tables::{Reading, Tables};
use crate::task::{IntoUnit, Rows, Task};
use organza_mechanism::sample::poisson_subset;
use organza_mechanism::{PartSum, PoissonSampler, Purpose, RandomSource, Shape, UnitGradient};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Batches below this size are not worth a second thread.
const UNITS_OF_A_THREAD: usize = 64;

/// Makes the step number `step`, which whoever calls has paid for: nothing but
/// [`Noised`](organza_mechanism::Noised) values reach the parameters. The same bits whatever the number of threads.
pub(crate) fn private_step<T: Task + ?Sized>(
    task: &T,
    sampler: &PoissonSampler,
    source: &RandomSource,
    step: u64,
    tables: &mut Tables,
) {
    // Each unit joins with probability b / n.
    let batch = sampler.batch(step);

    // w, where the batch reads it.
    let mut weights = tables.read();
    bring_up_to_date(task, source, step, batch.units().iter().copied(), &mut weights);

    // g_j, clipped to S1, and summed; divided by the constant b when it is read.
    let draws = source.step(Purpose::Negatives, step);
    let parameters = &*weights;
    let gradient = |unit: u64, gradient: &mut UnitGradient| {
        let mut rows = IntoUnit { gradient, nowhere: Vec::new() };
        task.gradient(parameters, unit, &mut draws.shard(unit), &mut rows);
    };
    let sum = match batch.units().len() / UNITS_OF_A_THREAD {
        0 | 1 => batch.sum(gradient),
        parts => {
            let parts = batch.split(parts);
            let sums: Vec<PartSum> = parts.into_par_iter().map(|part| part.sum(gradient)).collect();
            PartSum::join(sums).expect("all parts of one batch are there once")
        }
    };

    drop(weights);

    // M = A(g, gamma): which coordinates or rows this step updates.
    let selected = sum.select();

    // Clipped again to S2, with noise on what was selected; w <- w - eta (noised, on M).
    match tables.owed_noise() {
        None => tables.apply(&selected.noise()),
        Some(owed) => {
            let touched = selected.noise_touched(owed);
            tables.pay(&touched.expect("the tables owe the noise of this sampler"));
        }
    }
}

/// Brings every row up to date that the gradients of `units` read.
fn bring_up_to_date<T: Task + ?Sized>(
    task: &T,
    source: &RandomSource,
    step: u64,
    units: impl Iterator<Item = u64>,
    weights: &mut Reading<'_>,
) {
    if !weights.asks() {
        return;
    }
    let draws = source.step(Purpose::Negatives, step);
    for unit in units {
        if !task.reads(unit, &mut draws.shard(unit), &mut |row| weights.row(row)) {
            return weights.all();
        }
    }
}

/// A step without any privacy: the mean gradient of a Poisson batch as it is.
pub(crate) fn plain_step<T: Task + ?Sized>(
    task: &T,
    source: &RandomSource,
    step: u64,
    rate: f64,
    expected_batch: f64,
    tables: &mut Tables,
) {
    let draws = source.step(Purpose::Negatives, step);
    let mut random = source.substream(Purpose::Batch, step, 0);
    let units: Vec<u64> = poisson_subset(task.units(), rate, &mut random).collect();
    let mut weights = tables.read();
    bring_up_to_date(task, source, step, units.iter().copied(), &mut weights);
    let mut sum = PlainRows::new(&task.tables());
    for unit in units {
        task.gradient(&weights, unit, &mut draws.shard(unit), &mut sum);
    }
    let scale = (1.0 / expected_batch) as f32;
    sum.rows.values_mut().flat_map(|(_, row)| row).for_each(|value| *value *= scale);
    drop(weights);
    tables.step(|visit| {
        sum.rows.values().for_each(|(first, row)| visit(*first, row));
    });
}

/// The rows of a sum in ascending order, each with its first coordinate.
struct PlainRows {
    shape: Option<Shape>,
    rows: BTreeMap<u32, (u64, Vec<f32>)>,
}

impl PlainRows {
    fn new(tables: &[(u64, u64)]) -> Self {
        Self { shape: Shape::tables(tables).ok(), rows: BTreeMap::new() }
    }
}

impl Rows for PlainRows {
    fn row(&mut self, row: u32) -> &mut [f32] {
        let place = self.shape.as_ref().and_then(|shape| shape.row(row)).unwrap_or((0, 0));
        &mut self.rows.entry(row).or_insert_with(|| (place.0, vec![0.0; place.1])).1
    }
}
