//! A dominating pair of distributions, as masses on a uniform grid of privacy losses.

use super::grid;

/// The largest number of losses that repeated convolution keeps; beyond it the grid is coarsened.
const MOST_CELLS: usize = 6000;

/// The lowest finite loss: below it a P-mass could not be told from zero, so Q's mass would be lost.
pub(super) const LOWEST_LOSS: f64 = -600.0;

/// What a sum of Q-masses may have lost to rounding where it decides what went below [`LOWEST_LOSS`].
const LOST_ERROR: f64 = 1e-12;

/// A pair (P, Q) that dominates a mechanism: for every threshold a, H_a(P||Q) = E_Q\[(dP/dQ - a)+\]
/// is at least that of the mechanism's outputs on neighbouring inputs.
///
/// P is the law with the unit, Q the law without it. The loss log(dP/dQ) takes the values
/// `(lowest + i) * step` with P-mass `masses[i]`, hence Q-mass `masses[i] * exp(-loss)`.
///
/// Domination is the convex order of dP/dQ under Q, so every operation on a pair has to be a
/// mean-preserving spread of that ratio at the worst; rounding a loss is never needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The distance between neighbouring losses.
    pub step: f64,
    /// The index of the lowest loss.
    pub lowest: i64,
    /// The P-mass at each loss.
    pub masses: Vec<f64>,
    /// The P-mass where Q has none (loss plus infinity).
    pub infinite: f64,
    /// The Q-mass where P has none (loss minus infinity).
    pub only_without: f64,
}

impl Pair {
    /// The pair of a mechanism that releases nothing.
    pub(crate) fn identity(step: f64) -> Self {
        Self { step, lowest: 0, masses: vec![1.0], infinite: 0.0, only_without: 0.0 }
    }

    /// The pair with P-mass `mass` at each `loss`, split onto the grid as [`grid::split`] does.
    ///
    /// What the masses lack of one has to be given as `infinite` and `only_without`.
    pub(crate) fn from_atoms(
        step: f64,
        atoms: impl IntoIterator<Item = (f64, f64)> + Clone,
        infinite: f64,
        only_without: f64,
    ) -> Self {
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        for (loss, _) in atoms.clone() {
            let index = (loss / step).floor() as i64;
            first = first.min(index);
            last = last.max(index);
        }
        if first > last {
            return Self { step, lowest: 0, masses: vec![0.0], infinite, only_without };
        }
        let mut masses = vec![0.0; (last - first + 2) as usize];
        for (loss, mass) in atoms {
            let (index, left) = grid::split(loss, step);
            let place = (index - first) as usize;
            masses[place] += mass * left;
            masses[place + 1] += mass * (1.0 - left);
        }
        Self { step, lowest: first, masses, infinite, only_without }
    }

    /// The loss at position `index`.
    pub(crate) fn loss(&self, index: usize) -> f64 {
        (self.lowest + index as i64) as f64 * self.step
    }

    /// The losses that carry mass, each with its P-mass.
    pub(crate) fn atoms(&self) -> impl Iterator<Item = (f64, f64)> + Clone + '_ {
        self.masses
            .iter()
            .enumerate()
            .filter(|(_, mass)| **mass > 0.0)
            .map(|(index, mass)| (self.loss(index), *mass))
    }

    /// All of P's mass and all of Q's mass: one and one, up to rounding.
    pub fn totals(&self) -> (f64, f64) {
        let (mut with, mut without) = (self.infinite, self.only_without);
        for (loss, mass) in self.atoms() {
            with += mass;
            without += mass * libm::exp(-loss);
        }
        (with, without)
    }

    /// H at exp(`epsilon`): the delta of one use.
    pub fn delta(&self, epsilon: f64) -> f64 {
        let above: f64 = (0..self.masses.len())
            .rev()
            .map(|index| (self.loss(index), self.masses[index]))
            .take_while(|(loss, _)| *loss > epsilon)
            .map(|(loss, mass)| -libm::expm1(epsilon - loss) * mass)
            .sum();
        above + self.infinite
    }

    /// The same pair on another grid, every loss split onto its two neighbours: pessimistic, and
    /// without effect where the new grid holds the old one.
    pub(crate) fn regrid(&self, step: f64) -> Self {
        if step == self.step {
            return self.clone();
        }
        let factor = (self.step / step).round();
        if factor >= 1.0 && (step * factor - self.step).abs() <= 1e-15 * self.step {
            return self.refined(factor as usize, step);
        }
        Self::from_atoms(step, self.atoms(), self.infinite, self.only_without)
    }

    /// The same pair on a grid `factor` times as fine, with nothing at the new losses: exact.
    fn refined(&self, factor: usize, step: f64) -> Self {
        let mut masses = vec![0.0; (self.masses.len() - 1) * factor + 1];
        for (index, mass) in self.masses.iter().enumerate() {
            masses[index * factor] = *mass;
        }
        Self { step, lowest: self.lowest * factor as i64, masses, ..*self }
    }

    /// Adaptive composition: the product of the pairs, their losses added.
    ///
    /// The convolution is direct, so that even the smallest masses are relatively accurate: after
    /// subsampling, a P-mass weighs as much as its loss is large. `other` moves to this grid first.
    pub fn convolve(&self, other: &Self) -> Self {
        let other = other.regrid(self.step);
        let (longer, shorter) =
            if self.masses.len() >= other.masses.len() { (self, &other) } else { (&other, self) };
        let mut masses = vec![0.0; longer.masses.len() + shorter.masses.len() - 1];
        for (offset, weight) in shorter.masses.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
            let target = &mut masses[offset..offset + longer.masses.len()];
            target.iter_mut().zip(&longer.masses).for_each(|(sum, mass)| *sum += weight * mass);
        }
        Self {
            step: self.step,
            lowest: self.lowest + other.lowest,
            masses,
            infinite: either(self.infinite, other.infinite),
            only_without: either(self.only_without, other.only_without),
        }
        .floored()
    }

    /// Moves losses below [`LOWEST_LOSS`] to minus infinity, where Q keeps its mass.
    ///
    /// P-masses may have vanished there, so that Q's mass is found as what the others lack of one.
    fn floored(mut self) -> Self {
        let floor = (LOWEST_LOSS / self.step).ceil() as i64;
        if self.lowest >= floor {
            return self;
        }
        let below = ((floor - self.lowest) as usize).min(self.masses.len() - 1);
        let moved: f64 = self.masses.drain(..below).sum();
        self.masses[0] += moved;
        self.lowest += below as i64;
        let lost = 1.0 - self.totals().1;
        self.only_without = (self.only_without + lost.max(0.0) + LOST_ERROR).min(1.0);
        self
    }

    /// The adaptive composition of `times` uses, by repeated squaring.
    ///
    /// After every product, mass up to `tail` is trimmed at each end and a grid that became too
    /// long is halved; both are pessimistic.
    pub(crate) fn power(&self, times: u64, tail: f64) -> Self {
        let mut product = Self::identity(self.step);
        let mut square = self.clone();
        let mut left = times;
        while left > 0 {
            if left & 1 == 1 {
                product = product.convolve(&square).trimmed(tail).shortened();
                square = square.regrid(product.step);
            }
            left >>= 1;
            if left > 0 {
                square = square.convolve(&square).trimmed(tail).shortened();
                product = product.regrid(square.step);
            }
        }
        product
    }

    /// Drops mass of up to `tail` at each end, as a mean-preserving spread of the ratio: what lies
    /// above the highest kept loss goes there and to plus infinity, what lies below the lowest kept
    /// loss goes there and to minus infinity.
    pub(crate) fn trimmed(mut self, tail: f64) -> Self {
        let mut above = 0.0;
        let mut highest = self.masses.len() - 1;
        while highest > 0 && above + self.masses[highest] <= tail {
            above += self.masses[highest];
            highest -= 1;
        }
        let mut below = 0.0;
        let mut first = 0;
        while first < highest {
            let mass = self.masses[first] * libm::exp(-self.loss(first));
            if below + mass > tail {
                break;
            }
            below += mass;
            first += 1;
        }
        let top = self.loss(highest);
        let kept: f64 = (highest + 1..self.masses.len())
            .map(|index| self.masses[index] * libm::exp(top - self.loss(index)))
            .sum();
        let low: f64 = self.masses[..first].iter().sum();
        let bottom = self.loss(first);
        self.only_without += (below - low * libm::exp(-bottom)).max(0.0);
        self.infinite += (above - kept).max(0.0);
        self.masses.truncate(highest + 1);
        self.masses[highest] += kept;
        self.masses.drain(..first);
        self.masses[0] += low;
        self.lowest += first as i64;
        self
    }

    /// The same pair on a grid so coarse that few enough losses remain.
    fn shortened(self) -> Self {
        let mut pair = self;
        while pair.masses.len() > MOST_CELLS {
            pair = pair.regrid(2.0 * pair.step);
        }
        pair
    }

    /// The pair of a mechanism that acts with probability `share` and otherwise, visibly, does
    /// nothing that depends on the unit: an atom at loss zero that P and Q have in common.
    pub(crate) fn diluted(&self, share: f64) -> Self {
        let lowest = self.lowest.min(0);
        let highest = (self.lowest + self.masses.len() as i64 - 1).max(0);
        let mut masses = vec![0.0; (highest - lowest + 1) as usize];
        masses[-lowest as usize] = 1.0 - share;
        let start = (self.lowest - lowest) as usize;
        masses[start..].iter_mut().zip(&self.masses).for_each(|(sum, mass)| *sum += share * mass);
        Self {
            step: self.step,
            lowest,
            masses,
            infinite: share * self.infinite,
            only_without: share * self.only_without,
        }
    }
}

/// The probability that one of two independent events happens.
fn either(one: f64, other: f64) -> f64 {
    one + other - one * other
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(epsilon: f64, step: f64) -> Pair {
        let high = 1.0 / (1.0 + libm::exp(-epsilon));
        Pair::from_atoms(step, [(-epsilon, 1.0 - high), (epsilon, high)], 0.0, 0.0)
    }

    fn assert_whole(pair: &Pair) {
        let (with, without) = pair.totals();
        assert!((with - 1.0).abs() < 1e-12 && (without - 1.0).abs() < 1e-12, "{with} {without}");
    }

    #[test]
    fn every_operation_keeps_both_masses_and_only_raises_the_curve() {
        let exact = response(0.7, 0.1);
        let split = response(0.7, 0.043);
        let trimmed = split.power(9, 1e-30).trimmed(1e-3);
        for pair in [&exact, &split, &trimmed, &split.diluted(0.1), &exact.regrid(0.09)] {
            assert_whole(pair);
        }
        for step in 0..60 {
            let epsilon = -3.0 + 0.1 * step as f64;
            let truth = exact.power(9, 0.0).delta(epsilon);
            assert!(split.power(9, 0.0).delta(epsilon) >= truth - 1e-14);
            assert!(trimmed.delta(epsilon) >= truth - 1e-14);
        }
    }

    #[test]
    fn a_finer_grid_that_holds_the_old_one_changes_nothing() {
        let exact = response(0.5, 0.5);
        assert_eq!(exact.regrid(0.125).delta(0.2), exact.delta(0.2));
        assert_eq!(exact.regrid(0.125).totals(), exact.totals());
    }

    #[test]
    fn rounding_losses_down_would_be_caught() {
        let truth = response(0.7, 0.1);
        let mut broken = Pair { step: 0.2, lowest: -4, masses: vec![0.0; 9], ..truth.clone() };
        for (loss, mass) in truth.atoms() {
            broken.masses[((loss / 0.2).floor() + 4.0) as usize] += mass;
        }
        assert!(broken.delta(0.3) < truth.delta(0.3));
        assert!((broken.totals().1 - 1.0).abs() > 1e-3);
    }
}
