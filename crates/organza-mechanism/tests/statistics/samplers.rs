//! Every scalar sampler has its law.

use crate::sampler_checks::{
    below_check, binomial_law, coin_check, exponential_check, geometric_law, gumbel_check,
    laplace_check, poisson_law, unit_check, whole_number_check, worst,
};
use crate::support::{FALSE_ALARM, chi_squared, kolmogorov_smirnov, random};
use organza_mechanism::sample::{
    Hazard, below, binomial, coin, exponential, geometric, gumbel, laplace, laplace_above, unit,
};
use statrs::function::erf::erfc;

fn passes(p_value: f64) {
    assert!(p_value > FALSE_ALARM, "{p_value}");
}

#[test]
fn uniform_numbers() {
    passes(unit_check(unit, &mut random(100)));
}

#[test]
fn whole_numbers_below_a_bound() {
    for (test, bound) in [7, 10, 1_000, (1 << 32) + 1, 3 << 62, u64::MAX].into_iter().enumerate() {
        passes(below_check(bound, below, &mut random(110 + test as u64)));
    }
    let mut random = random(119);
    assert!((0..1_000).all(|_| below(1, &mut random) == 0 && below(0, &mut random) == 0));
}

#[test]
fn coins() {
    for (test, probability) in [1e-4, 0.1, 0.5, 0.999].into_iter().enumerate() {
        passes(coin_check(probability, coin, &mut random(120 + test as u64)));
    }
    let mut random = random(129);
    assert!((0..100_000).all(|_| coin(1.0, &mut random) && !coin(0.0, &mut random)));
}

#[test]
fn exponentials() {
    passes(exponential_check(exponential, &mut random(130)));
}

#[test]
fn laplace_variables() {
    passes(laplace_check(laplace, &mut random(131)));
    // The closed form that the sparse vector technique inverts, against the sampler.
    let mut random = random(132);
    let mut samples: Vec<f64> = (0..500_000).map(|_| laplace(&mut random)).collect();
    passes(kolmogorov_smirnov(&mut samples, |x| 1.0 - laplace_above(x)));
}

#[test]
fn gumbel_variables() {
    passes(gumbel_check(gumbel, &mut random(133)));
}

#[test]
fn geometric_numbers() {
    for (test, probability) in [0.9, 0.3, 0.02].into_iter().enumerate() {
        let law = geometric_law(probability);
        let mut random = random(140 + test as u64);
        passes(whole_number_check(&law, 500_000, |it| geometric(probability, it), &mut random));
    }
    let mut random = random(145);
    assert!((0..1_000).all(|_| geometric(1.0, &mut random) == 0));
    assert!((0..1_000).all(|_| geometric(0.0, &mut random) == u64::MAX));
}

#[test]
fn geometric_numbers_of_rare_successes() {
    // (1-p)^n is e^(n ln(1-p)) and the steps are too fine to see: an exponential.
    for (test, probability) in [1e-9, 1e-15].into_iter().enumerate() {
        let hazard = -f64::ln_1p(-probability);
        let draw = |it: &mut _| (geometric(probability, it) as f64 + 0.5) * hazard;
        passes(exponential_check(draw, &mut random(146 + test as u64)));
    }
}

/// One exponential carried across runs of different probabilities: where the first success falls, and
/// how many failures there are in a row when there is none.
#[test]
fn a_hazard_crosses_runs() {
    let runs = [(3, 0.1), (4, 0.3), (0, 0.5), (2, 0.05), (3, 0.6)];
    let mut law = Vec::new();
    let mut left = 1.0;
    for (length, probability) in runs {
        for _ in 0..length {
            law.push(left * probability);
            left *= 1.0 - probability;
        }
    }
    law.push(left);
    let mut counts = vec![0; law.len()];
    let mut random = random(150);
    for _ in 0..1_000_000 {
        let mut patience = exponential(&mut random);
        let mut passed = 0;
        for (length, probability) in runs {
            let crossed = Hazard::of(probability).cross(length, &mut patience);
            passed += crossed.unwrap_or(length);
            if crossed.is_some() {
                break;
            }
        }
        counts[passed as usize] += 1;
    }
    passes(chi_squared(&counts, &law));
}

#[test]
fn binomial_numbers() {
    // Few and many successes, from either side of one half, and both sides of the border at 16.
    let cases = [
        (1, 0.3),
        (10, 0.3),
        (5, 0.7),
        (1_000, 0.01),
        (1_000, 0.995),
        (159, 0.1),
        (161, 0.1),
        (32, 0.5),
        (40, 0.5),
        (200, 0.9),
        (1_000, 0.3),
        (20_000, 0.01),
    ];
    for (test, (trials, probability)) in cases.into_iter().enumerate() {
        let law = binomial_law(trials, probability);
        let mut random = random(160 + test as u64);
        let draw = |it: &mut _| binomial(trials, probability, it);
        passes(whole_number_check(&law, 500_000, draw, &mut random));
    }
    let mut random = random(159);
    assert_eq!(binomial(100, 0.0, &mut random), 0);
    assert_eq!(binomial(100, 1.0, &mut random), 100);
    assert_eq!(binomial(0, 0.4, &mut random), 0);
    assert_eq!(binomial(100, f64::NAN, &mut random), 0);
}

#[test]
fn binomial_numbers_of_very_many_trials() {
    // The Poisson law differs from the binomial by at most the success probability.
    let trials = 1_000_000_000_000_000_u64;
    for (test, mean) in [0.7, 10.0, 20.0, 1_000.0].into_iter().enumerate() {
        let probability = mean / trials as f64;
        let draw = |it: &mut _| binomial(trials, probability, it);
        let mut random = random(180 + test as u64);
        passes(whole_number_check(&poisson_law(mean), 500_000, draw, &mut random));
    }
    // Here the normal law with its first correction is exact to 1e-7.
    for (test, (trials, probability)) in
        [(trials, 0.5), (trials, 1e-5), (trials, 0.9), (1_000_000_000, 0.3)].into_iter().enumerate()
    {
        let mut random = random(190 + test as u64);
        let mean = trials as f64 * probability;
        let deviation = (mean * (1.0 - probability)).sqrt();
        let skewness = (1.0 - 2.0 * probability) / deviation;
        let mut samples: Vec<f64> = (0..500_000)
            .map(|_| (binomial(trials, probability, &mut random) as f64 - mean) / deviation)
            .collect();
        passes(kolmogorov_smirnov(&mut samples, |x| {
            let x = x + 0.5 / deviation;
            let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
            0.5 * erfc(-x / std::f64::consts::SQRT_2) - skewness / 6.0 * (x * x - 1.0) * density
        }));
    }
}

#[test]
fn successive_draws_are_independent() {
    let mut random = random(199);
    let mut cells = |mut draw: Box<dyn FnMut(&mut _) -> f64>| {
        let mut counts = [0; 64];
        let mut last = 0;
        for _ in 0..1_000_000 {
            // The rank of an exponential among eight equally likely cells.
            let next = ((8.0 * (-draw(&mut random)).exp()) as usize).min(7);
            counts[8 * last + next] += 1;
            last = next;
        }
        chi_squared(&counts, &[1.0 / 64.0; 64])
    };
    passes(worst(&[
        cells(Box::new(exponential)),
        cells(Box::new(|it| laplace(it).abs())),
        cells(Box::new(|it| -unit(it).ln())),
    ]));
}
