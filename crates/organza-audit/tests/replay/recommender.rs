//! Counts and pairs of items, with a person more.

use crate::drawn::SEED;
use crate::{Compared, l2, worst};
use organza_recommend::Histories;
use organza_recommend::testing::{cells, counts};

const ITEMS: usize = 30;
/// Little noise, so that weights and the direction of what everybody likes are what the counts say.
const NOISE: f64 = 0.05;

/// Histories that all neighbours share.
fn shared() -> Vec<Vec<u32>> {
    let row = |person: u32| (0..6).map(move |it| (person * 11 + it * 7 + it * it) % 24).collect();
    (0..60).map(row).collect()
}

/// The person in question: a few items, many, or all, often and seldom.
fn persons() -> [Vec<u32>; 4] {
    [vec![29], vec![3, 4], (0..30).collect(), (0..30).step_by(3).cycle().take(1_000).collect()]
}

fn histories(rows: &[Vec<u32>]) -> Histories {
    Histories::of_rows(ITEMS, rows.iter().map(|row| row.iter().copied()))
}

/// How far counts and pairs of neighbours are apart, where the person comes as these rows.
fn compared(person: &[Vec<u32>]) -> [Compared; 2] {
    let without = histories(&shared());
    let with = histories(&[shared(), person.to_vec()].concat());
    let [one, other] = [&without, &with].map(|data| counts(data, NOISE, SEED).unwrap());
    let counted = Compared::new("counts of items", l2(&one, &other), 1.0);
    // What the second release follows is the first, of either neighbour.
    let pairs = [&without, &with].into_iter().map(|first| {
        let [one, other] =
            [&without, &with].map(|data| cells(data, first, NOISE, SEED).unwrap().concat());
        assert_eq!(one.len(), other.len(), "all cells are released");
        Compared::new("pairs of items", l2(&one, &other), 1.0)
    });
    [counted, worst(pairs)]
}

#[test]
fn counts_and_pairs_move_by_no_more_than_one() {
    for person in persons() {
        for compared in compared(std::slice::from_ref(&person)) {
            assert!(!worst([compared.clone()]).violates(), "{compared}");
        }
    }
    let all = compared(&persons()[2..3]);
    assert!(all.iter().all(|compared| compared.found > 0.9), "the bound is nearly met: {all:?}");
}

/// A person whose events are scaled one by one, and not together.
#[test]
fn persons_that_are_not_scaled_are_caught() {
    let events: Vec<Vec<u32>> = (0..30).map(|item| vec![item]).collect();
    for compared in compared(&events) {
        eprint!("twin: ");
        assert!(worst([compared]).violates());
    }
}

/// Cells whose norm is 1 without the diagonal.
#[test]
fn a_norm_without_the_diagonal_is_caught() {
    let without = histories(&shared());
    let with = histories(&[shared(), vec![vec![3, 4]]].concat());
    let [one, other] = [&without, &with].map(|data| cells(data, &with, NOISE, SEED).unwrap());
    let moved = |from: usize| -> f64 {
        let rows = one.iter().zip(&other);
        rows.map(|(one, other)| l2(&one[from..], &other[from..]).powi(2)).sum::<f64>().sqrt()
    };
    eprint!("twin: ");
    let (all, beside) = (moved(0), moved(1));
    assert!(worst([Compared::new("pairs without the diagonal", all / beside, 1.0)]).violates());
}
