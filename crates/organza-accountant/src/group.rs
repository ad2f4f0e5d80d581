//! What a guarantee for one record says to a person who has several.

use crate::rdp::convert::best_epsilon;
use crate::rdp::group_divergence;
use crate::rdp::logarithms::one_less;
use organza_ledger::AccountError;

/// The guarantee of a group of `records` records, from that of one: (g e, d (e^(g e) - 1) / (e^e - 1)).
///
/// # Proof
/// Change the records one after the other. If P_0, ..., P_g are the outputs on the way,
/// P_0(S) <= e^e P_1(S) + d <= ... <= e^(g e) P_g(S) + d (1 + e^e + ... + e^((g-1) e)). It holds for any
/// mechanism, and grows fast: prefer [`group`](crate::pld::Accountant::group), or make the person
/// the unit. The delta is capped at one.
pub fn guarantee(epsilon: f64, delta: f64, records: u64) -> (f64, f64) {
    let size = records as f64;
    if records <= 1 {
        return if records == 0 { (0.0, 0.0) } else { (epsilon, delta) };
    }
    // In logarithms, because e^(g e) soon exceeds the floats.
    let growth = if epsilon < 1e-12 {
        libm::log(size) + size * epsilon
    } else {
        one_less(size * epsilon) - one_less(epsilon)
    };
    let delta = if delta > 0.0 { libm::exp(libm::log(delta) + growth).min(1.0) } else { 0.0 };
    (size * epsilon, delta)
}

/// The epsilon of a group of `records` records at `delta`, from any account of one record.
///
/// `account` gives the epsilon of one record at a delta. The delta of the group is made of smaller
/// deltas of one record, and of all that suffice the largest found is used.
///
/// # Errors
/// Those of `account`, or if no delta of one record above 1e-300 suffices.
pub fn epsilon(
    account: impl Fn(f64) -> Result<f64, AccountError>,
    records: u64,
    delta: f64,
) -> Result<f64, AccountError> {
    if records <= 1 {
        return if records == 0 { Ok(0.0) } else { account(delta) };
    }
    let suffices = |log_delta: f64| -> Result<Option<f64>, AccountError> {
        let one = libm::exp(log_delta);
        let (epsilon, all) = guarantee(account(one)?, one, records);
        Ok((all <= delta).then_some(epsilon))
    };
    let (mut low, mut high) = (-690.0, libm::log(delta));
    let Some(mut best) = suffices(low)? else {
        return Err(AccountError::OutOfRange(format!(
            "a group of {records} has no epsilon at delta {delta} by the general rule"
        )));
    };
    while high - low > 1e-3 {
        let middle = 0.5 * (low + high);
        match suffices(middle)? {
            Some(epsilon) => {
                low = middle;
                best = best.min(epsilon);
            }
            None => high = middle,
        }
    }
    Ok(best)
}

/// The epsilon at `delta` of a person with `records` records in `steps` steps of Gaussian noise on
/// Poisson batches, for adding or removing the whole person.
///
/// Each of the g records joins a batch on its own, so a step sees Binomial(g, q) of them. Tighter than
/// [`guarantee`] for few records, and never above g times a step's shift; a moment is ruled by the
/// rare batch that many of them join, of which [`group`](crate::pld::Accountant::group) knows that it
/// is rare. The proof stands at [`group_divergence`].
///
/// # Errors
/// If a parameter is out of range, or no order gives a finite bound.
pub fn sampled_gaussian(
    rate: f64,
    noise_multiplier: f64,
    steps: u64,
    records: u64,
    delta: f64,
) -> Result<f64, AccountError> {
    if !(delta > 0.0 && delta < 1.0) {
        return Err(AccountError::OutOfRange(format!(
            "delta is {delta}, but must lie between 0 and 1"
        )));
    }
    let mut curve = Vec::new();
    for order in orders() {
        let divergence = group_divergence(order, rate, noise_multiplier, records)?;
        curve.push((f64::from(order), steps as f64 * divergence * (1.0 + 1e-9)));
    }
    best_epsilon(&curve, delta).map(|(epsilon, _)| epsilon).ok_or_else(|| {
        AccountError::OutOfRange("no order gives a finite epsilon for this group".into())
    })
}

/// Integer orders, every one at first and then ever fewer.
fn orders() -> impl Iterator<Item = u32> {
    (2..33).chain((0..24).map(|step| 34 + step * step * 4))
}
