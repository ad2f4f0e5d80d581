//! A vocabulary: only words that many units have, by noisy counts, in an order that tells nothing.

use super::claims::{exact, gaussian_delta};
use super::harness::{Audit, Claim};
use crate::paid::Paid;
use crate::support::random;
use organza_ledger::Neighbouring;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::IntegerNoise;
use organza_mechanism::{ItemRule, ItemSettings, ItemsPlan};

const RUNS: u64 = 100_000;
pub(super) const DELTA: f64 = 0.01;

pub(super) type Shown = Vec<(&'static str, i64)>;

pub(super) fn plan(items_per_unit: u64, rule: ItemRule) -> ItemsPlan {
    let neighbouring = Neighbouring::AddRemove;
    ItemsPlan::new(ItemSettings { items_per_unit, neighbouring, rule }).unwrap()
}

fn release(plan: &ItemsPlan, paid: &Paid<'_>, number: u64, units: &[&[&'static str]]) -> Shown {
    let (release, charged) = paid.number(number);
    let mut counts = plan.counts(release);
    units.iter().for_each(|unit| counts.add(unit.iter().copied()));
    let noisy = counts.noise(charged).unwrap();
    let bin = |count: f64| (2.0 * count).floor() as i64;
    noisy.items().iter().map(|(word, count)| (*word, bin(*count))).collect()
}

pub(super) fn audit<Class: Ord>(
    name: &'static str,
    seed: u64,
    plan: &ItemsPlan,
    [with, without]: [&[&[&'static str]]; 2],
    see: impl Fn(Shown) -> Class,
) -> Audit<Class> {
    let paid = Paid::new(seed, |source| plan.release("words", source));
    Audit::new(
        name,
        RUNS,
        |run| see(release(plan, &paid, run, with)),
        |run| see(release(plan, &paid, run, without)),
    )
}

fn words(shown: Shown) -> Vec<&'static str> {
    shown.into_iter().map(|(word, _)| word).collect()
}

/// The sum of the noisy counts, which all move one way.
fn sum(shown: Shown) -> i64 {
    shown.iter().map(|(_, count)| count).sum()
}

/// The unit has one word of others and one, a name, of its own; it comes first in the data.
const UNITS: [&[&str]; 6] = [
    &["secret", "common"],
    &["common"],
    &["common"],
    &["common"],
    &["common"],
    &["common", "rare"],
];

fn laplace(epsilon: f64) -> ItemRule {
    ItemRule::Laplace { epsilon, delta: DELTA }
}

#[test]
fn words_are_private() {
    let claim = Claim { epsilon: 1.0, delta: DELTA };
    let neighbours: [&[&[&str]]; 2] = [&UNITS, &UNITS[1..]];
    audit("words by Laplace noise", 2_302, &plan(2, laplace(1.0)), neighbours, |shown| shown)
        .holds(&[claim], 0.1);
    // Both words of the unit are common: all of epsilon is spent on their counts.
    let common = [["a", "b"].as_slice(); 16];
    audit("common words", 2_316, &plan(2, laplace(1.0)), [&common, &common[1..]], sum)
        .holds(&[claim], 0.5);
    // A name alone: it shows, but no more often than with probability delta.
    let alone: [&[&[&str]]; 2] = [&[&["secret", "other"]], &[]];
    let audit = audit("words of one unit", 2_301, &plan(2, laplace(1.0)), alone, words);
    audit.holds(&[Claim { epsilon: 1e-9, delta: DELTA }], f64::NEG_INFINITY);
    audit.is_caught(&[Claim { epsilon: 1.0, delta: 0.5 * DELTA }]);
}

#[test]
fn words_with_gaussian_noise_are_private() {
    let neighbours: [&[&[&str]]; 2] = [&UNITS, &UNITS[1..]];
    let claims: Vec<Claim> = exact(&[0.01, 0.1, 0.3], |epsilon| gaussian_delta(1.0, epsilon))
        .into_iter()
        .map(|claim| Claim { delta: claim.delta + DELTA, ..claim })
        .collect();
    let plan = plan(2, ItemRule::AdaptiveGaussian { multiplier: 1.0, delta: DELTA });
    audit("words by Gaussian noise", 2_304, &plan, neighbours, |shown| shown).holds(&claims, 0.05);
    let common = [["a", "b"].as_slice(); 16];
    audit("common words", 2_305, &plan, [&common, &common[1..]], sum).holds(&claims, 0.5);
}

/// A unit of ten words, of which two may count. Others have them too, just so often that one more lifts a
/// count to the threshold; the twin counts all ten, at the same threshold.
#[test]
fn a_unit_of_many_words_is_private() {
    const MANY: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let plan = plan(2, laplace(2.0));
    let threshold = plan.threshold() as i64;
    let pairs: Vec<&[&str]> = MANY.chunks(2).collect();
    let others = pairs.repeat(threshold as usize - 1);
    let with = [&[&MANY[..]], &others[..]].concat();
    let claim = Claim { epsilon: 2.0, delta: DELTA };
    audit("words of a long unit", 2_317, &plan, [&with, &others], |shown| shown.len())
        .holds(&[claim], 0.1);
    twin("words without the bound of a unit", 2_318, |with, it| {
        let count = if with { threshold } else { threshold - 1 };
        let noise = IntegerNoise::discrete_laplace(1.0).unwrap();
        (0..MANY.len()).map(|_| count + noise.draw(it)).filter(|noisy| *noisy >= threshold).count()
    })
    .is_caught(&[claim]);
}

fn twin<Class: Ord>(
    name: &'static str,
    seed: u64,
    show: impl Fn(bool, &mut PrivateRandom) -> Class,
) -> Audit<Class> {
    let (mut one, mut other) = (random(seed), random(seed + 1));
    Audit::new(name, RUNS, |_| show(true, &mut one), |_| show(false, &mut other))
}

/// Words that two units have at the least: what many a tool calls a minimum count.
#[test]
fn a_vocabulary_of_raw_counts_is_caught() {
    twin("words by raw counts", 2_310, |with, _| {
        let count = if with { 2 } else { 1 };
        count >= 2
    })
    .is_caught(&[Claim { epsilon: 1.0, delta: DELTA }]);
}

/// The threshold without its offset for what one unit alone has.
#[test]
fn a_low_threshold_is_caught() {
    let noise = IntegerNoise::discrete_laplace(1.0).unwrap();
    twin("words by a low threshold", 2_312, |with, it| with && 1 + noise.draw(it) >= 3)
        .is_caught(&[Claim { epsilon: 1.0, delta: DELTA }]);
}

/// Two words that everybody has; the unit has them in another order and comes first. The twin numbers
/// words as they appear.
#[test]
fn the_order_of_words_tells_nothing() {
    let mut units = [["a", "b"].as_slice(); 12];
    units[0] = &["b", "a"];
    let claim = Claim { epsilon: 1.0, delta: DELTA };
    audit("words in order", 2_314, &plan(2, laplace(1.0)), [&units, &units[1..]], words)
        .holds(&[claim], f64::NEG_INFINITY);
    twin("words as they appear", 2_315, |with, _| if with { ["b", "a"] } else { ["a", "b"] })
        .is_caught(&[claim]);
}
