//! The steps of a run, planned when the number of units is known.

use crate::application::Application;
use crate::books::Releases;
use crate::run::{RunError, RunPlan};
use crate::schedule;
use crate::session::SessionError;
use crate::settings::RunSettings;
use crate::task::Task;

/// Releases the number of units, if it is neither public nor declared, and calibrates the steps; none if there are none.
/// The same settings, data and key give the same plan.
///
/// # Privacy
/// Rate, steps and noise are chosen by the noisy number of units. So that number is charged, before it is drawn,
/// as what decides ([`Event::Added`](organza_ledger::Event::Added)): for each of its values the rest keeps to what it
/// leaves of the budget.
///
/// # Errors
/// If settings make no sense, before the number of units is charged; if no noise meets the budget. A number of units that was
/// released stays charged.
pub(crate) fn plan<A: Application>(
    settings: &A::Settings,
    application: &A,
    releases: &mut Releases<'_>,
) -> Result<Option<RunPlan>, SessionError> {
    let engine = settings.engine();
    reserve(&application.task().tables())?;
    if engine.steps.is_none() {
        return Ok(None);
    }
    if engine.releases_units() {
        schedule::check(&*application.schedule(settings, 1)?)?;
    }
    let units = releases.units(application.own_units())?;
    let schedule = application.schedule(settings, units)?;
    Ok(Some(RunPlan::of(&engine, &*schedule, releases.before())?))
}

/// Refuses tables that there is no memory for, instead of ending without a word when they are made.
fn reserve(tables: &[(u64, u64)]) -> Result<(), RunError> {
    let sizes = tables.iter().map(|(rows, dimensions)| rows.checked_mul(*dimensions));
    let size = sizes.into_iter().try_fold(0_u64, |sum, size| sum.checked_add(size?));
    let fits = size.and_then(|size| usize::try_from(size).ok()).is_some_and(|size| {
        // With the state of an optimizer beside the weights.
        Vec::<[f32; 3]>::new().try_reserve_exact(size).is_ok()
    });
    if fits { Ok(()) } else { Err(RunError::Memory) }
}
