//! Networks whose gradients come from outside: the same bits after a run was killed, none but the right gradients.
#![allow(missing_docs, clippy::unwrap_used)]

use organza_ledger::Unit;
use organza_mechanism::{By, Selection};
use organza_train::OptimizerSettings;
use organza_train::outside::{
    Dense, Examples, Gradients, Lookups, NetworkData, NetworkError, NetworkSettings, NetworkSteps,
    Table,
};
use organza_train::settings::{EngineSettings, Steps};
use std::path::Path;

const ROWS: u64 = 300;
const EXAMPLES: u64 = 240;

fn settings(selects: bool) -> NetworkSettings {
    let mut engine = EngineSettings::new("network", Unit::User, 3.0, 1e-6);
    engine.training.batch = 20.0;
    engine.training.steps = Some(12);
    engine.training.checkpoints = 4;
    engine.training.clip = 1.0;
    engine.training.optimizer = OptimizerSettings::Sgd { learning_rate: 0.5 };
    engine.seed = Some(3);
    if selects {
        engine.steps = Some(Steps::Selected);
        engine.selection = Selection { by: By::Row, draws: Some(9), ..Selection::default() };
    }
    let table = |name: &str| Table { name: name.into(), rows: ROWS, dimensions: 4, deviation: 0.1 };
    let dense = vec![
        Dense { name: "dense.weight".into(), shape: vec![1, 4] },
        Dense { name: "dense.bias".into(), shape: vec![1] },
    ];
    NetworkSettings {
        engine,
        tables: vec![table("one"), table("other")],
        dense,
        per_unit: None,
        one_at_a_time: true,
    }
}

fn data() -> NetworkData {
    // Three examples a unit.
    let ends = (1..=EXAMPLES / 3).map(|unit| 3 * unit).collect();
    let examples = Examples::new((0..EXAMPLES).collect(), ends, None).unwrap();
    NetworkData { examples, fingerprint: [7; 32], tables: vec![None, None], dense: vec![0.1; 5] }
}

/// Rows of examples, two of each table, one of which is for none in the second.
fn rows(examples: &[u64], table: usize) -> Vec<i64> {
    let of = |example: &u64| {
        let second = if table == 0 { *example as i64 % 7 } else { -1 };
        [(*example * 11 % ROWS) as i64, second]
    };
    examples.iter().flat_map(of).collect()
}

/// The gradients of a part, which depend on what is read; `factor` is 1 where all is right.
fn add(steps: &mut NetworkSteps, units: usize, factor: f32) -> Result<Option<bool>, NetworkError> {
    let Some(part) = steps.draw(units)?.cloned() else { return Ok(None) };
    let numbers = [0, 1].map(|table| rows(&part.examples, table));
    let mut values = [Vec::new(), Vec::new()];
    for (table, values) in values.iter_mut().enumerate() {
        steps.read(table, &numbers[table], None, values)?;
        values.iter_mut().for_each(|value| *value = factor * (*value - 0.3));
    }
    let weights = steps.dense();
    let wanted = part.examples.iter().map(|example| *example as f32 / 99.0);
    let slopes = wanted.flat_map(|wanted| weights.iter().map(move |it| factor * (it - wanted)));
    let dense: Vec<f32> = slopes.collect();
    let lookups: Vec<Lookups<'_>> = (0..2)
        .map(|table| Lookups {
            table,
            per_example: 2,
            rows: &numbers[table],
            values: &values[table],
            pool: None,
        })
        .collect();
    steps.add(&Gradients { lookups: &lookups, dense: &dense }).map(Some)
}

fn trained(selects: bool, path: &Path, units: usize) -> Vec<u32> {
    let mut steps = NetworkSteps::begin(settings(selects), data(), path, true).unwrap();
    while add(&mut steps, units, 1.0).unwrap().is_some() {}
    bits(steps)
}

fn bits(steps: NetworkSteps) -> Vec<u32> {
    let run = steps.finish().unwrap();
    assert_eq!(run.certificate.epsilon, Some(3.0));
    run.model.into_iter().map(f32::to_bits).collect()
}

#[test]
fn parts_of_a_batch_make_the_step_of_the_whole() {
    for selects in [false, true] {
        let place = tempfile::tempdir().unwrap();
        let whole = trained(selects, &place.path().join("whole"), usize::MAX);
        assert_eq!(whole.len() as u64, 2 * ROWS * 4 + 5);
        assert!(whole == trained(selects, &place.path().join("parts"), 3));
    }
}

#[test]
fn a_run_that_was_killed_ends_with_the_same_bits() {
    for selects in [false, true] {
        let place = tempfile::tempdir().unwrap();
        let whole = trained(selects, &place.path().join("whole"), 5);
        for killed in [0, 2, 3, 7, 11] {
            let path = place.path().join(format!("killed after {killed}"));
            let mut steps = NetworkSteps::begin(settings(selects), data(), &path, true).unwrap();
            while steps.steps().0 < killed {
                add(&mut steps, 5, 1.0).unwrap();
            }
            // A batch is drawn, and never stepped.
            steps.draw(5).unwrap();
            drop(steps);
            let steps = NetworkSteps::resume(&settings(selects), data(), &path).unwrap();
            let mut steps = steps.expect("the run is not finished");
            while add(&mut steps, 5, 1.0).unwrap().is_some() {}
            assert!(whole == bits(steps), "{killed}");
        }
    }
}

/// Two sums under one noise would show their difference: the twin makes a step again of other gradients.
#[test]
fn a_step_is_made_again_of_the_same_gradients_alone() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let mut steps = NetworkSteps::begin(settings(false), data(), &path, true).unwrap();
    while steps.steps().0 < 2 {
        add(&mut steps, usize::MAX, 1.0).unwrap();
    }
    drop(steps);
    for factor in [0.999, 1.0] {
        let steps = NetworkSteps::resume(&settings(false), data(), &path).unwrap();
        let made = add(&mut steps.unwrap(), usize::MAX, factor);
        match factor < 1.0 {
            true => assert!(matches!(made, Err(NetworkError::Diverged(0))), "{made:?}"),
            false => assert!(made.is_ok()),
        }
    }
}

#[test]
fn gradients_are_taken_once_and_where_they_fit() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let mut steps = NetworkSteps::begin(settings(false), data(), &path, true).unwrap();
    let none = Gradients { lookups: &[], dense: &[] };
    assert!(matches!(steps.add(&none), Err(NetworkError::NotDrawn)));
    let part = steps.draw(usize::MAX).unwrap().cloned().unwrap();
    assert!(!part.examples.is_empty(), "twenty units are expected");
    assert!(matches!(steps.add(&none), Err(NetworkError::Misfit(_))));
    assert!(matches!(
        steps.read(0, &[ROWS as i64], None, &mut Vec::new()),
        Err(NetworkError::NoRow { .. })
    ));
    assert_eq!(add(&mut steps, usize::MAX, 1.0).unwrap(), Some(true));
    assert!(matches!(steps.add(&none), Err(NetworkError::NotDrawn)));
    assert!(matches!(steps.finish(), Err(NetworkError::NotDone { left: 11, steps: 12 })));
}

/// Noise that was left for later is drawn where a row is read: a row that is read at another step than before would have other
/// noise on the same sum. The twin looks at the table earlier or later than the run that was killed, or not at all.
#[test]
fn rows_are_read_again_where_they_were_read() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let mut wide = settings(false);
    wide.tables[0].rows = 100_000;
    let look = |steps: &mut NetworkSteps, row: i64| {
        let mut values = Vec::new();
        steps.read(0, &[row], None, &mut values).map(|()| values)
    };
    let mut steps = NetworkSteps::begin(wide.clone(), data(), &path, true).unwrap();
    add(&mut steps, usize::MAX, 1.0).unwrap();
    let before = look(&mut steps, 50_000).unwrap();
    add(&mut steps, usize::MAX, 1.0).unwrap();
    drop(steps);
    let resumed = || NetworkSteps::resume(&wide, data(), &path).unwrap().unwrap();
    // Earlier, another row, and not at all.
    let diverged = |made: Result<(), NetworkError>| {
        assert!(matches!(made, Err(NetworkError::Diverged(_))), "{made:?}");
    };
    diverged(look(&mut resumed(), 50_000).map(drop));
    for row in [Some(50_001), None] {
        let mut steps = resumed();
        add(&mut steps, usize::MAX, 1.0).unwrap();
        match row {
            Some(row) => diverged(look(&mut steps, row).map(drop)),
            None => diverged(add(&mut steps, usize::MAX, 1.0).map(drop)),
        }
    }
    let mut steps = resumed();
    add(&mut steps, usize::MAX, 1.0).unwrap();
    assert_eq!(before, look(&mut steps, 50_000).unwrap());
    // What was not done before may be done now.
    add(&mut steps, usize::MAX, 1.0).unwrap();
    look(&mut steps, 70_000).unwrap();
    add(&mut steps, usize::MAX, 1.0).unwrap();
}

#[test]
fn one_process_at_a_time_goes_on() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let steps = NetworkSteps::begin(settings(false), data(), &path, true).unwrap();
    let second = NetworkSteps::resume(&settings(false), data(), &path);
    let refused = second.err().expect("two would draw the same noise");
    assert!(matches!(refused, NetworkError::Session(_)), "{refused}");
    drop(steps);
    assert!(NetworkSteps::resume(&settings(false), data(), &path).unwrap().is_some());
}

/// Parts are of at most as many units as was asked for, and the same on any number of threads, so that gradients are as well.
#[test]
fn parts_are_the_same_on_any_number_of_threads() {
    let drawn = |threads: usize, units: usize| {
        let place = tempfile::tempdir().unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let path = place.path().join("run");
            let mut steps = NetworkSteps::begin(settings(false), data(), &path, false).unwrap();
            let mut parts = Vec::new();
            while steps.steps().0 == 0 {
                parts.push(steps.draw(units).unwrap().cloned().unwrap());
                add(&mut steps, units, 1.0).unwrap();
            }
            parts
        })
    };
    for units in [1, 4, usize::MAX] {
        let parts = drawn(1, units);
        assert!(parts.iter().all(|part| part.ends.len() <= units));
        assert!(parts == drawn(3, units), "{units}");
    }
}

/// What was left to whoever wrote the program stands on the certificate, whether or not anybody joined a batch.
#[test]
fn a_certificate_says_what_was_not_checked() {
    let place = tempfile::tempdir().unwrap();
    for (number, one_at_a_time) in [true, false].into_iter().enumerate() {
        for nobody in [true, false] {
            let path = place.path().join(format!("{number} {nobody}"));
            let settings = NetworkSettings { one_at_a_time, ..settings(false) };
            let examples = Examples::new(Vec::new(), Vec::new(), None).unwrap();
            let data = if nobody { NetworkData { examples, ..data() } } else { data() };
            let mut steps = NetworkSteps::begin(settings, data, &path, true).unwrap();
            while let Some(part) = steps.draw(usize::MAX).unwrap().cloned() {
                let dense = vec![0.0; part.examples.len() * 5];
                steps.add(&Gradients { lookups: &[], dense: &dense }).unwrap();
            }
            let conditions = steps.finish().unwrap().certificate.conditions.join("\n");
            assert_eq!(conditions.contains("NOT CHECKED"), !one_at_a_time);
        }
    }
}
