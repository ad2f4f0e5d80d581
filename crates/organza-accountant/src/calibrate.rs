//! From a target (epsilon, delta) back to noise, steps, rate or the epsilon of a draw.
//!
//! Every answer was priced by the accountant: it never exceeds the target, and lies within the
//! tolerance of it.

mod search;

use crate::pld::{Accountant, Guarantee};
use organza_ledger::{AccountError, Event, Neighbouring};
use thiserror::Error;

/// How far below the target an answer may lie, relative to it, unless asked otherwise.
const TOLERANCE: f64 = 2e-4;

/// What a run is allowed to cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The bound on the privacy loss.
    pub epsilon: f64,
    /// The probability of exceeding it.
    pub delta: f64,
    /// The relation that the guarantee is to speak about.
    pub neighbouring: Neighbouring,
    /// How far below `epsilon` an answer may lie, relative to it.
    pub tolerance: f64,
}

/// Why there is no calibration.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CalibrateError {
    /// The question itself makes no sense.
    #[error("`{field}` is {value}, but must be {expected}")]
    Invalid {
        /// The offending field.
        field: &'static str,
        /// What it was.
        value: f64,
        /// What it must be.
        expected: &'static str,
    },
    /// No value of the parameter meets the target.
    #[error("no {parameter} meets the target: {reason}")]
    Unreachable {
        /// What was to be found.
        parameter: &'static str,
        /// What stands in the way.
        reason: String,
    },
    /// The accountant refused.
    #[error(transparent)]
    Account(#[from] AccountError),
}

impl Target {
    /// A target for the add-remove relation with the usual tolerance.
    pub fn new(epsilon: f64, delta: f64) -> Self {
        Self { epsilon, delta, neighbouring: Neighbouring::AddRemove, tolerance: TOLERANCE }
    }

    /// What `event` costs at this delta.
    fn price(&self, event: &Event) -> Result<Guarantee, AccountError> {
        Accountant::new(self.neighbouring).compose(event)?.epsilon(self.delta)
    }

    fn price_if(&self, event: Option<Event>) -> Result<Guarantee, AccountError> {
        let event = event.ok_or_else(|| AccountError::OutOfRange("no such event".into()))?;
        self.price(&event)
    }

    fn check(&self) -> Result<(), CalibrateError> {
        positive("epsilon", self.epsilon)?;
        for (field, value) in [("delta", self.delta), ("tolerance", self.tolerance)] {
            if !(value > 0.0 && value < 1.0) {
                return Err(CalibrateError::Invalid { field, value, expected: "between 0 and 1" });
            }
        }
        Ok(())
    }
}

fn positive(field: &'static str, value: f64) -> Result<(), CalibrateError> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(CalibrateError::Invalid { field, value, expected: "positive and finite" })
}

/// The largest number of times that `event` may happen, and what that costs.
///
/// Counting stops at 2^40.
///
/// # Errors
/// If even once is too often, or the accountant refuses.
pub fn times(event: &Event, target: &Target) -> Result<(u64, Guarantee), CalibrateError> {
    target.check()?;
    let price = |times: u64| target.price(&event.clone().repeat(times));
    let mut low = (1, price(1)?);
    if low.1.epsilon > target.epsilon {
        return Err(CalibrateError::Unreachable {
            parameter: "number of steps",
            reason: format!("one step costs epsilon {} already", low.1.epsilon),
        });
    }
    let mut high = loop {
        let next = low.0 * 4;
        if next > 1 << 40 {
            return Ok(low);
        }
        let found = price(next)?;
        if found.epsilon > target.epsilon {
            break (next, found);
        }
        low = (next, found);
    };
    let enough = target.epsilon * (1.0 - target.tolerance);
    while high.0 - low.0 > 1 && low.1.epsilon < enough {
        // Where cost is near a power of the count, the chord in logarithms lands next to the answer.
        let place = (libm::log(target.epsilon * (1.0 - 0.5 * target.tolerance))
            - libm::log(low.1.epsilon.max(1e-300)))
            / (libm::log(high.1.epsilon) - libm::log(low.1.epsilon.max(1e-300)));
        let (start, end) = (libm::log(low.0 as f64), libm::log(high.0 as f64));
        let guess = libm::exp(start + (end - start) * place.clamp(0.1, 0.9)).round() as u64;
        let middle = guess.clamp(low.0 + 1, high.0 - 1);
        let found = price(middle)?;
        if found.epsilon > target.epsilon { high = (middle, found) } else { low = (middle, found) }
    }
    Ok(low)
}

/// The smallest scale of noise at which what `event` makes of it meets `target`, and what that costs.
///
/// The cost has to fall as the scale grows; a scale for which there is no event counts as too costly.
///
/// # Errors
/// If no scale up to 10^6 is enough, or the accountant refuses.
pub fn scale(
    target: &Target,
    event: impl Fn(f64) -> Option<Event>,
) -> Result<(f64, Guarantee), CalibrateError> {
    scale_near(target, 1.0, event)
}

/// As [`scale`], of what `step` makes of it on `steps` Poisson batches of this rate.
///
/// # Errors
/// As [`scale`], or if the rate is not positive.
pub fn scale_of_steps(
    target: &Target,
    rate: f64,
    steps: u64,
    step: impl Fn(f64) -> Option<Event>,
) -> Result<(f64, Guarantee), CalibrateError> {
    target.check()?;
    positive("rate", rate)?;
    // A guess: 1/s falls with the logarithm of the rate, and with the root of all exposures.
    let exposures = (steps.max(1) as f64).sqrt() * rate;
    let guess = (3.0 * exposures / target.epsilon).max(0.5) * if rate < 1.0 { 1.0 } else { 1.4 };
    scale_near(target, guess, |scale| Some(step(scale)?.poisson(rate).repeat(steps)))
}

fn scale_near(
    target: &Target,
    start: f64,
    event: impl Fn(f64) -> Option<Event>,
) -> Result<(f64, Guarantee), CalibrateError> {
    target.check()?;
    search::falling("noise multiplier", target, start, (0.01, 1e6), |scale| {
        target.price_if(event(scale))
    })
}

/// The largest epsilon of a draw at which what `event` makes of it meets `target`, and what that costs.
///
/// # Errors
/// If no epsilon is small enough, or the accountant refuses.
pub fn draw_epsilon(
    target: &Target,
    event: impl Fn(f64) -> Option<Event>,
) -> Result<(f64, Guarantee), CalibrateError> {
    target.check()?;
    search::rising("selection epsilon", target, 0.1, (1e-9, 20.0), |draw| {
        target.price_if(event(draw))
    })
}

/// The largest Poisson rate at which `event` may happen `times` times, and what that costs.
///
/// # Errors
/// If no rate above 1e-12 is low enough, or the accountant refuses.
pub fn rate(
    event: &Event,
    times: u64,
    target: &Target,
) -> Result<(f64, Guarantee), CalibrateError> {
    target.check()?;
    let price = |rate: f64| target.price(&event.clone().poisson(rate).repeat(times));
    let whole = price(1.0);
    if let Ok(found) = whole
        && found.epsilon <= target.epsilon
    {
        return Ok((1.0, found));
    }
    search::rising("rate", target, 1e-3, (1e-12, 1.0), price)
}
