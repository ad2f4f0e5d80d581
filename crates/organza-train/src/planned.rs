//! What a session will do, known before its first file is written.

use crate::calibration::Known;
use crate::canaries;
use crate::phases::{CountPhases, Releases};
use crate::prepare::{PrepareError, Prepared};
use crate::run::{RunPlan, StepMethod};
use crate::session::SessionError;
use crate::settings::{Method, Settings};
use crate::task::Task;
use organza_ledger::{Budget, Event};
use organza_mechanism::{NoisyCount, PlanError, RandomSource};

/// The purpose under which the number of units is charged and drawn.
pub(crate) const UNITS: &str = "units";
/// The share of the budget for releasing the number of units.
const COUNT_SHARE: f64 = 0.01;
/// What releasing the number of units costs where there is no budget.
const COUNT_EPSILON: f64 = 0.01;

/// The plan of a run, what pays for it, and what is released before its first step.
pub(crate) struct Planned {
    /// None if there are no steps.
    pub(crate) run: Option<RunPlan>,
    /// None without privacy.
    pub(crate) budget: Option<Budget>,
    /// None if the number of units is public or not needed.
    pub(crate) count: Option<NoisyCount>,
    /// The noise of word and pair counts.
    pub(crate) counts: CountPhases,
}

impl Planned {
    /// Calibrates. The same settings, data and key give the same plan; `before` is what was charged
    /// already.
    ///
    /// # Privacy
    /// The plan depends on the noisy number of units: rate, steps and noise are chosen by it. So that
    /// number is charged as what decides ([`Event::Deciding`]): for each of its values the rest keeps to
    /// what it leaves of the budget. The plan stays in memory until the number is charged, which is
    /// before the first step.
    pub(crate) fn new(
        settings: &Settings,
        prepared: &Prepared,
        before: &[Event],
        source: &RandomSource,
    ) -> Result<Self, SessionError> {
        let counts = CountPhases::new(settings, before)?;
        let budget = match settings.method {
            Method::None => None,
            _ => Some(budget(settings)?),
        };
        if !Releases::of(settings).steps {
            return Ok(Self { run: None, budget, count: None, counts });
        }
        let task = &prepared.task;
        let count = count(settings)?;
        let units = match (&count, settings.privacy.units) {
            (_, Some(declared)) => declared,
            (Some(count), None) => count.release(prepared.own_units(), &source.named(UNITS)),
            (None, None) => prepared.own_units(),
        };
        let units = units.saturating_add(canaries::public_units(settings));
        if count.is_none() {
            check_batch(settings.training.batch, units)?;
        }
        let before = before.iter().cloned();
        let before =
            before.chain(counts.events(settings)?).chain(count.iter().map(NoisyCount::event));
        let known = Known { settings, tables: task.tables(), units, before: before.collect() };
        let steps = known.steps();
        let method = if settings.method == Method::None {
            StepMethod::NotPrivate { rate: known.rate(), expected_batch: settings.training.batch }
        } else {
            StepMethod::Private(known.plan()?)
        };
        let training = &settings.training;
        let every = |times: u64| steps.div_ceil(times.max(1)).max(1);
        let run = RunPlan {
            method,
            steps,
            optimizer: training.optimizer,
            average: training.average,
            evaluate_every: every(training.evaluations),
            checkpoint_every: every(training.checkpoints),
        };
        Ok(Self { run: Some(run), budget, count, counts })
    }
}

/// Refuses a batch that is larger than a number of units that needs no release.
///
/// # Privacy
/// Whether a run is refused must not tell what was not paid for. Where the number of units is released, a
/// batch that is too large is one that every unit joins (the rate is at most 1), and nothing is refused.
fn check_batch(batch: f64, units: u64) -> Result<(), PrepareError> {
    if batch <= units as f64 {
        return Ok(());
    }
    Err(PrepareError::Settings(format!(
        "--batch {batch} does not fit: it must be no larger than the number of training units; give a \
         smaller --batch"
    )))
}

/// How the number of units is released; not at all if it is public.
fn count(settings: &Settings) -> Result<Option<NoisyCount>, PlanError> {
    if !Releases::of(settings).units {
        return Ok(None);
    }
    let epsilon = settings.privacy.epsilon.map_or(COUNT_EPSILON, |epsilon| COUNT_SHARE * epsilon);
    NoisyCount::new(epsilon).map(Some)
}

/// The budget that was given. Where only noise was given there is none to keep to: the run may spend
/// what that noise costs, and the certificate says what it came to.
pub(crate) fn budget(settings: &Settings) -> Result<Budget, SessionError> {
    let privacy = &settings.privacy;
    let epsilon = privacy.epsilon.unwrap_or(f64::MAX);
    Ok(Budget::new(epsilon, privacy.delta, privacy.neighbouring)?)
}
