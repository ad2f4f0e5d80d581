//! The stages of a typeahead, with a writer more.

use crate::drawn::SEED;
use crate::{Compared, l2, worst};
use organza_data::Writing;
use organza_typeahead::Released;
use organza_typeahead::testing::{NUMBER, stage};

const WORDS: u32 = 40;
/// Little noise, so that what later stages follow is what the counts say.
const NOISE: f64 = 0.05;

fn words() -> Vec<String> {
    (0..WORDS).map(|word| format!("word{word}ing")).collect()
}

/// What all neighbours share: sentences of a few words, in which some follow others more often than by chance.
fn shared() -> Vec<Vec<u32>> {
    let row = |writer: u32| {
        let sentence = move |at: u32| {
            let first = 2 + (writer * 7 + at * at * 3) % 12;
            [0, first, first + 5, 2 + (first * 3 + writer % 3) % WORDS, first + 1]
        };
        (0..12).flat_map(sentence).chain([0]).collect()
    };
    (0..80).map(row).collect()
}

/// The writer in question: a word, a phrase a thousand times, and all words in many orders.
fn writers() -> [Vec<u32>; 3] {
    let phrase = [0, 2, 7, 8].into_iter().cycle().take(4_000).collect();
    let all =
        (0..6_u32).flat_map(|step| (0..WORDS).map(move |it| 2 + (it * (2 * step + 1)) % WORDS));
    [vec![0, 3], phrase, all.collect()]
}

fn writing(rows: &[Vec<u32>]) -> Writing {
    Writing::of_rows(WORDS + 2, rows.iter().map(|row| row.iter().copied()))
}

fn counts(released: &Released) -> Vec<f64> {
    released.counts.iter().map(|count| f64::from(*count)).collect()
}

/// How far each stage of neighbours is apart, where the writer comes as these rows: what it follows was released of either neighbour.
fn compared(writer: &[Vec<u32>]) -> Vec<Compared> {
    let without = writing(&shared());
    let with = writing(&[shared(), writer.to_vec()].concat());
    let of_stage = |number: usize| {
        worst([&without, &with].into_iter().map(|before| {
            let [one, other] = [&without, &with]
                .map(|data| stage(&words(), number, before, data, NOISE, SEED).unwrap());
            assert_eq!(one.symbols, other.symbols, "cells follow what was released before");
            Compared::new("a stage of typeahead", l2(&counts(&one), &counts(&other)), 1.0)
        }))
    };
    (0..NUMBER).map(of_stage).collect()
}

#[test]
fn every_stage_moves_by_no_more_than_one() {
    for writer in writers() {
        for compared in compared(std::slice::from_ref(&writer)) {
            assert!(!worst([compared.clone()]).violates(), "{compared}");
        }
    }
    let all = compared(&writers()[2..3]);
    assert!(all.iter().all(|compared| compared.found > 0.9), "the bound is nearly met: {all:?}");
}

/// Writers who are scaled in a stage before, and not again: their sentences count one by one.
#[test]
fn writers_that_are_not_scaled_again_are_caught() {
    let sentences: Vec<Vec<u32>> = shared()[0].chunks(5).map(|it| [it, &[0]].concat()).collect();
    for compared in compared(&sentences) {
        eprint!("twin: ");
        assert!(worst([compared]).violates());
    }
}

/// Candidates that follow the text itself, which has no noise: a writer more makes other cells.
#[test]
fn candidates_from_the_text_are_caught() {
    let [_, phrase, _] = writers();
    let without = writing(&shared());
    let with = writing(&[shared(), vec![phrase; 3]].concat());
    let [one, other] =
        [&without, &with].map(|data| stage(&words(), NUMBER - 1, data, data, 1e-3, SEED).unwrap());
    assert_ne!(one.symbols, other.symbols);
}
