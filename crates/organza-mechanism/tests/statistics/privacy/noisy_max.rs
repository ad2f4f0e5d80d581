//! Report noisy max: the winner is epsilon-private, its noisy score is not for free.

use super::harness::{Audit, pure};
use super::pipeline::{BY, Pipeline, bin, gaussian, opposite_scores, settings};
use crate::support::random;
use organza_ledger::MaxNoise;
use organza_mechanism::SelectionSettings;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::laplace;

const CAP: f64 = 0.1;
const CANDIDATES: usize = 12;

fn audit(name: &'static str, seed: u64, noise: MaxNoise, draws: u64) -> Audit<Vec<u64>> {
    let selection =
        SelectionSettings::NoisyMax { by: BY, draws, epsilon: 1.0, noise, cap: Some(CAP) };
    let pipeline = Pipeline::new(seed, settings(CANDIDATES as u64, selection, gaussian(1.0)));
    let [with, without] = opposite_scores(CANDIDATES, CAP as f32);
    Audit::new(
        name,
        300_000,
        |run| pipeline.select(&with, run),
        |run| pipeline.select(&without, run),
    )
}

#[test]
fn the_winner_with_gumbel_noise_is_private() {
    audit("noisy max, Gumbel", 1_200, MaxNoise::Gumbel, 1).holds(&[pure(1.0)], 0.8);
}

#[test]
fn the_winner_with_laplace_noise_is_private() {
    audit("noisy max, Laplace", 1_201, MaxNoise::Laplace, 1).holds(&[pure(1.0)], 0.5);
}

#[test]
fn the_winner_with_exponential_noise_is_private() {
    audit("noisy max, exponential", 1_202, MaxNoise::Exponential, 1).holds(&[pure(1.0)], 0.5);
}

#[test]
fn several_winners_are_private() {
    audit("noisy max, two winners", 1_203, MaxNoise::Laplace, 2).holds(&[pure(2.0)], 0.3);
}

/// The winner of scores of sensitivity 1 and its noisy score.
fn winner(scores: &[f64], scale: f64, random: &mut PrivateRandom) -> (usize, f64) {
    let mut best = (0, f64::NEG_INFINITY);
    for (candidate, score) in scores.iter().enumerate() {
        let noisy = score + scale * laplace(random);
        if noisy > best.1 {
            best = (candidate, noisy);
        }
    }
    best
}

fn twin<Class: Ord>(
    name: &'static str,
    seed: u64,
    scale: f64,
    candidates: usize,
    shows: impl Fn((usize, f64)) -> Class,
) -> Audit<Class> {
    let mut with = vec![0.0; candidates];
    with[0] = 1.0;
    let mut without = vec![1.0; candidates];
    without[0] = 0.0;
    let (mut one, mut other) = (random(seed), random(seed + 1));
    Audit::new(
        name,
        800_000,
        |_| shows(winner(&with, scale, &mut one)),
        |_| shows(winner(&without, scale, &mut other)),
    )
}

#[test]
fn the_naive_form_is_private() {
    twin("naive noisy max", 1_210, 2.0, 12, |(candidate, _)| candidate).holds(&[pure(1.0)], 0.5);
}

#[test]
fn a_halved_sensitivity_is_caught() {
    twin("noisy max, half the sensitivity", 1_212, 1.0, 12, |(candidate, _)| candidate)
        .is_caught(&[pure(1.0)]);
}

/// A winner with a low noisy score tells that all the others were lower still.
#[test]
fn a_noisy_score_for_free_is_caught() {
    twin("noisy max with its score", 1_214, 2.0, 5, |(candidate, noisy)| {
        (candidate, bin(noisy, 0.5))
    })
    .is_caught(&[pure(1.0)]);
}
