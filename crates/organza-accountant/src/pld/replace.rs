//! Replacing a unit of a Poisson batch by another.

use super::sample::Atoms;
use super::{Direction, Pair};

/// The loss of `pair` when one unit is replaced by another, each in the batch with probability
/// `rate`: with it the batch differs by a replacement, without it not at all.
///
/// By joint convexity H_a <= (1-q) H_a(R||R) + q H_a(P||Q) for a >= 1, R the law without either unit:
/// an atom at loss zero that both laws share. Nothing smaller holds if only the sensitivity to
/// replacement is known: R may then be far from both, so that the output shows whether the unit was
/// sampled (take a count, which no replacement changes, beside the noise).
pub(super) fn replaced(pair: &Pair, rate: f64, direction: Direction) -> Atoms {
    if rate >= 1.0 {
        return Atoms::sampled(pair, 1.0, direction);
    }
    Atoms::sampled(&pair.diluted(rate), 1.0, direction)
}
