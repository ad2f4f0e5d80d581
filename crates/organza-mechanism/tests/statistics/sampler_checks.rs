//! What a sampler must pass: each check takes any sampler and gives a p-value, so that the right one
//! and its broken twins go through the same check.

use crate::support::{chi_squared, kolmogorov_smirnov};
use organza_mechanism::random::PrivateRandom;
use statrs::function::gamma::ln_gamma;

/// Draws of a check against a distribution function.
const DRAWS: usize = 300_000;
/// Draws of a check of the tails, of which two hundred are beyond 9.2 for an exponential.
const TAIL_DRAWS: usize = 2_000_000;

/// One p-value from several tests of one sampler (Bonferroni).
pub fn worst(p_values: &[f64]) -> f64 {
    p_values.iter().copied().fold(1.0, f64::min) * p_values.len() as f64
}

/// Counts draws in cells; what no cell takes is an outright failure of the test that follows.
pub fn count(cells: usize, draws: usize, mut draw: impl FnMut() -> usize) -> Vec<u64> {
    let mut counts = vec![0; cells];
    for _ in 0..draws {
        counts[draw()] += 1;
    }
    counts
}

/// A uniform number: its distribution function, each of its magnitudes down to 2^-20, and the last
/// bits of its mantissa.
pub fn unit_check(
    mut draw: impl FnMut(&mut PrivateRandom) -> f64,
    random: &mut PrivateRandom,
) -> f64 {
    let mut samples: Vec<f64> = (0..DRAWS).map(|_| draw(random)).collect();
    if samples.iter().any(|sample| *sample <= 0.0 || *sample >= 1.0) {
        return 0.0;
    }
    let mantissas = count(256, DRAWS, || (draw(random).to_bits() & 255) as usize);
    let magnitudes = count(24, TAIL_DRAWS, || {
        let exponent = 1022 - (draw(random).to_bits() >> 52) as usize;
        exponent.min(23)
    });
    let chances: Vec<f64> = (0..24)
        .map(|exponent| 0.5_f64.powi(if exponent < 23 { exponent + 1 } else { 23 }))
        .collect();
    worst(&[
        kolmogorov_smirnov(&mut samples, |x| x),
        chi_squared(&mantissas, &[1.0 / 256.0; 256]),
        chi_squared(&magnitudes, &chances),
    ])
}

/// An exponential: its distribution function, its tail in steps of a factor of ten, and the
/// neighbourhood of zero likewise.
pub fn exponential_check(
    mut draw: impl FnMut(&mut PrivateRandom) -> f64,
    random: &mut PrivateRandom,
) -> f64 {
    let mut samples: Vec<f64> = (0..DRAWS).map(|_| draw(random)).collect();
    let ten = std::f64::consts::LN_10;
    let mut tail = [0; 7];
    let mut head = [0; 7];
    for _ in 0..TAIL_DRAWS {
        let sample = draw(random);
        if sample < 0.0 {
            return 0.0;
        }
        tail[((sample / ten) as usize).min(6)] += 1;
        head[((-(-(-sample).exp_m1()).log10()) as usize).min(6)] += 1;
    }
    let chances: Vec<f64> =
        (0..7).map(|cell| 0.1_f64.powi(cell) * if cell < 6 { 0.9 } else { 1.0 }).collect();
    worst(&[
        kolmogorov_smirnov(&mut samples, |x| -(-x).exp_m1()),
        chi_squared(&tail, &chances),
        chi_squared(&head, &chances),
    ])
}

/// A Laplace variable: its size is an exponential, and its sign a fair coin on either side of 1.
pub fn laplace_check(
    mut draw: impl FnMut(&mut PrivateRandom) -> f64,
    random: &mut PrivateRandom,
) -> f64 {
    let size = exponential_check(|random| draw(random).abs(), random);
    let quarters = count(4, DRAWS, || {
        let sample = draw(random);
        usize::from(sample > 0.0) * 2 + usize::from(sample.abs() > 1.0)
    });
    let beyond = 0.5 * (-1.0_f64).exp();
    let chances = [0.5 - beyond, beyond, 0.5 - beyond, beyond];
    worst(&[size, chi_squared(&quarters, &chances)])
}

/// A Gumbel variable: e^-x is an exponential.
pub fn gumbel_check(
    mut draw: impl FnMut(&mut PrivateRandom) -> f64,
    random: &mut PrivateRandom,
) -> f64 {
    exponential_check(|random| (-draw(random)).exp(), random)
}

/// A whole number below a bound: thirds of the range, and the remainders by seven.
///
/// A third and a remainder have their exact chances, which are equal up to 7 / bound.
pub fn below_check(
    bound: u64,
    mut draw: impl FnMut(u64, &mut PrivateRandom) -> u64,
    random: &mut PrivateRandom,
) -> f64 {
    let samples: Vec<u64> = (0..DRAWS).map(|_| draw(bound, random)).collect();
    if samples.iter().any(|sample| *sample >= bound) {
        return 0.0;
    }
    let third = bound.div_ceil(3);
    let mut thirds = [0; 3];
    let mut remainders = [0; 7];
    for sample in &samples {
        thirds[(sample / third) as usize] += 1;
        remainders[(sample % 7) as usize] += 1;
    }
    let share = |size: u64| size as f64 / bound as f64;
    let of_thirds = [share(third), share(third), share(bound - 2 * third)];
    let of_remainders: Vec<f64> =
        (0..7).map(|rest| share(bound / 7 + u64::from(rest < bound % 7))).collect();
    worst(&[chi_squared(&thirds, &of_thirds), chi_squared(&remainders, &of_remainders)])
}

/// A coin: the share of heads, and the pairs of successive throws.
pub fn coin_check(
    probability: f64,
    mut draw: impl FnMut(f64, &mut PrivateRandom) -> bool,
    random: &mut PrivateRandom,
) -> f64 {
    let pairs = count(4, DRAWS, || {
        usize::from(draw(probability, random)) * 2 + usize::from(draw(probability, random))
    });
    let miss = 1.0 - probability;
    let chances = [miss * miss, miss * probability, probability * miss, probability * probability];
    chi_squared(&pairs, &chances)
}

/// A distribution on whole numbers with known probabilities of 0, 1, ...; the last cell is the rest.
pub fn whole_number_check(
    probabilities: &[f64],
    draws: usize,
    mut draw: impl FnMut(&mut PrivateRandom) -> u64,
    random: &mut PrivateRandom,
) -> f64 {
    let mut chances = probabilities.to_vec();
    chances.push((1.0 - probabilities.iter().sum::<f64>()).max(1e-300));
    let last = probabilities.len();
    let counts = count(chances.len(), draws, || (draw(random) as usize).min(last));
    chi_squared(&counts, &chances)
}

/// The probabilities of 0, 1, ... failures before the first success.
pub fn geometric_law(probability: f64) -> Vec<f64> {
    let terms = (30.0 / probability) as u64;
    (0..terms).map(|failures| probability * (1.0 - probability).powf(failures as f64)).collect()
}

/// The probabilities of 0, 1, ..., `trials` successes.
pub fn binomial_law(trials: u64, probability: f64) -> Vec<f64> {
    let count = trials as f64;
    (0..=trials)
        .map(|successes| {
            let hits = successes as f64;
            let ways = ln_gamma(count + 1.0) - ln_gamma(hits + 1.0) - ln_gamma(count - hits + 1.0);
            (ways + hits * probability.ln() + (count - hits) * (-probability).ln_1p()).exp()
        })
        .collect()
}

/// The probabilities of 0, 1, ... events with this mean: the binomial law of very many trials.
pub fn poisson_law(mean: f64) -> Vec<f64> {
    (0..(mean * 2.0 + 60.0) as u64)
        .map(|events| {
            let events = events as f64;
            (events * mean.ln() - mean - ln_gamma(events + 1.0)).exp()
        })
        .collect()
}
