//! Walks through the words that stand together, unit by unit.

use crate::{DataError, Objective, Samples, Units};
use organza_ledger::Unit;

/// What a walk meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Two words of the unit, of which the second is the one to be predicted where that matters.
    Together(u32, u32),
    /// The unit is complete.
    EndOfUnit,
}

/// Shows every unit to `see`: a training pair is one sight; in a line or in the lines of a user,
/// any two places within the window of each other are one, not two.
pub(super) fn walk(
    samples: &Samples,
    units: &Units,
    mut see: impl FnMut(Seen),
) -> Result<(), DataError> {
    if units.unit() == Unit::Pair {
        if samples.objective() != Objective::SkipGram {
            return Err(DataError::PairsNeeded);
        }
        for pair in units.pairs(samples) {
            see(Seen::Together(pair.target, pair.context));
            see(Seen::EndOfUnit);
        }
        return Ok(());
    }
    let window = samples.window() as usize;
    for unit in 0..units.len() {
        for &line in units.lines_of(unit).unwrap_or_default() {
            let tokens = samples.corpus().line(line);
            for (place, &word) in tokens.iter().enumerate() {
                for &other in tokens[place + 1..].iter().take(window) {
                    see(Seen::Together(word, other));
                }
            }
        }
        see(Seen::EndOfUnit);
    }
    Ok(())
}
