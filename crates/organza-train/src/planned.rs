//! What a session will do, known before its first step.

use crate::calibration::Known;
use crate::canaries;
use crate::phases::{CountPhases, Releases};
use crate::prepare::{PrepareError, Prepared};
use crate::run::{RunError, RunPlan};
use crate::session::SessionError;
use crate::settings::{Method, Settings};
use crate::task::Task;
use organza_accountant::Accountant;
use organza_ledger::{Budget, Event, Ledger};
use organza_mechanism::{NoisyCount, PlanError, RandomSource};

/// The purpose under which the number of units is charged and drawn.
const UNITS: &str = "units";
/// The share of the budget for releasing the number of units.
const COUNT_SHARE: f64 = 0.01;
/// What releasing the number of units costs where there is no budget.
const COUNT_EPSILON: f64 = 0.01;

/// What is planned by the settings alone, before the number of units is known.
pub(crate) struct Draft {
    budget: Option<Budget>,
    /// None if the number of units is public or not needed.
    count: Option<NoisyCount>,
    counts: CountPhases,
    /// All that is charged before the first step.
    before: Vec<Event>,
}

/// The plan of a run, what pays for it, and what is released before its first step.
pub(crate) struct Planned {
    /// None if there are no steps.
    pub(crate) run: Option<RunPlan>,
    /// None without privacy.
    pub(crate) budget: Option<Budget>,
    /// The noise of word and pair counts.
    pub(crate) counts: CountPhases,
}

impl Draft {
    /// Calibrates what does not depend on the number of units; `before` is what was charged already.
    ///
    /// # Errors
    /// If settings make no sense, whatever that number is: nothing needs to be written to find out.
    pub(crate) fn new(
        settings: &Settings,
        prepared: &Prepared,
        before: &[Event],
    ) -> Result<Self, SessionError> {
        let counts = CountPhases::new(settings, before)?;
        let budget = match settings.method {
            Method::None => None,
            _ => Some(budget(settings)?),
        };
        let count = count(settings)?;
        let mut before = before.to_vec();
        before.extend(count.iter().map(NoisyCount::event));
        before.extend(counts.events(settings)?);
        if count.is_some() {
            let tables = prepared.task.tables();
            Known { settings, tables, units: 1, before: Vec::new() }.first_look()?;
        }
        Ok(Self { budget, count, counts, before })
    }

    /// Whether the plan needs a release, so that there has to be a ledger before it.
    pub(crate) fn releases_units(&self) -> bool {
        self.count.is_some()
    }

    /// Releases the number of units, if that is planned, and calibrates the steps. The same settings, data and key
    /// give the same plan.
    ///
    /// # Privacy
    /// Rate, steps and noise are chosen by the noisy number of units. So that number is charged, before it is drawn,
    /// as what decides ([`Event::Deciding`]): for each of its values the rest keeps to what it leaves of the budget.
    ///
    /// # Errors
    /// If no noise meets the budget. A number of units that was released stays charged.
    pub(crate) fn plan(
        self,
        settings: &Settings,
        prepared: &Prepared,
        source: &RandomSource,
        ledger: Option<&mut Ledger>,
    ) -> Result<Planned, SessionError> {
        let Self { budget, count, counts, before } = self;
        if !Releases::of(settings).steps {
            return Ok(Planned { run: None, budget, counts });
        }
        let units = match (&count, settings.privacy.units) {
            (_, Some(declared)) => declared,
            (Some(count), None) => {
                release_units(settings, count, prepared.own_units(), source, ledger)?
            }
            (None, None) => prepared.own_units(),
        };
        let units = units.saturating_add(canaries::public_units(settings));
        if count.is_none() {
            check_batch(settings.training.batch, units)?;
        }
        let run = RunPlan::new(settings, prepared.task.tables(), units, before)?;
        Ok(Planned { run: Some(run), budget, counts })
    }
}

/// Charges for the number of units, then draws it. With the same key it is the same number again, which costs nothing.
fn release_units(
    settings: &Settings,
    count: &NoisyCount,
    units: u64,
    source: &RandomSource,
    ledger: Option<&mut Ledger>,
) -> Result<u64, SessionError> {
    let ledger = ledger.ok_or(RunError::NoPurse)?;
    let account = Accountant::new(settings.privacy.neighbouring);
    let release = count.release(UNITS, source);
    let paid = budget(settings)?.charge(ledger, &account, release.charge())?;
    Ok(count.noise(units, &release, paid).map_err(RunError::from)?)
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
    NoisyCount::new(epsilon, settings.privacy.neighbouring).map(Some)
}

/// The budget that was given. Where only noise was given there is none to keep to: the run may spend
/// what that noise costs, and the certificate says what it came to.
pub(crate) fn budget(settings: &Settings) -> Result<Budget, SessionError> {
    let privacy = &settings.privacy;
    let epsilon = privacy.epsilon.unwrap_or(f64::MAX);
    Ok(Budget::new(epsilon, privacy.delta, privacy.neighbouring)?)
}
