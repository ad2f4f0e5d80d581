//! What leaves the data: noisy counts of words, then of n-grams, order by order. Nothing else does.
//!
//! # Privacy
//! The unit is a writer: all of their text together. In every stage a writer has a vector over the cells of that stage, 1 for each cell
//! that occurs in their text at all, scaled to L2 norm 1; so one writer moves the sums by at most 1 in L2, and with noise of
//! deviation s on *all* cells the stage is a Gaussian mechanism of noise multiplier s ([`HistogramPlan`]).
//!
//! Which cells a stage has follows from the words and the stages before ([`Candidates`]); so does its bar, which is met by noisy
//! counts. What a writer contributes follows from their text and those stages: they are scaled anew, on the cells of this stage
//! alone. Each stage is thus a Gaussian mechanism whatever was released before, and its noise multiplier was fixed before the first: they
//! compose adaptively as if they were made at once. The number of writers is not released: nothing divides by it.

use crate::candidates::Candidates;
use crate::grams::{Grams, Order};
use organza_data::Writing;
use organza_ledger::{Charge, Charged, Event, Neighbouring};
use organza_mechanism::{
    Bound, CountNoise, Histogram, HistogramPlan, HistogramSettings, NotPaid, PlanError,
    RandomSource, UnitCounts,
};
use organza_progress::{Size, Stage};
use rayon::prelude::*;

/// What a stage is called, on the ledger and the certificate.
pub(crate) const STAGES: [&str; 4] =
    ["word counts", "bigram counts", "trigram counts", "4-gram counts"];
/// Each part of the writers has a histogram of its own.
const MOST_PARTS: usize = 8;
/// After so many writers it is told how far a part has come.
const TELL_EVERY: u64 = 64;

/// The noise of every stage.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReleasePlan {
    neighbouring: Neighbouring,
    /// Of words, bigrams and so on.
    noises: Vec<f64>,
}

impl ReleasePlan {
    /// At a noise that all of it costs as much as: one Gaussian mechanism of this multiplier. A stage gets its share of 1 / deviation^2.
    pub(crate) fn new(shares: &[f64], neighbouring: Neighbouring, noise: f64) -> Self {
        let total: f64 = shares.iter().sum();
        let noises = shares.iter().map(|share| noise / (share / total).sqrt()).collect();
        Self { neighbouring, noises }
    }

    /// What the stages cost, whatever they turn out to be about.
    pub(crate) fn events(&self) -> Result<Vec<Event>, PlanError> {
        (0..self.noises.len()).map(|stage| Ok(self.histogram(stage, 1, None)?.event())).collect()
    }

    fn histogram(
        &self,
        stage: usize,
        cells: u64,
        bar: Option<f64>,
    ) -> Result<HistogramPlan, PlanError> {
        HistogramPlan::new(HistogramSettings {
            cells: cells.max(1),
            neighbouring: self.neighbouring,
            bound: Bound::Norm(1.0),
            noise: CountNoise::RoundedGaussian { multiplier: self.noises[stage] },
            bar,
        })
    }

    /// Charges for all stages, one after another, and releases them.
    pub(crate) fn release<E: From<PlanError> + From<NotPaid>>(
        &self,
        writing: &Writing,
        source: &RandomSource,
        mut charge: impl FnMut(Charge) -> Result<Charged, E>,
    ) -> Result<Grams, E> {
        let mut release = |plan: &HistogramPlan, stage: usize, cells: &CellsOf<'_>| {
            let release = plan.release(STAGES[stage], source);
            let charged = charge(release.charge())?;
            let histogram = counted(writing, plan, STAGES[stage], cells);
            Ok::<_, E>(histogram.noise(&release, charged)?)
        };
        let plan = self.histogram(0, u64::from(writing.symbols()), None)?;
        let words = release(&plan, 0, &|row, cells| words_of(row, cells))?;
        let count = |(symbol, count): (u64, f64)| match symbol < Writing::FIRST_WORD.into() {
            true => 0.0,
            false => count as f32,
        };
        let mut grams = Grams {
            words: words.cells().map(count).collect(),
            deviation: plan.deviation() as f32,
            orders: Vec::new(),
        };
        for stage in 1..self.noises.len() {
            let candidates = Candidates::next(&grams);
            let deviation = self.histogram(stage, 1, None)?.deviation();
            let bar = bar(candidates.cells()) * deviation;
            let plan = self.histogram(stage, candidates.cells(), Some(bar))?;
            let noisy = release(&plan, stage, &|row, cells| candidates.of_row(row, cells))?;
            // Without candidates there is one cell all the same, so that what is charged does not tell.
            let real = noisy.cells().filter(|(cell, _)| *cell < candidates.cells());
            let cells = real.map(|(cell, count)| {
                let (context, word) = candidates.of_cell(cell);
                (context, word, count as f32)
            });
            let order = Order::new(
                grams.next_contexts(),
                cells,
                |context, word| grams.next_suffix(context, word),
                deviation,
            );
            grams.orders.push(order);
        }
        Ok(grams)
    }
}

/// The cells of a row, each once.
type CellsOf<'a> = dyn Fn(&[u32], &mut Vec<u64>) + Sync + 'a;

fn words_of(row: &[u32], cells: &mut Vec<u64>) {
    cells.clear();
    cells.extend(
        row.iter().filter(|word| **word >= Writing::FIRST_WORD).map(|word| u64::from(*word)),
    );
    cells.sort_unstable();
    cells.dedup();
}

/// The histogram of all writers, on the threads of the current pool.
fn counted(
    writing: &Writing,
    plan: &HistogramPlan,
    name: &'static str,
    cells_of: &CellsOf<'_>,
) -> Histogram {
    let parts = rayon::current_num_threads().clamp(1, MOST_PARTS);
    let stage = Stage::begin(name, Size::Hidden(writing.units() as u64));
    let part = |part: usize| {
        let bound = |part: usize| writing.units() * part / parts;
        let (mut histogram, mut unit) = (plan.histogram(), UnitCounts::new());
        let mut cells = Vec::new();
        for (number, row) in (1_u64..).zip(writing.rows(bound(part)..bound(part + 1))) {
            cells_of(row, &mut cells);
            // Entries of 1, so that every row that has any is as long as the bound or longer, and is scaled to it.
            cells.iter().for_each(|cell| unit.add(*cell, 1.0));
            histogram.add(&mut unit);
            if number % TELL_EVERY == 0 {
                stage.add(TELL_EVERY);
            }
        }
        histogram
    };
    let parts = (0..parts).into_par_iter().map(part);
    parts.reduce_with(Histogram::joined).unwrap_or_else(|| plan.histogram())
}

/// The bar of a stage, in deviations: by the number of its cells alone.
fn bar(cells: u64) -> f64 {
    let _ = cells;
    4.0
}
