//! The binomial distribution.

use super::exponential::exponential;
use super::geometric::Hazard;
use super::uniform::unit;
use crate::random::PrivateRandom;

/// Below this mean the successes are counted one by one.
const FEW: f64 = 16.0;
/// ln(2 pi) / 2.
const HALF_LOG_TAU: f64 = 0.918_938_533_204_672_8;

/// The number of successes among `trials`, each with probability `probability`.
///
/// Few successes are found by geometric skips; many by Hoermann's transformed rejection (BTRS, 1993),
/// whose acceptance test uses the exact probabilities. The cost does not grow with `trials`. A
/// probability that is not a number counts as zero.
pub fn binomial(trials: u64, probability: f64, random: &mut PrivateRandom) -> u64 {
    if probability > 0.5 {
        return trials - binomial(trials, 1.0 - probability, random);
    }
    if trials as f64 * probability >= FEW {
        return many(trials, probability, random);
    }
    few(trials, probability, random)
}

fn few(trials: u64, probability: f64, random: &mut PrivateRandom) -> u64 {
    let hazard = Hazard::of(probability);
    let mut left = trials;
    let mut successes = 0;
    while let Some(failures) = hazard.cross(left, &mut exponential(random)) {
        left -= failures + 1;
        successes += 1;
    }
    successes
}

fn many(trials: u64, probability: f64, random: &mut PrivateRandom) -> u64 {
    let count = trials as f64;
    let deviation = (count * probability * (1.0 - probability)).sqrt();
    let b = 1.15 + 2.53 * deviation;
    let a = -0.0873 + 0.0248 * b + 0.01 * probability;
    let centre = count * probability + 0.5;
    let alpha = (2.83 + 5.1 / b) * deviation;
    let mode = ((count + 1.0) * probability).floor();
    let at_mode = log_probability(count, probability, mode);
    loop {
        let u = unit(random) - 0.5;
        let v = unit(random);
        let side = 0.5 - u.abs();
        let guess = ((2.0 * a / side + b) * u + centre).floor();
        if !(0.0..=count).contains(&guess) {
            continue;
        }
        let density = libm::log(v * alpha / (a / (side * side) + b));
        if density <= log_probability(count, probability, guess) - at_mode {
            return guess as u64;
        }
    }
}

/// ln of the probability of `successes`, up to the part that does not depend on them.
///
/// Loader's form (2000): Stirling's corrections and deviances instead of logarithms of factorials,
/// whose difference has no correct digit left when there are 10^15 trials.
fn log_probability(trials: f64, probability: f64, successes: f64) -> f64 {
    let failures = trials - successes;
    -half_log_and_correction(successes)
        - half_log_and_correction(failures)
        - deviance(successes, trials * probability)
        - deviance(failures, trials * (1.0 - probability))
}

/// ln n! - (n ln n - n) - ln(2 pi)/2, which is ln(n)/2 + 1/(12 n) - ...
fn half_log_and_correction(n: f64) -> f64 {
    if n < 16.0 {
        let power = if n > 0.0 { n * libm::log(n) - n } else { 0.0 };
        return libm::lgamma(n + 1.0) - power - HALF_LOG_TAU;
    }
    let inverse_square = 1.0 / (n * n);
    let series = 1.0 / 12.0
        - inverse_square
            * (1.0 / 360.0 - inverse_square * (1.0 / 1260.0 - inverse_square / 1680.0));
    0.5 * libm::log(n) + series / n
}

/// count ln(count / mean) - (count - mean), which is zero at the mean.
fn deviance(count: f64, mean: f64) -> f64 {
    if count == 0.0 {
        return mean;
    }
    let excess = count - mean;
    count * libm::log1p(excess / mean) - excess
}
