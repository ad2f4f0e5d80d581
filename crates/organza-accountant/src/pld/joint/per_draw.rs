//! Every draw with noise of its own (Theorem 1).
//!
//! Noise on the selected coordinates is at most as telling as one Gaussian for each drawn coordinate,
//! shifted by that coordinate's part of the record, or by the most that a second clip leaves where that
//! is less: of numbers that are not negative, min(1, sum) is at most the sum of min(1, each). So the step is an adaptive composition of draws
//! that each publish a coordinate and its noisy value. Each is charged as if the record had all its
//! norm left for it, which is dear where many draws can hit.

use super::curve::Curve;
use super::facts::Facts;
use super::{Shift, draw, fold, noise};

/// How far a supremum may lie above the truth, relative to it.
const LOOSE: f64 = 1.0 + 1e-3;

/// So many points are computed one by one; of those further out every [`SPARSE`]-th, with chords
/// between them, which a convex profile does not pass.
const DENSE: usize = 128;
/// See [`DENSE`].
const SPARSE: usize = 4;

/// The most losses that the product of the draws keeps.
const MOST: usize = 8192;

/// The profile of all draws with their noise, up to the loss `top`.
pub(super) fn curve(facts: &Facts, shift: Shift, step: f64, top: f64, tail: f64) -> Curve {
    let largest = at_one(facts, shift);
    if largest >= 1.0 {
        return Curve { step, values: vec![1.0, 1.0] };
    }
    let count = (top / step).ceil() as usize + 1;
    let bound = |log: f64| largest.min(profile(facts, shift, log));
    let sparse = Curve::tabulate(step * SPARSE as f64, count / SPARSE + 1, bound);
    let mut one = Curve::tabulate(step, count, |log| sparse.at(log));
    for (index, value) in one.values.iter_mut().enumerate().take(DENSE) {
        *value = bound(index as f64 * step).min(1.0);
    }
    let product = fold::fold(&one.pair(), facts.draws, tail, MOST);
    let mut all = Curve::of(&product);
    // As in the composition of draws alone, for the round-off of the products.
    let up = 1.0 + 3e-12 * facts.draws as f64;
    all.values.iter_mut().for_each(|value| *value *= up);
    all
}

/// The total variation of one draw with its noise: that of the draw, plus
/// E_P V(1; shift(a)) <= shift(sqrt(w))/sqrt(2 pi), as the shift is concave in a and E a <= sqrt(w).
fn at_one(facts: &Facts, shift: Shift) -> f64 {
    draw::profile(facts, 0.0)
        + shift.of(facts.likeliest.sqrt()) / (2.0 * std::f64::consts::PI).sqrt() * (1.0 + 1e-12)
}

/// w sup V(e^(log - F(a) - zeta); shift(a))/a^2 over 0 < a <= 1, F(a) = min(jump, reach a), for `log`
/// above zeta; no bound (1) below it.
///
/// V grows in a, through the shift and through F, so on (low, high\] the ratio is at most
/// V(high)/low^2: intervals are halved until that is close to the largest value seen. On the first,
/// (0, a1\], F is at most F(a1), and V/a^2 grows where the shift is in proportion to a and its square t
/// is below the bend of V.
fn profile(facts: &Facts, shift: Shift, log: f64) -> f64 {
    let past = log - facts.drift;
    if past <= 0.0 {
        return 1.0;
    }
    let left = |part: f64| past - facts.jump.min(facts.reach * part);
    let value = |part: f64| noise::curve(left(part), shift.of(part));
    let mut start = shift.kept.min(0.5 * past / facts.reach.max(f64::MIN_POSITIVE));
    while left(start) <= 0.0 || shift.of(start).powi(2) > noise::bend(left(start)) {
        start *= 0.8;
        if start < 1e-12 {
            return 1.0;
        }
    }
    let first = value(start) / (start * start);
    let (mut best, mut bound) = (first, first);
    // A first round of intervals finds about where the supremum is, so that the search stays there.
    let count = 1 + (-8.0 * libm::log(start)) as usize;
    let part = |index: usize| libm::pow(start, 1.0 - index as f64 / count as f64);
    let mut open = Vec::with_capacity(count + 16);
    for index in 1..=count {
        let high = if index == count { 1.0 } else { part(index) };
        let at_high = value(high);
        best = best.max(at_high / (high * high));
        open.push((if index == 1 { start } else { part(index - 1) }, high, at_high));
    }
    let mut halvings = 0;
    while let Some((low, high, at_high)) = open.pop() {
        best = best.max(at_high / (high * high));
        let upper = at_high / (low * low);
        // Where it would take too long to be tight, what was reached is still a bound.
        if upper <= best * LOOSE || low >= high || halvings > 1500 {
            bound = bound.max(upper);
            continue;
        }
        halvings += 1;
        let middle = (low * high).sqrt();
        open.push((low, middle, value(middle)));
        open.push((middle, high, at_high));
    }
    facts.likeliest * bound * (1.0 + 1e-12)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::normal::hockey_stick;

    #[test]
    fn the_profile_is_the_supremum() {
        let facts = Facts::new(2.0, 2, 1000, 0.4, 1.0).unwrap();
        for (most, kept) in [(0.3, 1.0), (2.0, 1.0), (0.3, 0.2), (2.0, 0.6)] {
            let shift = Shift { most, kept };
            for log in [0.2, 0.5, 1.0, 2.0, 5.0] {
                let searched = (1..=5000)
                    .map(|i| f64::from(i) / 5000.0)
                    .map(|a| {
                        let left = log - facts.drift - facts.jump.min(facts.reach * a);
                        facts.likeliest * hockey_stick(left.exp(), shift.of(a)) / (a * a)
                    })
                    .fold(0.0, f64::max);
                let claimed = profile(&facts, shift, log);
                assert!(
                    claimed >= searched * (1.0 - 1e-12),
                    "{shift:?} {log}: {claimed} {searched}"
                );
                assert!(claimed <= searched * 1.002 || claimed < 1e-30, "{shift:?} {log}");
            }
        }
    }
}
