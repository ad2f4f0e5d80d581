//! One stage: cells, what each writer has of them, noise.

use organza_data::Writing;
use organza_ledger::{Charge, Charged, Event, Neighbouring};
use organza_mechanism::{
    Bound, CountNoise, Histogram, HistogramPlan, HistogramSettings, NotPaid, PlanError,
    RandomSource, UnitCounts,
};
use organza_progress::{Size, Stage};
use rayon::prelude::*;

/// What the stages are called, on the ledger and the certificate.
pub(crate) const STAGES: [&str; 4] =
    ["word counts", "counts after endings", "counts after words", "counts after two words"];
/// Each part of the writers has a histogram of its own.
const MOST_PARTS: usize = 8;
/// After so many writers it is told how far a part has come.
const TELL_EVERY: u64 = 64;

/// The noise of every stage.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReleasePlan {
    neighbouring: Neighbouring,
    noises: Vec<f64>,
}

/// The cells of a stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells {
    /// How many there are.
    pub(crate) number: u64,
    /// So many of them, the first ones, are released whatever their counts.
    pub(crate) dense: u64,
    /// The bar of the others, in deviations of the noise.
    pub(crate) bar: Option<f64>,
}

impl Cells {
    /// All are released.
    pub(crate) fn dense(number: u64) -> Self {
        Self { number, dense: number, bar: None }
    }
}

/// Released counts of a stage, in the order of its cells.
#[derive(Clone, Debug)]
pub(crate) struct NoisyCells {
    pub(crate) deviation: f64,
    pub(crate) cells: Vec<(u64, f32)>,
}

/// What a stage released: n-grams with their noisy counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Released {
    /// Which stage.
    pub name: String,
    /// How many symbols an n-gram has.
    pub length: usize,
    /// The n-grams, one after another.
    pub symbols: Vec<u32>,
    /// Their noisy counts.
    pub counts: Vec<f32>,
    /// The deviation of the noise of a count; 0 without privacy.
    pub deviation: f32,
}

/// Stages on a text.
pub(crate) struct Stages<'a, C> {
    pub(crate) plan: &'a ReleasePlan,
    /// What each stage counts: always the same text, but in tests.
    pub(crate) writings: [&'a Writing; STAGES.len()],
    pub(crate) source: &'a RandomSource,
    pub(crate) charge: C,
}

impl ReleasePlan {
    /// At a noise that all of it costs as much as: one Gaussian mechanism of this multiplier. A stage gets its share of 1 / deviation^2.
    pub(crate) fn new(shares: &[f64], neighbouring: Neighbouring, noise: f64) -> Self {
        let total: f64 = shares.iter().sum();
        let noises = shares.iter().map(|share| noise / (share / total).sqrt()).collect();
        Self { neighbouring, noises }
    }

    pub(crate) fn stages(&self) -> usize {
        self.noises.len()
    }

    /// What the stages cost, whatever they turn out to be about.
    pub(crate) fn events(&self) -> Result<Vec<Event>, PlanError> {
        let one = Cells::dense(1);
        (0..self.noises.len()).map(|stage| Ok(self.histogram(stage, one)?.event())).collect()
    }

    /// The deviation of the noise of a stage.
    pub(crate) fn deviation(&self, stage: usize) -> Result<f64, PlanError> {
        Ok(self.histogram(stage, Cells::dense(1))?.deviation())
    }

    fn histogram(&self, stage: usize, cells: Cells) -> Result<HistogramPlan, PlanError> {
        let settings = |bar| HistogramSettings {
            cells: cells.number.max(1),
            dense: cells.dense,
            neighbouring: self.neighbouring,
            bound: Bound::Norm(1.0),
            noise: CountNoise::RoundedGaussian { multiplier: self.noises[stage] },
            bar,
        };
        let one = HistogramSettings { cells: 1, dense: 0, ..settings(None) };
        let deviation = HistogramPlan::new(one)?.deviation();
        HistogramPlan::new(settings(cells.bar.map(|bar| bar * deviation)))
    }
}

impl<E: From<PlanError> + From<NotPaid>, C: FnMut(Charge) -> Result<Charged, E>> Stages<'_, C> {
    /// The number of symbols.
    pub(crate) fn symbols(&self) -> u32 {
        self.writings[0].symbols()
    }

    /// Charges for a stage and releases it. `of_row` lists the cells of what a writer wrote, each once, with weights of 1 or more: so that
    /// every writer who has any is as long as the bound or longer, and is scaled to it.
    pub(crate) fn release(
        &mut self,
        stage: usize,
        cells: Cells,
        of_row: impl Fn(&[u32], &mut Vec<(u64, f32)>) + Sync,
    ) -> Result<NoisyCells, E> {
        let plan = self.plan.histogram(stage, cells)?;
        let release = plan.release(STAGES[stage], self.source);
        let charged = (self.charge)(release.charge())?;
        let histogram = match release.looks_at_units() {
            true => counted(self.writings[stage], &plan, STAGES[stage], of_row),
            false => plan.histogram(),
        };
        let noisy = histogram.noise(&release, charged)?;
        // Without cells there is one all the same, so that what is charged does not tell.
        let real = noisy.cells().filter(|(cell, _)| *cell < cells.number);
        let cells = real.map(|(cell, count)| (cell, count as f32)).collect();
        Ok(NoisyCells { deviation: plan.deviation(), cells })
    }
}

/// The histogram of all writers, on the threads of the current pool.
fn counted(
    writing: &Writing,
    plan: &HistogramPlan,
    name: &'static str,
    of_row: impl Fn(&[u32], &mut Vec<(u64, f32)>) + Sync,
) -> Histogram {
    let parts = rayon::current_num_threads().clamp(1, MOST_PARTS);
    let stage = Stage::begin(name, Size::Hidden(writing.units() as u64));
    let part = |part: usize| {
        let bound = |part: usize| writing.units() * part / parts;
        let (mut histogram, mut unit) = (plan.histogram(), UnitCounts::new());
        let mut cells = Vec::new();
        for (number, row) in (1_u64..).zip(writing.rows(bound(part)..bound(part + 1))) {
            cells.clear();
            of_row(row, &mut cells);
            cells.sort_unstable_by_key(|(cell, _)| *cell);
            cells.dedup_by_key(|(cell, _)| *cell);
            cells.iter().for_each(|(cell, weight)| unit.add(*cell, f64::from(*weight)));
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
