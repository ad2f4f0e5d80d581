//! What each accountant says about an event.

use crate::document::Accountant;
use organza_accountant::{Direction, Guarantee, pld, rdp};
use organza_ledger::{AccountError, Event, Neighbouring};
use organza_paper::theorem::{self, Objection};
use serde::Serialize;
use std::time::Instant;

/// What is asked of the accountants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measure {
    /// Epsilon at this delta.
    EpsilonAt {
        /// The probability of exceeding it.
        delta: f64,
    },
    /// Delta at this epsilon.
    DeltaAt {
        /// The bound on the privacy loss.
        epsilon: f64,
    },
}

/// A question about an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<'a> {
    /// What happened.
    pub(crate) event: &'a Event,
    /// The relation that the answer is to speak about.
    pub(crate) neighbouring: Neighbouring,
    /// What is asked.
    pub(crate) asked: Measure,
}

impl Query<'_> {
    /// The answer by loss distributions, for someone with this many units.
    pub(crate) fn guarantee(self, units: u64) -> Result<Guarantee, AccountError> {
        let account = pld::Accountant::new(self.neighbouring).group(units).compose(self.event)?;
        match self.asked {
            Measure::EpsilonAt { delta } => account.epsilon(delta),
            Measure::DeltaAt { epsilon } => account.delta(epsilon),
        }
    }
}

/// One accountant's answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Answer {
    /// The bound on the privacy loss.
    pub(crate) epsilon: f64,
    /// The probability of exceeding it.
    pub(crate) delta: f64,
    /// Who answered.
    pub(crate) accountant: Accountant,
    /// The relation that the answer speaks about.
    pub(crate) neighbouring: Neighbouring,
    /// The worse direction, where the accountant tells them apart and the relation has them.
    pub(crate) direction: Option<&'static str>,
    /// The best order of a Renyi divergence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) order: Option<f64>,
    /// Whether this is a guarantee.
    pub(crate) sound: bool,
    /// Why it is none.
    #[serde(skip)]
    pub(crate) objections: &'static [Objection],
    /// How long the computation took.
    pub(crate) seconds: f64,
}

impl Accountant {
    /// All of them, the one to quote first.
    pub(crate) const ALL: [Self; 3] = [Self::Pld, Self::Rdp, Self::Theorem];

    /// This accountant's answer.
    pub(crate) fn answer(self, query: Query<'_>) -> Result<Answer, AccountError> {
        let start = Instant::now();
        let answer = match self {
            Self::Pld => Answer::from_guarantee(&query.guarantee(1)?, 0.0),
            Self::Rdp => by_renyi_divergence(query)?,
            Self::Theorem => by_theorem(query)?,
        };
        Ok(Answer { seconds: start.elapsed().as_secs_f64(), ..answer })
    }
}

fn by_renyi_divergence(query: Query<'_>) -> Result<Answer, AccountError> {
    let Query { event, neighbouring, asked } = query;
    let account = rdp::Accountant::new(neighbouring).compose(event)?;
    let (epsilon, delta, order) = match asked {
        Measure::EpsilonAt { delta } => {
            let (epsilon, order) = account.epsilon_with_order(delta)?;
            (epsilon, delta, Some(order))
        }
        Measure::DeltaAt { epsilon } => (epsilon, account.delta(epsilon)?, None),
    };
    let accountant = Accountant::Rdp;
    Ok(Answer { order, ..Answer::plain(epsilon, delta, accountant, neighbouring) })
}

fn by_theorem(Query { event, neighbouring, asked }: Query<'_>) -> Result<Answer, AccountError> {
    if neighbouring == Neighbouring::ReplaceOne {
        return Err(AccountError::OutOfRange(
            "the theorem states its noise relative to one record added or removed".into(),
        ));
    }
    let Measure::EpsilonAt { delta } = asked else {
        return Err(AccountError::OutOfRange(
            "the theorem gives epsilon at a delta, not the other way round".into(),
        ));
    };
    let printed = theorem::as_printed(event, delta)?;
    Ok(Answer {
        sound: false,
        objections: printed.objections,
        ..Answer::plain(printed.figure.epsilon, delta, Accountant::Theorem, neighbouring)
    })
}

impl Answer {
    /// A guarantee by loss distributions that took so long.
    pub(crate) fn from_guarantee(guarantee: &Guarantee, seconds: f64) -> Self {
        let Guarantee { epsilon, delta, neighbouring, .. } = *guarantee;
        let direction = match (neighbouring, guarantee.direction) {
            (Neighbouring::ReplaceOne, _) => None,
            (Neighbouring::AddRemove, Direction::Remove) => Some("remove"),
            (Neighbouring::AddRemove, Direction::Add) => Some("add"),
        };
        let plain = Self::plain(epsilon, delta, Accountant::Pld, neighbouring);
        Self { direction, seconds, ..plain }
    }

    fn plain(epsilon: f64, delta: f64, accountant: Accountant, neighbouring: Neighbouring) -> Self {
        Self {
            epsilon,
            delta,
            accountant,
            neighbouring,
            direction: None,
            order: None,
            sound: true,
            objections: &[],
            seconds: 0.0,
        }
    }
}
