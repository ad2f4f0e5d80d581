//! Noise that is drawn when a row is next read: dense noise at the cost of the touched rows.

use crate::batch::Run;
use crate::memory::{Lease, Memory};
use crate::random::{Purpose, StepRandom};
use crate::sample::fill_normal;
use std::sync::Arc;

/// How many draws are made at a time.
const CHUNK: usize = 256;
/// Owed noise is rounded to its deviation over 2^31 to 2^32, as releases are.
const FINEST: i32 = 31;

/// The right to leave noise for later: made for plans that put Gaussian noise on everything, without a
/// second clip, and for no others.
///
/// # Privacy
/// In the dense loop w <- w - rate (g / b + Z), with fresh Z for every coordinate at every step, the
/// account lets an observer see w after every step. Here a row that no unit of the batch touched is left as
/// it is, and owes rate Z. When it is next read, all that it owes is drawn at once.
///
/// **Law.** Fix what the loop has read so far, and with it all batches and gradients up to now. Between two
/// readings at steps s < t a row gets no gradient (a gradient is computed from a reading), so in the dense
/// loop it has moved by the sum of -rate_u Z_u over s <= u < t. These are independent of each other, of all
/// other rows and of all that was read before, so their sum is normal with mean zero and variance
/// deviation^2 (rate_s^2 + ... + rate_{t-1}^2), independent of the past: what [`Settling::draw`] draws, keyed
/// by the row and the step at which it is read. Of a row that step u touched, the gradient of that step is
/// released by [`TouchedRows`] with noise of that step of its own, added in integers, and the sum starts at
/// u + 1. By induction over readings all that is ever read has the law that it has in the dense loop, and
/// so has any release that is computed from it: the event is that of dense noise. It is the law of real
/// numbers; rounding of parameters to floats comes once here and at every step there, which moves the
/// variance by (last place of a parameter)^2 / 12 a step.
///
/// **Conditions**, for whoever keeps the table.
/// - A row is settled before *anything* reads it: as input, output or negative, in norms, evaluation,
///   neighbours, export; and everything at scheduled steps only, never because of what the data was.
/// - Parameters move by w <- w - rate (what was released), and by nothing else that looks at other steps:
///   no momentum, no Adam, no projection. (The average of weights needs a joint draw.)
/// - Which rows were touched, parameters with debts, and when a row was last settled come from the data
///   without noise: they stay in memory and in the private part of a run. Time and memory follow them too.
/// - The settling step is the number of steps that were made before, so that no row is settled twice under
///   one name with something owed both times; a run that goes on settles at the same steps again.
#[derive(Clone)]
pub struct OwedNoise {
    run: Arc<Run>,
}

impl OwedNoise {
    /// For plans that can leave noise for later.
    pub(crate) fn of(run: &Arc<Run>) -> Option<Self> {
        (run.plan.selects_everything() && run.plan.noise().is_plain_gaussian())
            .then(|| Self { run: run.clone() })
    }

    pub(crate) fn is_of(&self, run: &Arc<Run>) -> bool {
        Arc::ptr_eq(&self.run, run)
    }

    /// The noise of rows that are read after `steps` steps were made.
    pub fn settling(&self, steps: u64) -> Settling {
        let random = self.run.source.step(Purpose::OwedNoise, steps);
        Settling { random, deviation: self.run.plan.noise_deviation() }
    }
}

impl std::fmt::Debug for OwedNoise {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("OwedNoise(secret)")
    }
}

/// Draws what rows owe, all settled after the same number of steps. It may be used on several threads.
#[derive(Debug)]
pub struct Settling {
    random: StepRandom,
    deviation: f64,
}

impl Settling {
    /// Fills `noise`, which is as long as the row, with what the row owes: normals of standard deviation
    /// sqrt(`squared_rates`) times the plan's [`noise_deviation`](crate::Plan::noise_deviation), to be added
    /// to the row. `squared_rates` is the sum of the squares of the rates since the row was last settled or
    /// touched. The same bits for the same row, step and sum.
    pub fn draw(&self, row: u32, squared_rates: f64, noise: &mut [f32]) {
        let deviation = squared_rates.sqrt() * self.deviation;
        if !(deviation.is_normal() && deviation > 0.0) {
            noise.fill(0.0);
            return;
        }
        let mut random = self.random.shard(u64::from(row));
        // Whole numbers of a power of two, so that each gathers many doubles of the sampler.
        let step = libm::ldexp(1.0, deviation.log2().floor() as i32 - FINEST);
        let scale = deviation / step;
        let mut draws = [0.0; CHUNK];
        for noise in noise.chunks_mut(CHUNK) {
            let draws = &mut draws[..noise.len()];
            fill_normal(draws, &mut random);
            for (value, draw) in noise.iter_mut().zip(draws) {
                *value = ((*draw * scale).round_ties_even() * step) as f32;
            }
        }
    }
}

/// A table with debts: what may learn which rows a batch touched, because it tells nobody.
///
/// # Privacy
/// Whoever implements it promises the conditions of [`OwedNoise`].
pub trait Indebted {
    /// Takes the released gradient of a row that the batch touched: averaged, with the noise of this step.
    /// `first` is the row's first coordinate.
    fn take(&mut self, row: u32, first: u64, gradient: &[f32]);
}

/// The rows that a batch touched, each with its noise of this step.
///
/// Each value is private, but *which* rows there are is not: they can only be handed to an [`Indebted`]
/// table, which leaves the noise of all other rows for later.
pub struct TouchedRows {
    memory: Lease,
}

impl TouchedRows {
    pub(crate) fn release(mut memory: Lease, step: u64) -> Self {
        let Run { plan, source, .. } = &*memory.run.clone();
        let noise = plan.noise();
        let random = source.step(Purpose::TouchedNoise, step);
        let Memory { sum, workspace, release, .. } = &mut *memory;
        let rows = workspace.rows();
        sum.sorted_rows(rows);
        for row in rows {
            let start = release.sums.len();
            release.push_row(sum, *row);
            noise.add(&mut release.sums[start..], &mut random.shard(u64::from(*row)));
        }
        release.finish(noise.released_step());
        Self { memory }
    }

    /// Hands all rows to a table with debts, in ascending order.
    pub fn pay_into(&self, table: &mut impl Indebted) {
        let shape = self.memory.sum.shape();
        self.memory.release.visit(|first, gradient| {
            if let Some((row, _)) = shape.place(first) {
                table.take(row, first, gradient);
            }
        });
    }
}

impl std::fmt::Debug for TouchedRows {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("TouchedRows(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        NoiseSettings, Plan, PlanSettings, PoissonSampler, RandomSource, SelectionSettings, Shape,
    };
    use organza_ledger::Neighbouring;

    fn sampler(selection: SelectionSettings, noise: NoiseSettings) -> PoissonSampler {
        let plan = Plan::new(PlanSettings {
            shape: Shape::tables(&[(1_000, 64), (20, 1)]).expect("a good shape"),
            neighbouring: Neighbouring::AddRemove,
            rate: 1.0,
            expected_batch: 4.0,
            clip: 2.0,
            selection,
            noise,
        });
        plan.expect("a good plan").sampler("training", 2, &RandomSource::from_seed(4))
    }

    fn dense(multiplier: f64) -> PoissonSampler {
        let noise = NoiseSettings::Gaussian { multiplier, second_clip: None };
        sampler(SelectionSettings::Everything, noise)
    }

    #[test]
    fn only_dense_gaussian_noise_can_wait() {
        assert!(dense(1.0).owed_noise().is_some());
        let clipped = NoiseSettings::Gaussian { multiplier: 1.0, second_clip: Some(0.1) };
        assert!(sampler(SelectionSettings::Everything, clipped).owed_noise().is_none());
        let plain = NoiseSettings::Gaussian { multiplier: 1.0, second_clip: None };
        let mask = SelectionSettings::Uniform { by: crate::By::Row, draws: 3 };
        assert!(sampler(mask, plain).owed_noise().is_none());
    }

    #[derive(Default)]
    struct Kept(Vec<(u32, u64, Vec<f32>)>);

    impl Indebted for Kept {
        fn take(&mut self, row: u32, first: u64, gradient: &[f32]) {
            self.0.push((row, first, gradient.to_vec()));
        }
    }

    fn touched(sampler: &PoissonSampler, step: u64) -> Kept {
        let selected = sampler.batch(step).sum(|unit, gradient| {
            for row in [900 + unit as u32, 7, 1_019] {
                gradient.row(row).expect("inside")[0] += 0.25;
            }
        });
        let owed = sampler.owed_noise().expect("dense noise");
        let rows = selected.select().noise_touched(&owed).expect("of this sampler");
        assert_eq!(format!("{rows:?}"), "TouchedRows(secret)");
        let mut kept = Kept::default();
        rows.pay_into(&mut kept);
        kept
    }

    #[test]
    fn touched_rows_hold_their_average_and_noise_of_their_own() {
        let Kept(rows) = touched(&dense(1e-9), 3);
        let names: Vec<(u32, u64, usize)> =
            rows.iter().map(|(row, first, values)| (*row, *first, values.len())).collect();
        let at = |row: u64| row * 64;
        assert_eq!(
            names,
            [(7, at(7), 64), (900, at(900), 64), (901, at(901), 64), (1_019, at(1_000) + 19, 1)]
        );
        assert!((rows[0].2[0] - 0.125).abs() < 1e-6 && rows[0].2[1].abs() < 1e-6);
        assert!((rows[1].2[0] - 0.0625).abs() < 1e-6);

        let (one, other) = (touched(&dense(1.0), 3), touched(&dense(1.0), 4));
        assert_eq!(one.0, touched(&dense(1.0), 3).0, "the same step again");
        for (one, other) in one.0.iter().zip(&other.0) {
            assert!(one.2.iter().zip(&other.2).all(|(one, other)| one != other));
        }
        let owed = dense(1.0).owed_noise().expect("dense noise");
        let mut noise = [0.0; 64];
        owed.settling(3).draw(7, 1.0, &mut noise);
        assert!(noise.iter().zip(&one.0[0].2).all(|(owed, own)| owed != own), "not shared");
    }

    #[test]
    fn rows_of_another_sampler_are_refused() {
        let owed = dense(1.0).owed_noise().expect("dense noise");
        let selected = dense(1.0).batch(0).sum(|_, _| ()).select();
        assert!(selected.noise_touched(&owed).is_none());
    }

    /// The sum of squares over the variance is chi-squared; five of its deviations: a false alarm of 6e-7
    /// each way, less than 1e-5 over all. The twin that forgets the root is caught.
    #[test]
    fn what_is_owed_has_its_variance() {
        let sampler = dense(1.5);
        let owed = sampler.owed_noise().expect("dense noise");
        let settling = owed.settling(12);
        let count = 64_000.0;
        for squared_rates in [1e-12, 0.0025, 3.7, 1e6] {
            let mut squares = 0.0;
            let mut noise = [0.0_f32; 64];
            for row in 0..1_000 {
                settling.draw(row, squared_rates, &mut noise);
                squares += noise.iter().map(|it| f64::from(*it) * f64::from(*it)).sum::<f64>();
            }
            // multiplier x clip / expected batch.
            let deviation = 1.5 * 2.0 / 4.0;
            let bound = 5.0 * f64::sqrt(2.0 / count);
            let ratio = |variance: f64| squares / count / variance;
            assert!((ratio(deviation * deviation * squared_rates) - 1.0).abs() < bound);
            let broken = deviation * deviation * squared_rates * squared_rates;
            assert!((ratio(broken) - 1.0).abs() > bound);
        }
        let mut nothing = [1.0; 3];
        for squared_rates in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            settling.draw(0, squared_rates, &mut nothing);
            assert_eq!(nothing, [0.0; 3]);
        }
    }
}
