//! The one place where a selection of known cap and a mask get their pairs.
//!
//! Both act before sampling and are pairs on a grid of their own.

use super::plan::{Batch, CappedSelection};
use super::{Pair, joint, prepared::Prepared};
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

/// A pair that dominates `batch` behind a uniform mask that lets `share` of the coordinates through.
///
/// Gaussians on the masked coordinates see a random part of the record. For anything else no more is
/// used than that the mask does not depend on the data, so what is behind it costs at most what it
/// costs without.
pub(super) fn masked(share: f64, batch: &Batch, tail: f64) -> Result<Prepared, AccountError> {
    if !batch.parts.is_empty() || batch.shift_square <= 0.0 {
        return Prepared::new(batch, tail);
    }
    let pair = joint::uniform_mask(share, batch.shift_square.sqrt().recip(), tail)?;
    Ok(Prepared::on_grid(pair, tail))
}
