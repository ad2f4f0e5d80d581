//! The binomial distribution.

use super::exponential::exponential;
use super::geometric::Hazard;
use super::uniform::unit;
use crate::random::PrivateRandom;

/// Below this mean the successes are counted one by one.
const FEW: f64 = 16.0;

/// The number of successes among `trials`, each with probability `probability`.
///
/// Few successes are found by geometric skips; many by Hoermann's transformed rejection (BTRS, 1993),
/// whose acceptance test uses the exact probabilities. The cost does not grow with `trials`.
pub fn binomial(trials: u64, probability: f64, random: &mut PrivateRandom) -> u64 {
    if probability > 0.5 {
        return trials - binomial(trials, 1.0 - probability, random);
    }
    if trials as f64 * probability < FEW {
        return few(trials, probability, random);
    }
    many(trials, probability, random)
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
    let odds = libm::log(probability / (1.0 - probability));
    let mode = ((count + 1.0) * probability).floor();
    loop {
        let u = unit(random) - 0.5;
        let v = unit(random);
        let side = 0.5 - u.abs();
        let guess = ((2.0 * a / side + b) * u + centre).floor();
        if !(0.0..=count).contains(&guess) {
            continue;
        }
        let density = libm::log(v * alpha / (a / (side * side) + b));
        let exact = log_ratio(count, mode, guess) + (guess - mode) * odds;
        if density <= exact {
            return guess as u64;
        }
    }
}

/// ln of (`count` over `guess`) / (`count` over `mode`).
fn log_ratio(count: f64, mode: f64, guess: f64) -> f64 {
    log_factorial(mode) + log_factorial(count - mode)
        - log_factorial(guess)
        - log_factorial(count - guess)
}

fn log_factorial(n: f64) -> f64 {
    libm::lgamma(n + 1.0)
}
