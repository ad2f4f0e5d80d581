//! Noise that is drawn when a row is next read: dense noise at the cost of the touched rows.

mod grid;
#[cfg(test)]
mod tests;
mod touched;

pub use grid::DeferredGrid;
pub use touched::{Indebted, Touched, TouchedRows};

use crate::batch::Run;
use crate::due::NotPaid;
use crate::noise::further;
use crate::random::{Secret, StepRandom, Word};
use crate::row_words::each_row_words;
use crate::sample::{CHUNK, RoundedNormals, Scratch};
use organza_ledger::{Charge, Charged};
use std::ops::Range;
use std::sync::Arc;

/// What charges for noise that is left for later begin with.
pub const DEFERRED_NOISE: &str = "deferred noise";

/// More deviations than a normal ever has.
const FAR: f64 = 64.0;
/// 2^62.
const ROOM: f64 = (1_u64 << 62) as f64;

/// Leave to defer noise that has not been paid for yet.
#[derive(Clone)]
pub struct Deferral(OwedNoise);

impl Deferral {
    /// For plans that put Gaussian noise on everything, without a second clip or one that adapts (whose grid would change
    /// from step to step, where a table has one), on no more coordinates than the grid is for.
    pub(crate) fn of(run: &Arc<Run>, grid: &DeferredGrid) -> Option<Self> {
        let noise = run.plan.noise();
        let adapts = run.plan.adaptive().is_some();
        if adapts || !(run.plan.selects_everything() && noise.is_plain_gaussian()) {
            return None;
        }
        // The account is for as many draws as the grid was made for, and all noise has to fit into 62 bits.
        let farthest = FAR * noise.deviation * (grid.steps() as f64).sqrt();
        if run.plan.shared_shape().coordinates() > grid.coordinates() || farthest >= ROOM {
            return None;
        }
        // A unit of the table is 2^bits steps of the sum's grid.
        let bits = u32::try_from(libm::ilogb(noise.deviation) - grid.bits() as i32).ok()?;
        let normals = RoundedNormals::on_sums(noise.deviation, bits)?;
        let unit = libm::ldexp(run.plan.grid().step(), bits as i32);
        Some(Self(OwedNoise { run: run.clone(), grid: *grid, normals, unit }))
    }

    /// What it costs that the noise of several steps is drawn at once.
    pub fn charge(&self) -> Charge {
        let OwedNoise { run, grid, .. } = &self.0;
        let purpose = format!("{DEFERRED_NOISE} of {}", run.due.purpose());
        Charge { purpose, event: grid.event(), ..run.due.charge(0..1) }
    }

    /// One whole number of the table, in the averaged gradient.
    pub fn unit(&self) -> f64 {
        self.0.unit
    }

    /// The right to leave the noise of a range of rows for later, which a driver has paid for: for all rows at once.
    pub(crate) fn paid_by_driver(self) -> OwedNoise {
        self.0
    }

    /// The right to leave noise for later.
    ///
    /// # Errors
    /// If the charge is another one.
    pub fn paid(self, charged: Charged) -> Result<OwedNoise, NotPaid> {
        if *charged.charge() == self.charge() {
            return Ok(self.0);
        }
        Err(NotPaid::NotCovered { purpose: self.charge().purpose, step: 0 })
    }
}

impl std::fmt::Debug for Deferral {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Deferral")
    }
}

/// The right to leave noise for later, made of a [`Deferral`] that was paid for.
///
/// # Privacy
/// In the dense loop w <- w - rate (g / b + Z), with fresh noise Z for every coordinate at every step, the
/// account lets an observer see w after every step. Here a row that no unit of the batch touched is left as
/// it is, and owes its noise. When it is next read, all that it owes is drawn at once.
///
/// **Numbers.** A table that owes noise holds whole numbers J on one public grid, modulo 2^32, and weights are a fixed
/// function of them (w = rate x unit x J, rounded). A step takes round((x + N) / M) off each: x is the sum of the batch on the
/// integers of the plan's grid, N its Gaussian noise, M a public power of two, and `unit` is M of that grid's steps. That is a
/// rounding of the Gaussian mechanism, in exactly this law, so the dense loop in these numbers has the plan's event, with nothing
/// idealised. Floats would not do: how often, and in what form, a weight was rounded would depend on which steps touched
/// it, and the last bits would tell.
///
/// **Law.** Fix what the loop has read so far, and with it all batches and gradients up to now. Between two
/// readings at steps s < t a row gets no gradient (a gradient is computed from a reading), so in the dense
/// loop it has moved by t - s independent draws of round(N / M), independent of all other rows and of all that was read
/// before. [`Settling::take_off`] draws one number instead, keyed by the row and the step at which it is read, whose law is
/// that of a single draw where t - s = 1 and close to that of the sum otherwise: [`DeferredGrid`] says how close, and what
/// is charged for it. Of a row that step u touched, the gradient of that step is released by [`TouchedRows`] with noise of that
/// step of its own, in the law of the dense loop, and the sum starts at u + 1. Addition modulo 2^32 is the same function of the
/// sum in both loops. By induction over readings all that is ever read is as close to the dense loop as the grid says, and so
/// is any release that is computed from it.
///
/// **Conditions**, for whoever keeps the table.
/// - A row is settled before *anything* reads it: as input, output or negative, in norms, evaluation,
///   neighbours, export; and everything at scheduled steps only, never because of what the data was.
/// - Numbers move by what was released, and by nothing else that looks at other steps:
///   no momentum, no Adam, no projection. (The average of weights needs a joint draw.)
/// - Which rows were touched, numbers with debts, and when a row was last settled come from the data
///   without noise: they stay in memory and in the private part of a run. Time and memory follow them too.
/// - The settling step is the number of steps that were made before, so that no row is settled twice under
///   one name with something owed both times; a run that goes on settles at the same steps again.
/// - There are no more steps than the grid was made for: later batches are refused.
#[derive(Clone)]
pub struct OwedNoise {
    run: Arc<Run>,
    grid: DeferredGrid,
    /// The noise of one step, in units.
    normals: RoundedNormals,
    unit: f64,
}

impl OwedNoise {
    /// Whether it is the right of this run.
    pub(crate) fn is_of(&self, run: &Arc<Run>) -> bool {
        Arc::ptr_eq(&self.run, run)
    }

    /// Whether it is the right of this run, up to this step.
    pub(crate) fn covers(&self, run: &Arc<Run>, step: u64) -> bool {
        self.is_of(run) && step < self.grid.steps()
    }

    /// The grid of the table.
    pub(crate) fn grid(&self) -> DeferredGrid {
        self.grid
    }

    /// One whole number of the table, in the averaged gradient.
    pub fn unit(&self) -> f64 {
        self.unit
    }

    /// The deviation of one step's noise, in whole numbers of the table.
    pub fn deviation(&self) -> f64 {
        self.normals.deviation()
    }

    /// The noise of rows that are read after `steps` steps were made.
    pub fn settling(&self, steps: u64) -> Settling {
        Settling { random: self.run.source.secret(Secret::OwedNoise, steps), owed: self.clone() }
    }

    /// Draws the noise of `steps` steps on `sums`: a piece of a row, with where in the row it starts.
    #[expect(clippy::too_many_arguments, reason = "they are those of the law, and one name")]
    fn fill(
        &self,
        words: &[Word],
        sums: Option<&[i64]>,
        largest: f64,
        steps: u32,
        values: &mut [i32],
        random: &StepRandom,
        (row, start): (u32, usize),
    ) {
        let normals = if steps == 1 { self.normals } else { self.normals.together(steps) };
        normals.fill(words, sums, largest, 1.0, values, |pair| {
            further(random, ((start + pair) as u64) << 32 | u64::from(row))
        });
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
    owed: OwedNoise,
}

/// A row and what it owes.
#[derive(Clone, Debug, PartialEq)]
pub struct Debt {
    /// The row.
    pub row: u32,
    /// How many steps were made since it was last settled or touched; none owe nothing.
    pub steps: u32,
    /// Where its numbers stand in the table.
    pub place: Range<usize>,
}

impl Settling {
    /// Takes off the numbers of each row what it owes, modulo 2^32. `wholes` are those of the table
    /// from `first` on. The same bits for the same row, step and debt, whatever rows are beside it.
    pub fn take_off(&self, debts: &[Debt], first: usize, wholes: &mut [i32]) {
        let of = |number: usize| (debts[number].row, debts[number].place.len());
        let mut noise = Scratch([0; CHUNK]);
        each_row_words(&self.random, 0..debts.len(), of, |number, start, words| {
            let Debt { row, steps, place } = &debts[number];
            if *steps == 0 {
                return;
            }
            let noise = &mut noise.0[..words.len()];
            self.owed.fill(words, None, 0.0, *steps, noise, &self.random, (*row, start));
            let end = place.end.min(place.start + start + words.len());
            let wholes = wholes[place.start + start - first..end - first].iter_mut();
            wholes.zip(noise).for_each(|(whole, noise)| *whole = whole.wrapping_sub(*noise));
        });
    }
}
