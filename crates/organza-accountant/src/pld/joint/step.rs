//! The whole step: selection, then noise on just what was selected (Theorem 2).

use super::curve::Curve;
use super::facts::Facts;
use super::hits::Hits;
use super::{Shift, noise, per_draw};
use crate::normal;
use crate::pld::Pair;

/// How finely a step is tabulated at the most.
const MOST: f64 = 4096.0;

/// Up to so many draws, each is also charged with noise of its own: tighter where draws are few and
/// sharp, and never where they are many.
const FEW: u64 = 16;

/// The thresholds s of Theorem 2, relative to the root of the expected share let through.
const SHARES: [f64; 8] = [0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0];

/// Upper bounds of the step's profile: for a record that shifts the noise by `shift` standard
/// deviations at the most, and draws that `selection` dominates, the least over s of
///
/// H(a) <= E\[V(a/r; shift s)\] + hits E\[m_s(a e^(-B)/r)\],
///
/// r the ratio of `selection` under its P, m_s as in [`Hits`], hits the expected square of the shift
/// over that of the largest. s = 1 with m_s = 0 is the composition of selection with the whole
/// Gaussian, so the result is never worse than that. For few draws the bound of [`per_draw`] competes
/// too. Values below `tail` are not followed.
pub(super) fn curve(facts: &Facts, selection: &Pair, shift: Shift, tail: f64) -> Curve {
    let (whole, hits_of_all) =
        (shift, facts.hits / (shift.kept * shift.kept) * (1.0 + 4.0 * f64::EPSILON));
    let shift = whole.most;
    let reach = 0.5 * shift * shift + normal::exceeded_with(tail) * shift;
    let highest = selection.loss(selection.masses.len() - 1).max(0.0);
    let top = reach + facts.largest_loss() + highest;
    let typical = hits_of_all.sqrt().min(1.0);
    let wanted = (shift / 160.0).min(typical * shift / 8.0).max(top / MOST);
    let selection = match_grid(selection, wanted);
    let table = Table::new(&selection, wanted, top);

    let apart = table.expectation(|log| noise::curve(log, shift), |_| Some(0.0));
    let mut best = Curve { step: table.step, values: apart.unwrap_or_default() };
    // Below this the round-off of V would swamp what a smaller s gains.
    let smallest = 1e-5 / shift;
    let hits = Hits::new(shift, 0.02 * shift * (SHARES[0] * typical).max(smallest).min(1.0), reach);
    for share in SHARES.map(|factor| factor * typical) {
        // Where the shift may be the largest all the time, nothing is gained over it.
        if share >= 1.0 || share < smallest || hits_of_all >= 1.0 {
            continue;
        }
        let values = table.expectation(
            |log| noise::curve(log, shift * share),
            |sums| {
                let first = table.first - facts.largest_loss();
                hits.add(share, hits_of_all, first, table.fine, sums)
            },
        );
        if let Some(values) = values {
            best = best.min(&Curve { step: table.step, values });
        }
    }
    if facts.draws > 0 && facts.draws <= FEW {
        let other = per_draw::curve(facts, whole, best.step, top, tail);
        best = best.min(&other);
    }
    let end = best.values.iter().position(|value| *value < tail);
    best.values.truncate(end.map_or(best.values.len(), |index| (index + 1).max(2)));
    best
}

/// `selection` on a grid no finer than an eighth of `wanted`.
fn match_grid(selection: &Pair, wanted: f64) -> Pair {
    let mut pair = selection.clone();
    while pair.step < 0.125 * wanted {
        pair = super::fold::coarser(&pair);
    }
    pair
}

/// Where a function of the threshold has to be known so that its mean over a selection pair can be
/// taken at multiples of a step close to the wanted one, from threshold 1 on.
struct Table<'a> {
    selection: &'a Pair,
    /// The distance between the logarithms of two thresholds.
    step: f64,
    /// The finer of that and the selection's own step; the coarser is it times a power of two.
    fine: f64,
    /// How many fine steps lie between two thresholds, and between two losses of the selection.
    strides: (usize, usize),
    /// The logarithm of the lowest threshold that is looked up.
    first: f64,
    /// The number of thresholds.
    count: usize,
}

impl<'a> Table<'a> {
    fn new(selection: &'a Pair, wanted: f64, top: f64) -> Self {
        let doublings = libm::floor(libm::log2(wanted / selection.step));
        let step = selection.step * libm::exp2(doublings);
        let strides = (libm::exp2(doublings.max(0.0)), libm::exp2((-doublings).max(0.0)));
        Self {
            selection,
            step,
            fine: step.min(selection.step),
            strides: (strides.0 as usize, strides.1 as usize),
            first: -selection.loss(selection.masses.len() - 1),
            count: (top / step).ceil() as usize + 1,
        }
    }

    /// E_P\[G(a/r)\] at each threshold a, G = `base` + `rest`; `rest` adds its values in place and
    /// returns its value at threshold 0, where the infinite ratios are charged.
    fn expectation(
        &self,
        base: impl Fn(f64) -> f64,
        rest: impl FnOnce(&mut [f64]) -> Option<f64>,
    ) -> Option<Vec<f64>> {
        let (between, apart) = self.strides;
        let highest = self.selection.masses.len() - 1;
        let mut values: Vec<f64> = (0..=highest * apart + self.count * between)
            .map(|index| base(self.first + index as f64 * self.fine))
            .collect();
        let at_zero = 1.0 + rest(&mut values)?;
        let mut means = vec![self.selection.infinite * at_zero; self.count];
        for (index, mass) in self.selection.masses.iter().enumerate() {
            // The highest loss looks at the lowest threshold.
            let seen = values[(highest - index) * apart..].iter().step_by(between);
            means.iter_mut().zip(seen).for_each(|(mean, value)| *mean += mass * value);
        }
        means.iter_mut().for_each(|mean| *mean = mean.min(1.0));
        Some(means)
    }
}
