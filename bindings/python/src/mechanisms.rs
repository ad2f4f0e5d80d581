//! Releases that are made once: counts, histograms, and items whose names are secret.
//!
//! Each is checked, then charged, then drawn: what does not fit is refused before any noise is.

use crate::exceptions::{SettingsError, charge_error, run_error, settings_error};
use crate::purse::{Purse, Sums};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use organza_accountant::calibrate::{self as search, Target};
use organza_accountant::pld::Accountant;
use organza_ledger::{Account, Budget, Charged, Event, Header, Ledger, Neighbouring, Unit};
use organza_mechanism::{
    Bound as UnitBound, CountNoise, HistogramPlan, HistogramSettings, ItemRule, ItemSettings,
    ItemsPlan, NoisyCount, PlanError, RandomSource, Release, UnitCounts,
};
use pyo3::prelude::*;

/// A little less than one, by more than a few roundings: what is drawn for it costs no more than what is charged.
const LESS: f64 = 1.0 - 1e-13;

/// What a release may cost, what it is for, and where its noise comes from.
struct Terms<'a> {
    purse: &'a Purse,
    purpose: &'a str,
    epsilon: f64,
    delta: f64,
    source: RandomSource,
}

impl<'a> Terms<'a> {
    fn new(
        purse: &'a Purse,
        purpose: &'a str,
        epsilon: f64,
        delta: f64,
        seed: Option<u64>,
    ) -> PyResult<Self> {
        if !(epsilon > 0.0 && epsilon.is_finite()) {
            return Err(SettingsError::new_err(format!(
                "`epsilon` is {epsilon}, but must be positive and finite"
            )));
        }
        if !(0.0..1.0).contains(&delta) {
            return Err(SettingsError::new_err(format!(
                "`delta` is {delta}, but must be at least 0 and below 1"
            )));
        }
        let source = match seed {
            Some(seed) => RandomSource::from_seed(seed),
            None => RandomSource::from_operating_system().map_err(run_error)?,
        };
        Ok(Self { purse, purpose, epsilon, delta, source })
    }

    fn neighbouring(&self) -> Neighbouring {
        self.purse.relation()
    }

    /// The noise multiplier at which what `event` makes of it costs what is allowed.
    fn multiplier(&self, event: impl Fn(f64) -> Result<Event, PlanError>) -> PyResult<f64> {
        // A first look, so that settings that make no sense are named as such.
        event(1.0).map_err(settings_error)?;
        let target =
            Target { neighbouring: self.neighbouring(), ..Target::new(self.epsilon, self.delta) };
        let found = search::scale(&target, |multiplier| event(multiplier).ok());
        Ok(found.map_err(settings_error)?.0)
    }

    /// The proof that the release is paid for.
    ///
    /// # Privacy
    /// The release is priced on a ledger of its own, with what is asked for as its whole budget. Then that budget is
    /// taken from the purse, whose sums hold whatever was released before ([`Purse`]), and only then the proof is
    /// handed out.
    fn pay(&self, release: &Release) -> PyResult<Charged> {
        let relation = self.neighbouring();
        // The unit is the purse's, and this ledger is forgotten at once.
        let header = Header::new(relation, Unit::Record, self.delta);
        let mut ledger = Ledger::in_memory(header).map_err(settings_error)?;
        let budget = Budget::new(self.epsilon, self.delta, relation).map_err(settings_error)?;
        let charge = release.charge();
        let account: &dyn Account = if Sums::supports(&charge.event) {
            &Sums(relation)
        } else {
            &Accountant::new(relation)
        };
        let paid = budget.charge(&mut ledger, account, charge).map_err(charge_error)?;
        self.purse.pay(self.purpose, (self.epsilon, self.delta))?;
        Ok(paid)
    }
}

/// The number of units, or of those units for which something holds.
#[pyfunction]
pub(crate) fn noisy_count(
    py: Python<'_>,
    count: u64,
    purse: &Bound<'_, Purse>,
    purpose: &str,
    epsilon: f64,
    seed: Option<u64>,
) -> PyResult<u64> {
    let purse = purse.get();
    py.detach(|| {
        let terms = Terms::new(purse, purpose, epsilon, 0.0, seed)?;
        let plan = NoisyCount::new(epsilon, terms.neighbouring()).map_err(settings_error)?;
        let release = plan.release(purpose, &terms.source);
        let paid = terms.pay(&release)?;
        plan.noise(count, &release, paid).map_err(run_error)
    })
}

/// The settings of a histogram; just one of the two bounds is given.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct HistogramTerms {
    cells: u64,
    l1_bound: Option<u64>,
    l2_bound: Option<f64>,
    threshold: Option<f64>,
}

impl HistogramTerms {
    fn plan(&self, terms: &Terms<'_>) -> PyResult<HistogramPlan> {
        let settings = |bound, noise| HistogramSettings {
            cells: self.cells,
            neighbouring: terms.neighbouring(),
            bound,
            noise,
            dense: 0,
            bar: self.threshold,
        };
        let plan = match (self.l1_bound, self.l2_bound) {
            (Some(most), None) => {
                let noise = CountNoise::DiscreteLaplace { epsilon: terms.epsilon * LESS };
                HistogramPlan::new(settings(UnitBound::Total(most), noise))
            }
            (None, Some(norm)) => {
                // The bar is met after the noise and costs nothing.
                let plan = |multiplier| {
                    let noise = CountNoise::RoundedGaussian { multiplier };
                    HistogramPlan::new(settings(UnitBound::Norm(norm), noise))
                };
                let event = |multiplier| {
                    let noise = CountNoise::RoundedGaussian { multiplier };
                    let all = HistogramSettings {
                        bar: None,
                        cells: 1,
                        ..settings(UnitBound::Norm(norm), noise)
                    };
                    HistogramPlan::new(all).map(|plan| plan.event())
                };
                plan(terms.multiplier(event)?)
            }
            _ => return Err(SettingsError::new_err("give one of `l1_bound` and `l2_bound`")),
        };
        plan.map_err(settings_error)
    }
}

/// Cells, their noisy counts, the deviation of the noise and the threshold as it was used.
type NoisyCells<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<f64>>, f64, Option<f64>);

/// Noisy counts of cells; the counts of a unit are a row of a sparse matrix.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "a matrix has three parts")]
pub(crate) fn noisy_histogram<'py>(
    py: Python<'py>,
    ends: PyReadonlyArray1<'py, i64>,
    cells: PyReadonlyArray1<'py, i64>,
    amounts: PyReadonlyArray1<'py, f64>,
    settings: HistogramTerms,
    purse: &Bound<'py, Purse>,
    purpose: &str,
    budget: (f64, f64),
    seed: Option<u64>,
) -> PyResult<NoisyCells<'py>> {
    let (ends, cells, amounts) = (ends.as_slice()?, cells.as_slice()?, amounts.as_slice()?);
    let purse = purse.get();
    let (plan, noisy) = py.detach(|| {
        let terms = Terms::new(purse, purpose, budget.0, budget.1, seed)?;
        let plan = settings.plan(&terms)?;
        let release = plan.release(purpose, &terms.source);
        let paid = terms.pay(&release)?;
        let mut histogram = plan.histogram();
        let mut unit = UnitCounts::new();
        for row in ends.windows(2) {
            // Python has checked that rows are in order and cells not negative.
            let entries = row[0] as usize..row[1] as usize;
            for (cell, amount) in cells[entries.clone()].iter().zip(&amounts[entries]) {
                unit.add(*cell as u64, *amount);
            }
            histogram.add(&mut unit);
        }
        let noisy = histogram.noise(&release, paid).map_err(run_error)?;
        PyResult::Ok((plan, noisy))
    })?;
    let (cells, counts): (Vec<u64>, Vec<f64>) = noisy.cells().unzip();
    Ok((cells.into_pyarray(py), counts.into_pyarray(py), plan.deviation(), plan.bar()))
}

/// A name, or a number.
#[derive(Clone, Debug, FromPyObject, IntoPyObject, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Item {
    Number(i64),
    Name(String),
}

/// Items, their noisy counts, the deviation of the noise and the threshold.
type NoisyItems<'py> = (Vec<Item>, Bound<'py, PyArray1<f64>>, f64, f64);

/// Items that many units have, with noisy counts; with Gaussian noise these are sums of weights.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "there are no fewer terms")]
pub(crate) fn noisy_items<'py>(
    py: Python<'py>,
    units: Vec<Vec<Item>>,
    items_per_unit: u64,
    gaussian: bool,
    purse: &Bound<'py, Purse>,
    purpose: &str,
    budget: (f64, f64),
    seed: Option<u64>,
) -> PyResult<NoisyItems<'py>> {
    let purse = purse.get();
    let (plan, released) = py.detach(|| {
        let terms = Terms::new(purse, purpose, budget.0, budget.1, seed)?;
        let plan = |rule| {
            let neighbouring = terms.neighbouring();
            ItemsPlan::new(ItemSettings { items_per_unit, neighbouring, rule })
        };
        let rule = if gaussian {
            // Half of delta for the threshold, half for the noise.
            let delta = terms.delta / 2.0;
            let rule = |multiplier| ItemRule::AdaptiveGaussian { multiplier, delta };
            rule(terms.multiplier(|multiplier| plan(rule(multiplier)).map(|plan| plan.event()))?)
        } else {
            ItemRule::Laplace { epsilon: terms.epsilon * LESS, delta: terms.delta }
        };
        let plan = plan(rule).map_err(settings_error)?;
        let release = plan.release(purpose, &terms.source);
        let paid = terms.pay(&release)?;
        let mut counts = plan.counts(release);
        units.into_iter().for_each(|items| counts.add(items));
        let released = counts.noise(paid).map_err(run_error)?;
        PyResult::Ok((plan, released))
    })?;
    let (items, counts): (Vec<Item>, Vec<f64>) = released.items().iter().cloned().unzip();
    Ok((items, counts.into_pyarray(py), plan.deviation(), plan.threshold()))
}
