//! What is wrong with settings, and what would do.

use thiserror::Error;

/// A setting with which no private step can be made.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("`{setting}` is {value}: {reason}; {remedy}")]
pub struct PlanError {
    /// The name of the setting.
    pub setting: &'static str,
    /// What it was.
    pub value: String,
    /// Why that cannot be.
    pub reason: String,
    /// What would do.
    pub remedy: String,
}

impl PlanError {
    pub(crate) fn new(
        setting: &'static str,
        value: impl ToString,
        reason: impl ToString,
        remedy: impl ToString,
    ) -> Self {
        Self {
            setting,
            value: value.to_string(),
            reason: reason.to_string(),
            remedy: remedy.to_string(),
        }
    }
}

/// Checks that a number is positive and of a size that arithmetic can bear.
///
/// Scales and weights are products and ratios of up to four settings and the grid's 2^30: from these
/// bounds none of them overflows or becomes zero, which would leave selection or values without noise.
pub(crate) fn positive(setting: &'static str, value: f64) -> Result<f64, PlanError> {
    if (1e-60..=1e60).contains(&value) {
        return Ok(value);
    }
    let remedy = "give a positive number between 1e-60 and 1e60";
    let reason = if value.is_nan() { "it is not a number" } else { "it is out of range" };
    Err(PlanError::new(setting, value, reason, remedy))
}

/// Checks that a number is a probability above 0 and below 1.
pub(crate) fn probability(setting: &'static str, value: f64) -> Result<f64, PlanError> {
    if (1e-300..1.0).contains(&value) {
        return Ok(value);
    }
    Err(PlanError::new(setting, value, "it is not a probability", "give a number in (0, 1)"))
}

/// Checks that a count is from 1 to `most`.
pub(crate) fn count(
    setting: &'static str,
    value: u64,
    most: u64,
    of_what: &str,
) -> Result<u64, PlanError> {
    if (1..=most).contains(&value) {
        return Ok(value);
    }
    let reason = if value == 0 {
        "nothing would be selected".to_string()
    } else {
        format!("there are only {most} {of_what}")
    };
    Err(PlanError::new(setting, value, reason, format!("give a number from 1 to {most}")))
}
