//! Walks through the words that stand together, unit by unit.

use crate::{DataError, Objective, Samples, Units};
use organza_ledger::Unit;
use organza_mechanism::{Histogram, HistogramPlan, Release};
use organza_progress::{Size, Stage};
use rayon::prelude::*;
use std::ops::Range;

/// Each part of the units has a histogram of its own.
const MOST_PARTS: u64 = 8;
/// After so many units it is told how far a part has come.
const TELL_EVERY: u64 = 64;

/// What a walk meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Two words of the unit, of which the second is the one to be predicted where that matters.
    Together(u32, u32),
    /// The unit is complete.
    EndOfUnit,
}

/// The histogram of all units, on the threads of the current pool: each part of the units is shown to one of `workers`, which
/// adds what it sees to the histogram of this part. Where a release does not look at the units, it is empty. Sums are of whole numbers, so the parts do not matter.
pub(super) fn counted<W: FnMut(Seen, &mut Histogram)>(
    samples: &Samples,
    units: &Units,
    (plan, release): (&HistogramPlan, &Release),
    stage: &'static str,
    workers: impl Fn() -> W + Sync,
) -> Result<Histogram, DataError> {
    if !release.looks_at_units() {
        return Ok(plan.histogram());
    }
    let most = if units.unit() == Unit::Pair { 1 } else { MOST_PARTS };
    let parts = (rayon::current_num_threads() as u64).clamp(1, most);
    let bound = |part: u64| (u128::from(units.len()) * u128::from(part) / u128::from(parts)) as u64;
    let stage = Stage::begin(stage, Size::Hidden(units.len()));
    let counted = |part: u64| {
        let (mut histogram, mut worker) = (plan.histogram(), workers());
        let part = bound(part)..bound(part + 1);
        let mut ended = 0;
        walk(samples, units, part, |seen| {
            worker(seen, &mut histogram);
            if seen == Seen::EndOfUnit {
                ended += 1;
                if ended % TELL_EVERY == 0 {
                    stage.add(TELL_EVERY);
                }
            }
        })?;
        stage.add(ended % TELL_EVERY);
        Ok(histogram)
    };
    (0..parts)
        .into_par_iter()
        .map(counted)
        .try_reduce_with(|one, other| Ok(one.joined(other)))
        .unwrap_or_else(|| Ok(plan.histogram()))
}

/// Shows some units to `see`: a training pair is one sight; in a line or in the lines of a user,
/// any two places within the window of each other are one, not two. Training pairs are all shown, whatever the range.
fn walk(
    samples: &Samples,
    units: &Units,
    range: Range<u64>,
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
    for unit in range {
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
