//! The one place where a selection of known cap and a mask get their pairs.
//!
//! Both act before sampling and are pairs on a grid of their own.

use super::plan::{Batch, CappedSelection};
use super::{Pair, bounded_range, gaussian, prepared::Prepared};
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

/// A pair that dominates `batch` behind a uniform mask that lets `share` of the coordinates through.
///
/// The mask does not depend on the data, so what is behind it costs at most what it costs without.
pub(super) fn masked(_share: f64, batch: &Batch, tail: f64) -> Result<Prepared, AccountError> {
    Prepared::new(batch, tail)
}
