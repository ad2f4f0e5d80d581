//! The steps of a run, planned when the number of units is known.

use crate::books::Releases;
use crate::calibration::StepInputs;
use crate::check::require;
use crate::phases::Calibrated;
use crate::run::{RunError, RunPlan};
use crate::session::SessionError;
use crate::settings::EngineSettings;
use organza_ledger::Event;
use organza_mechanism::NoisyCount;

/// The purpose under which the number of units is charged and drawn.
const UNITS: &str = "units";
/// The share of the budget for releasing the number of units.
const COUNT_SHARE: f64 = 0.01;
/// What releasing the number of units costs where there is no budget.
const COUNT_EPSILON: f64 = 0.01;

/// How the number of units is released.
///
/// # Errors
/// If the budget makes no sense.
fn unit_count(settings: &EngineSettings) -> Result<NoisyCount, SessionError> {
    let epsilon = settings.privacy.epsilon.map_or(COUNT_EPSILON, |epsilon| COUNT_SHARE * epsilon);
    Ok(NoisyCount::new(epsilon, settings.privacy.neighbouring)?)
}

/// Releases the number of units, if it is neither public nor declared, and calibrates the steps; none if there are none.
/// The same settings, data and key give the same plan.
///
/// # Privacy
/// Rate, steps and noise are chosen by the noisy number of units. So that number is charged, before it is drawn,
/// as what decides ([`Event::Added`]): for each of its values the rest keeps to what it leaves of the budget.
///
/// # Errors
/// If settings make no sense, before the number of units is charged; if no noise meets the budget. A number of units that was
/// released stays charged.
pub(crate) fn plan(
    settings: &EngineSettings,
    tables: Vec<(u64, u64)>,
    own_units: u64,
    phases: &[Calibrated],
    releases: &mut Releases<'_>,
) -> Result<Option<RunPlan>, SessionError> {
    if settings.steps.is_none() {
        return Ok(None);
    }
    let mut before: Vec<Event> = phases.iter().flat_map(|phase| phase.events.clone()).collect();
    let units = match settings.privacy.units {
        Some(declared) => declared,
        None if settings.releases_units() => {
            let count = unit_count(settings)?;
            before.push(count.event());
            StepInputs { settings, tables: tables.clone(), units: 1, before: Vec::new() }
                .check_settings()?;
            let release = count.release(UNITS, releases.source());
            let paid = releases.charge(release.charge())?;
            count.noise(own_units, &release, paid).map_err(RunError::from)?
        }
        None => own_units,
    };
    let units = units.saturating_add(settings.added_units);
    let training = &settings.training;
    if !settings.releases_units() {
        // Whether a run is refused must not tell what was not paid for. Where the number of units is released, a batch
        // that is too large is one that every unit joins (the rate is at most 1), and nothing is refused.
        let fits = training.batch <= units as f64;
        let expected = "no larger than the number of training units";
        require("--batch", training.batch, fits, expected)?;
    }
    Ok(Some(RunPlan::new(settings, tables, units, before)?))
}
