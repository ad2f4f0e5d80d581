//! What one writer wrote, however often, is completed no more often than the law of the noise allows.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr)]

use organza_data::Writing;
use organza_typeahead::testing::{NUMBER, released};
use rayon::prelude::*;
use statrs::distribution::{Beta, ContinuousCDF, Normal};

/// Runs with the writer and without.
const RUNS: u64 = 1_000;
/// The noise of each stage: epsilon 8 at delta 1e-6 for all of them together.
const NOISE: f64 = 1.306;
/// The probability of a false alarm.
const FALSE_ALARM: f64 = 1e-6;
const WORDS: u32 = 24;

/// What nobody writes but one writer: the last two words never follow the first in what all share.
const CANARY: [u32; 3] = [20, 22, 24];

fn shared() -> Vec<Vec<u32>> {
    let row = |writer: u32| {
        let sentence = move |at: u32| [0, 2 + (writer + at) % 16, 3 + (writer * 3 + at * 5) % 16];
        (0..10).flat_map(sentence).chain([0]).collect()
    };
    (0..60).map(row).collect()
}

/// How often the end of the canary is among three words after its beginning, where the writer comes as these rows.
fn completed(writer: &[Vec<u32>]) -> u64 {
    let words: Vec<String> = (0..WORDS).map(|word| format!("word{word}")).collect();
    let rows = [shared(), writer.to_vec()].concat();
    let writing = Writing::of_rows(WORDS + 2, rows.iter().map(|row| row.iter().copied()));
    let found = |seed: u64| {
        // Other noise in every run, with the writer and without.
        let seed = seed + RUNS * u64::from(!writer.is_empty());
        let (model, _) = released(&words, [&writing; NUMBER], NOISE, seed).unwrap();
        let next = model.next(&CANARY[..2], 3);
        u64::from(next.iter().any(|likely| likely.word == CANARY[2]))
    };
    (0..RUNS).into_par_iter().map(found).sum()
}

/// Whether so many completions with the writer are more than the noise allows beside so many without: a test of Gaussian noise of multiplier s
/// that is wrong with probability a finds the writer with at most normal(quantile(a) + 1 / s).
fn refutes(with: u64, without: u64) -> bool {
    let most = |found: u64| match found {
        RUNS => 1.0,
        found => Beta::new(found as f64 + 1.0, (RUNS - found) as f64)
            .unwrap()
            .inverse_cdf(1.0 - FALSE_ALARM / 2.0),
    };
    let least = 1.0 - most(RUNS - with);
    let normal = Normal::new(0.0, 1.0).unwrap();
    // All stages together: one Gaussian mechanism of the noise of each over the root of their number.
    let allowed = normal.cdf(normal.inverse_cdf(most(without)) + (NUMBER as f64).sqrt() / NOISE);
    eprintln!(
        "completed in {with} of {RUNS} runs with the writer, in {without} without; allowed {allowed:.3}"
    );
    least > allowed
}

/// One writer writes the phrase a thousand times. Twin: a thousand writers do, once each, which is what one would be who is not scaled.
#[test]
fn a_phrase_of_one_writer_is_not_completed() {
    let once: Vec<u32> = [0].into_iter().chain(CANARY).chain([0]).collect();
    let often = vec![once.iter().copied().cycle().take(5_000).collect::<Vec<u32>>()];
    let without = completed(&[]);
    assert!(!refutes(completed(&often), without));
    assert!(refutes(completed(&vec![once; 1_000]), without));
}
