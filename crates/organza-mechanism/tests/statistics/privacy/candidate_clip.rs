//! The clip at each candidate: a draw's range is twice that clip, and what is selected moves by sqrt(k) of it.

use super::claims::{exact, gaussian_delta};
use super::harness::{Audit, Claim, pure};
use super::naive::exponential_draw;
use super::pipeline::{BY, Pipeline, Unit, bin, gaussian, opposite_scores, settings};
use crate::support::random;
use organza_ledger::Neighbouring;
use organza_ledger::testing::paid;
use organza_mechanism::sample::normal;
use organza_mechanism::{
    By, NoiseSettings, Plan, PlanSettings, RandomSource, SelectionSettings, Shape,
};

const CLIP: f64 = 0.25;
const CANDIDATES: usize = 16;
const RUNS: u64 = 120_000;
/// No cap that bounds anything.
const CAP: f64 = 1e6;

fn select(
    seed: u64,
    selection: SelectionSettings,
    with: &[Unit],
    without: &[Unit],
) -> Audit<Vec<u64>> {
    let settings = settings(CANDIDATES as u64, selection, gaussian(1.0));
    let pipeline = Pipeline::clipping_candidates(seed, settings, CLIP);
    Audit::new(
        "candidate clip, selection",
        RUNS,
        |run| pipeline.select(with, run),
        |run| pipeline.select(without, run),
    )
}

/// One score rises by the clip and all others fall by it: as much as the clip of the whole allows.
#[test]
fn a_draw_by_scores_of_clipped_candidates_is_private() {
    let selection = SelectionSettings::Exponential { by: BY, draws: 1, epsilon: 1.0, cap: CAP };
    let [with, without] = opposite_scores(CANDIDATES, CLIP as f32);
    select(1_600, selection, &with, &without).holds(&[pure(1.0)], 0.7);
}

/// A unit that is far above the clip at one candidate comes to one that is just below it.
#[test]
fn a_unit_at_one_candidate_is_clipped_there() {
    let selection = SelectionSettings::Exponential { by: BY, draws: 1, epsilon: 2.0, cap: CAP };
    let mut joining = vec![0.0; CANDIDATES];
    joining[CANDIDATES - 1] = 1.0;
    // Only half of the range is seen.
    select(1_601, selection, &[joining], &[]).holds(&[pure(2.0)], 0.35);
}

/// The twins: the weights of this clip without the clip, and weights for a range of one clip in place of two.
#[test]
fn scores_that_move_further_are_caught() {
    let epsilon = 1.0;
    let audit = |name, change: [f64; 2], range: f64| {
        let (mut one, mut other) = (random(1_602), random(1_603));
        let mut with = vec![CLIP + change[1]; CANDIDATES];
        with[0] = CLIP + change[0];
        let without = [CLIP; CANDIDATES];
        let weight = epsilon / range;
        Audit::new(
            name,
            RUNS,
            |_| exponential_draw(&with, weight, &mut one),
            |_| exponential_draw(&without, weight, &mut other),
        )
    };
    let claim = [pure(epsilon)];
    audit("naive clip at each candidate", [CLIP, -CLIP], 2.0 * CLIP).holds(&claim, 0.7);
    audit("no clip at the candidate", [1.0, 0.0], 2.0 * CLIP).is_caught(&claim);
    audit("a range of one clip", [CLIP, -CLIP], CLIP).is_caught(&claim);
}

const DELTAS: [f64; 3] = [0.001, 0.03, 0.2];

fn claims() -> Vec<Claim> {
    exact(&DELTAS, |epsilon| gaussian_delta(1.0, epsilon))
}

/// A unit of norm 1 with all of it at `places` of four candidates comes, all of which are selected; seen along its direction.
fn noise(seed: u64, places: usize, second_clip: Option<f64>) -> Audit<i64> {
    let selection = SelectionSettings::Uniform { by: BY, draws: 4 };
    let noise = NoiseSettings::Gaussian { multiplier: 1.0, second_clip };
    let pipeline = Pipeline::clipping_candidates(seed, settings(4, selection, noise), CLIP);
    let mut joining = vec![0.0; 4];
    joining[..places].fill(1.0 / (places as f32).sqrt());
    let with = [joining];
    let see = |units: &[Unit], run| {
        let values = pipeline.step(units, run).values;
        let along = values[..places].iter().sum::<f32>() / (places as f32).sqrt();
        bin(f64::from(along), 0.05)
    };
    Audit::new("candidate clip, noise", RUNS, |run| see(&with, run), |run| see(&[], run))
}

/// sqrt(4) of the clip is half of the clip of the whole, and so is the noise.
#[test]
fn noise_for_what_all_selected_candidates_move_is_private() {
    noise(1_604, 4, None).holds(&claims(), 0.8);
    noise(1_605, 4, Some(10.0)).holds(&claims(), 0.8);
    // What is at one candidate is half as long as what is at all four.
    noise(1_606, 1, None).holds(&claims(), 0.25);
}

/// The twins: noise for one candidate where there are four, and a unit that was not clipped.
#[test]
fn too_little_noise_on_clipped_candidates_is_caught() {
    let audit = |name, moved: f64, deviation: f64| {
        let (mut one, mut other) = (random(1_607), random(1_608));
        let see = |value: f64, random: &mut _| bin(value + deviation * normal(random), 0.05);
        Audit::new(name, RUNS, |_| see(moved, &mut one), |_| see(0.0, &mut other))
    };
    audit("sqrt(k) clips", 2.0 * CLIP, 2.0 * CLIP).holds(&claims(), 0.8);
    audit("noise for one candidate", 2.0 * CLIP, CLIP).is_caught(&claims());
    audit("a unit that was not clipped", 1.0, 2.0 * CLIP).is_caught(&claims());
}

/// Rows as candidates: whatever a unit writes, no row of what it adds is longer than the clip, and noise is for the root of the
/// number of rows times that.
#[test]
fn rows_are_clipped_by_their_norm() {
    let mut settings =
        settings(1, SelectionSettings::Uniform { by: By::Row, draws: 9 }, gaussian(1e-6));
    settings.shape = Shape::table(9, 5).expect("a good shape");
    settings.clip = 10.0;
    let clipped = |neighbouring| {
        let plan = Plan::new(PlanSettings { neighbouring, ..settings.clone() });
        plan.and_then(|plan| plan.clipping_candidates(CLIP)).expect("a good clip")
    };
    let plan = clipped(Neighbouring::AddRemove);
    for (plan, clips) in [(&plan, 3.0), (&clipped(Neighbouring::ReplaceOne), 6.0)] {
        assert!((plan.noise_deviation() / (1e-6 * clips * CLIP) - 1.0).abs() < 1e-9);
    }
    assert_ne!(plan, Plan::new(settings).expect("a good plan"));
    let source = RandomSource::from_seed(1_609);
    let sampler = plan.sampler("training", 1, &source);
    let batch = sampler.batch(0, &paid(sampler.charge(0..1))).expect("paid");
    let noised = batch.sum(|_, gradient| {
        for row in 0..9 {
            let size = 10.0_f32.powi(row - 6);
            gradient.row(row as u32).expect("inside").fill(size);
        }
    });
    let mut norms = Vec::new();
    noised.select().noise().visit(|_, run| {
        let norm =
            |row: &[f32]| row.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        norms.extend(run.chunks(5).map(norm));
    });
    let expected = (0..9).map(|row| (5.0_f64.sqrt() * 10.0_f64.powi(row - 6)).min(CLIP));
    for (norm, expected) in norms.iter().zip(expected) {
        assert!((norm - expected).abs() < 1e-4, "{norms:?}");
    }
    assert_eq!(norms.len(), 9);
}
