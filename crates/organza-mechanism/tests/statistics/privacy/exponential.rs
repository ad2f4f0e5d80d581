//! The exponential mechanism: each draw has bounded range eta, so k draws are k eta-private.

use super::harness::{Audit, pure};
use super::naive::exponential_draw;
use super::pipeline::{BY, Pipeline, gaussian, opposite_scores, settings};
use crate::support::random;
use organza_mechanism::SelectionSettings;

const CAP: f64 = 0.1;
const CANDIDATES: usize = 16;

fn audit(name: &'static str, seed: u64, draws: u64, epsilon: f64) -> Audit<Vec<u64>> {
    let selection = SelectionSettings::Exponential { by: BY, draws, epsilon, cap: CAP };
    let pipeline = Pipeline::new(seed, settings(CANDIDATES as u64, selection, gaussian(1.0)));
    let [with, without] = opposite_scores(CANDIDATES, CAP as f32);
    Audit::new(
        name,
        400_000,
        |run| pipeline.select(&with, run),
        |run| pipeline.select(&without, run),
    )
}

#[test]
fn one_draw_is_private() {
    audit("exponential, eta 1", 1_000, 1, 1.0).holds(&[pure(1.0)], 0.8);
}

/// So high a weight that the draws are made by clocks and not by rejection.
#[test]
fn one_draw_of_high_weight_is_private() {
    audit("exponential, eta 6", 1_001, 1, 6.0).holds(&[pure(6.0)], 0.7);
}

#[test]
fn several_draws_are_private() {
    audit("exponential, two draws", 1_002, 2, 1.0).holds(&[pure(2.0)], 0.4);
}

/// Where the clip is what bounds the range: one score rises and another falls by C / sqrt2, so that
/// the range is sqrt2 C.
fn audit_of_the_clip(name: &'static str, seed: u64, runs: u64, weight: f64) -> Audit<usize> {
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let (mut one, mut other) = (random(seed), random(seed + 1));
    Audit::new(
        name,
        runs,
        |_| exponential_draw(&[half, 0.0], weight, &mut one),
        |_| exponential_draw(&[0.0, half], weight, &mut other),
    )
}

/// The twins: weights for the range S0 in place of 2 S0, and for half of sqrt2 C.
#[test]
fn too_high_weights_are_caught() {
    let epsilon = 1.0;
    let mut with = vec![0.0; CANDIDATES];
    with[0] = CAP;
    let mut without = vec![CAP; CANDIDATES];
    without[0] = 0.0;
    let audit = |name, range: f64| {
        let (mut one, mut other) = (random(1_010), random(1_011));
        let weight = epsilon / range;
        Audit::new(
            name,
            400_000,
            |_| exponential_draw(&with, weight, &mut one),
            |_| exponential_draw(&without, weight, &mut other),
        )
    };
    audit("naive exponential", 2.0 * CAP).holds(&[pure(epsilon)], 0.8);
    audit("exponential without the factor 2", CAP).is_caught(&[pure(epsilon)]);

    let range = std::f64::consts::SQRT_2;
    // Two candidates see half of the range only, so the halved sensitivity comes just to the claim,
    // and a third of it exceeds it.
    audit_of_the_clip("naive exponential, clip", 1_012, 400_000, epsilon / range)
        .holds(&[pure(epsilon)], 0.45);
    audit_of_the_clip("exponential, a third of the clip", 1_014, 400_000, 3.0 * epsilon / range)
        .is_caught(&[pure(epsilon)]);
}
