//! A symmetric profile as upper bounds at thresholds e^(j step), and the pair that has its chords.

use super::fold;
use crate::pld::{Pair, grid};

/// Curves are raised by this factor before they become masses, for the round-off of the few
/// thousand additions behind each value.
const UP: f64 = 1.0 + 1e-11;

/// The most points of a curve that is taken from a pair.
const MOST: i64 = 8192;

/// Upper bounds of H at e^(j `step`), j = 0, 1, .., of mechanisms whose class is closed under a
/// swap of the neighbours, so that H(1/a) = 1 - 1/a + H(a)/a bounds it below 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curve {
    pub(super) step: f64,
    pub(super) values: Vec<f64>,
}

impl Curve {
    /// Tabulates `bound`, a function of the logarithm of the threshold, at `count` + 1 points.
    pub(super) fn tabulate(step: f64, count: usize, bound: impl Fn(f64) -> f64) -> Self {
        Self {
            step,
            values: (0..=count).map(|index| bound(index as f64 * step).min(1.0)).collect(),
        }
    }

    /// The profile of `pair`, as sums of positive terms: exact, unless its losses reach so far that a
    /// coarser grid has to do.
    pub(super) fn of(pair: &Pair) -> Self {
        let highest = pair.lowest + pair.masses.len() as i64 - 1;
        if highest > MOST {
            return Self::of(&fold::coarser(pair));
        }
        let mut values = vec![pair.infinite; highest.max(1) as usize + 1];
        let (shrink, lost) = (libm::exp(-pair.step), -libm::expm1(-pair.step));
        let mut above = 0.0;
        for index in (0..values.len() - 1).rev() {
            let place = index as i64 + 1 - pair.lowest;
            let mass = usize::try_from(place).ok().and_then(|place| pair.masses.get(place));
            above += mass.copied().unwrap_or(0.0);
            values[index] = values[index + 1] + lost * above;
            above *= shrink;
        }
        Self { step: pair.step, values }
    }

    /// The chord at e^`log`; past its last point a curve keeps its last value.
    pub(super) fn at(&self, log: f64) -> f64 {
        let place = log / self.step;
        let index = place.floor() as usize;
        let Some(next) = self.values.get(index + 1) else {
            return self.values[self.values.len() - 1];
        };
        let share = libm::expm1((place - index as f64) * self.step) / libm::expm1(self.step);
        if share > 0.0 {
            self.values[index] * (1.0 - share) + next * share
        } else {
            self.values[index]
        }
    }

    /// The smaller of two bounds.
    pub(super) fn min(mut self, other: &Self) -> Self {
        for (index, value) in self.values.iter_mut().enumerate() {
            *value = value.min(other.at(index as f64 * self.step));
        }
        self
    }

    /// The greatest convex symmetric curve below the points.
    ///
    /// A true profile is convex and lies below every point, hence below each chord between two of
    /// them, so the result still bounds it. The chord that crosses 1 joins a point with its mirror
    /// image: a line that is its own mirror image is c + (c-1)/2 (a-1), and through (a, h) it has
    /// c = (a - 1 + 2h)/(a + 1).
    pub(super) fn convex(mut self) -> Self {
        let log = |index: usize| index as f64 * self.step;
        let at_one = self.values.iter().enumerate().fold(1.0f64, |least, (index, value)| {
            let crossing =
                libm::tanh(0.5 * log(index)) + 2.0 * value / (1.0 + libm::exp(log(index)));
            least.min(crossing)
        });
        self.values[0] = at_one;
        let values = &self.values;
        let mut corners: Vec<usize> = Vec::with_capacity(values.len());
        for index in 0..values.len() {
            while let [.., before, last] = corners[..] {
                // Slopes times the threshold of the middle point, which may itself overflow.
                let left = (values[last] - values[before]) / -libm::expm1(log(before) - log(last));
                let right = (values[index] - values[last]) / libm::expm1(log(index) - log(last));
                if left < right {
                    break;
                }
                corners.pop();
            }
            corners.push(index);
        }
        let mut hull = vec![values[corners[0]]];
        for pair in corners.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            for index in from + 1..=to {
                let far = libm::expm1(log(from) - log(to));
                let share = libm::expm1(log(index) - log(to)) / far;
                let other =
                    libm::exp(log(index) - log(to)) * libm::expm1(log(from) - log(index)) / far;
                hull.push(values[from] * share + values[to] * other);
            }
        }
        self.values = hull;
        self
    }

    /// The pair whose profile is the chords of this curve, made convex first.
    pub(super) fn pair(mut self) -> Pair {
        self.values.iter_mut().for_each(|value| *value = (*value * UP).min(1.0));
        let curve = self.convex();
        grid::symmetric_from_curve(curve.step, &curve.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::hockey_stick;

    #[test]
    fn a_pair_has_the_chords_of_its_curve() {
        let curve = Curve::tabulate(0.05, 300, |log| hockey_stick(log.exp(), 1.0));
        let pair = curve.clone().pair();
        for (index, value) in curve.values.iter().enumerate() {
            let delta = pair.delta(0.05 * index as f64);
            assert!((curve.at(0.05 * index as f64) / value - 1.0).abs() < 1e-9);
            assert!(delta >= value * (1.0 - 1e-13) && delta <= value * (1.0 + 1e-7) + 1e-25);
        }
        let without: f64 =
            (0..pair.masses.len()).map(|i| pair.masses[i] * (-pair.loss(i)).exp()).sum();
        assert!((pair.masses.iter().sum::<f64>() + pair.infinite - 1.0).abs() < 1e-12);
        assert!((without + pair.only_without - 1.0).abs() < 1e-9);
        // Below 1 the profile is the mirror image.
        assert!((pair.delta(-0.7) - hockey_stick((-0.7f64).exp(), 1.0)).abs() < 1e-3);
    }

    #[test]
    fn the_profile_of_a_pair_is_exact_between_points_too() {
        let pair = Curve::tabulate(0.1, 90, |log| hockey_stick(log.exp(), 1.0)).pair();
        let curve = Curve::of(&pair);
        for log in [0.0, 0.03, 0.1, 0.77, 3.0, 8.96, 9.5] {
            let (value, delta) = (curve.at(log), pair.delta(log));
            assert!((value - delta).abs() <= 1e-12 * delta + 1e-30, "{log} {value} {delta}");
        }
    }

    #[test]
    fn losses_beyond_all_floats_keep_their_mass() {
        let pair = Curve::tabulate(10.0, 120, |log| if log < 1000.0 { 1.0 } else { 0.2 }).pair();
        let (with, without) = pair.totals();
        assert!((with - 1.0).abs() < 1e-9 && (without - 1.0).abs() < 1e-9, "{with} {without}");
    }

    #[test]
    fn the_hull_stays_above_a_convex_curve_below_its_points() {
        let convex = Curve::tabulate(0.1, 60, |log| hockey_stick(log.exp(), 1.5));
        let mut rough = convex.clone();
        for (index, value) in rough.values.iter_mut().enumerate() {
            *value *= 1.0 + 0.5 * ((index * 7919) % 13) as f64 / 13.0;
        }
        rough.values[0] = 1.0;
        let hull = rough.clone().convex();
        for ((low, high), point) in convex.values.iter().zip(&hull.values).zip(&rough.values) {
            assert!(high >= &(low * (1.0 - 1e-12)) && high <= &(point * (1.0 + 1e-12)));
        }
        assert!(hull.values[0] < 0.99);
    }
}
