//! How the steps of a run are planned, once the number of units is known.

use crate::optimizer::OptimizerSettings;
use crate::phases::noise;
use crate::settings::PrivacySettings;
use organza_accountant::calibrate::CalibrateError;
use organza_ledger::Event;
use organza_mechanism::{DeferredGrid, Plan, PlanError, ShapeError};
use thiserror::Error;

/// Why settings give no plan.
#[derive(Debug, Error)]
pub enum CalibrationError {
    /// The model has no sensible shape.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A setting makes no sense.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// No noise meets the budget.
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
    /// It is not said how much noise there shall be.
    #[error(
        "neither a budget nor a noise multiplier is given: give --epsilon or --noise-multiplier"
    )]
    NoBudget,
}

/// The steps of a run, and what they are at any noise: the engine finds the noise that spends the budget.
///
/// # Privacy
/// All of it follows settings, and public or released numbers.
pub trait Schedule {
    /// The number of steps.
    fn steps(&self) -> u64;

    /// The probability with which a unit joins a batch, and the number that sums are divided by.
    fn sampling(&self) -> (f64, f64);

    /// The plan of a step whose selection and noise together cost about as much as one Gaussian of multiplier
    /// `together`.
    ///
    /// # Errors
    /// If a setting makes no sense.
    fn at_scale(&self, together: f64) -> Result<Plan, CalibrationError>;

    /// The plan, where its noise is given and follows no budget.
    fn fixed(&self) -> Option<Result<Plan, CalibrationError>> {
        None
    }

    /// How parameters move: by `plan`, unless the run is not private.
    fn optimizer(&self, plan: Option<&Plan>) -> OptimizerSettings;

    /// The grid on which noise is left for later after `before` was charged, where that pays: it costs a little of delta.
    ///
    /// # Errors
    /// If a setting makes no sense.
    fn deferred(&self, _before: &[Event]) -> Result<Option<DeferredGrid>, CalibrationError> {
        Ok(None)
    }
}

/// Names settings that make no sense at any noise, so that they are not taken for a budget that is too small.
pub(crate) fn check(schedule: &dyn Schedule) -> Result<(), CalibrationError> {
    schedule.fixed().unwrap_or_else(|| schedule.at_scale(1.0)).map(|_| ())
}

/// The plan that spends what `before` and the grid of deferred noise leave of the budget, or that has the noise which was
/// asked for.
pub(crate) fn calibrate(
    schedule: &dyn Schedule,
    privacy: &PrivacySettings,
    before: &[Event],
    deferred: Option<&DeferredGrid>,
) -> Result<Plan, CalibrationError> {
    if let Some(fixed) = schedule.fixed() {
        return fixed;
    }
    check(schedule)?;
    let mut all = before.to_vec();
    all.extend(deferred.map(DeferredGrid::event));
    let together = noise(privacy, &all, 1.0, |together| {
        let plan = schedule.at_scale(together).ok()?;
        Some(vec![plan.step_event().clone().repeat(schedule.steps())])
    })?;
    schedule.at_scale(together)
}
