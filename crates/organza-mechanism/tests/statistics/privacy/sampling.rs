//! Poisson batches: the whole pipeline at a rate below 1, and a batch of fixed size in its place.

use super::claims::{exact, gaussian_delta, sampled, sampled_add_delta, sampled_remove_delta};
use super::harness::{Audit, Claim, Direction, pure};
use super::pipeline::{BY, Pipeline, Unit, bin, gaussian, opposite_scores, settings};
use crate::support::random;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{below, normal};
use organza_mechanism::{NoiseSettings, SelectionSettings};

const RATE: f64 = 0.4;
/// Where the neighbours differ by more than the unit alone can show, the others have to be there too.
const HIGH_RATE: f64 = 0.8;
const DELTAS: [f64; 3] = [0.001, 0.02, 0.1];

/// The exact claims of a Gaussian of distance `distance` on a Poisson batch, each for its direction.
fn sampled_claims(distance: f64) -> Vec<(Direction, Claim)> {
    let remove = exact(&DELTAS, |epsilon| sampled_remove_delta(distance, RATE, epsilon));
    let add = exact(&DELTAS, |epsilon| sampled_add_delta(distance, RATE, epsilon));
    let remove = remove.into_iter().map(|claim| (Direction::Remove, claim));
    remove.chain(add.into_iter().map(|claim| (Direction::Add, claim))).collect()
}

fn pipeline(
    seed: u64,
    rate: f64,
    coordinates: u64,
    selection: SelectionSettings,
    noise: NoiseSettings,
) -> Pipeline {
    let mut settings = settings(coordinates, selection, noise);
    settings.rate = rate;
    Pipeline::new(seed, settings)
}

#[test]
fn dense_noise_on_a_poisson_batch_is_private() {
    let pipeline = pipeline(1_800, RATE, 1, SelectionSettings::Everything, gaussian(0.5));
    let with = [vec![1.0_f32]];
    let see = |units: &[Unit], run| bin(f64::from(pipeline.step(units, run).values[0]), 0.05);
    Audit::new("Poisson, Gaussian", 400_000, |run| see(&with, run), |run| see(&[], run))
        .holds_for(&sampled_claims(2.0), 0.9);
}

#[test]
fn sparse_vector_on_a_poisson_batch_is_private() {
    let selection = SelectionSettings::SparseVector {
        by: BY,
        hits: 1,
        order: Default::default(),
        threshold: 0.1,
        threshold_epsilon: 2.0,
        query_epsilon: 2.0,
        cap: Some(0.1),
    };
    let pipeline = pipeline(1_801, HIGH_RATE, 8, selection, gaussian(1.0));
    let [with, without] = opposite_scores(8, 0.1);
    let see = |units: &[Unit], run| pipeline.select(units, run);
    Audit::new("Poisson, sparse vector", 400_000, |run| see(&with, run), |run| see(&without, run))
        .holds(&[sampled(pure(4.0), HIGH_RATE)], 0.2);
}

/// The paper's step: exponential selection, second clip and noise, on one batch. Selection is
/// eta-private and the noise (epsilon, delta)-private for every selection, so the step is
/// (eta + epsilon, delta)-private on its batch, and sampling amplifies the two together.
#[test]
fn a_whole_step_is_private() {
    let eta = 0.5;
    let selection = SelectionSettings::Exponential { by: BY, draws: 1, epsilon: eta, cap: 1.0 };
    let noise = NoiseSettings::Gaussian { multiplier: 0.7, second_clip: Some(0.5) };
    let pipeline = pipeline(1_802, HIGH_RATE, 2, selection, noise);
    let (with, without) = ([vec![-0.5_f32, 0.0], vec![1.0, 0.0]], [vec![-0.5_f32, 0.0]]);
    let see = |units: &[Unit], run| {
        let released = pipeline.step(units, run);
        (released.selected[0], bin(f64::from(released.values[0]), 0.1))
    };
    let claims: Vec<Claim> = exact(&DELTAS, |epsilon| gaussian_delta(1.0 / 0.7, epsilon))
        .into_iter()
        .map(|Claim { epsilon, delta }| sampled(Claim { epsilon: eta + epsilon, delta }, HIGH_RATE))
        .collect();
    Audit::new("a whole step", 400_000, |run| see(&with, run), |run| see(&without, run))
        .holds(&claims, 0.2);
}

/// A batch of two out of five, shuffled: whoever leaves makes room for another, so that the sum moves
/// by two clips.
#[test]
fn a_shuffled_batch_of_fixed_size_is_caught() {
    let mean = |units: &[f64], random: &mut PrivateRandom| {
        let first = below(units.len() as u64, random) as usize;
        let other = below(units.len() as u64 - 1, random) as usize;
        let second = if other >= first { other + 1 } else { other };
        bin(units[first] + units[second] + 0.5 * normal(random), 0.05)
    };
    let (with, without) = ([-1.0, -1.0, -1.0, -1.0, 1.0], [-1.0; 4]);
    let (mut one, mut other) = (random(1_803), random(1_804));
    Audit::new(
        "a shuffled batch",
        400_000,
        |_| mean(&with, &mut one),
        |_| mean(&without, &mut other),
    )
    .is_caught_for(&sampled_claims(2.0));
}
