//! The six published sparse-vector variants of Lyu, Su and Li, "Understanding the Sparse Vector
//! Technique for Differential Privacy" (PVLDB 10(6), 2017, Figure 1): the private ones hold what they
//! claim, the others are caught on the inputs of that paper. Sensitivity is 1 and the threshold 0.

use crate::privacy::harness::{Audit, pure};
use crate::privacy::naive::{Answer, SparseVector};
use crate::support::random;

/// What every variant claims.
const EPSILON: f64 = 1.0;
/// Its share for the threshold, and for queries, where the halves are equal.
const HALF: f64 = EPSILON / 2.0;
/// The number of hits (c) of those that count.
const HITS: usize = 3;

/// Algorithm 1: the authors' own.
const ALGORITHM_1: SparseVector = SparseVector {
    threshold: 0.0,
    threshold_scale: 1.0 / HALF,
    query_scale: 2.0 * HITS as f64 / HALF,
    refreshed: false,
    stop: Some(HITS),
    publishes: None,
};

/// Algorithm 2: Dwork and Roth's book, 2014.
const ALGORITHM_2: SparseVector =
    SparseVector { threshold_scale: HITS as f64 / HALF, refreshed: true, ..ALGORITHM_1 };

/// Algorithm 3: Roth's lecture notes, 2011. It publishes the value that was compared.
const ALGORITHM_3: SparseVector =
    SparseVector { query_scale: 1.0 / HALF, stop: Some(1), publishes: Some(1.0), ..ALGORITHM_1 };

/// Algorithm 4: Lee and Clifton, 2014. A quarter for the threshold; query noise does not grow with the
/// hits.
const ALGORITHM_4: SparseVector = SparseVector {
    threshold_scale: 4.0 / EPSILON,
    query_scale: 4.0 / (3.0 * EPSILON),
    ..ALGORITHM_1
};

/// Algorithm 5: Stoddard et al., 2014. No noise on queries, no stop.
const ALGORITHM_5: SparseVector = SparseVector { query_scale: 0.0, stop: None, ..ALGORITHM_1 };

/// Algorithm 6: Chen et al., 2015. No stop.
const ALGORITHM_6: SparseVector =
    SparseVector { query_scale: 1.0 / HALF, stop: None, ..ALGORITHM_1 };

fn audit(
    name: &'static str,
    seed: u64,
    variant: SparseVector,
    [one, other]: [&[f64]; 2],
) -> Audit<Vec<Answer>> {
    let (mut first, mut second) = (random(seed), random(seed + 1));
    Audit::new(
        name,
        1_500_000,
        |_| variant.answers(one, &mut first),
        |_| variant.answers(other, &mut second),
    )
}

/// Queries that fall, then queries that rise.
const OPPOSITE: [&[f64]; 2] =
    [&[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0], &[1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]];

#[test]
fn algorithm_1_is_private() {
    audit("Lyu, Algorithm 1", 2_000, ALGORITHM_1, OPPOSITE).holds(&[pure(EPSILON)], 0.35);
}

#[test]
fn algorithm_2_is_private() {
    audit("Lyu, Algorithm 2", 2_002, ALGORITHM_2, OPPOSITE).holds(&[pure(EPSILON)], 0.2);
}

/// The paper's counterexample: queries 0^m 1 and 1^m 0, the event that all of the first m fail and the
/// value after them is at most 0, hence the threshold as well. Its ratio is e^((m-1) epsilon / 2).
#[test]
fn algorithm_3_is_caught() {
    let queries: [&[f64]; 2] = [&[0.0, 0.0, 0.0, 0.0, 0.0, 1.0], &[1.0, 1.0, 1.0, 1.0, 1.0, 0.0]];
    audit("Lyu, Algorithm 3", 2_004, ALGORITHM_3, queries).is_caught(&[pure(EPSILON)]);
}

/// It is (1 + 6c) / 4 epsilon-private, and no better by much.
#[test]
fn algorithm_4_is_caught_at_what_it_claims() {
    let audit = audit("Lyu, Algorithm 4", 2_006, ALGORITHM_4, OPPOSITE);
    audit.is_caught(&[pure(EPSILON)]);
    audit.holds(&[pure((1.0 + 6.0 * HITS as f64) / 4.0 * EPSILON)], 0.4);
}

/// Queries 0, 1 and 1, 0: an answer of below and then above is impossible for the latter.
#[test]
fn algorithm_5_is_caught() {
    let queries: [&[f64]; 2] = [&[0.0, 1.0], &[1.0, 0.0]];
    audit("Lyu, Algorithm 5", 2_008, ALGORITHM_5, queries).is_caught(&[pure(EPSILON)]);
}

/// Queries 0^2m and 1^m (-1)^m: m answers below and then m above have a ratio of at least
/// e^(m epsilon / 2).
#[test]
fn algorithm_6_is_caught() {
    let queries: [&[f64]; 2] = [&[0.0; 8], &[1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0]];
    audit("Lyu, Algorithm 6", 2_010, ALGORITHM_6, queries).is_caught(&[pure(EPSILON)]);
}
