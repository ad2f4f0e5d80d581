//! What is publicly known of the noise on a table of counts, and what a bar on it does.

use super::CountsError;
use std::f64::consts::{PI, SQRT_2};

/// The law of the noise on each cell of a released table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoiseLaw {
    /// None: the counts are true.
    None,
    /// Whole numbers z with probability in proportion to exp(-rate |z|): exact counts with budget
    /// `rate` for a record that moves one cell by one.
    DiscreteLaplace {
        /// The rate.
        rate: f64,
    },
    /// Gaussian, or a Gaussian rounded to a grid much finer than its deviation.
    Gaussian {
        /// Its standard deviation, in counts.
        deviation: f64,
    },
}

/// Probability, mean and mean square of the noise on the part of its law that lies above a bar.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Above {
    chance: f64,
    mean: f64,
    square: f64,
}

impl NoiseLaw {
    /// The variance of the noise of a cell.
    pub(crate) fn variance(&self) -> f64 {
        match *self {
            Self::None => 0.0,
            Self::DiscreteLaplace { rate } => {
                let ratio = (-rate).exp();
                2.0 * ratio / (1.0 - ratio).powi(2)
            }
            Self::Gaussian { deviation } => deviation * deviation,
        }
    }

    pub(super) fn check(&self) -> Result<(), CountsError> {
        let good = match *self {
            Self::None => true,
            Self::DiscreteLaplace { rate: value } | Self::Gaussian { deviation: value } => {
                value.is_finite() && value > 0.0
            }
        };
        if good { Ok(()) } else { Err(CountsError::Noise) }
    }

    /// The noise z restricted to z >= bar: E[1], E[z], E[z^2], each over that part only.
    ///
    /// Discrete Laplace, a = exp(-rate), t = ceil(bar) > 0: Pr[z >= t] = a^t / (1 + a), and given that,
    /// z - t is geometric with mean a / (1 - a) and variance a / (1 - a)^2. For t <= 0 the law is
    /// symmetric: what lies below t mirrors what lies from 1 - t on. Gaussian with h = bar / s: Q(h),
    /// s phi(h) and s^2 (Q(h) + h phi(h)).
    fn above(&self, bar: f64) -> Above {
        match *self {
            Self::None => {
                let chance = if bar <= 0.0 { 1.0 } else { 0.0 };
                Above { chance, mean: 0.0, square: 0.0 }
            }
            Self::DiscreteLaplace { rate } => {
                let ratio = (-rate).exp();
                let tail = |start: f64| {
                    let chance = (-rate * start).exp() / (1.0 + ratio);
                    let mean = start + ratio / (1.0 - ratio);
                    let square = mean * mean + ratio / (1.0 - ratio).powi(2);
                    Above { chance, mean: chance * mean, square: chance * square }
                };
                let start = bar.ceil();
                if start > 0.0 {
                    return tail(start);
                }
                let mirrored = tail(1.0 - start);
                Above {
                    chance: 1.0 - mirrored.chance,
                    mean: mirrored.mean,
                    square: self.variance() - mirrored.square,
                }
            }
            Self::Gaussian { deviation } => {
                let height = bar / deviation;
                let density = (-height * height / 2.0).exp() / (2.0 * PI).sqrt();
                let chance = libm::erfc(height / SQRT_2) / 2.0;
                Above {
                    chance,
                    mean: deviation * density,
                    square: deviation * deviation * (chance + height * density),
                }
            }
        }
    }
}

/// What to take for the count of a cell so that the bar leaves no bias: `released + offset` for a
/// cell that was released, `missing` for one that was not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Correction {
    pub(super) offset: f64,
    pub(super) missing: f64,
    /// The variance of the corrected value of an empty cell.
    pub(super) variance: f64,
    /// The same of a cell that holds what is likely: larger, if only a few of those pass the bar.
    pub(super) variance_of_likely: f64,
}

impl Correction {
    /// Without a bar nothing is to be corrected.
    fn none(noise: &NoiseLaw) -> Self {
        let variance = noise.variance();
        Self { offset: 0.0, missing: 0.0, variance, variance_of_likely: variance }
    }

    /// The correction for a public bar of a cell that holds nothing or about `likely`.
    ///
    /// A cell with true count u is released with probability p(u), and m(u) is the mean of its
    /// released value (0 if not released). The corrected value has mean m + offset p + missing (1 - p),
    /// which is made equal to u at u = 0 and at u = `likely`: two linear equations. With `likely` the
    /// larger of a single co-occurrence and what word counts let expect, cells of rare words, which hold
    /// nothing or little, are unbiased, and so are those of frequent words, whose `offset` is nearly 0.
    pub(super) fn new(noise: &NoiseLaw, bar: Option<f64>, likely: f64) -> Self {
        let Some(bar) = bar else { return Self::none(noise) };
        let (empty, one) = (noise.above(bar), noise.above(bar - likely));
        let mean_of_one = one.mean + likely * one.chance;
        let determinant = empty.chance * (1.0 - one.chance) - one.chance * (1.0 - empty.chance);
        if determinant.abs() < 1e-12 {
            return Self::none(noise);
        }
        let (first, second) = (-empty.mean, likely - mean_of_one);
        let offset = (first * (1.0 - one.chance) - second * (1.0 - empty.chance)) / determinant;
        let missing = (empty.chance * second - one.chance * first) / determinant;
        // The mean square about the true count, which the corrected value has as its mean.
        let variance = |above: &Above, count: f64| {
            above.square
                + 2.0 * offset * above.mean
                + offset * offset * above.chance
                + (missing - count).powi(2) * (1.0 - above.chance)
        };
        let (variance, variance_of_likely) = (variance(&empty, 0.0), variance(&one, likely));
        Self { offset, missing, variance, variance_of_likely }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By summing the law itself.
    fn by_sum(rate: f64, bar: f64) -> Above {
        let ratio = (-rate).exp();
        let mut above = Above { chance: 0.0, mean: 0.0, square: 0.0 };
        for value in (-400..=400).map(f64::from).filter(|value| *value >= bar) {
            let chance = (1.0 - ratio) / (1.0 + ratio) * (-rate * value.abs()).exp();
            above.chance += chance;
            above.mean += chance * value;
            above.square += chance * value * value;
        }
        above
    }

    #[test]
    fn parts_of_the_discrete_laplace_law_agree_with_sums() {
        for rate in [0.3, 1.0, 3.0] {
            for bar in [-4.0, -0.5, 0.0, 0.5, 1.0, 3.0, 7.2] {
                let (closed, sum) =
                    (NoiseLaw::DiscreteLaplace { rate }.above(bar), by_sum(rate, bar));
                assert!((closed.chance - sum.chance).abs() < 1e-12, "{rate} {bar}");
                assert!((closed.mean - sum.mean).abs() < 1e-12, "{rate} {bar}");
                assert!((closed.square - sum.square).abs() < 1e-9, "{rate} {bar}");
            }
        }
    }

    #[test]
    fn parts_of_the_gaussian_law_agree_with_quadrature() {
        let deviation = 1.7;
        for bar in [-2.0, 0.0, 0.4, 3.0] {
            let closed = NoiseLaw::Gaussian { deviation }.above(bar);
            let mut sum = [0.0; 3];
            let step = 1e-4;
            for place in 0..400_000 {
                let value = bar + (f64::from(place) + 0.5) * step;
                let density = (-value * value / (2.0 * deviation * deviation)).exp()
                    / (deviation * (2.0 * PI).sqrt());
                for (power, sum) in sum.iter_mut().enumerate() {
                    *sum += step * density * value.powi(power as i32);
                }
            }
            for (closed, sum) in [closed.chance, closed.mean, closed.square].iter().zip(sum) {
                assert!((closed - sum).abs() < 1e-6, "{bar}: {closed} {sum}");
            }
        }
    }

    #[test]
    fn corrected_cells_are_unbiased_where_it_is_promised() {
        for (noise, bar) in [
            (NoiseLaw::DiscreteLaplace { rate: 1.0 }, 4.0),
            (NoiseLaw::DiscreteLaplace { rate: 3.0 }, 2.0),
            (NoiseLaw::Gaussian { deviation: 5.0 }, 12.5),
        ] {
            let single = 2.0;
            let correction = Correction::new(&noise, Some(bar), single);
            for count in [0.0, single] {
                let above = noise.above(bar - count);
                let mean = above.mean
                    + (count + correction.offset) * above.chance
                    + correction.missing * (1.0 - above.chance);
                assert!((mean - count).abs() < 1e-9, "{noise:?} {count}: {mean}");
            }
            assert!(correction.missing < 0.0 && correction.variance > 0.0, "{correction:?}");
        }
        let dense = Correction::new(&NoiseLaw::DiscreteLaplace { rate: 1.0 }, None, 2.0);
        assert_eq!((dense.offset, dense.missing), (0.0, 0.0));
    }

    #[test]
    fn noise_that_is_none_is_refused() {
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(NoiseLaw::DiscreteLaplace { rate: value }.check().is_err());
            assert!(NoiseLaw::Gaussian { deviation: value }.check().is_err());
        }
        assert!(NoiseLaw::None.check().is_ok());
    }
}
