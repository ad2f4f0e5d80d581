//! What leaves the data without a step: noisy counts of buckets, and noisy second moments of a small design.
//!
//! # Privacy
//! The unit is the user, with all rows, or the row. Both releases are histograms of which a unit moves the cells by at most 1 in
//! L2 ([`HistogramPlan`]). What a unit adds to the second one follows the first one's result, which was released; so they compose as
//! if they were made at once. All that comes after them, the shrinkage and the step among it, is post-processing.

use crate::buckets::{self, Buckets};
use crate::layout::Layout;
use crate::moments::{Design, LinearStart, Sums};
use crate::settings::Rules;
use organza_data::sparse::SparseRows;
use organza_ledger::{Charge, Charged, Event, Neighbouring};
use organza_mechanism::{
    Bound, CountNoise, Groups, Histogram, HistogramPlan, HistogramSettings, NotPaid, PlanError,
    RandomSource, UnitCounts,
};
use organza_progress::{Size, Stage};
use rayon::prelude::*;

/// What the releases are called, on the ledger too.
pub(crate) const RELEASES: [&str; 2] = ["clicks and views", "second moments"];
/// The most threads that sum: each has a table of its own.
const MOST_SUMS: usize = 8;

/// The plan of both releases at a noise: together they cost what one Gaussian mechanism of this multiplier does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneShot {
    rules: Rules,
    neighbouring: Neighbouring,
    noise: f64,
}

/// The rows, and which are whose.
#[derive(Clone, Copy)]
pub(crate) struct Units<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) rows: &'a SparseRows,
    pub(crate) units: &'a Groups,
}

impl OneShot {
    pub(crate) fn new(rules: Rules, neighbouring: Neighbouring, noise: f64) -> Self {
        Self { rules, neighbouring, noise }
    }

    /// What they cost, whatever is counted.
    pub(crate) fn events(&self) -> Result<Vec<Event>, PlanError> {
        Ok(vec![self.buckets(1)?.event(), self.moments(1)?.event()])
    }

    fn buckets(&self, cells: u64) -> Result<HistogramPlan, PlanError> {
        self.plan(cells, self.noise / self.rules.bucket_share.sqrt())
    }

    fn moments(&self, cells: u64) -> Result<HistogramPlan, PlanError> {
        self.plan(cells, self.noise / (1.0 - self.rules.bucket_share).sqrt())
    }

    fn plan(&self, cells: u64, multiplier: f64) -> Result<HistogramPlan, PlanError> {
        HistogramPlan::new(HistogramSettings {
            cells,
            neighbouring: self.neighbouring,
            bound: Bound::Norm(1.0),
            noise: CountNoise::RoundedGaussian { multiplier },
            dense: 0,
            bar: None,
        })
    }

    /// The noisy cells of all buckets, with the deviation of their noise.
    pub(crate) fn release_buckets<E: From<PlanError> + From<NotPaid>>(
        &self,
        data: Units<'_>,
        source: &RandomSource,
        charge: &mut impl FnMut(Charge) -> Result<Charged, E>,
    ) -> Result<(Vec<f64>, f64), E> {
        let plan = self.buckets(buckets::cells(data.layout))?;
        let add = |unit: usize, seen: &mut Vec<_>, counts: &mut UnitCounts| {
            buckets::count(data.layout, data.rows_of(unit), seen, counts);
        };
        released(&plan, RELEASES[0], data, source, charge, add)
    }

    /// The noisy moments beside what the cells of buckets said, with the deviation of their noise.
    pub(crate) fn release_moments<E: From<PlanError> + From<NotPaid>>(
        &self,
        data: Units<'_>,
        design: &Design<'_>,
        source: &RandomSource,
        charge: &mut impl FnMut(Charge) -> Result<Charged, E>,
    ) -> Result<(Vec<f64>, f64), E> {
        let plan = self.moments(design.cells())?;
        let add = |unit: usize, sums: &mut Sums, counts: &mut UnitCounts| {
            design.count(data.rows_of(unit), sums, counts);
        };
        released(&plan, RELEASES[1], data, source, charge, add)
    }

    /// Releases both, and makes a linear model of them.
    pub(crate) fn release<E: From<PlanError> + From<NotPaid>>(
        &self,
        data: Units<'_>,
        source: &RandomSource,
        mut charge: impl FnMut(Charge) -> Result<Charged, E>,
    ) -> Result<LinearStart, E> {
        let (cells, deviation) = self.release_buckets(data, source, &mut charge)?;
        let buckets = Buckets::of(data.layout, &cells, deviation);
        let design = Design::new(data.layout, &buckets);
        let (cells, deviation) = self.release_moments(data, &design, source, &mut charge)?;
        Ok(design.solved(&cells, deviation))
    }
}

impl<'a> Units<'a> {
    fn rows_of(self, unit: usize) -> impl Iterator<Item = organza_data::sparse::Row<'a>> {
        self.units.units(unit).iter().map(move |row| self.rows.row(*row as usize))
    }
}

/// Charges for a histogram, sums what `add` puts in for each unit, and releases it. Sums are of whole numbers, so threads change
/// nothing.
fn released<Memory: Default, E: From<PlanError> + From<NotPaid>>(
    plan: &HistogramPlan,
    name: &'static str,
    data: Units<'_>,
    source: &RandomSource,
    charge: &mut impl FnMut(Charge) -> Result<Charged, E>,
    add: impl Fn(usize, &mut Memory, &mut UnitCounts) + Sync,
) -> Result<(Vec<f64>, f64), E> {
    let release = plan.release(name, source);
    let charged = charge(release.charge())?;
    let units = if release.looks_at_units() { data.units.len() } else { 0 };
    let parts = rayon::current_num_threads().clamp(1, MOST_SUMS);
    let each = units.div_ceil(parts).max(1);
    let stage = Stage::begin(format!("counting {name}"), Size::Hidden(units as u64));
    let sums: Vec<Histogram> = (0..parts)
        .into_par_iter()
        .map(|part| {
            let (mut memory, mut counts) = (Memory::default(), UnitCounts::new());
            let mut histogram = plan.histogram();
            for unit in (part * each..(part + 1) * each).take_while(|unit| *unit < units) {
                stage.add(1);
                add(unit, &mut memory, &mut counts);
                histogram.add(&mut counts);
            }
            histogram
        })
        .collect();
    drop(stage);
    let sum = sums.into_iter().reduce(Histogram::joined).unwrap_or_else(|| plan.histogram());
    let noisy = sum.noise(&release, charged)?;
    Ok((noisy.cells().map(|(_, count)| count).collect(), plan.deviation()))
}
