//! Renyi divergences: cheap, loose, and good for a second opinion.
//!
//! A mechanism with likelihood ratio r = dP/dQ has the Renyi divergence
//! D_a = ln(E_Q r^a) / (a - 1) of order a > 1. Divergences of the same order add under adaptive
//! composition, and each order gives a bound on (epsilon, delta); the account takes the best one. It
//! costs milliseconds, holds for any delta however small, and is looser than the account by privacy
//! loss distributions: by a tenth where epsilon is large, by as much as the double where it is small.

mod capped;
pub mod convert;
mod curve;
mod general;
mod group;
mod integral;
pub(crate) mod logarithms;
mod mechanism;
mod price;
pub mod sampled;
mod search;

pub use crate::pld::Direction;
pub use group::group_divergence;

use crate::near;
use organza_ledger::{Account, AccountError, Event, Neighbouring};
use price::Price;

/// Every log moment is raised by this share before use, which covers the rounding of the numerics
/// (below 1e-11) many times over.
const ROUNDING: f64 = 1e-10;

/// An account by Renyi divergences.
///
/// ```
/// use organza_accountant::rdp::Accountant;
/// use organza_ledger::{Event, Neighbouring};
///
/// let run = Event::Gaussian { noise_multiplier: 0.5 }.poisson(1e-4).repeat(200_000);
/// let account = Accountant::new(Neighbouring::AddRemove).compose(&run)?;
/// assert!((account.epsilon(1e-5)? - 3.519).abs() < 1e-3);
/// # Ok::<(), organza_ledger::AccountError>(())
/// ```
///
/// # Privacy
/// [`Self::epsilon`] and [`Self::delta`] are upper bounds for the adaptive composition of all that was
/// composed, both directions of the relation included. Events with a delta of their own
/// (`approximate`, `limited_domain`) are dominated by a pair that, but for a mass delta on either
/// side, is one without exceptions. In a composition let g be the part of dP/dQ on which no
/// exception occurs: then E_Q\[(dP/dQ - e^epsilon)+\] <= lost + E_Q\[(g - e^epsilon)+\], where *lost* is
/// 1 - prod(1 - delta_i), and E_Q g^a is at most the product of the moments without exceptions, so
/// the conversions hold for g as they stand and *lost* is added to delta.
#[derive(Clone, Debug, PartialEq)]
pub struct Accountant {
    relation: Neighbouring,
    prices: Vec<Price>,
}

impl Accountant {
    /// An account of nothing, for this relation.
    pub fn new(relation: Neighbouring) -> Self {
        Self { relation, prices: Vec::new() }
    }

    /// Whether this accountant has a sound treatment of the event, with the reason if not.
    ///
    /// # Errors
    /// Names the part that cannot be treated, or the parameter that makes no sense.
    pub fn supports(&self, event: &Event) -> Result<(), AccountError> {
        event.check()?;
        Price::of(event, self.relation).map(|_| ())
    }

    /// Adds an event, which may depend on the results of all before it.
    ///
    /// # Errors
    /// See [`Self::supports`].
    pub fn compose(mut self, event: &Event) -> Result<Self, AccountError> {
        event.check()?;
        self.prices.push(Price::of(event, self.relation)?);
        Ok(self)
    }

    /// The Renyi divergence of order `order` of everything so far, outside exceptional outcomes.
    ///
    /// # Errors
    /// If the order is not above 1.
    pub fn divergence(&self, order: f64) -> Result<f64, AccountError> {
        check_order(order)?;
        Ok(self.divergence_at(order))
    }

    /// The probability of an exceptional outcome, in which nothing is promised.
    pub fn lost(&self) -> f64 {
        -libm::expm1(self.prices.iter().map(|price| price.log_kept).sum())
    }

    /// An upper bound on epsilon at `delta`.
    ///
    /// # Errors
    /// If `delta` is not between 0 and 1 or is used up by exceptional outcomes, or if no order
    /// gives a finite bound.
    pub fn epsilon(&self, delta: f64) -> Result<f64, AccountError> {
        Ok(self.epsilon_with_order(delta)?.0)
    }

    /// As [`Self::epsilon`], with the order that gives it.
    ///
    /// # Errors
    /// As [`Self::epsilon`].
    pub fn epsilon_with_order(&self, delta: f64) -> Result<(f64, f64), AccountError> {
        if !(delta > 0.0 && delta < 1.0) {
            return Err(AccountError::OutOfRange(format!(
                "delta is {delta}, but must lie between 0 and 1"
            )));
        }
        let stated = |left| self.epsilon_as_stated(left);
        near::answer(self.total_variation(), delta, stated, |(epsilon, _)| *epsilon)
    }

    /// How far all that was released is from what is stated, in total variation.
    fn total_variation(&self) -> f64 {
        self.prices.iter().map(|price| price.total_variation).sum()
    }

    /// As [`Self::epsilon_with_order`], if all laws were those that are stated.
    fn epsilon_as_stated(&self, delta: f64) -> Result<(f64, f64), AccountError> {
        let lost = self.lost();
        // The subtraction is exact or rounds once; one more step down keeps it below.
        let left = (delta - lost) * (1.0 - f64::EPSILON);
        if left <= 0.0 {
            return Err(AccountError::OutOfRange(format!(
                "exceptional outcomes have probability {lost} already, and delta is {delta}"
            )));
        }
        let order = search::LOWEST_ORDER;
        if convert::total_variation(self.divergence_at(order)) <= left {
            return Ok((0.0, order));
        }
        let (epsilon, order) = search::smallest(
            |order| self.divergence_at(order),
            |order, divergence| convert::epsilon(order, divergence, left),
        );
        if epsilon.is_finite() {
            return Ok((epsilon.max(0.0), order));
        }
        Err(AccountError::OutOfRange("no order gives a finite epsilon".into()))
    }

    /// An upper bound on delta at `epsilon`; it is 1 where nothing better is known.
    ///
    /// # Errors
    /// If `epsilon` is negative or not finite.
    pub fn delta(&self, epsilon: f64) -> Result<f64, AccountError> {
        if !(epsilon >= 0.0 && epsilon.is_finite()) {
            return Err(AccountError::OutOfRange(format!(
                "epsilon is {epsilon}, but must be zero or more"
            )));
        }
        let (log_delta, _) = search::smallest(
            |order| self.divergence_at(order),
            |order, divergence| convert::log_delta(order, divergence, epsilon),
        );
        let variation = convert::total_variation(self.divergence_at(search::LOWEST_ORDER));
        let inside = libm::exp(log_delta).min(variation) * (1.0 + 4.0 * f64::EPSILON);
        let outside = self.lost() + near::mass(self.total_variation(), epsilon);
        Ok((inside + outside).next_up().min(1.0))
    }

    fn divergence_at(&self, order: f64) -> f64 {
        let log_moment: f64 = self.prices.iter().map(|price| price.curve.log_moment(order)).sum();
        (1.0 + ROUNDING) * log_moment / (order - 1.0)
    }
}

impl Account for Accountant {
    fn neighbouring(&self) -> Neighbouring {
        self.relation
    }

    /// For `events` on top of whatever was composed before.
    fn epsilon(&self, events: &[Event], delta: f64) -> Result<f64, AccountError> {
        let account = events.iter().try_fold(self.clone(), |account, event| account.compose(event));
        Self::epsilon(&account?, delta)
    }
}

fn check_order(order: f64) -> Result<(), AccountError> {
    if order > 1.0 && order.is_finite() {
        return Ok(());
    }
    Err(AccountError::OutOfRange(format!("the order is {order}, but must be above 1")))
}
