//! Whole-number noise has exactly its law, also above a bar and among many cells.

use crate::sampler_checks::{binomial_law, whole_number_check};
use crate::support::{FALSE_ALARM, kolmogorov_smirnov, random};
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{IntegerNoise, geometric, normal, unit};
use statrs::function::erf::erfc;

/// Values are shifted by this to be counted from zero.
const SHIFT: i64 = 400;
const DRAWS: usize = 1_000_000;

/// Pr\[Z = z\] for z from -SHIFT to SHIFT.
fn laplace_law(scale: f64) -> Vec<f64> {
    let weight = |z: i64| (-(z.unsigned_abs() as f64) / scale).exp();
    let total: f64 = (-20_000..=20_000).map(weight).sum();
    (-SHIFT..=SHIFT).map(|z| weight(z) / total).collect()
}

fn gaussian_law(deviation: f64) -> Vec<f64> {
    // From the tail of the nearer side, so that the difference keeps its digits.
    let tail = |x: f64| 0.5 * erfc(x / deviation / std::f64::consts::SQRT_2);
    let chance = |size: f64| tail(size - 0.5) - tail(size + 0.5);
    (-SHIFT..=SHIFT).map(|z| chance(z.unsigned_abs() as f64)).collect()
}

fn check(law: &[f64], test: u64, mut draw: impl FnMut(&mut PrivateRandom) -> i64) -> f64 {
    let shifted = |random: &mut _| (draw(random) + SHIFT).clamp(0, 2 * SHIFT) as u64;
    whole_number_check(law, DRAWS, shifted, &mut random(test))
}

/// A law given that the value is at least `bar`.
fn given(law: &[f64], bar: i64) -> Vec<f64> {
    let start = (bar + SHIFT) as usize;
    let total: f64 = law[start..].iter().sum();
    let keep = |(place, chance): (usize, &f64)| if place < start { 0.0 } else { chance / total };
    law.iter().enumerate().map(keep).collect()
}

fn passes(p_value: f64) {
    assert!(p_value > FALSE_ALARM, "{p_value}");
}

fn is_caught(p_value: f64) {
    assert!(p_value < FALSE_ALARM, "{p_value}");
}

fn laws(scale: f64) -> [(IntegerNoise, Vec<f64>); 2] {
    [
        (IntegerNoise::discrete_laplace(scale).unwrap(), laplace_law(scale)),
        (IntegerNoise::rounded_gaussian(scale).unwrap(), gaussian_law(scale)),
    ]
}

#[test]
fn draws_have_their_law() {
    for (test, scale) in (2_000..).step_by(2).zip([0.3, 1.0, 7.3]) {
        for (test, (noise, law)) in (test..).zip(laws(scale)) {
            passes(check(&law, test, |it| noise.draw(it)));
            let square: f64 = (-SHIFT..).zip(&law).map(|(z, chance)| (z * z) as f64 * chance).sum();
            assert!((noise.deviation() / square.sqrt() - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn draws_above_a_bar_have_their_law() {
    for (test, (scale, bar)) in
        (2_010..).step_by(2).zip([(0.7, 2), (1.0, 0), (7.3, -9), (7.3, 40), (3.0, 1)])
    {
        for (test, (noise, law)) in (test..).zip(laws(scale)) {
            let above = noise.above(bar).unwrap();
            passes(check(&given(&law, bar), test, |it| above.draw(it)));
        }
    }
    assert!(IntegerNoise::rounded_gaussian(1.0).unwrap().above(60).is_err());
}

/// So fine that the law is as good as continuous.
#[test]
fn fine_noise_has_its_law() {
    let noise = IntegerNoise::rounded_gaussian(1.5e6).unwrap();
    let mut random = random(2_030);
    let spread = |z: i64, random: &mut _| (z as f64 + unit(random) - 0.5) / 1.5e6;
    let mut samples: Vec<f64> =
        (0..DRAWS).map(|_| spread(noise.draw(&mut random), &mut random)).collect();
    let below = |x: f64| 0.5 * erfc(-x / std::f64::consts::SQRT_2);
    passes(kolmogorov_smirnov(&mut samples, below));
    // Given at least two deviations.
    let above = noise.above(3_000_000).unwrap();
    let mut samples: Vec<f64> =
        (0..DRAWS / 4).map(|_| spread(above.draw(&mut random), &mut random)).collect();
    let start = below(2.0);
    passes(kolmogorov_smirnov(&mut samples, |x| ((below(x) - start) / (1.0 - start)).max(0.0)));
}

/// How many of `cells` cells reach the bar, by skips.
fn reached(noise: &IntegerNoise, bar: i64, cells: u64, random: &mut PrivateRandom) -> u64 {
    let above = noise.above(bar).unwrap();
    let (mut place, mut number) = (0, 0);
    loop {
        place += above.skip(cells - place, random);
        if place == cells {
            return number;
        }
        (place, number) = (place + 1, number + 1);
    }
}

#[test]
fn skips_reach_the_bar_as_often_as_cells_do() {
    for (test, (bar, cells)) in (2_040..).step_by(2).zip([(3, 100), (-2, 20), (9, 1 << 14)]) {
        for (test, (noise, law)) in (test..).zip(laws(2.0)) {
            let chance: f64 = law[(bar + SHIFT) as usize..].iter().sum();
            assert!((noise.chance_at_least(bar) / chance - 1.0).abs() < 1e-9);
            let number = binomial_law(cells, chance);
            let count = |it: &mut _| reached(&noise, bar, cells, it);
            passes(whole_number_check(&number, 100_000, count, &mut random(test)));
        }
    }
}

#[test]
fn broken_twins_are_caught() {
    let law = laplace_law(3.0);
    let ratio = (-1.0_f64 / 3.0).exp();
    let size = |it: &mut _| geometric(1.0 - ratio, it) as i64;
    // A geometric size with a sign counts zero twice.
    let twice = |it: &mut PrivateRandom| if it.word() & 1 == 0 { size(it) } else { -size(it) };
    is_caught(check(&law, 2_060, twice));
    let wider = IntegerNoise::discrete_laplace(3.03).unwrap();
    is_caught(check(&law, 2_061, |it| wider.draw(it)));

    let law = gaussian_law(3.0);
    is_caught(check(&law, 2_062, |it| (3.0 * normal(it)).trunc() as i64));
    is_caught(check(&law, 2_063, |it| (3.03 * normal(it)).round() as i64));
    // The discrete Gaussian is another law where the deviation is small.
    let weight = |z: i64| (-0.5 * (z as f64 / 0.5).powi(2)).exp();
    let total: f64 = (-40..=40).map(weight).sum();
    let discrete: Vec<f64> = (-SHIFT..=SHIFT).map(|z| weight(z) / total).collect();
    let rounded = IntegerNoise::rounded_gaussian(0.5).unwrap();
    is_caught(check(&discrete, 2_064, |it| rounded.draw(it)));

    let noise = IntegerNoise::rounded_gaussian(3.0).unwrap();
    is_caught(check(&given(&law, 2), 2_065, |it| noise.draw(it).max(2)));
    let number = binomial_law(100, noise.chance_at_least(4));
    let off_by_one = |it: &mut _| reached(&noise, 5, 100, it);
    is_caught(whole_number_check(&number, 100_000, off_by_one, &mut random(2_066)));
}
