//! Tests of fit, and bounds on probabilities, at one stated false-alarm rate.

use organza_mechanism::RandomSource;
use organza_mechanism::random::{PrivateRandom, Purpose};
use statrs::function::beta::beta_reg;
use statrs::function::gamma::gamma_ur;

/// The probability with which a test of a right implementation fails. Seeds are fixed, so a test that
/// passes goes on passing; no test is repeated until it passes.
pub(crate) const FALSE_ALARM: f64 = 1e-6;

/// Fixed randomness for the test with this number.
pub(crate) fn random(test: u64) -> PrivateRandom {
    RandomSource::from_seed(test).substream(Purpose::Data, 0, 0)
}

/// The p-value of the Kolmogorov-Smirnov test of `samples` against a continuous distribution function
/// (Stephens' approximation, which is good to a few percent for more than a hundred samples).
pub(crate) fn kolmogorov_smirnov(samples: &mut [f64], below: impl Fn(f64) -> f64) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    let count = samples.len() as f64;
    let distance = samples
        .iter()
        .enumerate()
        .map(|(rank, sample)| {
            let below = below(*sample);
            (below - rank as f64 / count).max((rank + 1) as f64 / count - below)
        })
        .fold(0.0, f64::max);
    let root = count.sqrt();
    let scaled = (root + 0.12 + 0.11 / root) * distance;
    if scaled < 0.2 {
        // The series below does not converge there; the p-value is 1 to eleven digits.
        return 1.0;
    }
    let tail: f64 = (1..100)
        .map(|term| {
            let term = f64::from(term);
            let sign = if term as u32 % 2 == 1 { 1.0 } else { -1.0 };
            sign * (-2.0 * term * term * scaled * scaled).exp()
        })
        .sum();
    (2.0 * tail).clamp(0.0, 1.0)
}

/// The p-value of Pearson's chi-squared test of counts against probabilities; cells with fewer than
/// ten expected are pooled. A count where the probability is zero is an outright failure.
pub(crate) fn chi_squared(counts: &[u64], probabilities: &[f64]) -> f64 {
    assert_eq!(counts.len(), probabilities.len());
    let total: u64 = counts.iter().sum();
    if counts.iter().zip(probabilities).any(|(count, chance)| *count > 0 && *chance <= 0.0) {
        return 0.0;
    }
    let mut cells = 0;
    let mut statistic = 0.0;
    let mut pool = (0.0, 0.0);
    let mut add = |count: f64, expected: f64| {
        cells += 1;
        statistic += (count - expected).powi(2) / expected;
    };
    for (count, chance) in counts.iter().zip(probabilities) {
        let expected = chance * total as f64;
        if expected >= 10.0 {
            add(*count as f64, expected);
        } else {
            pool = (pool.0 + *count as f64, pool.1 + expected);
        }
    }
    if pool.1 >= 1.0 {
        add(pool.0, pool.1);
    }
    assert!(cells > 1, "too few cells for a test");
    gamma_ur(f64::from(cells - 1) / 2.0, statistic / 2.0)
}

/// The p-value of the chi-squared test that two samples of counts come from one law.
pub(crate) fn two_samples(one: &[u64], other: &[u64]) -> f64 {
    assert_eq!(one.len(), other.len());
    let (first, second) = (one.iter().sum::<u64>() as f64, other.iter().sum::<u64>() as f64);
    let mut cells = 0;
    let mut statistic = 0.0;
    let mut pool = (0.0, 0.0);
    let mut add = |one: f64, other: f64| {
        cells += 1;
        let balance = (second / first).sqrt();
        statistic += (balance * one - other / balance).powi(2) / (one + other);
    };
    for (one, other) in one.iter().zip(other) {
        if one + other >= 20 {
            add(*one as f64, *other as f64);
        } else {
            pool = (pool.0 + *one as f64, pool.1 + *other as f64);
        }
    }
    if pool.0 + pool.1 >= 5.0 {
        add(pool.0, pool.1);
    }
    assert!(cells > 1, "too few cells for a test");
    gamma_ur(f64::from(cells - 1) / 2.0, statistic / 2.0)
}

/// A probability that the true one is below only with probability `risk`, after `successes` of `trials`
/// (Clopper and Pearson).
pub(crate) fn at_least(successes: u64, trials: u64, risk: f64) -> f64 {
    if successes == 0 {
        return 0.0;
    }
    let (one, other) = (successes as f64, (trials - successes) as f64 + 1.0);
    bisect(|chance| beta_reg(one, other, chance) < risk)
}

/// A probability that the true one is above only with probability `risk`, after `successes` of `trials`.
pub(crate) fn at_most(successes: u64, trials: u64, risk: f64) -> f64 {
    if successes == trials {
        return 1.0;
    }
    let (one, other) = (successes as f64 + 1.0, (trials - successes) as f64);
    bisect(|chance| beta_reg(one, other, chance) < 1.0 - risk)
}

/// The end of the part of \[0, 1\] in which `low` holds.
fn bisect(low: impl Fn(f64) -> bool) -> f64 {
    let (mut left, mut right) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (left + right);
        if low(middle) {
            left = middle;
        } else {
            right = middle;
        }
    }
    0.5 * (left + right)
}

#[test]
fn the_tests_themselves_are_right() {
    // Kolmogorov: the 1.36 / sqrt(n) rule for five percent; chi-squared: 3.841 for one degree.
    let mut samples: Vec<f64> = (0..10_000).map(|i| (f64::from(i) + 0.5) / 10_000.0).collect();
    assert!(kolmogorov_smirnov(&mut samples, |x| x) > 0.999);
    let five_percent = kolmogorov_smirnov(&mut samples, |x| (x + 0.013_55).min(1.0));
    assert!((0.045..0.055).contains(&five_percent), "{five_percent}");
    let off = (3.841_f64 * 10_000.0 / 4.0).sqrt().round() as u64;
    let p = chi_squared(&[5_000 + off, 5_000 - off], &[0.5, 0.5]);
    assert!((0.049..0.052).contains(&p), "{p}");
    // R: binom.test(30, 100, conf.level = .9)$conf.int is [0.2249, 0.3842].
    assert!((at_least(30, 100, 0.05) - 0.2249).abs() < 5e-4);
    assert!((at_most(30, 100, 0.05) - 0.3842).abs() < 5e-4);
}
