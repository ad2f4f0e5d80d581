//! The one place where a selection of known cap and a mask get their pairs.
//!
//! Both act before sampling and are pairs on a grid of their own.

use super::plan::CappedSelection;
use super::{Pair, joint};
use organza_ledger::{AccountError, SelectedNoise};

/// A pair that dominates exponential selection with capped scores.
pub(super) fn capped(selection: &CappedSelection, tail: f64) -> Result<Pair, AccountError> {
    let CappedSelection { epsilon, draws, candidates, cap, l2 } = *selection;
    Ok(joint::CappedSelection::new(epsilon, draws, candidates, cap, l2)?.pair(tail))
}

/// A pair that dominates such a selection together with the noise on just the selected coordinates;
/// it is never dearer than both apart.
pub(super) fn selected(selected: &SelectedNoise, tail: f64) -> Result<Pair, AccountError> {
    let SelectedNoise { epsilon, draws, candidates, cap, l2, sensitivity, noise_multiplier } =
        *selected;
    let selection = joint::CappedSelection::new(epsilon, draws, candidates, cap, l2)?;
    selection.with_noise(noise_multiplier, sensitivity / l2, tail)
}
