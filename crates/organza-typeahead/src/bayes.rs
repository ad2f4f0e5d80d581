//! Empirical Bayes: how much of a noisy count is a count, by what all counts of its kind look like.

/// Observations are put into bins of this width, in deviations of the noise, from the first on.
const STEP: f64 = 0.1;
const FIRST: f64 = -6.0;
const BINS: usize = 600;
/// Beyond so many deviations an observation is taken for what it says.
const LARGE: f32 = 50.0;
/// So many counts there may be, in deviations: from a part of what is expected up to the largest, in equal ratios. None of them is nothing: far
/// below the noise, what was expected has to tell cells apart.
const COUNTS: usize = 90;
const LEAST_PART: f64 = 0.25;
const SMALLEST: f64 = 1e-5;
const LARGEST: f64 = 60.0;
/// How often the law of counts is improved.
const ROUNDS: usize = 100;
/// A kind with fewer observations than this is taken for the next one that has more.
const FEWEST: f64 = 200.0;

/// What was observed: counts with noise, in deviations of the noise, by kinds. Kinds are intervals of the logarithm (to base 2) of what was
/// expected, in the same unit, each `width` wide.
#[derive(Debug)]
pub(crate) struct Observed {
    first: f32,
    width: f32,
    /// For each kind how many are in each bin.
    bins: Vec<Vec<f64>>,
    /// For each kind how many are below the bar.
    below: Vec<f64>,
    bar: f64,
}

/// The mean of a count, given what was observed and expected.
#[derive(Debug)]
pub(crate) struct Posterior {
    first: f32,
    width: f32,
    /// For each kind the logarithm of the mean, by bin.
    means: Vec<Vec<f32>>,
    /// For each kind the logarithm of the mean of what is below the bar.
    below: Vec<f32>,
}

impl Observed {
    /// Nothing yet, of kinds from the logarithm `first` to `last`; what is below `bar` deviations is known by its number alone.
    pub(crate) fn new(first: f32, last: f32, width: f32, bar: f64) -> Self {
        let kinds = (((last - first) / width).max(0.0) as usize + 2).min(64);
        Self { first, width, bins: vec![vec![0.0; BINS]; kinds], below: vec![0.0; kinds], bar }
    }

    fn kind(&self, expected: f32) -> usize {
        place(self.first, self.width, self.bins.len(), expected).round() as usize
    }

    /// One more.
    pub(crate) fn add(&mut self, expected: f32, observed: f32) {
        let kind = self.kind(expected);
        self.bins[kind][bin(observed)] += 1.0;
    }

    /// So many more, below the bar.
    pub(crate) fn add_below(&mut self, expected: f32, number: f64) {
        let kind = self.kind(expected);
        self.below[kind] += number;
    }

    /// The law of the counts of each kind that makes what was observed most probable (a nonparametric maximum-likelihood estimate of the
    /// mixing distribution, by expectation and maximisation), and the means that follow from it by Bayes' rule.
    ///
    /// # Privacy
    /// Observations are released counts, so this is a post-processing.
    pub(crate) fn posterior(&self) -> Posterior {
        let fitted = |kind: usize| {
            let total = self.bins[kind].iter().sum::<f64>() + self.below[kind];
            (total >= FEWEST).then(|| self.fitted(kind, total))
        };
        let fitted: Vec<Option<(Vec<f32>, f32)>> = (0..self.bins.len()).map(fitted).collect();
        // A kind with few observations is as the nearest one that has enough; without any, counts are what was expected.
        let nearest = |kind: usize| {
            let known = (0..fitted.len()).filter(|other| fitted[*other].is_some());
            known.min_by_key(|other| other.abs_diff(kind)).and_then(|it| fitted[it].clone())
        };
        let all = (0..fitted.len()).map(|kind| {
            let expected = self.expected(kind).ln() as f32;
            nearest(kind).unwrap_or_else(|| (vec![expected; BINS], expected))
        });
        let (means, below) = all.unzip();
        Posterior { first: self.first, width: self.width, means, below }
    }
}

impl Observed {
    /// What is expected of a kind.
    fn expected(&self, kind: usize) -> f64 {
        f64::from(self.first + self.width * kind as f32).exp2()
    }

    /// The logarithms of the means of a kind, by bin and below the bar.
    fn fitted(&self, kind: usize, total: f64) -> (Vec<f32>, f32) {
        let expected = self.expected(kind);
        let (least, most) = match expected < LARGEST {
            true => ((LEAST_PART * expected).max(SMALLEST), LARGEST),
            false => (LEAST_PART * expected, expected / LEAST_PART),
        };
        let ratio = |at: usize| (most / least).powf(at as f64 / (COUNTS - 1) as f64);
        let counts: Vec<f64> = (0..COUNTS).map(|at| least * ratio(at)).collect();
        let middle = |bin: usize| FIRST + STEP * (bin as f64 + 0.5);
        let density = |away: f64| (-0.5 * away * away).exp() * STEP / std::f64::consts::TAU.sqrt();
        let likelihood: Vec<Vec<f64>> = (0..BINS)
            .map(|bin| counts.iter().map(|count| density(middle(bin) - count)).collect())
            .collect();
        let under: Vec<f64> = counts.iter().map(|count| normal(self.bar - count)).collect();
        let seen = self.bins[kind].iter().copied().zip(&likelihood);
        let seen = seen.chain([(self.below[kind], &under)]).filter(|(number, _)| *number > 0.0);
        let seen: Vec<(f64, &Vec<f64>)> = seen.collect();
        // Small counts are more frequent than large ones.
        let mut law: Vec<f64> = counts.iter().map(|count| least / count).collect();
        let sum: f64 = law.iter().sum();
        law.iter_mut().for_each(|part| *part /= sum);
        let inner = |row: &[f64], law: &[f64]| -> f64 {
            row.iter().zip(law).map(|(it, part)| it * part).sum()
        };
        for _ in 0..ROUNDS {
            let mut next = vec![0.0; counts.len()];
            for (number, row) in &seen {
                let share = number / total / inner(row, &law).max(f64::MIN_POSITIVE);
                next.iter_mut().zip(*row).for_each(|(sum, it)| *sum += share * it);
            }
            law.iter_mut().zip(next).for_each(|(part, it)| *part *= it);
        }
        let first: Vec<f64> = law.iter().zip(&counts).map(|(part, count)| part * count).collect();
        let mean = |row: &[f64]| {
            let mean = inner(row, &first) / inner(row, &law).max(f64::MIN_POSITIVE);
            mean.max(1e-6).ln() as f32
        };
        (likelihood.iter().map(|row| mean(row)).collect(), mean(&under))
    }
}

impl Posterior {
    /// The mean of the count behind an observation, in deviations.
    pub(crate) fn mean(&self, expected: f32, observed: f32) -> f32 {
        if observed > LARGE {
            return observed;
        }
        let bin = bin(observed);
        self.between(expected, |kind| self.means[kind][bin])
    }

    /// The mean of the counts whose observations are below the bar.
    pub(crate) fn mean_below(&self, expected: f32) -> f32 {
        self.between(expected, |kind| self.below[kind])
    }

    /// Between the middles of kinds.
    fn between(&self, expected: f32, of_kind: impl Fn(usize) -> f32) -> f32 {
        let place = place(self.first, self.width, self.means.len(), expected);
        let (kind, part) = (place as usize, place.fract());
        let next = (kind + 1).min(self.means.len() - 1);
        ((1.0 - part) * of_kind(kind) + part * of_kind(next)).exp()
    }
}

fn place(first: f32, width: f32, kinds: usize, expected: f32) -> f32 {
    ((expected - first) / width).clamp(0.0, (kinds - 1) as f32)
}

fn bin(observed: f32) -> usize {
    (((f64::from(observed) - FIRST) / STEP) as usize).min(BINS - 1)
}

/// The probability that a standard normal is below `x`.
pub(crate) fn normal(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of next to nothing mostly and of 8 sometimes: what is observed near 0 is little, and what is observed near 8 is 8.
    #[test]
    fn noise_is_told_from_counts() {
        let all = |bar: f64| {
            let mut observed = Observed::new(-4.0, -4.0, 1.0, bar);
            let mut state = 1_u64;
            for number in 0..20_000 {
                // Twelve uniform numbers make a normal one, nearly.
                let mut noise = -6.0;
                for _ in 0..12 {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    noise += (state >> 40) as f64 / (1_u64 << 24) as f64;
                }
                let seen = noise + if number % 20 == 0 { 8.0 } else { 0.0 };
                match seen < bar {
                    true => observed.add_below(-4.0, 1.0),
                    false => observed.add(-4.0, seen as f32),
                }
            }
            observed.posterior()
        };
        for bar in [f64::NEG_INFINITY, 2.5] {
            let posterior = all(bar);
            assert!(posterior.mean(-4.0, 3.0) < 1.0, "{}", posterior.mean(-4.0, 3.0));
            let eight = posterior.mean(-4.0, 8.0);
            assert!((eight - 8.0).abs() < 0.7, "{eight}");
            assert_eq!(posterior.mean(-4.0, 60.0), 60.0);
        }
        assert!(all(2.5).mean_below(-4.0) < 0.1);
    }

    #[test]
    fn without_observations_counts_are_what_was_expected() {
        let posterior = Observed::new(-3.0, 3.0, 0.5, f64::NEG_INFINITY).posterior();
        for observed in [-2.0, 7.0] {
            assert!((posterior.mean(1.0, observed) - 2.0).abs() < 1e-3);
        }
    }
}
