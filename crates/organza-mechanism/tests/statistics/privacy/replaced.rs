//! One unit in the place of another moves a sum further than one more or less. The broken twin of each
//! release is its plan for add-remove neighbours, with which a replaced unit shows too much.

use super::claims::{exact, gaussian_delta};
use super::harness::{Audit, Claim, pure};
use super::histogram::{self, Cells, value};
use super::pipeline::{Pipeline, Unit, bin, gaussian, settings};
use super::unknown_domain::{self, Shown};
use organza_ledger::Neighbouring;
use organza_mechanism::{
    Bound, CountNoise, HistogramPlan, HistogramSettings, ItemRule, ItemSettings, ItemsPlan,
    PlanSettings, SelectionSettings,
};

const DELTA: f64 = 0.01;
const DELTAS: [f64; 4] = [0.0005, 0.01, 0.1, 0.3];

/// Runs the release planned for replaced units, which is as private as it says, and the twin, which is not.
fn judge<Class: Ord>(claims: &[Claim], share: f64, audit: impl Fn(Neighbouring) -> Audit<Class>) {
    audit(Neighbouring::ReplaceOne).holds(claims, share);
    audit(Neighbouring::AddRemove).is_caught(claims);
}

fn counts(neighbouring: Neighbouring, bound: Bound, noise: CountNoise) -> HistogramPlan {
    HistogramPlan::new(HistogramSettings {
        dense: 0,
        cells: 2,
        neighbouring,
        bound,
        noise,
        bar: None,
    })
    .unwrap()
}

/// One unit gives all it may to the first cell, the other to the second.
const ONE_CELL: [&[&[(u64, f64)]]; 2] = [&[&[(0, 50.0)]], &[&[(1, 50.0)]]];

#[test]
fn counts_with_laplace_noise() {
    judge(&[pure(1.0)], 0.7, |neighbouring| {
        let noise = CountNoise::DiscreteLaplace { epsilon: 1.0 };
        let plan = counts(neighbouring, Bound::Total(1), noise);
        let see = |cells: &Cells| (value(cells, 0), value(cells, 1));
        histogram::audit("counts, one replaced", 2_400, &plan, ONE_CELL, see)
    });
}

#[test]
fn counts_with_gaussian_noise() {
    let claims = exact(&DELTAS, |epsilon| gaussian_delta(1.0, epsilon));
    judge(&claims, 0.8, |neighbouring| {
        let noise = CountNoise::RoundedGaussian { multiplier: 1.0 };
        let plan = counts(neighbouring, Bound::Norm(2.0), noise);
        let along = |cells: &Cells| bin((cells[0].1 - cells[1].1) / 2.0, 0.1);
        histogram::audit("clipped counts, one replaced", 2_402, &plan, ONE_CELL, along)
    });
}

/// Ten units have the words a and b, ten have c and d; of one more it is asked which it has. All are far
/// enough above the threshold to show.
fn words<Class: Ord>(
    name: &'static str,
    seed: u64,
    neighbouring: Neighbouring,
    rule: ItemRule,
    see: impl Fn(Shown) -> Class,
) -> Audit<Class> {
    let settings = ItemSettings { items_per_unit: 2, neighbouring, rule };
    let plan = ItemsPlan::new(settings).unwrap();
    let (first, second): (&[&str], &[&str]) = (&["a", "b"], &["c", "d"]);
    let others = [first, second].repeat(10);
    let with = |unit| [&[unit], &others[..]].concat();
    unknown_domain::audit(name, seed, &plan, [&with(first), &with(second)], see)
}

#[test]
fn words_with_laplace_noise() {
    let claim = Claim { epsilon: 4.0, delta: DELTA };
    judge(&[claim], 0.75, |neighbouring| {
        let rule = ItemRule::Laplace { epsilon: 4.0, delta: DELTA };
        words("words, one unit replaced", 2_404, neighbouring, rule, |shown| {
            // Counts are 10 and 11, in halves.
            let high = |name| shown.iter().any(|(word, count)| *word == name && *count >= 22);
            ["a", "b", "c", "d"].map(high)
        })
    });
}

#[test]
fn words_with_gaussian_noise() {
    let claims: Vec<Claim> = exact(&DELTAS[1..], |epsilon| gaussian_delta(1.0, epsilon))
        .into_iter()
        .map(|claim| Claim { delta: claim.delta + DELTA, ..claim })
        .collect();
    let rule = ItemRule::AdaptiveGaussian { multiplier: 1.0, delta: DELTA };
    judge(&claims, 0.6, |neighbouring| {
        words("words by Gaussian noise, one unit replaced", 2_408, neighbouring, rule, |shown| {
            let signed = |(word, count): &(&str, i64)| if *word < "c" { *count } else { -count };
            shown.iter().map(signed).sum::<i64>()
        })
    });
}

/// A unit of the clip's length in the place of one that points the other way: 2 S1.
#[test]
fn steps() {
    let claims = exact(&DELTAS, |epsilon| gaussian_delta(1.0, epsilon));
    judge(&claims, 0.8, |neighbouring| {
        let everything = settings(1, SelectionSettings::Everything, gaussian(1.0));
        let settings = PlanSettings { neighbouring, ..everything };
        let pipeline = Pipeline::new(2_410, settings);
        let (one, other): ([Unit; 1], [Unit; 1]) = ([vec![9.0]], [vec![-9.0]]);
        let see = |units: &[Unit], run| bin(f64::from(pipeline.step(units, run).values[0]), 0.1);
        Audit::new("step, one unit replaced", 100_000, |run| see(&one, run), |run| see(&other, run))
    });
}
