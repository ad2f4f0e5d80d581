//! The one place where a selection of known cap and a mask get their pairs.
//!
//! Both act before sampling and are pairs on a grid of their own.

use super::plan::CappedSelection;
use super::{Pair, joint};
use organza_ledger::AccountError;

/// A pair that dominates exponential selection with capped scores, jointly with the noise on just
/// the selected coordinates where there is some.
pub(super) fn capped(selection: &CappedSelection, tail: f64) -> Result<Pair, AccountError> {
    let CappedSelection { epsilon, draws, candidates, cap, l2, noise_multiplier } = *selection;
    let known = joint::CappedSelection::new(epsilon, draws, candidates, cap, l2)?;
    match noise_multiplier {
        None => Ok(known.pair(tail)),
        Some(multiplier) => known.with_noise(multiplier, tail),
    }
}

/// A pair that dominates Gaussian noise behind a uniform mask that lets `share` of the coordinates
/// through, its multiplier relative to the change of the whole vector.
pub(super) fn masked(share: f64, noise_multiplier: f64, tail: f64) -> Result<Pair, AccountError> {
    joint::uniform_mask(share, noise_multiplier, tail)
}
