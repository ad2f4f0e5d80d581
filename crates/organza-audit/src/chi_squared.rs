//! Whether ranks are uniform: Pearson's chi-squared test on ten equal bins.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// The number of bins of a histogram of ranks.
pub(crate) const BINS: usize = 10;

/// How far a histogram is from uniform.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Uniformity {
    /// Pearson's statistic: the sum over bins of (found - expected)^2 / expected.
    pub statistic: f64,
    /// The statistic over the number of phrases: the paper's chi-squared distance.
    pub distance: f64,
    /// The probability of a statistic at least as large if ranks are uniform, by the chi-squared law
    /// with nine degrees of freedom. It is an approximation that is good from five phrases a bin on.
    pub p_value: f64,
}

/// Tests a histogram; `None` for one without any phrase.
pub fn uniformity(histogram: &[u64; BINS]) -> Option<Uniformity> {
    let count = histogram.iter().sum::<u64>();
    if count == 0 {
        return None;
    }
    let expected = count as f64 / BINS as f64;
    let away = |found: &u64| (*found as f64 - expected).powi(2) / expected;
    let statistic: f64 = histogram.iter().map(away).sum();
    let law = ChiSquared::new((BINS - 1) as f64).ok()?;
    let distance = statistic / count as f64;
    Some(Uniformity { statistic, distance, p_value: law.sf(statistic) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Histograms with statistic and p-value by scipy.stats.chisquare (scipy).
    const SCIPY: [([u64; BINS], f64, f64); 6] = [
        ([100; BINS], 0.0, 1.0),
        ([90, 110, 95, 105, 102, 98, 87, 113, 100, 100], 5.96, 0.7439149021618963),
        ([20, 25, 30, 40, 55, 70, 90, 120, 200, 350], 964.5, 7.770545750439619e-202),
        ([3, 5, 4, 6, 2, 5, 7, 3, 5, 10], 9.600000000000001, 0.3838265173713837),
        ([71, 83, 99, 104, 121, 87, 93, 112, 130, 100], 28.5, 0.0007865788770983095),
        ([0, 0, 0, 0, 0, 0, 0, 0, 0, 1000], 9000.0, 0.0),
    ];

    #[test]
    fn statistics_and_p_values_are_those_of_scipy() {
        for (histogram, statistic, p_value) in SCIPY {
            let found = uniformity(&histogram).unwrap();
            assert!((found.statistic - statistic).abs() < 1e-10, "{found:?}");
            assert!((found.p_value - p_value).abs() < 1e-10, "{found:?}");
            // Small ones are right in their own size too.
            let relative = (found.p_value - p_value).abs() / p_value;
            assert!(p_value == 0.0 || relative < 1e-10, "{found:?}: {relative}");
            let count = histogram.iter().sum::<u64>() as f64;
            assert!((found.distance - statistic / count).abs() < 1e-12);
        }
        assert_eq!(uniformity(&[0; BINS]), None);
    }

    /// The distances that the paper prints have the p-values that it prints, up to the rounding of the
    /// distance: its distance is the statistic over 1,000 phrases.
    #[test]
    fn the_paper_divides_by_the_number_of_phrases() {
        let law = ChiSquared::new(9.0).unwrap();
        let printed = [
            (0.007, 0.63),
            (0.005, 0.85),
            (0.005, 0.86),
            (0.004, 0.88),
            (0.007, 0.68),
            (0.010, 0.33),
            (0.011, 0.31),
            (0.026, 0.00),
            (0.002, 0.98),
        ];
        for (distance, p_value) in printed {
            let bounds = [distance + 0.0005, distance - 0.0005].map(|it: f64| law.sf(1_000.0 * it));
            let rounded = (bounds[0] - 0.005)..(bounds[1] + 0.005);
            assert!(rounded.contains(&p_value), "{distance}: {p_value} {rounded:?}");
        }
    }
}
