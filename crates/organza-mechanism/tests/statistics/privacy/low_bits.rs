//! What the low bits of a float tell: noise that is a float leaks, noise on the grid does not.

use super::claims::{exact, gaussian_delta};
use super::harness::{Audit, Claim, pure};
use super::pipeline::{Pipeline, Unit, gaussian, settings};
use crate::support::{FALSE_ALARM, random, two_samples};
use organza_mechanism::SelectionSettings;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{laplace, normal};

/// Whether a number is a multiple of 2^-24, where floats are finer than that.
///
/// A float n in (-1.25, -0.75) is a multiple of 2^-24, and so is 1 + n. A float of that size that was
/// drawn around zero rarely is.
fn low_bits(value: f32) -> Option<bool> {
    let steps = f64::from(value) * f64::from(1_u32 << 24);
    (value.abs() < 0.25).then_some(steps.fract() == 0.0)
}

fn floats(
    name: &'static str,
    seed: u64,
    noise: impl Fn(&mut PrivateRandom) -> f64,
) -> Audit<Option<bool>> {
    let (mut one, mut other) = (random(seed), random(seed + 1));
    Audit::new(
        name,
        400_000,
        |_| low_bits(1.0 + noise(&mut one) as f32),
        |_| low_bits(noise(&mut other) as f32),
    )
}

fn gaussian_claims() -> Vec<Claim> {
    exact(&[0.0005, 0.01, 0.1], |epsilon| gaussian_delta(1.0, epsilon))
}

#[test]
fn float_laplace_noise_is_caught() {
    floats("float Laplace noise", 1_900, laplace).is_caught(&[pure(1.0)]);
}

#[test]
fn float_gaussian_noise_is_caught() {
    floats("float Gaussian noise", 1_902, normal).is_caught(&gaussian_claims());
}

/// On the grid the same bits are possible with either input: what they tell is within the claim, and
/// every release is a multiple of the grid's step.
#[test]
fn noise_on_the_grid_tells_nothing_by_its_bits() {
    let pipeline = Pipeline::new(1_904, settings(1, SelectionSettings::Everything, gaussian(1.0)));
    let with = [vec![1.0_f32]];
    let see = |units: &[Unit], run| {
        let value = pipeline.step(units, run).values[0];
        assert_eq!((f64::from(value) * f64::from(1_u32 << 30)).fract(), 0.0, "off the grid");
        low_bits(value)
    };
    Audit::new("noise on the grid", 400_000, |run| see(&with, run), |run| see(&[], run))
        .holds(&gaussian_claims(), f64::NEG_INFINITY);
}

/// The last six bits of a number's place on the grid of step 2^-`bits`, for numbers so small that a float
/// holds them all.
fn count_low_bits(counts: &mut [u64; 64], value: f32, bits: u32) {
    if value.abs() < 1.0 / 64.0 {
        let place = (f64::from(value) * f64::from(1_u32 << bits)).floor() as i64;
        counts[place.rem_euclid(64) as usize] += 1;
    }
}

/// The bits have one law for both inputs on the grid, and not as floats.
#[test]
fn low_bits_have_one_law_on_the_grid_only() {
    let pipeline = Pipeline::new(1_906, settings(1, SelectionSettings::Everything, gaussian(1.0)));
    let unit: [Unit; 1] = [vec![1.0]];
    let mut grid = [[0; 64]; 2];
    let mut floats = [[0; 64]; 2];
    let mut random = random(1_907);
    for run in 0..400_000 {
        // What is released has 2^18 steps in a deviation.
        count_low_bits(&mut grid[0], pipeline.step(&unit, 2 * run).values[0], 18);
        count_low_bits(&mut grid[1], pipeline.step(&[], 2 * run + 1).values[0], 18);
        count_low_bits(&mut floats[0], 1.0 + normal(&mut random) as f32, 30);
        count_low_bits(&mut floats[1], normal(&mut random) as f32, 30);
    }
    assert!(two_samples(&grid[0], &grid[1]) > FALSE_ALARM);
    assert!(two_samples(&floats[0], &floats[1]) < FALSE_ALARM);
}
