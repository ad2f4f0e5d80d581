//! Noise that is drawn when a row is next read: dense noise at the cost of the touched rows.

use crate::batch::Run;
use crate::dense::noised_piece;
use crate::memory::{Lease, Memory};
use crate::random::{Secret, StepRandom, Word};
use crate::row_words::each_row_words;
use crate::sample::{CHUNK, Scratch, normals_of};
use pulp::{Arch, Simd, WithSimd};
use std::ops::Range;
use std::sync::Arc;

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
/// deviation^2 (rate_s^2 + ... + rate_{t-1}^2), independent of the past: what [`Settling::add`] draws, keyed
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
        let random = self.run.source.secret(Secret::OwedNoise, steps);
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

/// A row and what it owes.
#[derive(Clone, Debug, PartialEq)]
pub struct Debt {
    /// The row.
    pub row: u32,
    /// The sum of the squares of the rates since it was last settled or touched; no such sum owes nothing.
    pub squared_rates: f64,
    /// Where its weights stand in the table.
    pub place: Range<usize>,
}

impl Settling {
    /// Adds to the weights of each row what it owes: normals of standard deviation sqrt(`squared_rates`)
    /// times the plan's [`noise_deviation`](crate::Plan::noise_deviation). `weights` are those of the table
    /// from `first` on. The same bits for the same row, step and sum, whatever rows are beside it.
    pub fn add(&self, debts: &[Debt], first: usize, weights: &mut [f32]) {
        let of = |number: usize| (debts[number].row, debts[number].place.len());
        let mut noise = Scratch([0.0; CHUNK]);
        each_row_words(&self.random, 0..debts.len(), of, |number, start, words| {
            let Debt { squared_rates, place, .. } = &debts[number];
            let deviation = squared_rates.sqrt() * self.deviation;
            if !(deviation.is_normal() && deviation > 0.0) {
                return;
            }
            // Whole numbers of a power of two, so that each gathers many doubles of the sampler.
            let step = libm::ldexp(1.0, libm::ilogb(deviation) - FINEST);
            let scale = deviation / step;
            let end = place.end.min(place.start + start + words.len());
            let weights = &mut weights[place.start + start - first..end - first];
            let noise = &mut noise.0[..words.len()];
            Arch::new().dispatch(Draw { words, noise, weights, scale, step });
        });
    }
}

/// Adds normals that are rounded to whole steps; compiled once for each kind of processor.
struct Draw<'a> {
    words: &'a [Word],
    /// As many as there are words: those beyond the weights go nowhere.
    noise: &'a mut [f32],
    weights: &'a mut [f32],
    scale: f64,
    step: f64,
}

impl WithSimd for Draw<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { words, noise, weights, scale, step } = self;
        normals_of(words, scale, &[(); CHUNK], noise, |(), normal| {
            (normal.round_ties_even() * step) as f32
        });
        weights.iter_mut().zip(noise).for_each(|(weight, noise)| *weight += *noise);
    }
}

/// A table with debts: what may learn which rows a batch touched, because it tells nobody.
///
/// # Privacy
/// Whoever implements it promises the conditions of [`OwedNoise`].
pub trait Indebted {
    /// Takes the released gradients of the rows that the batch touched.
    fn take(&mut self, touched: &Touched<'_>);
}

/// The rows that a batch touched, each with its noise of this step.
///
/// Each value is private, but *which* rows there are is not: they can only be handed to an [`Indebted`]
/// table, which leaves the noise of all other rows for later.
pub struct TouchedRows {
    /// The touched rows in ascending order, and their sums without noise.
    memory: Lease,
    random: StepRandom,
    /// Whether all integers are exact as doubles.
    exact: bool,
}

impl TouchedRows {
    pub(crate) fn release(mut memory: Lease, step: u64) -> Self {
        let Run { plan, source, .. } = &*memory.run.clone();
        let random = source.secret(Secret::TouchedNoise, step);
        let Memory { sum, workspace, release, .. } = &mut *memory;
        release.list_touched(sum, workspace.rows());
        let exact = plan.noise().is_exact_in_doubles(sum.largest());
        Self { memory, random, exact }
    }

    /// Hands all rows to a table with debts.
    pub fn pay_into(&self, table: &mut impl Indebted) {
        table.take(&Touched { rows: self });
    }
}

impl std::fmt::Debug for TouchedRows {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("TouchedRows(secret)")
    }
}

/// The touched rows as an [`Indebted`] table sees them, in ascending order. Noise is drawn when a row is asked
/// for, the same when it is asked for again; rows are independent, so they may be asked for on different threads.
pub struct Touched<'a> {
    rows: &'a TouchedRows,
}

impl Touched<'_> {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.rows.memory.release.runs.len()
    }

    /// The row at `place`, which is below the count.
    pub fn row(&self, place: usize) -> u32 {
        self.rows.memory.release.runs[place].1 as u32
    }

    /// Calls `visit` with each place in `places`, and the released gradient of its row, averaged, with its noise
    /// of this step: in pieces, each with where in the row it starts.
    pub fn gradients(&self, places: Range<usize>, mut visit: impl FnMut(usize, usize, &[f32])) {
        let TouchedRows { memory, random, exact } = self.rows;
        let sums = |place: usize| memory.sum.row(self.row(place)).unwrap_or(&[]);
        let of = |place: usize| (self.row(place), sums(place).len());
        let mut values = Scratch([0.0; CHUNK]);
        each_row_words(random, places, of, |place, start, words| {
            let sums = sums(place);
            let sums = &sums[start..sums.len().min(start + words.len())];
            noised_piece(memory.run.plan.noise(), *exact, words, sums, &mut values);
            visit(place, start, &values.0[..sums.len()]);
        });
    }
}

impl std::fmt::Debug for Touched<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Touched(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        NoiseSettings, Plan, PlanSettings, PoissonSampler, RandomSource, SelectionSettings, Shape,
    };
    use organza_ledger::Neighbouring;
    use organza_ledger::testing::paid;

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

    /// Of a row of 64 that is all there is.
    fn debt(row: u32, squared_rates: f64) -> Debt {
        Debt { row, squared_rates, place: 0..64 }
    }

    #[test]
    fn rows_that_are_settled_together_get_what_each_gets_alone() {
        let settling = dense(1.0).owed_noise().expect("dense noise").settling(5);
        let places = [(4, 20..84), (5, 84..85), (9, 90..154), (11, 154..218), (12, 218..518)];
        let debts = places.map(|(row, place)| Debt { row, squared_rates: f64::from(row), place });
        let mut together = [1.0; 518];
        settling.add(&debts, 10, &mut together[10..]);
        for debt in debts {
            let mut alone = vec![1.0; debt.place.len()];
            settling.add(&[Debt { place: 0..debt.place.len(), ..debt }], 0, &mut alone);
            assert_eq!(together[debt.place.clone()], alone);
            assert!(alone.iter().all(|weight| *weight != 1.0));
            together[debt.place].fill(1.0);
        }
        assert_eq!(together, [1.0; 518], "and nothing else");
    }

    #[derive(Default)]
    struct Kept(Vec<(u32, Vec<f32>)>);

    impl Indebted for Kept {
        fn take(&mut self, touched: &Touched<'_>) {
            assert_eq!(format!("{touched:?}"), "Touched(secret)");
            for place in 0..touched.count() {
                self.0.push((touched.row(place), Vec::new()));
            }
            touched.gradients(0..touched.count(), |place, start, piece| {
                assert_eq!(start, self.0[place].1.len());
                self.0[place].1.extend_from_slice(piece);
            });
        }
    }

    fn touched(sampler: &PoissonSampler, step: u64) -> Kept {
        let batch = sampler.batch(step, &paid(sampler.charge(0..9))).expect("paid");
        let selected = batch.sum(|unit, gradient| {
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
        let names: Vec<(u32, usize)> =
            rows.iter().map(|(row, values)| (*row, values.len())).collect();
        assert_eq!(names, [(7, 64), (900, 64), (901, 64), (1_019, 1)]);
        assert!((rows[0].1[0] - 0.125).abs() < 1e-6 && rows[0].1[1].abs() < 1e-6);
        assert!((rows[1].1[0] - 0.0625).abs() < 1e-6);

        let (one, other) = (touched(&dense(1.0), 3), touched(&dense(1.0), 4));
        assert_eq!(one.0, touched(&dense(1.0), 3).0, "the same step again");
        for (one, other) in one.0.iter().zip(&other.0) {
            assert!(one.1.iter().zip(&other.1).all(|(one, other)| one != other));
        }
        let owed = dense(1.0).owed_noise().expect("dense noise");
        let mut noise = [0.0; 64];
        owed.settling(3).add(&[debt(7, 1.0)], 0, &mut noise);
        assert!(noise.iter().zip(&one.0[0].1).all(|(owed, own)| owed != own), "not shared");
    }

    #[test]
    fn rows_of_another_sampler_are_refused() {
        let owed = dense(1.0).owed_noise().expect("dense noise");
        let other = dense(1.0);
        let batch = other.batch(0, &paid(other.charge(0..1))).expect("paid");
        let selected = batch.sum(|_, _| ()).select();
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
            for row in 0..1_000 {
                let mut noise = [0.0_f32; 64];
                settling.add(&[debt(row, squared_rates)], 0, &mut noise);
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
        let mut nothing = [1.0; 64];
        for squared_rates in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            settling.add(&[debt(0, squared_rates)], 0, &mut nothing);
            assert_eq!(nothing, [1.0; 64]);
        }
    }
}
