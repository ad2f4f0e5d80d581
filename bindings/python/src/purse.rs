//! What mechanisms are paid from: a budget in memory, or the ledger of a data set.

use crate::exceptions::{
    BudgetError, charge_error, dataset_error, ledger_error, run_error, settings_error,
};
use crate::names::{neighbouring, unit};
use organza_ledger::{
    Account, AccountError, Budget, BudgetError as Refusal, Charge, DataSet, DataSetLedger, Event,
    Header, Ledger, LedgerSettings, Neighbouring, Share, TornLine, Unit,
};
use organza_mechanism::RandomSource;
use organza_report::describe::number;
use organza_report::digits::below;
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Prices pure and approximate events by sums of their epsilons and deltas.
///
/// # Privacy
/// Sums are a privacy filter: they hold for releases that are chosen by what earlier ones showed (the proof stands at
/// [`DataSetLedger`], and its allowance for the rounding of a sum is taken here too). Whoever calls mechanisms one after
/// another has seen the results of those before, and tight composition does not cover that.
pub(crate) struct Sums(pub(crate) Neighbouring);

/// Epsilon, delta and how many were added.
#[derive(Clone, Copy, Default)]
struct Sum {
    epsilon: f64,
    delta: f64,
    terms: f64,
}

impl Sum {
    /// The sum over an event, if it states an epsilon and a delta.
    fn of(event: &Event) -> Option<Self> {
        let one = |epsilon, delta| Some(Self { epsilon, delta, terms: 1.0 });
        match event {
            Event::Pure { epsilon } | Event::Added { epsilon } => one(*epsilon, 0.0),
            Event::DiscreteLaplace { noise_multiplier } => {
                one(noise_multiplier.recip().next_up(), 0.0)
            }
            Event::Approximate { epsilon, delta } => one(*epsilon, *delta),
            Event::Repeat { times, event } => Some(Self::of(event)?.times(*times as f64)),
            Event::Compose(events) => events
                .iter()
                .try_fold(Self::default(), |sum, event| Some(sum.and(Self::of(event)?))),
            _ => None,
        }
    }

    fn times(self, times: f64) -> Self {
        Self { epsilon: times * self.epsilon, delta: times * self.delta, terms: times * self.terms }
    }

    fn and(self, other: Self) -> Self {
        Self {
            epsilon: self.epsilon + other.epsilon,
            delta: self.delta + other.delta,
            terms: self.terms + other.terms,
        }
    }

    /// How much a sum of so many numbers may be above the true one.
    fn rounding(self) -> f64 {
        1.0 + self.terms * f64::EPSILON
    }
}

impl Sums {
    /// Whether this can price the event.
    pub(crate) fn supports(event: &Event) -> bool {
        Sum::of(event).is_some()
    }
}

impl Account for Sums {
    fn neighbouring(&self) -> Neighbouring {
        self.0
    }

    fn epsilon(&self, events: &[Event], delta: f64) -> Result<f64, AccountError> {
        let sum = events.iter().try_fold(Sum::default(), |sum, event| {
            let unsupported = || AccountError::Unsupported {
                kind: event.kind().to_owned(),
                reason: "it states no epsilon of its own that could be added".to_owned(),
            };
            Sum::of(event).map(|next| sum.and(next)).ok_or_else(unsupported)
        })?;
        if sum.delta > delta * sum.rounding() {
            let reason = format!("deltas add up to {}, above {}", number(sum.delta), number(delta));
            return Err(AccountError::OutOfRange(reason));
        }
        Ok(sum.epsilon / sum.rounding())
    }
}

/// Epsilon and delta.
type Amount = (f64, f64);

/// Purpose, epsilon, delta and the public name of the key, if there is one.
type Taken = (String, f64, f64, Option<String>);

/// One budget, out of which releases are paid before they are made.
#[pyclass(frozen, module = "organza._organza")]
pub(crate) struct Purse {
    unit: Unit,
    neighbouring: Neighbouring,
    budget: Amount,
    kept: Charges,
    /// The process that it belongs to.
    process: u32,
}

/// Where charges stand.
enum Charges {
    /// As long as the process lives.
    Memory(Mutex<Ledger>),
    /// On the ledger of a data set.
    File { ledger: DataSetLedger, settings: LedgerSettings },
}

impl Purse {
    /// The relation of all that is paid from it.
    pub(crate) fn relation(&self) -> Neighbouring {
        self.neighbouring
    }

    fn of_dataset(ledger: DataSetLedger, path: PathBuf) -> Self {
        let Header { unit, neighbouring, delta, .. } = *ledger.header();
        let DataSet { name, epsilon } = ledger.dataset().clone();
        let settings = LedgerSettings { path, dataset: Some(name) };
        let kept = Charges::File { ledger, settings };
        Self { unit, neighbouring, budget: (epsilon, delta), kept, process: std::process::id() }
    }

    /// Charges, or refuses and charges nothing.
    ///
    /// # Privacy
    /// On the ledger of a data set each release has a key of its own, also where its noise is that of a seed, so that
    /// none passes for a copy of another.
    pub(crate) fn pay(&self, purpose: &str, (epsilon, delta): Amount) -> PyResult<()> {
        let Self { unit, neighbouring, .. } = *self;
        match &self.kept {
            // A copy in a process that was forked would spend the same budget again.
            Charges::Memory(_) if self.process != std::process::id() => {
                let problem = "this budget is in the memory of another process: share a ledger, which is a file";
                Err(BudgetError::new_err(problem))
            }
            Charges::Memory(ledger) => {
                let event = Event::Approximate { epsilon, delta };
                let charge = Charge::once(purpose, event).for_neighbours(neighbouring);
                let budget = self.as_budget()?;
                let mut ledger = locked(ledger);
                match budget.charge(&mut ledger, &Sums(neighbouring), charge) {
                    Ok(_) => Ok(()),
                    Err(Refusal::Exceeded { .. } | Refusal::Account(_)) => {
                        drop(ledger);
                        Err(BudgetError::new_err(self.exceeded(purpose, (epsilon, delta))?))
                    }
                    Err(error) => Err(charge_error(error)),
                }
            }
            Charges::File { settings, .. } => {
                let purpose = purpose.to_owned();
                let share = Share { purpose, epsilon, delta, unit, neighbouring };
                let key = RandomSource::from_operating_system().map_err(run_error)?;
                let reserved = settings.reserve(&share, key.fingerprint());
                reserved.map_err(dataset_error)?.torn.map_or(Ok(()), |torn| tell(&torn))
            }
        }
    }

    fn as_budget(&self) -> PyResult<Budget> {
        let (epsilon, delta) = self.budget;
        Budget::new(epsilon, delta, self.neighbouring).map_err(settings_error)
    }

    /// What was taken, in the order in which it was.
    fn taken(&self) -> PyResult<Vec<Taken>> {
        let charges: Vec<Charge> = match &self.kept {
            Charges::Memory(ledger) => locked(ledger).charges().to_vec(),
            Charges::File { ledger, .. } => {
                let shares = ledger.shares().map_err(dataset_error)?;
                shares.into_iter().map(|(charge, _)| charge).collect()
            }
        };
        let share = |charge: Charge| match charge.event {
            Event::Approximate { epsilon, delta } => {
                Some((charge.purpose, epsilon, delta, charge.key.map(String::from)))
            }
            _ => None,
        };
        Ok(charges.into_iter().filter_map(share).collect())
    }

    /// What is left of the budget.
    fn remaining(&self) -> PyResult<Amount> {
        let taken = self.taken()?;
        let rounding = taken.len() as f64 * f64::EPSILON;
        let left = |budget: f64, taken: f64| match budget - taken {
            left if left <= rounding * budget => 0.0,
            left => below(left, 9),
        };
        let total = sum(&taken);
        Ok((left(self.budget.0, total.0), left(self.budget.1, total.1)))
    }

    fn exceeded(&self, purpose: &str, asked: Amount) -> PyResult<String> {
        let ((epsilon, delta), left) = (self.budget, self.remaining()?);
        Ok(format!(
            "the budget is too small: `{purpose}` would take epsilon {} and delta {}, but of epsilon {} and delta {} \
             only {} and {} are left. Nothing was charged and nothing drawn",
            number(asked.0),
            number(asked.1),
            number(epsilon),
            number(delta),
            number(left.0),
            number(left.1),
        ))
    }
}

/// A line that was cut short did not count, and the user must be told.
fn tell(torn: &TornLine) -> PyResult<()> {
    let text = CString::new(torn.to_string())?;
    Python::attach(|py| PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 2))
}

/// The sums of epsilon and delta.
fn sum(taken: &[Taken]) -> Amount {
    taken.iter().fold((0.0, 0.0), |sum, share| (sum.0 + share.1, sum.1 + share.2))
}

fn locked(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    // A charge is made or not: there is nothing half done behind a panic.
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl Purse {
    /// A budget that no file holds.
    #[staticmethod]
    fn in_memory(epsilon: f64, delta: f64, unit_name: &str, relation: &str) -> PyResult<Self> {
        let (unit, neighbouring) = (unit(unit_name)?, neighbouring(relation)?);
        Budget::new(epsilon, delta, neighbouring).map_err(settings_error)?;
        let header = Header::new(neighbouring, unit, delta);
        let ledger = Ledger::in_memory(header).map_err(ledger_error)?;
        let kept = Charges::Memory(Mutex::new(ledger));
        Ok(Self { unit, neighbouring, budget: (epsilon, delta), kept, process: std::process::id() })
    }

    /// Makes the ledger of a data set.
    #[staticmethod]
    fn create(
        py: Python<'_>,
        path: PathBuf,
        name: String,
        epsilon: f64,
        delta: f64,
        unit_name: &str,
        relation: &str,
    ) -> PyResult<Self> {
        let header = Header::new(neighbouring(relation)?, unit(unit_name)?, delta);
        let dataset = DataSet { name, epsilon };
        let made = py.detach(|| DataSetLedger::create(&path, header, dataset));
        Ok(Self::of_dataset(made.map_err(dataset_error)?, path))
    }

    /// Opens the ledger of a data set.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, name: Option<String>) -> PyResult<Self> {
        let settings = LedgerSettings { path: path.clone(), dataset: name };
        let opened = py.detach(|| DataSetLedger::named(&settings));
        Ok(Self::of_dataset(opened.map_err(dataset_error)?, path))
    }

    #[getter]
    fn epsilon(&self) -> f64 {
        self.budget.0
    }

    #[getter]
    fn delta(&self) -> f64 {
        self.budget.1
    }

    #[getter]
    fn unit(&self) -> String {
        self.unit.to_string()
    }

    #[getter]
    fn neighbouring(&self) -> String {
        self.neighbouring.to_string()
    }

    /// The name of the data set, if it has a file.
    #[getter]
    fn name(&self) -> Option<String> {
        match &self.kept {
            Charges::Memory(_) => None,
            Charges::File { ledger, .. } => Some(ledger.dataset().name.clone()),
        }
    }

    /// What was taken, in the order in which it was.
    fn shares(&self, py: Python<'_>) -> PyResult<Vec<Taken>> {
        py.detach(|| self.taken())
    }

    /// What all releases together have taken.
    fn total(&self, py: Python<'_>) -> PyResult<Amount> {
        Ok(sum(&py.detach(|| self.taken())?))
    }

    /// What is left, to nine digits, which no sum of decimals errs by; less than the rounding of the sum is nothing.
    fn left(&self, py: Python<'_>) -> PyResult<Amount> {
        py.detach(|| self.remaining())
    }

    /// Charges a release that somebody else makes.
    fn charge(&self, py: Python<'_>, purpose: &str, epsilon: f64, delta: f64) -> PyResult<()> {
        py.detach(|| self.pay(purpose, (epsilon, delta)))
    }
}
