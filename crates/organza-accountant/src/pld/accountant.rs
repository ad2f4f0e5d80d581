//! The accountant that a person asks.

use super::closed::Closed;
use super::plan::{self, Charged, Phase};
use super::solver::Solver;
use crate::near;
use organza_ledger::{Account, AccountError, Event, Neighbouring};

/// How far the grid may move epsilon, relative to it, unless asked otherwise.
const PRECISION: f64 = 5e-5;
/// The smallest delta that is answered.
const SMALLEST_DELTA: f64 = 1e-30;
/// The smallest delta that matters when delta is the answer.
const FAINTEST_DELTA: f64 = 1e-20;

/// The most units that are priced together; the cost of an answer grows with them.
const MOST_RECORDS: u64 = 10_000;

/// The tight account: privacy loss distributions.
///
/// Every answer is an upper bound: dominating pairs are proved where they are made, all rounding is
/// pessimistic, and round-off is bounded and added.
///
/// ```
/// use organza_accountant::pld::Accountant;
/// use organza_ledger::{Event, Neighbouring};
///
/// let run = Event::Gaussian { noise_multiplier: 0.5 }.poisson(1e-4).repeat(200_000);
/// let answer = Accountant::new(Neighbouring::AddRemove).compose(&run)?.epsilon(1e-5)?;
/// assert!((2.417..2.419).contains(&answer.epsilon));
/// # Ok::<(), organza_ledger::AccountError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Accountant {
    neighbouring: Neighbouring,
    precision: f64,
    records: u64,
    charged: Charged,
}

/// Which change of the data an answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The unit is there, and is taken away: D(with the unit || without it).
    Remove,
    /// The unit is not there, and is put in: D(without the unit || with it).
    Add,
}

/// What was found: all that was composed is (`epsilon`, `delta`)-differentially private.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guarantee {
    /// The bound on the privacy loss.
    pub epsilon: f64,
    /// The probability of exceeding it, in the sense of the hockey stick.
    pub delta: f64,
    /// The direction that is worse; the other one costs no more. For the replace-one relation it
    /// tells the two roles apart and has no further meaning.
    pub direction: Direction,
    /// The relation that the guarantee speaks about.
    pub neighbouring: Neighbouring,
}

impl Accountant {
    /// An accountant to which nothing has been charged yet.
    ///
    /// Events are taken to state their parameters for `neighbouring`. Under replace-one a Poisson
    /// batch makes delta rarer and does not amplify epsilon, because the sensitivity to replacement
    /// says nothing of a batch that lacks the unit.
    pub fn new(neighbouring: Neighbouring) -> Self {
        let charged = Charged::default();
        Self { neighbouring, precision: PRECISION, records: 1, charged }
    }

    /// Asks about `records` units at once: someone who has as many, or fewer, is there or not.
    ///
    /// # Privacy
    /// Each of them joins a Poisson batch on its own. The proof stands at the pairs: a Binomial
    /// mixture for Gaussian noise on a batch, and what a change of several units does to everything
    /// else. It is about adding or removing all of them; nothing is answered for the replace-one
    /// relation.
    pub fn group(mut self, records: u64) -> Self {
        self.records = records;
        self
    }

    /// How far the grid may move epsilon, relative to it: from 1e-9 to 0.1. It is a matter of time
    /// and tightness, not of soundness.
    pub fn precision(mut self, precision: f64) -> Self {
        self.precision = precision.clamp(1e-9, 0.1);
        self
    }

    /// Charges `event`, which may depend on the results of all that was charged before.
    ///
    /// # Errors
    /// If a parameter makes no sense, or a kind of event cannot be treated soundly.
    pub fn compose(mut self, event: &Event) -> Result<Self, AccountError> {
        event.check()?;
        plan::flatten(event, 1, &mut self.charged)?;
        Ok(self)
    }

    /// Whether `event` can be charged.
    pub fn supports(event: &Event) -> bool {
        Self::new(Neighbouring::AddRemove).compose(event).is_ok()
    }

    /// An upper bound on epsilon at `delta`.
    ///
    /// # Errors
    /// If `delta` is not between 1e-30 and 1, or if no epsilon is finite at it.
    pub fn epsilon(&self, delta: f64) -> Result<Guarantee, AccountError> {
        if !(SMALLEST_DELTA..1.0).contains(&delta) {
            return Err(AccountError::OutOfRange(format!(
                "delta is {delta:e}, but must be at least {SMALLEST_DELTA:e} and below 1"
            )));
        }
        self.check_group()?;
        let stated = |left| self.epsilon_as_stated(left);
        let answer = near::answer(self.charged.total_variation, delta, stated, |it| it.epsilon)?;
        Ok(Guarantee { delta, ..answer })
    }

    /// As [`Self::epsilon`], if all laws were those that are stated.
    fn epsilon_as_stated(&self, delta: f64) -> Result<Guarantee, AccountError> {
        let (rest, direction) = if self.is_nothing() {
            (0.0, Direction::Remove)
        } else if let Some(closed) = self.closed()? {
            closed.epsilon(delta)
        } else {
            self.solver(delta)?.epsilon(delta)?
        };
        let epsilon = match self.added() {
            0.0 => rest,
            added => (rest + added).next_up(),
        };
        if !epsilon.is_finite() {
            return Err(AccountError::OutOfRange(format!(
                "epsilon at delta {delta:e} is beyond all bounds"
            )));
        }
        Ok(self.guarantee(epsilon, delta, direction))
    }

    /// An upper bound on delta at `epsilon`; deltas below 1e-25 or so are not told apart.
    ///
    /// # Errors
    /// If `epsilon` is negative or not finite.
    pub fn delta(&self, epsilon: f64) -> Result<Guarantee, AccountError> {
        if !(epsilon >= 0.0 && epsilon.is_finite()) {
            return Err(AccountError::OutOfRange(format!(
                "epsilon is {epsilon}, but must be zero or more, and finite"
            )));
        }
        self.check_group()?;
        let level = match self.added() {
            0.0 => epsilon,
            added => (epsilon - added).next_down(),
        };
        let (rest, direction) = self.delta_of_rest(level.abs())?;
        let delta = if level < 0.0 {
            // H_a(P || Q) = 1 - a + a H_(1/a)(Q || P), and the larger of both directions is at hand.
            (-libm::expm1(level) + libm::exp(level) * rest).next_up().min(1.0)
        } else {
            rest
        };
        let delta = match near::mass(self.charged.total_variation, epsilon) {
            0.0 => delta,
            mass => (delta + mass).next_up().min(1.0),
        };
        Ok(self.guarantee(epsilon, delta, direction))
    }

    /// Delta of the phases alone.
    fn delta_of_rest(&self, epsilon: f64) -> Result<(f64, Direction), AccountError> {
        Ok(if self.is_nothing() {
            (0.0, Direction::Remove)
        } else if let Some(closed) = self.closed()? {
            closed.delta(epsilon)
        } else {
            self.solver(FAINTEST_DELTA)?.delta(epsilon)
        })
    }

    fn solver(&self, delta: f64) -> Result<Solver, AccountError> {
        let Self { neighbouring, precision, records, .. } = *self;
        Solver::new(&self.charged.phases, records, neighbouring, precision, delta)
    }

    fn closed(&self) -> Result<Option<Closed>, AccountError> {
        let sampled = self.charged.phases.iter().any(|phase| phase.rate < 1.0);
        if sampled && (self.neighbouring == Neighbouring::ReplaceOne || self.records > 1) {
            return Ok(None);
        }
        let phases: Vec<Phase> = self
            .charged
            .phases
            .iter()
            .map(|phase| Ok(Phase { batch: phase.batch.of_group(self.records)?, ..phase.clone() }))
            .collect::<Result<_, AccountError>>()?;
        Ok(Closed::of(&phases))
    }

    fn is_nothing(&self) -> bool {
        self.charged.phases.is_empty() || self.records == 0
    }

    /// A pure guarantee holds as often as there are units.
    fn added(&self) -> f64 {
        self.charged.added * self.records as f64
    }

    fn check_group(&self) -> Result<(), AccountError> {
        if self.records > 1 && self.neighbouring == Neighbouring::ReplaceOne {
            return Err(AccountError::OutOfRange(
                "several units at once are priced for add-remove only".into(),
            ));
        }
        if self.records > MOST_RECORDS {
            return Err(AccountError::OutOfRange(format!(
                "a group of {} units, but {MOST_RECORDS} are the most",
                self.records
            )));
        }
        Ok(())
    }

    fn guarantee(&self, epsilon: f64, delta: f64, direction: Direction) -> Guarantee {
        Guarantee { epsilon, delta, direction, neighbouring: self.neighbouring }
    }
}

/// Prices `events` alone: what the accountant was charged with before is not counted again.
impl Account for Accountant {
    fn neighbouring(&self) -> Neighbouring {
        self.neighbouring
    }

    fn epsilon(&self, events: &[Event], delta: f64) -> Result<f64, AccountError> {
        let fresh = Self { charged: Charged::default(), ..self.clone() };
        let charged = events.iter().try_fold(fresh, |account, event| account.compose(event))?;
        Ok(Self::epsilon(&charged, delta)?.epsilon)
    }
}
