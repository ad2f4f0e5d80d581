//! The second clip: what is released moves by min(C, 2 S2), and the pair -g/2, +g/2 attains it.

use super::claims::{exact, gaussian_delta};
use super::harness::{Audit, Claim};
use super::pipeline::{Pipeline, Unit, bin, settings};
use crate::support::random;
use organza_mechanism::sample::normal;
use organza_mechanism::{NoiseSettings, SelectionSettings};

const SECOND_CLIP: f64 = 0.3;
const DELTAS: [f64; 3] = [0.001, 0.03, 0.2];

fn claims() -> Vec<Claim> {
    exact(&DELTAS, |epsilon| gaussian_delta(1.0, epsilon))
}

/// The sum is -g/2 without the unit and +g/2 with it, both longer than the second clip.
fn audit(
    name: &'static str,
    seed: u64,
    coordinates: u64,
    selection: SelectionSettings,
) -> Audit<i64> {
    let noise = NoiseSettings::Gaussian { multiplier: 1.0, second_clip: Some(SECOND_CLIP) };
    let pipeline = Pipeline::new(seed, settings(coordinates, selection, noise));
    let length = 1.0 / (coordinates as f32).sqrt();
    let unit = |share: f32| vec![share * length; coordinates as usize];
    let (with, without) = ([unit(-0.5), unit(1.0)], [unit(-0.5)]);
    let see = |units: &[Unit], run| {
        let values = pipeline.step(units, run).values;
        let along = values.iter().sum::<f32>() / (values.len() as f32).sqrt();
        bin(f64::from(along), 0.06)
    };
    Audit::new(name, 400_000, |run| see(&with, run), |run| see(&without, run))
}

#[test]
fn noise_after_the_second_clip_is_private() {
    audit("second clip, dense", 1_400, 2, SelectionSettings::Everything).holds(&claims(), 0.9);
}

/// A uniform mask of all coordinates: the same through the sparse release.
#[test]
fn noise_on_a_selection_after_the_second_clip_is_private() {
    let selection = SelectionSettings::Uniform { by: super::pipeline::BY, draws: 2 };
    audit("second clip, selected", 1_401, 2, selection).holds(&claims(), 0.9);
}

/// Noise for min(C, S2), as the paper's rule has it.
#[test]
fn a_sensitivity_of_one_radius_is_caught() {
    let (mut one, mut other) = (random(1_402), random(1_403));
    let deviation = SECOND_CLIP.min(1.0);
    Audit::new(
        "second clip, min(C, S2)",
        400_000,
        |_| bin(SECOND_CLIP + deviation * normal(&mut one), 0.06),
        |_| bin(-SECOND_CLIP + deviation * normal(&mut other), 0.06),
    )
    .is_caught(&claims());
}
