//! The one place where a selection of known cap and a mask get their pairs.
//!
//! Both act before sampling and are pairs on a grid of their own.

use super::plan::CappedSelection;
use super::{Pair, bounded_range, gaussian};
use organza_ledger::AccountError;

/// A pair that dominates exponential selection with capped scores, jointly with the noise on just
/// the selected coordinates where there is some.
///
/// By bounded range alone: sound whatever the cap, and the Gaussian is charged in full.
pub(super) fn capped(selection: &CappedSelection, tail: f64) -> Result<Pair, AccountError> {
    let draws = bounded_range::pair(selection.epsilon, selection.draws, tail);
    Ok(match selection.noise_multiplier {
        None => draws,
        Some(multiplier) => draws.convolve(&gaussian::pair(multiplier, draws.step, tail)),
    })
}

/// A pair that dominates Gaussian noise behind a uniform mask that lets `share` of the coordinates
/// through, its multiplier relative to the change of the whole vector.
///
/// The mask does not depend on the data, so the noise costs at most what it costs without.
pub(super) fn masked(_share: f64, noise_multiplier: f64, tail: f64) -> Result<Pair, AccountError> {
    Ok(gaussian::pair(noise_multiplier, 0.01 / noise_multiplier, tail))
}
