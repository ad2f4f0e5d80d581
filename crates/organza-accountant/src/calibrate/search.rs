//! A root that is approached from the safe side.

use super::{CalibrateError, Target};
use crate::pld::Guarantee;
use organza_ledger::AccountError;

/// The most prices that are asked for.
const MOST_PRICES: usize = 80;

/// The parameter within `range` whose cost rises to just below the target, starting near `start`.
pub(super) fn rising(
    parameter: &'static str,
    target: &Target,
    start: f64,
    range: (f64, f64),
    price: impl Fn(f64) -> Result<Guarantee, AccountError>,
) -> Result<(f64, Guarantee), CalibrateError> {
    falling(parameter, target, 1.0 / start, (1.0 / range.1, 1.0 / range.0), |inverse| {
        price(1.0 / inverse)
    })
    .map(|(inverse, found)| (1.0 / inverse, found))
}

/// The parameter within `range` whose cost falls to just below the target, starting near `start`.
///
/// A bracket (too costly, affordable) is found by factors and shrunk by chords of log epsilon over
/// the log parameter, pulled to one side when they stall (the Illinois rule). What is returned is
/// always an affordable end that was priced.
pub(super) fn falling(
    parameter: &'static str,
    target: &Target,
    start: f64,
    range: (f64, f64),
    price: impl Fn(f64) -> Result<Guarantee, AccountError>,
) -> Result<(f64, Guarantee), CalibrateError> {
    let cost = |log: f64| -> Result<(f64, Option<Guarantee>), CalibrateError> {
        match price(libm::exp(log)) {
            Ok(found) => Ok((libm::log(found.epsilon.max(1e-12 * target.epsilon)), Some(found))),
            // What is beyond all bounds is too costly; any other refusal is the answer.
            Err(AccountError::OutOfRange(_)) => Ok((700.0, None)),
            Err(refusal) => Err(refusal.into()),
        }
    };
    let goal = libm::log(target.epsilon);
    let aim = goal + libm::log1p(-0.5 * target.tolerance);
    let enough = goal + libm::log1p(-target.tolerance);
    let (least, most) = (libm::log(range.0), libm::log(range.1));
    let unreachable = |reason: String| CalibrateError::Unreachable { parameter, reason };

    let mut at = libm::log(start).clamp(least, most);
    let (mut costly, mut affordable) = (None, None);
    let mut stride = 0.35;
    while costly.is_none() || affordable.is_none() {
        let (value, found) = cost(at)?;
        match found {
            Some(found) if value <= goal => {
                affordable = Some((at, value, found));
                if value >= enough {
                    return Ok((libm::exp(at), found));
                }
                if at <= least {
                    return Ok((libm::exp(at), found));
                }
                if costly.is_none() {
                    at = (at - stride).max(least);
                }
            }
            _ => {
                costly = Some((at, value));
                if at >= most {
                    return Err(unreachable(format!(
                        "even {:e} costs more than epsilon {}",
                        range.1, target.epsilon
                    )));
                }
                if affordable.is_none() {
                    at = (at + stride).min(most);
                }
            }
        }
        stride *= 1.8;
    }
    let (Some((mut low, mut low_value)), Some((mut high, mut high_value, mut found))) =
        (costly, affordable)
    else {
        return Err(unreachable("no bracket was found".into()));
    };
    let mut last_side = 0;
    for _ in 0..MOST_PRICES {
        // Where the cost jumps, no parameter comes near the target.
        if high - low <= (1e-3 * target.tolerance).max(1e-15) {
            break;
        }
        let share = ((aim - low_value) / (high_value - low_value)).clamp(0.02, 0.98);
        let middle = low + share * (high - low);
        let (value, priced) = cost(middle)?;
        match priced {
            Some(priced) if value <= goal => {
                (high, high_value, found) = (middle, value, priced);
                if value >= enough {
                    break;
                }
                if last_side == 1 {
                    low_value = aim + 0.5 * (low_value - aim);
                }
                last_side = 1;
            }
            _ => {
                (low, low_value) = (middle, value);
                if last_side == -1 {
                    high_value = aim + 0.5 * (high_value - aim);
                }
                last_side = -1;
            }
        }
    }
    Ok((libm::exp(high), found))
}
