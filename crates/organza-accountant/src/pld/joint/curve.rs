//! A symmetric profile as upper bounds at thresholds e^(j step), and the pair that has its chords.

use crate::pld::Pair;

/// Curves are raised by this factor before they become masses: it covers the round-off of second
/// differences, which is of the order of 1e-16 over the step.
const UP: f64 = 1.0 + 1e-9;

/// Losses below minus this have P-masses too small for a float.
const DEEPEST: f64 = 600.0;

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

    /// The smaller of two bounds; past its last point a curve keeps its last value.
    pub(super) fn min(mut self, other: &Self) -> Self {
        let last = other.values.len() - 1;
        for (index, value) in self.values.iter_mut().enumerate() {
            *value = value.min(other.values[index.min(last)]);
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

    /// The pair whose profile is the chords of this convex curve: masses are second differences,
    /// the value at the last point is the infinite mass.
    pub(super) fn pair(mut self) -> Pair {
        self.values.iter_mut().for_each(|value| *value = (*value * UP).min(1.0));
        let curve = self.convex();
        let (step, values) = (curve.step, &curve.values);
        let top = values.len() - 1;
        let slope =
            |index: usize| if index < top { values[index + 1] - values[index] } else { 0.0 };
        let (ahead, behind) = (libm::expm1(step), -libm::expm1(-step));
        let upper: Vec<f64> = (1..=top)
            .map(|index| (slope(index) / ahead - slope(index - 1) / behind).max(0.0))
            .collect();
        let infinite = values[top];
        let (mut lower, mut only_without) = (Vec::with_capacity(top), infinite);
        for (index, mass) in upper.iter().enumerate() {
            let loss = step * (index + 1) as f64;
            // By symmetry Q has this mass at -loss. Further down P's would be no float, and all of
            // it goes to where P has none.
            if loss > DEEPEST {
                only_without += mass;
            } else {
                lower.push(mass * libm::exp(-loss));
            }
        }
        let lowest = -(lower.len() as i64);
        let middle = 1.0 - infinite - upper.iter().sum::<f64>() - lower.iter().sum::<f64>();
        lower.reverse();
        let masses = lower.into_iter().chain([middle.max(0.0)]).chain(upper).collect();
        Pair { step, lowest, masses, infinite, only_without }
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
            assert!(delta >= value * (1.0 - 1e-10) && delta <= value * (1.0 + 1e-7) + 1e-25);
        }
        let without: f64 =
            (0..pair.masses.len()).map(|i| pair.masses[i] * (-pair.loss(i)).exp()).sum();
        assert!((pair.masses.iter().sum::<f64>() + pair.infinite - 1.0).abs() < 1e-12);
        assert!((without + pair.only_without - 1.0).abs() < 1e-9);
        // Below 1 the profile is the mirror image.
        assert!((pair.delta(-0.7) - hockey_stick((-0.7f64).exp(), 1.0)).abs() < 1e-3);
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
