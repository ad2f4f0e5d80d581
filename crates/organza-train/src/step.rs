//! One step of private training: the paper's Algorithm 3, from top to bottom.

use crate::plain::{PlainBatch, UNITS_OF_A_SUM};
use crate::tables::{Reading, Tables};
use crate::task::Task;
use organza_ledger::Charged;
use organza_mechanism::{
    Batch, BatchSum, NotPaid, PartSum, Purpose, RandomSource, ReleasedClip, Sampler, Selected,
    UnitGradient,
};
use rayon::prelude::*;

/// Batches below this size are not worth a second thread.
const UNITS_OF_A_THREAD: usize = 64;

/// Makes the step number `step`, which `paid` pays for, with the plan's clip or the one that the step before has released in
/// `clip`, where this one leaves its own: nothing but
/// [`Noised`](organza_mechanism::Noised) values reach the parameters. The same bits whatever the number of threads.
///
/// # Errors
/// If the charge is not for this step, or it was made before; the parameters are as they were.
pub(crate) fn private_step<T: Task + ?Sized>(
    task: &T,
    sampler: &Sampler,
    paid: &Charged,
    source: &RandomSource,
    step: u64,
    tables: &mut Tables,
    clip: &mut Option<ReleasedClip>,
) -> Result<(), NotPaid> {
    // b, clipped to S1.
    let batch = draw_batch(sampler, paid, step, *clip)?;

    // w, where the batch reads it.
    let mut weights = tables.read();
    let size = units_of_a_part(batch.units().len());
    draw_units(task, source, step, batch.units(), size, &mut weights);

    // g_j, clipped to S1, and summed; divided by the constant b when it is read.
    let sum = batch_sum(task, &weights, batch);
    drop(weights);

    // Selected, noised, and w moved.
    release(sum, tables, clip);
    Ok(())
}

/// The batch of `step`: each unit joins with probability b / n.
///
/// # Errors
/// If the charge is not for this step, or it was drawn before.
pub(crate) fn draw_batch(
    sampler: &Sampler,
    paid: &Charged,
    step: u64,
    clip: Option<ReleasedClip>,
) -> Result<Batch, NotPaid> {
    let batch = sampler.batch(step, paid)?;
    // S1, where earlier steps have released it.
    Ok(match clip {
        Some(clip) => batch.at_clip(clip),
        None => batch,
    })
}

/// The second half of a step, after the clipped sum.
pub(crate) fn release(sum: BatchSum, tables: &mut Tables, clip: &mut Option<ReleasedClip>) {
    // M = A(g, gamma): which coordinates or rows this step updates.
    release_selected(sum.select(), tables, clip);
}

/// What comes after the selection.
pub(crate) fn release_selected(
    selected: Selected,
    tables: &mut Tables,
    clip: &mut Option<ReleasedClip>,
) {
    // Clipped again to S2, with noise on what was selected; w <- w - eta (noised, on M).
    match tables.owed_noise() {
        None => {
            let noised = selected.noise();
            *clip = noised.next_clip();
            tables.apply(&noised);
        }
        Some(owed) => {
            let touched = selected.noise_touched(owed);
            tables.pay(touched.expect("the tables owe the noise of this sampler"));
        }
    }
}

/// Draws what chance decides of `units`, `size` in a part, and brings the rows up to date that their gradients read.
fn draw_units<T: Task + ?Sized>(
    task: &T,
    source: &RandomSource,
    step: u64,
    units: &[u64],
    size: usize,
    weights: &mut Reading<'_>,
) {
    let draws = source.step(Purpose::Negatives, step);
    let asks = weights.asks();
    weights.ask(units.len().div_ceil(size), |part, drawn| {
        let mut random = draws.shard(0);
        for unit in units.iter().skip(part * size).take(size) {
            random.turn_to(*unit);
            let draw = |numbers: &mut Vec<u32>| task.draw(*unit, &mut random, numbers);
            drawn.push(draw, |draw, rows| {
                if asks {
                    task.reads(*unit, draw, &mut |row| rows.push(row));
                }
            });
        }
    });
}

/// How many units a thread takes: one part a thread, because joining parts costs.
pub(crate) fn units_of_a_part(units: usize) -> usize {
    let threads = (units / UNITS_OF_A_THREAD).clamp(1, rayon::current_num_threads());
    units.div_ceil(threads).max(1)
}

/// The clipped sum of a batch's gradients, on as many threads as it is worth. Integer sums do not show how
/// many there were.
fn batch_sum<T: Task + ?Sized>(task: &T, weights: &Reading<'_>, batch: Batch) -> BatchSum {
    let rows = weights.rows();
    let gradients = |part: usize| {
        let (rows, mut draws) = (&rows, weights.draws(part));
        move |unit: u64, gradient: &mut UnitGradient| {
            task.gradient(unit, draws.next().unwrap_or_default(), rows, gradient);
        }
    };
    let size = units_of_a_part(batch.units().len());
    match batch.units().len().div_ceil(size) {
        0 | 1 => batch.sum(gradients(0)),
        parts => {
            let parts = batch.split(parts).into_par_iter().enumerate();
            let sums: Vec<PartSum> =
                parts.map(|(part, units)| units.sum(gradients(part))).collect();
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
    draw_units(task, source, step, units, UNITS_OF_A_SUM, &mut weights);
    batch.sum(task, &weights);
    drop(weights);
    let ascending = tables.take_ascending_runs();
    tables.step(|visit| batch.drain(expected_batch, ascending, visit));
}
