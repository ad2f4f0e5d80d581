//! One step of private training: the paper's Algorithm 3, from top to bottom.

use crate::plain::PlainBatch;
use crate::tables::{Reading, Tables};
use crate::task::{IntoUnit, Task};
use organza_ledger::Charged;
use organza_mechanism::{
    Batch, BatchSum, NotPaid, PartSum, PoissonSampler, Purpose, RandomSource, UnitGradient,
};
use rayon::prelude::*;

/// Batches below this size are not worth a second thread.
const UNITS_OF_A_THREAD: usize = 64;

/// Makes the step number `step`, which `paid` pays for: nothing but
/// [`Noised`](organza_mechanism::Noised) values reach the parameters. The same bits whatever the number of threads.
///
/// # Errors
/// If the charge is not for this step, or it was made before; the parameters are as they were.
pub(crate) fn private_step<T: Task + ?Sized>(
    task: &T,
    sampler: &PoissonSampler,
    paid: &Charged,
    source: &RandomSource,
    step: u64,
    tables: &mut Tables,
) -> Result<(), NotPaid> {
    // Each unit joins with probability b / n.
    let batch = sampler.batch(step, paid)?;

    // w, where the batch reads it.
    let mut weights = tables.read();
    bring_up_to_date(task, source, step, batch.units(), &mut weights);

    // g_j, clipped to S1, and summed; divided by the constant b when it is read.
    let sum = batch_sum(task, source, step, &weights, batch);
    drop(weights);

    // M = A(g, gamma): which coordinates or rows this step updates.
    let selected = sum.select();

    // Clipped again to S2, with noise on what was selected; w <- w - eta (noised, on M).
    match tables.owed_noise() {
        None => tables.apply(&selected.noise()),
        Some(owed) => {
            let touched = selected.noise_touched(owed);
            tables.pay(touched.expect("the tables owe the noise of this sampler"));
        }
    }
    Ok(())
}

/// Brings every row up to date that the gradients of `units` read.
fn bring_up_to_date<T: Task + ?Sized>(
    task: &T,
    source: &RandomSource,
    step: u64,
    units: &[u64],
    weights: &mut Reading<'_>,
) {
    if !weights.asks() {
        return;
    }
    let draws = source.step(Purpose::Negatives, step);
    let parts = threads_for(units);
    let size = units.len().div_ceil(parts);
    weights.ask(parts, |part, rows| {
        let mut random = draws.shard(0);
        units.iter().skip(part * size).take(size).all(|unit| {
            random.turn_to(*unit);
            task.reads(*unit, &mut random, &mut |row| rows.push(row))
        })
    });
}

/// How many threads a batch is worth.
fn threads_for(units: &[u64]) -> usize {
    (units.len() / UNITS_OF_A_THREAD).clamp(1, rayon::current_num_threads())
}

/// The clipped sum of a batch's gradients, on as many threads as it is worth. Integer sums do not show how
/// many there were.
pub(crate) fn batch_sum<T: Task + ?Sized>(
    task: &T,
    source: &RandomSource,
    step: u64,
    parameters: &[f32],
    batch: Batch,
) -> BatchSum {
    let draws = source.step(Purpose::Negatives, step);
    let gradients = || {
        let mut random = draws.shard(0);
        move |unit: u64, gradient: &mut UnitGradient| {
            let mut rows = IntoUnit { gradient, nowhere: Vec::new() };
            random.turn_to(unit);
            task.gradient(parameters, unit, &mut random, &mut rows);
        }
    };
    // One part a thread: joining parts costs.
    match threads_for(batch.units()) {
        1 => batch.sum(gradients()),
        parts => {
            let parts = batch.split(parts);
            let sums: Vec<PartSum> =
                parts.into_par_iter().map(|part| part.sum(gradients())).collect();
            PartSum::join(sums).expect("all parts of one batch are there once")
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
    batch: &mut PlainBatch,
    tables: &mut Tables,
) {
    let units = batch.draw(task.units(), rate, source, step);
    let mut weights = tables.read();
    bring_up_to_date(task, source, step, units, &mut weights);
    batch.sum(task, &weights, source, step);
    drop(weights);
    let ascending = tables.take_ascending_runs();
    tables.step(|visit| batch.drain(expected_batch, ascending, visit));
}
