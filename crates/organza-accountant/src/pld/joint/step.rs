//! The whole step: selection, then noise on just what was selected (Theorem 2).

use super::curve::Curve;
use super::facts::Facts;
use super::hits::Hits;
use super::noise;
use crate::normal;
use crate::pld::Pair;

/// Profiles are followed until they fall below this.
const TAIL: f64 = 1e-26;

/// How finely a step is tabulated at the most.
const MOST: f64 = 4096.0;

/// The thresholds s of Theorem 2, relative to the root of the expected share let through.
const SHARES: [f64; 8] = [0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0];

/// Upper bounds of the step's profile: for a record that shifts the noise by `shift` standard
/// deviations if all of it is selected, and draws that `selection` dominates, the least over s of
///
/// H(a) <= E\[V(a/r; shift s)\] + hits E\[m_s(a e^(-B)/r)\],
///
/// r the ratio of `selection` under its P, m_s as in [`Hits`]. s = 1 with m_s = 0 is the composition
/// of selection with the whole Gaussian, so the result is never worse than that.
pub(super) fn curve(facts: &Facts, selection: &Pair, shift: f64) -> Curve {
    let reach = 0.5 * shift * shift + normal::exceeded_with(TAIL) * shift;
    let highest = selection.loss(selection.masses.len() - 1).max(0.0);
    let top = reach + facts.largest_loss() + highest;
    let typical = facts.hits.sqrt().min(1.0);
    let wanted = (shift / 160.0).min(typical * shift / 8.0).max(top / MOST);
    let selection = match_grid(selection, wanted);
    let doublings = libm::floor(libm::log2(wanted / selection.step)).max(0.0);
    let table = Table::new(&selection, libm::exp2(doublings) as usize, top);

    let whole = table.expectation(|log| noise::curve(log, shift), |_| Some(0.0));
    let mut best = Curve { step: table.step(), values: whole.unwrap_or_default() };
    // Below this the round-off of V would swamp what a smaller s gains.
    let smallest = 1e-5 / shift;
    let hits = Hits::new(shift, 0.02 * shift * (SHARES[0] * typical).max(smallest).min(1.0), reach);
    for share in SHARES.map(|factor| factor * typical) {
        if share >= 1.0 || share < smallest {
            continue;
        }
        let values = table.expectation(
            |log| noise::curve(log, shift * share),
            |sums| {
                let first = table.first() - facts.largest_loss();
                hits.add(share, facts.hits, first, selection.step, sums)
            },
        );
        if let Some(values) = values {
            best = best.min(&Curve { step: table.step(), values });
        }
    }
    let end = best.values.iter().position(|value| *value < TAIL);
    best.values.truncate(end.map_or(best.values.len(), |index| (index + 1).max(2)));
    best
}

/// `selection` on a grid no finer than a quarter of `wanted`.
fn match_grid(selection: &Pair, wanted: f64) -> Pair {
    let mut pair = selection.clone();
    while pair.step < 0.125 * wanted {
        pair = super::fold::coarser(&pair);
    }
    pair
}

/// Where a function of the threshold has to be known so that its mean over a selection pair can be
/// taken at every `stride`-th multiple of the pair's step, from threshold 1 on.
struct Table<'a> {
    selection: &'a Pair,
    stride: usize,
    count: usize,
}

impl<'a> Table<'a> {
    fn new(selection: &'a Pair, stride: usize, top: f64) -> Self {
        let count = (top / (selection.step * stride as f64)).ceil() as usize + 1;
        Self { selection, stride, count }
    }

    /// The distance between the logarithms of two thresholds.
    fn step(&self) -> f64 {
        self.selection.step * self.stride as f64
    }

    /// The logarithm of the lowest threshold that is looked up.
    fn first(&self) -> f64 {
        -self.selection.loss(self.selection.masses.len() - 1)
    }

    /// E_P\[G(a/r)\] at each threshold a, G = `base` + `rest`; `rest` adds its values in place and
    /// returns its value at threshold 0, where the infinite ratios are charged.
    fn expectation(
        &self,
        base: impl Fn(f64) -> f64,
        rest: impl FnOnce(&mut [f64]) -> Option<f64>,
    ) -> Option<Vec<f64>> {
        let width = self.selection.masses.len();
        let (first, step) = (self.first(), self.selection.step);
        let mut values: Vec<f64> = (0..width + self.count * self.stride)
            .map(|index| base(first + index as f64 * step))
            .collect();
        let at_zero = 1.0 + rest(&mut values)?;
        let charged = self.selection.infinite * at_zero;
        let means = (0..=self.count).map(|index| {
            let window = &values[index * self.stride..][..width];
            let mean: f64 = window
                .iter()
                .zip(self.selection.masses.iter().rev())
                .map(|(value, mass)| value * mass)
                .sum();
            (mean + charged).min(1.0)
        });
        Some(means.collect())
    }
}
