//! What holds in place of the paper's lemmas, where it is short. A whole run is priced by the
//! accountants; these are for a look at one step.

use super::Claim;
use super::printed::SparseScales;
use organza_accountant::rdp;
use organza_ledger::{AccountError, Event, Neighbouring};

/// Poisson sampling, add/remove: (ln(1 + rate (e^epsilon - 1)), rate delta), exactly (Li, Qardaji and
/// Su 2012; Balle, Barthe and Gaboardi 2018, Theorem 8).
pub fn amplification(claim: Claim, rate: f64) -> Claim {
    let epsilon = if claim.epsilon > 30.0 {
        // e^epsilon may overflow: ln(q e^e) + ln(1 + (1 - q) / q e^-e).
        claim.epsilon
            + libm::log(rate)
            + libm::log1p((1.0 - rate) / rate * libm::exp(-claim.epsilon))
    } else {
        libm::log1p(rate * libm::expm1(claim.epsilon))
    };
    Claim { epsilon: epsilon.max(0.0), delta: rate * claim.delta }
}

/// The event of Algorithm 1 with its test inside the loop: `hits` times a pure threshold test and a
/// Laplace value, all of which an accountant composes.
///
/// A threshold test with Laplace noise of scales `threshold` and `query` on threshold and queries is
/// (1 / threshold + 2 / query)-private (Dwork and Roth 2014, Theorem 3.23).
pub fn numeric_sparse(scales: SparseScales, hits: u64) -> Event {
    Event::SparseVector {
        threshold_epsilon: 1.0 / scales.threshold,
        query_epsilon: 2.0 / scales.query,
        hits,
        refreshed: true,
        value_epsilon: Some(1.0 / scales.value),
    }
}

/// The largest epsilon' of a pure step on one of `groups` fixed groups, so that `steps` steps meet
/// `claim`, in place of Theorem 1's; within a thousandth.
///
/// With the group visible, a unit is looked at in about T / m steps, so this is near
/// epsilon sqrt(m / (8 T ln(2 / delta))): lower by sqrt(m) than printed. It is found by asking the Renyi
/// accountant, which is sound, so the claim holds, add/remove or replace-one.
///
/// # Errors
/// If the claim, the groups or the steps make no sense.
pub fn group_step_epsilon(claim: Claim, groups: u64, steps: u64) -> Result<f64, AccountError> {
    let meets = |epsilon: f64| -> Result<bool, AccountError> {
        let step = Event::Cluster { groups, event: Box::new(Event::Pure { epsilon }) };
        let account = rdp::Accountant::new(Neighbouring::AddRemove).compose(&step.repeat(steps))?;
        Ok(account.epsilon(claim.delta)? <= claim.epsilon)
    };
    // No visit at all costs nothing, and a step of the whole epsilon per step always suffices.
    let (mut low, mut high) = (claim.epsilon / (steps.max(1) as f64), claim.epsilon);
    if meets(high)? {
        return Ok(high);
    }
    while high > low * 1.001 {
        let middle = (low * high).sqrt();
        if meets(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}
