//! A uniform mask and Gaussian noise on what it lets through: the mask hides part of the unit.

use super::claims::{exact, gaussian_delta};
use super::harness::{Audit, Claim};
use super::pipeline::{BY, Pipeline, Unit, bin, gaussian, settings};
use organza_mechanism::SelectionSettings;

const COORDINATES: usize = 4;
const DRAWS: u64 = 1;
const DELTAS: [f64; 3] = [0.001, 0.01, 0.08];

/// A unit with this gradient comes to an otherwise empty batch.
fn audit(name: &'static str, seed: u64, unit: [f32; COORDINATES]) -> Audit<(u64, i64)> {
    let selection = SelectionSettings::Uniform { by: BY, draws: DRAWS };
    let pipeline = Pipeline::new(seed, settings(COORDINATES as u64, selection, gaussian(0.5)));
    let with = [unit.to_vec()];
    let see = |units: &[Unit], run| {
        let released = pipeline.step(units, run);
        (released.selected[0], bin(f64::from(released.values[0]), 0.1))
    };
    Audit::new(name, 400_000, |run| see(&with, run), |run| see(&[], run))
}

/// The mask is published and independent of the data: delta is the mean over masks of that of the part
/// of the unit behind each.
fn claims(unit: [f32; COORDINATES]) -> Vec<Claim> {
    let distance = |value: &f32| f64::from(value.abs()) / 0.5;
    exact(&DELTAS, |epsilon| {
        unit.iter().map(|value| gaussian_delta(distance(value), epsilon)).sum::<f64>()
            / COORDINATES as f64
    })
}

#[test]
fn a_unit_in_one_coordinate_is_hidden_by_its_share() {
    let unit = [0.0, 0.0, 1.0, 0.0];
    audit("uniform mask, one coordinate", 1_500, unit).holds(&claims(unit), 0.8);
}

#[test]
fn a_unit_in_all_coordinates_is_hidden_by_its_share() {
    let unit = [0.5, -0.5, 0.5, 0.5];
    audit("uniform mask, all coordinates", 1_501, unit).holds(&claims(unit), 0.8);
}

/// A mask that prefers the largest coordinate is no uniform one.
#[test]
fn a_mask_that_looks_is_caught() {
    let unit = [0.0, 0.0, 1.0, 0.0];
    let selection = SelectionSettings::Exponential { by: BY, draws: DRAWS, epsilon: 4.0, cap: 1.0 };
    let pipeline = Pipeline::new(1_502, settings(COORDINATES as u64, selection, gaussian(0.5)));
    let with = [unit.to_vec()];
    let see = |units: &[Unit], run| {
        let released = pipeline.step(units, run);
        (released.selected[0], bin(f64::from(released.values[0]), 0.1))
    };
    Audit::new("a mask that looks", 400_000, |run| see(&with, run), |run| see(&[], run))
        .is_caught(&claims(unit));
}
