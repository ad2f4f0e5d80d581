//! What events cost, and the noise for a budget: the answers of `organza account` and `organza calibrate`.

use crate::event::Event;
use crate::exceptions::{SettingsError, settings_error};
use crate::names::neighbouring;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use organza_accountant::calibrate::{self as search, CalibrateError, Target};
use organza_accountant::{Direction, Guarantee, pld, rdp};
use organza_ledger::{AccountError, Event as Inner, Neighbouring};
use organza_report::digits::{above, below};
use pyo3::prelude::*;
use std::sync::Mutex;

/// How many digits of a found parameter are kept, as on the command line. It is rounded to the cheaper side.
const DIGITS: usize = 6;

/// Epsilon, delta, the worse direction and the best order, where the accountant has them.
type Answer = (f64, f64, Option<&'static str>, Option<f64>);

/// What is asked.
#[derive(Clone, Copy)]
enum Measure {
    EpsilonAt(f64),
    DeltaAt(f64),
}

/// An accountant to which all events were charged.
enum Composed {
    Pld(pld::Accountant),
    Rdp(rdp::Accountant),
}

impl Composed {
    fn new(
        events: &[Event],
        relation: Neighbouring,
        accountant: Accountant,
        units: u64,
    ) -> Result<Self, AccountError> {
        Ok(match accountant {
            Accountant::Pld => {
                let nothing = pld::Accountant::new(relation).group(units);
                Self::Pld(events.iter().try_fold(nothing, |sum, event| sum.compose(&event.0))?)
            }
            Accountant::Rdp => {
                let nothing = rdp::Accountant::new(relation);
                Self::Rdp(events.iter().try_fold(nothing, |sum, event| sum.compose(&event.0))?)
            }
        })
    }

    fn answer(&self, asked: Measure) -> Result<Answer, AccountError> {
        Ok(match (self, asked) {
            (Self::Pld(account), Measure::EpsilonAt(delta)) => by_pld(&account.epsilon(delta)?),
            (Self::Pld(account), Measure::DeltaAt(epsilon)) => by_pld(&account.delta(epsilon)?),
            (Self::Rdp(account), Measure::EpsilonAt(delta)) => {
                let (epsilon, order) = account.epsilon_with_order(delta)?;
                (epsilon, delta, None, Some(order))
            }
            (Self::Rdp(account), Measure::DeltaAt(epsilon)) => {
                (epsilon, account.delta(epsilon)?, None, None)
            }
        })
    }
}

/// An answer by loss distributions. Only adding and removing have directions.
fn by_pld(guarantee: &Guarantee) -> Answer {
    let direction = match (guarantee.neighbouring, guarantee.direction) {
        (Neighbouring::ReplaceOne, _) => None,
        (Neighbouring::AddRemove, Direction::Remove) => Some("remove"),
        (Neighbouring::AddRemove, Direction::Add) => Some("add"),
    };
    (guarantee.epsilon, guarantee.delta, direction, None)
}

#[derive(Clone, Copy, PartialEq)]
enum Accountant {
    Pld,
    Rdp,
}

impl Accountant {
    fn named(word: &str, units: u64) -> PyResult<Self> {
        match (word, units) {
            (_, 0) => Err(SettingsError::new_err("`units` is 0, but must be at least 1")),
            ("pld", _) => Ok(Self::Pld),
            ("rdp", 1) => Ok(Self::Rdp),
            ("rdp", _) => Err(SettingsError::new_err(
                "only the accountant \"pld\" answers for several `units` at once",
            )),
            _ => Err(SettingsError::new_err(format!(
                "`accountant` is {word:?}, but must be \"pld\" or \"rdp\""
            ))),
        }
    }
}

/// Epsilon at a delta, or delta at an epsilon: `delta` or `epsilon` is given, not both.
#[pyfunction]
pub(crate) fn price(
    py: Python<'_>,
    events: Vec<Event>,
    delta: Option<f64>,
    epsilon: Option<f64>,
    relation: &str,
    accountant: &str,
    units: u64,
) -> PyResult<Answer> {
    let asked = match (delta, epsilon) {
        (Some(delta), None) => Measure::EpsilonAt(delta),
        (None, Some(epsilon)) => Measure::DeltaAt(epsilon),
        _ => return Err(SettingsError::new_err("give either `delta` or `epsilon`")),
    };
    let (relation, accountant) = (neighbouring(relation)?, Accountant::named(accountant, units)?);
    py.detach(|| Composed::new(&events, relation, accountant, units)?.answer(asked))
        .map_err(settings_error)
}

/// Epsilon at each of some deltas, or delta at each of some epsilons.
#[pyfunction]
pub(crate) fn curve<'py>(
    py: Python<'py>,
    events: Vec<Event>,
    points: PyReadonlyArray1<'py, f64>,
    asks_delta: bool,
    relation: &str,
    accountant: &str,
    units: u64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (relation, accountant) = (neighbouring(relation)?, Accountant::named(accountant, units)?);
    let points: Vec<f64> = points.as_array().to_vec();
    let values = py.detach(|| {
        let composed = Composed::new(&events, relation, accountant, units)?;
        let value = |point: f64| {
            Ok(if asks_delta {
                composed.answer(Measure::DeltaAt(point))?.1
            } else {
                composed.answer(Measure::EpsilonAt(point))?.0
            })
        };
        points.into_iter().map(value).collect::<Result<Vec<f64>, AccountError>>()
    });
    Ok(values.map_err(settings_error)?.into_pyarray(py))
}

fn target(epsilon: f64, delta: f64, relation: &str) -> PyResult<Target> {
    Ok(Target { neighbouring: neighbouring(relation)?, ..Target::new(epsilon, delta) })
}

/// The smallest noise multiplier of Gaussian noise on each of `steps` Poisson batches.
#[pyfunction]
pub(crate) fn calibrate_training(
    py: Python<'_>,
    epsilon: f64,
    delta: f64,
    rate: f64,
    steps: u64,
    relation: &str,
) -> PyResult<f64> {
    let target = target(epsilon, delta, relation)?;
    let step = |noise_multiplier: f64| Some(Inner::Gaussian { noise_multiplier });
    // A first look, so that arguments that make no sense are named as such.
    let first = Inner::Gaussian { noise_multiplier: 1.0 }.poisson(rate).repeat(steps);
    first.check().map_err(settings_error)?;
    let found = py.detach(|| search::scale_of_steps(&target, rate, steps, step));
    Ok(above(found.map_err(settings_error)?.0, DIGITS))
}

/// The smallest scale at which what `event` makes of it meets the target.
#[pyfunction]
pub(crate) fn calibrate_event(
    py: Python<'_>,
    epsilon: f64,
    delta: f64,
    event: Py<PyAny>,
    relation: &str,
) -> PyResult<f64> {
    let target = target(epsilon, delta, relation)?;
    let raised: Mutex<Option<PyErr>> = Mutex::new(None);
    let made = |scale: f64| {
        let event = Python::attach(|py| -> PyResult<Event> {
            Ok(event.bind(py).call1((scale,))?.extract()?)
        });
        event.map(|event| event.0).map_err(|error| keep(&raised, error)).ok()
    };
    let found = py.detach(|| search::scale(&target, made));
    let raised = raised.into_inner().ok().flatten();
    match (found, raised) {
        (Err(_), Some(error)) => Err(error),
        // A scale for which there is no event is too small; any other exception is the caller's own.
        (Ok(_), Some(error)) if !error.is_instance_of::<SettingsError>(py) => Err(error),
        (found, _) => Ok(above(found.map_err(settings_error)?.0, DIGITS)),
    }
}

/// Remembers the first exception.
fn keep(raised: &Mutex<Option<PyErr>>, error: PyErr) {
    if let Ok(mut raised) = raised.lock() {
        raised.get_or_insert(error);
    }
}

/// The largest number of times that an event may happen.
#[pyfunction]
pub(crate) fn calibrate_steps(
    py: Python<'_>,
    event: Event,
    epsilon: f64,
    delta: f64,
    relation: &str,
) -> PyResult<u64> {
    let target = target(epsilon, delta, relation)?;
    let found: Result<_, CalibrateError> = py.detach(|| search::times(&event.0, &target));
    Ok(found.map_err(settings_error)?.0)
}

/// The largest epsilon that so many correct guesses about the coins of canaries refute, but for a probability of `error`.
#[pyfunction]
pub(crate) fn lower_bound(
    canaries: u64,
    guesses: u64,
    correct: u64,
    delta: f64,
    error: f64,
) -> PyResult<f64> {
    let are_probabilities = [delta, error].iter().all(|it| (0.0..=1.0).contains(it));
    if !are_probabilities || guesses > canaries || correct > guesses {
        return Err(SettingsError::new_err(
            "no more guesses than canaries and no more correct ones than guesses; delta and the confidence are between 0 and 1",
        ));
    }
    Ok(organza_audit::lower_bound(canaries, guesses, correct, delta, error))
}

/// The largest rate of the Poisson batches on which an event may happen so many times.
#[pyfunction]
pub(crate) fn calibrate_rate(
    py: Python<'_>,
    event: Event,
    steps: u64,
    epsilon: f64,
    delta: f64,
    relation: &str,
) -> PyResult<f64> {
    let target = target(epsilon, delta, relation)?;
    let found = py.detach(|| search::rate(&event.0, steps, &target));
    Ok(below(found.map_err(settings_error)?.0, DIGITS))
}
