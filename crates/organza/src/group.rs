//! What a guarantee for one unit says to someone who owns several.

use crate::{answer::Asked, document::Accountant};
use organza_accountant::group;
use organza_ledger::{AccountError, Event, Neighbouring};
use serde::Serialize;

/// The guarantee of several units together.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Group {
    /// How many units.
    pub(crate) units: u64,
    /// The bound on the privacy loss.
    pub(crate) epsilon: f64,
    /// The probability of exceeding it.
    pub(crate) delta: f64,
}

impl Group {
    /// By the general rule for any mechanism, or by the law of sampled Gaussian noise where that is
    /// all there is, whichever is smaller.
    pub(crate) fn of(
        units: u64,
        event: &Event,
        neighbouring: Neighbouring,
        asked: Asked,
        accountant: Accountant,
    ) -> Result<Self, AccountError> {
        match asked {
            Asked::EpsilonAt { delta } => {
                let one = |delta: f64| epsilon_of_one(event, neighbouring, delta, accountant);
                let general = group::epsilon(one, units, delta);
                let epsilon = match (general, sampled_gaussian(units, event, neighbouring, delta)) {
                    (Ok(general), Some(sampled)) => general.min(sampled),
                    (Err(_), Some(sampled)) => sampled,
                    (general, None) => general?,
                };
                Ok(Self { units, epsilon, delta })
            }
            Asked::DeltaAt { epsilon } => {
                let asked = Asked::DeltaAt { epsilon: epsilon / units as f64 };
                let one = accountant.answer(event, neighbouring, asked)?;
                let (_, delta) = group::guarantee(one.epsilon, one.delta, units);
                Ok(Self { units, epsilon, delta })
            }
        }
    }
}

/// Loss distributions end at a smallest delta, below which the divergences go on.
fn epsilon_of_one(
    event: &Event,
    neighbouring: Neighbouring,
    delta: f64,
    accountant: Accountant,
) -> Result<f64, AccountError> {
    let asked = Asked::EpsilonAt { delta };
    let answer = accountant.answer(event, neighbouring, asked);
    let answer = answer.or_else(|_| Accountant::Rdp.answer(event, neighbouring, asked));
    answer.map(|answer| answer.epsilon)
}

fn sampled_gaussian(
    units: u64,
    event: &Event,
    neighbouring: Neighbouring,
    delta: f64,
) -> Option<f64> {
    if neighbouring != Neighbouring::AddRemove {
        return None;
    }
    let (steps, step) = match event {
        Event::Repeat { times, event } => (*times, event.as_ref()),
        step => (1, step),
    };
    let (rate, step) = match step {
        Event::Poisson { rate, event } => (*rate, event.as_ref()),
        step => (1.0, step),
    };
    let Event::Gaussian { noise_multiplier } = step else { return None };
    group::sampled_gaussian(rate, *noise_multiplier, steps, units, delta).ok()
}
