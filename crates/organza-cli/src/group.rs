//! What a guarantee for one unit says to someone who owns several.

use crate::answer::{Measure, Query};
use crate::document::Accountant;
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
        query: Query<'_>,
        accountant: Accountant,
    ) -> Result<Self, AccountError> {
        let priced = match accountant {
            Accountant::Pld => query.guarantee(units).ok(),
            Accountant::Rdp | Accountant::Theorem => None,
        };
        let priced = priced.map(|found| Self {
            units,
            epsilon: found.epsilon,
            delta: found.delta,
            accountant: By::Pld,
        });
        match priced {
            // Of noise alone the loss distribution is the truth up to its grid.
            Some(priced) if is_noise_alone(query.event) => Ok(priced),
            priced => {
                let rule = by_rule(units, query, accountant);
                match priced.or_else(|| by_divergence(units, query)) {
                    Some(priced) => Ok(rule.map_or(priced, |rule| priced.smaller(rule))),
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

/// By the general rule for any mechanism.
fn by_rule(units: u64, query: Query<'_>, accountant: Accountant) -> Result<Group, AccountError> {
    let (epsilon, delta) = match query.asked {
        Measure::EpsilonAt { delta } => {
            // Loss distributions end at a smallest delta, below which the divergences go on.
            let one = |delta: f64| {
                let query = Query { asked: Measure::EpsilonAt { delta }, ..query };
                let answer = accountant.answer(query).or_else(|_| Accountant::Rdp.answer(query));
                answer.map(|answer| answer.epsilon)
            };
            (group::epsilon(one, units, delta)?, delta)
        }
        Measure::DeltaAt { epsilon } => {
            let asked = Measure::DeltaAt { epsilon: epsilon / units as f64 };
            let one = accountant.answer(Query { asked, ..query })?;
            (epsilon, group::guarantee(one.epsilon, one.delta, units).1)
        }
    };
    Ok(Group { units, epsilon, delta, accountant: By::Rule })
}

/// By the divergences of sampled Gaussian noise, where that is all there is.
fn by_divergence(units: u64, query: Query<'_>) -> Option<Group> {
    let Measure::EpsilonAt { delta } = query.asked else { return None };
    if query.neighbouring != Neighbouring::AddRemove {
        return None;
    }
    let (steps, step) = match query.event {
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
