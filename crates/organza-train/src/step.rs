//! One step of private training: the paper's Algorithm 3, from top to bottom.

use crate::optimizer::Optimizer;
use crate::task::{IntoUnit, Task};
use organza_mechanism::{BatchSum, PoissonSampler, Purpose, RandomSource};
use rayon::prelude::*;

/// Batches below this size are not worth a second thread.
const UNITS_OF_A_THREAD: usize = 64;

/// Makes the step number `step`: nothing but [`Noised`](organza_mechanism::Noised) values reach the
/// parameters. The same bits whatever the number of threads.
pub(crate) fn private_step<T: Task + ?Sized>(
    task: &T,
    sampler: &PoissonSampler,
    source: &RandomSource,
    step: u64,
    parameters: &mut [f32],
    optimizer: &mut Optimizer,
) {
    // Each unit joins with probability b / n.
    let batch = sampler.batch(source, step);

    // g_j, clipped to S1, and summed; divided by the constant b when it is read.
    let key = source.substream(Purpose::Negatives, step, 0).word();
    let weights = &*parameters;
    let sum_of = |part: organza_mechanism::Batch| {
        part.sum(|unit, gradient| {
            let mut rows = IntoUnit { gradient, nowhere: Vec::new() };
            task.gradient(weights, key, unit, &mut rows);
        })
    };
    let parts = batch.units().len() / UNITS_OF_A_THREAD;
    let sum = match parts {
        0 | 1 => sum_of(batch),
        parts => {
            let sums: Vec<BatchSum> = batch.split(parts).into_par_iter().map(sum_of).collect();
            BatchSum::join(sums).expect("all parts of one batch are there once")
        }
    };

    // M = A(g, gamma): which coordinates or rows this step updates.
    let selected = sum.select(source);

    // Clipped again to S2, with noise on what was selected.
    let noised = selected.noise(source);

    // w <- w - eta (noised, on M).
    optimizer.apply(parameters, &noised);
}
