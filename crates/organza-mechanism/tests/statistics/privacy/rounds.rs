//! Items that are released in rounds: weights follow the noisy sums of earlier rounds, and nothing else.

use super::claims::{exact, gaussian_delta};
use super::harness::{Audit, Claim};
use super::unknown_domain::{DELTA, Shown, audit, plan};
use crate::support::random;
use organza_mechanism::ItemRule;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::IntegerNoise;

const RUNS: u64 = 20_000;
const ROUNDS: usize = 16;
const STEPS: f64 = (1 << 20) as f64;

fn claims(deltas: &[f64]) -> Vec<Claim> {
    let exact = exact(deltas, |epsilon| gaussian_delta(1.0, epsilon)).into_iter();
    exact.map(|claim| Claim { delta: claim.delta + DELTA, ..claim }).collect()
}

fn gaussian(multiplier: f64) -> ItemRule {
    ItemRule::AdaptiveGaussian { multiplier, delta: DELTA }
}

/// Eight words that nobody else has.
const ALONE: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// They show, but not as often as with probability delta, and some of the bound is used.
#[test]
fn words_of_one_unit_stay_hidden() {
    let alone: [&[&[&str]]; 2] = [&[&ALONE], &[]];
    let see = |shown: Shown| !shown.is_empty();
    let audit = audit("words of one unit, in rounds", 2_330, &plan(8, gaussian(6.0)), alone, see);
    audit.holds(&[Claim { epsilon: 1e-9, delta: DELTA }], f64::NEG_INFINITY);
    audit.is_caught(&[Claim { epsilon: 1.0, delta: 0.3 * DELTA }]);
}

/// What may be wrong with rounds.
#[derive(Clone, Copy, PartialEq)]
enum Flaw {
    None,
    /// Weights are not divided by their norm.
    NotNormalised,
    /// Weights follow the true sums, so that one unit moves those of all others.
    TrueSums,
}

/// Rounds by their definition, in floats, at deviation 1 and near a line that ends at `goal`: what each round shows of
/// each of N words. All of `others` units have all words, and one more, if it is there, has the first `own`.
fn by_definition<const N: usize>(
    flaw: Flaw,
    (others, goal): (f64, f64),
    own: usize,
    random: &mut PrivateRandom,
) -> [[f64; N]; ROUNDS] {
    let noise = IntegerNoise::rounded_gaussian(4.0 * STEPS).unwrap();
    let (mut noisy, mut truth, mut values) = ([0.0; N], [0.0; N], [1.0_f64; N]);
    let norm = |values: &[f64]| match flaw {
        Flaw::NotNormalised => 1.0,
        _ => values.iter().map(|value| value * value).sum::<f64>().sqrt(),
    };
    std::array::from_fn(|round| {
        let shown = std::array::from_fn(|word| {
            let of_unit = if word < own { values[word] / norm(&values[..own]) } else { 0.0 };
            let weight = others * values[word] / norm(&values) + of_unit;
            truth[word] += weight;
            let shown = weight + noise.draw(random) as f64 / STEPS;
            noisy[word] += shown;
            shown
        });
        let rounds = round as f64 + 1.0;
        let line = goal * rounds / ROUNDS as f64;
        let reach = 3.0 * 4.0 * rounds.sqrt();
        let sums = if flaw == Flaw::TrueSums { truth } else { noisy };
        values = sums.map(|sum| (1.0 - (sum - line).abs() / reach).max(0.05));
        shown
    })
}

fn compared<const N: usize>(
    name: &'static str,
    (seed, flaw): (u64, Flaw),
    (others, goal, own): (f64, f64, usize),
    see: impl Fn([[f64; N]; ROUNDS]) -> f64,
) -> Audit<i64> {
    let (mut one, mut other) = (random(seed), random(seed + 1));
    let see = |own, random: &mut PrivateRandom| {
        see(by_definition(flaw, (others, goal), own, random)).floor() as i64
    };
    Audit::new(name, RUNS, |_| see(own, &mut one), |_| see(0, &mut other))
}

/// 300 units have two words that both stand on the line; one more has the first, which the second round shows.
fn second_round(name: &'static str, seed: u64, flaw: Flaw) -> Audit<i64> {
    let on_the_line = 300.0 * 16.0 / 2_f64.sqrt();
    compared(name, (seed, flaw), (300.0, on_the_line, 1), |shown| {
        let [first, second] = shown[1];
        second - first
    })
}

/// One of 31 units has all of 64 words, and their sum over some rounds is seen.
fn first_rounds(name: &'static str, seed: u64, flaw: Flaw, rounds: usize) -> Audit<i64> {
    let on_the_line = 30.0 * 16.0 / 8.0;
    compared::<64>(name, (seed, flaw), (30.0, on_the_line, 64), |shown| {
        shown[..rounds].as_flattened().iter().sum::<f64>() / rounds as f64
    })
}

/// The unit moves one of two words, and then through the noisy sums all weights: this is paid for.
#[test]
fn weights_may_follow_noisy_sums() {
    let claims = claims(&[0.01, 0.1]);
    second_round("the second round", 2_332, Flaw::None).holds(&claims, f64::NEG_INFINITY);
    first_rounds("all rounds", 2_342, Flaw::None, ROUNDS).holds(&claims, 0.3);
    let others = vec![["a", "b"].as_slice(); 30];
    let with = [&[["a"].as_slice()], &others[..]].concat();
    let see = |shown: Shown| {
        let count =
            |name| shown.iter().find(|(word, _)| *word == name).map_or(0, |(_, count)| *count);
        count("a") - count("b")
    };
    audit("two words in rounds", 2_334, &plan(2, gaussian(1.0)), [&with, &others], see)
        .holds(&claims, 0.2);
}

#[test]
fn weights_that_follow_true_sums_are_caught() {
    second_round("weights by true sums", 2_336, Flaw::TrueSums).is_caught(&claims(&[0.01, 0.1]));
}

#[test]
fn weights_that_are_not_divided_are_caught() {
    first_rounds("weights of norm 8", 2_338, Flaw::NotNormalised, 1)
        .is_caught(&claims(&[0.01, 0.1]));
}

/// A threshold for one word, and for one without a weight, where a unit may have eight.
#[test]
fn a_threshold_without_room_for_new_words_is_caught() {
    let noise = IntegerNoise::rounded_gaussian(16.0).unwrap();
    let threshold = (0..).find(|level| noise.chance_at_least(*level) <= DELTA).unwrap();
    let (mut one, mut other) = (random(2_340), random(2_341));
    // Sixteen rounds of the weight 1 / sqrt8.
    let weight = (16.0 / 8_f64.sqrt()) as i64;
    let shows = |with: bool, random: &mut PrivateRandom| {
        with && ALONE.iter().any(|_| weight + noise.draw(random) >= threshold)
    };
    let name = "words by a threshold for one";
    let audit = Audit::new(name, RUNS, |_| shows(true, &mut one), |_| shows(false, &mut other));
    audit.is_caught(&[Claim { epsilon: 1.0, delta: DELTA }]);
}
