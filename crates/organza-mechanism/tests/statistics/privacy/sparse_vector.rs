//! The sparse vector technique: each hit costs the threshold's epsilon and the query's.

use super::harness::{Audit, pure};
use super::naive::{Answer, SparseVector};
use super::pipeline::{BY, Pipeline, gaussian, opposite_scores, settings};
use crate::support::random;
use organza_mechanism::{PassOrder, SelectionSettings};

const CAP: f64 = 0.1;

fn audit(
    name: &'static str,
    seed: u64,
    hits: u64,
    candidates: usize,
    order: PassOrder,
) -> Audit<Vec<u64>> {
    let selection = SelectionSettings::SparseVector {
        by: BY,
        hits,
        order,
        threshold: CAP,
        threshold_epsilon: 1.0,
        query_epsilon: 1.0,
        cap: Some(CAP),
    };
    let pipeline = Pipeline::new(seed, settings(candidates as u64, selection, gaussian(1.0)));
    let [with, without] = opposite_scores(candidates, CAP as f32);
    Audit::new(
        name,
        500_000,
        |run| pipeline.select(&with, run),
        |run| pipeline.select(&without, run),
    )
}

#[test]
fn one_hit_is_private() {
    audit("sparse vector, one hit", 1_100, 1, 12, PassOrder::FromFirst).holds(&[pure(2.0)], 0.5);
}

#[test]
fn several_hits_are_private() {
    audit("sparse vector, three hits", 1_101, 3, 12, PassOrder::FromFirst)
        .holds(&[pure(6.0)], 0.25);
}

#[test]
fn passes_that_begin_anywhere_are_private() {
    audit("sparse vector, from anywhere", 1_102, 1, 12, PassOrder::FromRandom)
        .holds(&[pure(2.0)], 0.25);
}

/// Queries of sensitivity 1: `below` of them fall and `above` rise when the unit joins.
fn twin(
    name: &'static str,
    seed: u64,
    rule: SparseVector,
    below: usize,
    above: usize,
) -> Audit<Vec<Answer>> {
    let queries = |first: f64, then: f64| [vec![first; below], vec![then; above]].concat();
    let (with, without) = (queries(0.0, 1.0), queries(1.0, 0.0));
    let (mut one, mut other) = (random(seed), random(seed + 1));
    let runs = 1_000_000;
    Audit::new(
        name,
        runs,
        |_| rule.answers(&with, &mut one),
        |_| rule.answers(&without, &mut other),
    )
}

/// Sensitivity 1, one hit, (e1 + e2) = 1.
const RIGHT: SparseVector = SparseVector {
    threshold: 0.5,
    threshold_scale: 2.0,
    query_scale: 4.0,
    refreshed: true,
    stop: Some(1),
    publishes: None,
};

#[test]
fn the_naive_form_is_private() {
    twin("naive sparse vector", 1_110, RIGHT, 8, 1).holds(&[pure(1.0)], 0.4);
}

/// One threshold for all hits saves the threshold's epsilon and not the query's: the loss is e1 + hits
/// e2. It is less than hits (e1 + e2), so an account of refreshed hits covers it; what it breaks is the
/// account of one threshold, e1 + e2, unless query noise grows with the hits.
#[test]
fn a_threshold_that_is_not_refreshed_is_caught() {
    let rule = SparseVector { refreshed: false, stop: Some(4), ..RIGHT };
    let audit = twin("sparse vector, not refreshed", 1_112, rule, 4, 4);
    audit.is_caught(&[pure(1.0)]);
    audit.holds(&[pure(0.5 + 4.0 * 0.5)], 0.4);
}

#[test]
fn a_counter_that_does_not_stop_is_caught() {
    let right = SparseVector { threshold_scale: 1.0, query_scale: 2.0, ..RIGHT };
    twin("naive sparse vector, epsilon 2", 1_113, right, 4, 4).holds(&[pure(2.0)], 0.5);
    let rule = SparseVector { stop: None, ..right };
    twin("sparse vector without a stop", 1_114, rule, 4, 4).is_caught(&[pure(2.0)]);
}

#[test]
fn a_halved_sensitivity_is_caught() {
    let rule = SparseVector { threshold_scale: 1.0, query_scale: 2.0, ..RIGHT };
    twin("sparse vector, half the sensitivity", 1_116, rule, 8, 1).is_caught(&[pure(1.0)]);
}

/// Query noise of scale D / e2, as if no query moved against the threshold.
#[test]
fn query_noise_without_its_factor_is_caught() {
    let rule = SparseVector { query_scale: 1.0, threshold_scale: 10.0, ..RIGHT };
    twin("sparse vector, query noise without 2", 1_118, rule, 3, 1).is_caught(&[pure(0.1 + 1.0)]);
}
