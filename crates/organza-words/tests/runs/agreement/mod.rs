//! Training agrees, step by step, with a plain implementation of the paper's Algorithm 3.
//!
//! A small run is recorded with all that it drew: batches, negatives, what was selected, the noise.
//! [`plain`] repeats it from that record in dense double precision.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr)]

mod plain;
mod record;

use organza_mechanism::{By, SelectionSettings};
use record::{Case, Record, Transcript, record};

/// What a selection by `by` with next to no privacy takes: the largest.
fn exact(by: By) -> SelectionSettings {
    SelectionSettings::Exponential { by, draws: 5, epsilon: 1e9, cap: 1e3 }
}

fn selections() -> Vec<SelectionSettings> {
    let mut all = vec![SelectionSettings::Everything];
    for by in [By::Coordinate, By::Row] {
        let noise = organza_ledger::MaxNoise::Laplace;
        all.extend([
            exact(by),
            SelectionSettings::Exponential { by, draws: 7, epsilon: 0.5, cap: 0.05 },
            SelectionSettings::SparseVector {
                by,
                hits: 6,
                order: Default::default(),
                threshold: 0.02,
                threshold_epsilon: 2.0,
                query_epsilon: 2.0,
                cap: Some(0.1),
            },
            SelectionSettings::NoisyMax { by, draws: 4, epsilon: 3.0, noise, cap: Some(0.1) },
            SelectionSettings::Uniform { by, draws: 6 },
        ]);
    }
    // So much that rows which several units touch are selected in every run.
    let (epsilon, delta) = (40.0, 1e-3);
    all.push(SelectionSettings::LimitedDomain {
        draws: 5,
        domain: 9,
        rows_per_unit: 14,
        epsilon,
        delta,
    });
    all
}

/// The first parameter after any step that is not that of `expected`, to 1e-4 of the larger of itself
/// and of how far the run moves parameters.
fn difference(record: &Record, expected: &[Vec<f64>]) -> Option<String> {
    assert_eq!(record.parameters.len(), expected.len());
    let moved = record.parameters.last().unwrap().iter().zip(&record.transcript.initial);
    let moved = moved.map(|(after, before)| (f64::from(*after) - before).abs()).fold(0.0, f64::max);
    assert!(moved > 1e-3, "the run does not move");
    for (step, (ours, theirs)) in record.parameters.iter().zip(expected).enumerate() {
        for (place, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            if (f64::from(*ours) - theirs).abs() > 1e-4 * theirs.abs().max(moved) {
                return Some(format!("step {step}, parameter {place}: {ours}, not {theirs}"));
            }
        }
    }
    None
}

fn assert_agree(case: &Case, record: &Record, expected: &[Vec<f64>]) {
    assert_eq!(difference(record, expected), None, "{case:?}");
}

#[test]
fn every_selection_agrees() {
    for selection in selections() {
        for tied in [true, false] {
            for second_clip in [None, Some(0.08)] {
                for adam in [false, true] {
                    let case = Case { tied, adam, second_clip, ..Case::new(selection.clone()) };
                    let record = record(&case);
                    assert_agree(&case, &record, &plain::run(&record.transcript));
                }
            }
        }
    }
}

#[test]
fn bags_and_pairs_agree() {
    for (bag, per_unit, unit) in [
        (true, 100, organza_ledger::Unit::Line),
        (true, 1, organza_ledger::Unit::Pair),
        (false, 1, organza_ledger::Unit::Pair),
        (false, 100, organza_ledger::Unit::Line),
    ] {
        for tied in [true, false] {
            let case = Case { bag, per_unit, unit, tied, ..Case::new(exact(By::Row)) };
            let record = record(&case);
            assert_agree(&case, &record, &plain::run(&record.transcript));
        }
    }
}

#[test]
fn training_without_privacy_agrees() {
    for adam in [false, true] {
        for tied in [false, true] {
            let selection = SelectionSettings::Everything;
            let case = Case { private: false, adam, tied, ..Case::new(selection) };
            let record = record(&case);
            assert_agree(&case, &record, &plain::run(&record.transcript));
        }
    }
}

/// With noise as large as the clip. Its values are those that the same step puts on nothing at all,
/// since noise knows neither the data nor what was selected, only how much.
#[test]
fn noise_agrees() {
    for selection in selections() {
        let fixed = !matches!(
            selection,
            SelectionSettings::SparseVector { .. } | SelectionSettings::LimitedDomain { .. }
        );
        // By row the tables of two have rows of two lengths; one table has one.
        for second_clip in [None, Some(0.08)].into_iter().filter(|_| fixed) {
            let multiplier = 1.0;
            let case = Case { tied: true, multiplier, second_clip, ..Case::new(selection.clone()) };
            let record = record(&case);
            assert!(record.transcript.steps.iter().any(|step| !step.noise.is_empty()));
            assert_agree(&case, &record, &plain::run(&record.transcript));
        }
    }
}

/// Where privacy is next to none, what was selected is what a plain search for the largest finds: the
/// selection looks at the averaged, clipped gradient, coordinate by coordinate or row by row.
#[test]
fn exact_selection_takes_the_largest() {
    for by in [By::Coordinate, By::Row] {
        for tied in [true, false] {
            let case = Case { tied, ..Case::new(exact(by)) };
            let record = record(&case);
            let largest = plain::largest(&record.transcript, 5, by == By::Row);
            for (step, largest) in record.transcript.steps.iter().zip(largest) {
                assert_eq!(step.mask.as_ref(), Some(&largest), "{case:?}");
            }
        }
    }
}

/// The comparison is fine enough to see each stage left out or changed.
#[test]
fn a_wrong_implementation_disagrees() {
    let case = Case { second_clip: Some(0.08), ..Case::new(exact(By::Coordinate)) };
    let (clipped_once, clipped_twice) =
        (record(&Case { second_clip: None, ..case.clone() }), record(&case));
    let differs = |record: &Record, change: fn(&mut Transcript)| {
        let mut transcript = record.transcript.clone();
        change(&mut transcript);
        difference(record, &plain::run(&transcript)).is_some()
    };
    assert!(!differs(&clipped_once, |_| {}) && !differs(&clipped_twice, |_| {}));
    assert!(differs(&clipped_once, |transcript| transcript.clip = 1e9));
    assert!(differs(&clipped_once, |transcript| transcript.batch *= 1.01));
    assert!(differs(&clipped_once, |transcript| drop(transcript.steps[1].units.pop())));
    assert!(differs(&clipped_twice, |transcript| transcript.second_clip = None));
    assert!(differs(&clipped_twice, |transcript| transcript.steps[2].mask = None));
}
