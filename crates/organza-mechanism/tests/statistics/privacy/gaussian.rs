//! Dense Gaussian noise, after the clip, on a fixed divisor, fresh in each step.

use super::claims::{exact, gaussian_delta};
use super::harness::{Audit, Claim, pure};
use super::pipeline::{Pipeline, Unit, bin, gaussian, settings};
use crate::support::random;
use organza_mechanism::SelectionSettings;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{laplace, normal};

const DELTAS: [f64; 4] = [0.0005, 0.01, 0.1, 0.3];

fn claims(multiplier: f64) -> Vec<Claim> {
    exact(&DELTAS, |epsilon| gaussian_delta(1.0 / multiplier, epsilon))
}

fn pipeline(seed: u64, multiplier: f64) -> Pipeline {
    Pipeline::new(seed, settings(4, SelectionSettings::Everything, gaussian(multiplier)))
}

/// The place along the direction in which the unit moves the sum.
fn along(values: &[f32]) -> f64 {
    0.5 * values.iter().map(|value| f64::from(*value)).sum::<f64>()
}

fn audit(name: &'static str, pipeline: &Pipeline, with: &[Unit], without: &[Unit]) -> Audit<i64> {
    let see = |units: &[Unit], run| bin(along(&pipeline.step(units, run).values), 0.1);
    Audit::new(name, 500_000, |run| see(with, run), |run| see(without, run))
}

/// The unit's gradient is far longer than the clip.
#[test]
fn dense_noise_is_private() {
    let with = [vec![50.0_f32; 4]];
    audit("Gaussian", &pipeline(1_300, 1.0), &with, &[]).holds(&claims(1.0), 0.9);
}

#[test]
fn a_halved_sensitivity_is_caught() {
    let with = [vec![0.5_f32; 4]];
    audit("Gaussian, half the sensitivity", &pipeline(1_301, 0.5), &with, &[])
        .is_caught(&claims(1.0));
}

/// Two laws of one number, seen in bins.
fn numbers(
    name: &'static str,
    seed: u64,
    with: impl Fn(&mut PrivateRandom) -> f64,
    without: impl Fn(&mut PrivateRandom) -> f64,
) -> Audit<i64> {
    let (mut one, mut other) = (random(seed), random(seed + 1));
    Audit::new(name, 400_000, |_| bin(with(&mut one), 0.1), |_| bin(without(&mut other), 0.1))
}

#[test]
fn a_missing_clip_is_caught() {
    numbers("Gaussian without the clip", 1_310, |random| 2.0 + normal(random), normal)
        .is_caught(&claims(1.0));
}

/// Laplace noise of scale 1 / epsilon on a number of sensitivity 1, and its twin with half of that.
#[test]
fn laplace_noise_is_private_and_half_of_it_is_caught() {
    numbers("Laplace", 1_312, |random| 1.0 + laplace(random), laplace).holds(&[pure(1.0)], 0.9);
    let half = |random: &mut PrivateRandom| 0.5 * laplace(random);
    numbers("Laplace, half the sensitivity", 1_314, |random| 1.0 + half(random), half)
        .is_caught(&[pure(1.0)]);
}

/// Ten units are expected; two came, or one. A tenth of the clip is what a unit may move.
#[test]
fn division_by_the_true_size_is_caught() {
    let mut settings = settings(1, SelectionSettings::Everything, gaussian(1.0));
    settings.expected_batch = 10.0;
    let pipeline = Pipeline::new(1_316, settings);
    let (with, without) = ([vec![-1.0_f32], vec![1.0]], [vec![-1.0_f32]]);
    let see = |units: &[Unit], run| bin(f64::from(pipeline.step(units, run).values[0]), 0.01);
    Audit::new("Gaussian, fixed divisor", 400_000, |run| see(&with, run), |run| see(&without, run))
        .holds(&claims(1.0), 0.9);
    let noise = |random: &mut PrivateRandom| 0.1 * normal(random);
    numbers("Gaussian, divided by the true size", 1_317, noise, |random| -1.0 + noise(random))
        .is_caught(&claims(1.0));
}

/// Two steps, in which the gradient of the unit points to opposite sides. With fresh noise they are a
/// Gaussian of distance sqrt2; with the noise of step one again, their difference has no noise.
#[test]
fn noise_of_the_step_before_is_caught() {
    let pipeline = pipeline(1_320, 1.0);
    let (first, second) = ([vec![0.5_f32; 4]], [vec![-0.5_f32; 4]]);
    let see = |units: [&[Unit]; 2], steps: [u64; 2]| {
        let one = along(&pipeline.step(units[0], steps[0]).values);
        let two = along(&pipeline.step(units[1], steps[1]).values);
        bin(one - two, 0.1)
    };
    let both = exact(&DELTAS, |epsilon| gaussian_delta(std::f64::consts::SQRT_2, epsilon));
    let with: [&[Unit]; 2] = [&first, &second];
    Audit::new(
        "Gaussian, two steps",
        200_000,
        |run| see(with, [2 * run, 2 * run + 1]),
        |run| see([&[], &[]], [2 * run, 2 * run + 1]),
    )
    .holds(&both, 0.9);
    Audit::new(
        "Gaussian, noise reused",
        200_000,
        |run| see(with, [run, run]),
        |run| see([&[], &[]], [run, run]),
    )
    .is_caught(&both);
}
