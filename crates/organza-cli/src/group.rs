//! What a guarantee for one unit says to someone who owns several.

use crate::{answer::Asked, document::Accountant};
use organza_accountant::{group, pld};
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
    /// Where the figure comes from.
    pub(crate) accountant: By,
}

/// Where the figure of a group comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum By {
    /// Loss distributions of how many of the group join each batch.
    Pld,
    /// Renyi divergences of the same.
    Rdp,
    /// The rule that holds for every mechanism, from the quoted figure of one unit.
    Rule,
}

impl Group {
    /// The smallest of what is proved; loss distributions only where they are quoted.
    pub(crate) fn of(
        units: u64,
        event: &Event,
        neighbouring: Neighbouring,
        asked: Asked,
        accountant: Accountant,
    ) -> Result<Self, AccountError> {
        let priced = match accountant {
            Accountant::Pld => by_loss_distribution(units, event, neighbouring, asked).ok(),
            Accountant::Rdp | Accountant::Theorem => None,
        };
        match priced {
            // Of noise alone the loss distribution is the truth up to its grid.
            Some(priced) if is_noise_alone(event) => Ok(priced),
            Some(priced) => {
                let rule = by_rule(units, event, neighbouring, asked, accountant);
                Ok(rule.map_or(priced, |rule| priced.smaller(rule)))
            }
            None => {
                let rule = by_rule(units, event, neighbouring, asked, accountant);
                match by_divergence(units, event, neighbouring, asked) {
                    Some(sampled) => Ok(rule.map_or(sampled, |rule| sampled.smaller(rule))),
                    None => rule,
                }
            }
        }
    }

    /// One of the two has the same epsilon or the same delta in both.
    fn smaller(self, other: Self) -> Self {
        if (other.epsilon, other.delta) < (self.epsilon, self.delta) { other } else { self }
    }
}

fn by_loss_distribution(
    units: u64,
    event: &Event,
    neighbouring: Neighbouring,
    asked: Asked,
) -> Result<Group, AccountError> {
    let account = pld::Accountant::new(neighbouring).group(units).compose(event)?;
    let found = match asked {
        Asked::EpsilonAt { delta } => account.epsilon(delta),
        Asked::DeltaAt { epsilon } => account.delta(epsilon),
    }?;
    Ok(Group { units, epsilon: found.epsilon, delta: found.delta, accountant: By::Pld })
}

/// By the general rule for any mechanism.
fn by_rule(
    units: u64,
    event: &Event,
    neighbouring: Neighbouring,
    asked: Asked,
    accountant: Accountant,
) -> Result<Group, AccountError> {
    let (epsilon, delta) = match asked {
        Asked::EpsilonAt { delta } => {
            let one = |delta: f64| epsilon_of_one(event, neighbouring, delta, accountant);
            (group::epsilon(one, units, delta)?, delta)
        }
        Asked::DeltaAt { epsilon } => {
            let asked = Asked::DeltaAt { epsilon: epsilon / units as f64 };
            let one = accountant.answer(event, neighbouring, asked)?;
            (epsilon, group::guarantee(one.epsilon, one.delta, units).1)
        }
    };
    Ok(Group { units, epsilon, delta, accountant: By::Rule })
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

/// By the divergences of sampled Gaussian noise, where that is all there is.
fn by_divergence(
    units: u64,
    event: &Event,
    neighbouring: Neighbouring,
    asked: Asked,
) -> Option<Group> {
    let Asked::EpsilonAt { delta } = asked else { return None };
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
    let epsilon = group::sampled_gaussian(rate, *noise_multiplier, steps, units, delta).ok()?;
    Some(Group { units, epsilon, delta, accountant: By::Rdp })
}

/// Whether all of it is Gaussian noise, on batches or on everything.
fn is_noise_alone(event: &Event) -> bool {
    match event {
        Event::Gaussian { .. } | Event::RoundedGaussian { .. } => true,
        Event::Poisson { event, .. } | Event::Repeat { event, .. } => is_noise_alone(event),
        Event::Compose(events) => events.iter().all(is_noise_alone),
        _ => false,
    }
}
