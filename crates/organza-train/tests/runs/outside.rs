//! Networks whose gradients come from outside: the same bits after a run was killed, none but the right gradients.
#![allow(missing_docs, clippy::unwrap_used)]

use organza_ledger::Unit;
use organza_mechanism::{By, Selection};
use organza_train::OptimizerSettings;
use organza_train::outside::{
    Dense, Examples, Gradients, Lookups, NetworkData, NetworkError, NetworkSettings, NetworkSteps,
    Pool, Table,
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
    // Example by example, four of the weights and one of the bias.
    let slopes: Vec<f32> = slopes.collect();
    let of = |own: std::ops::Range<usize>| {
        slopes.chunks(5).flat_map(move |slopes| slopes[own.clone()].to_vec()).collect()
    };
    let dense: [Vec<f32>; 2] = [of(0..4), of(4..5)];
    let lookups: Vec<Lookups<'_>> = (0..2)
        .map(|table| Lookups {
            table,
            per_example: 2,
            rows: &numbers[table],
            values: &values[table],
            pool: None,
        })
        .collect();
    steps.add(&Gradients { lookups: &lookups, dense: &[&dense[0], &dense[1]] }).map(Some)
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
    let whole = vec![0.0; 5 * part.examples.len()];
    let dense = &[whole.as_slice(), &[]];
    assert!(matches!(steps.add(&Gradients { lookups: &[], dense }), Err(NetworkError::Misfit(_))));
    assert!(matches!(steps.read(2, &[0], None, &mut Vec::new()), Err(NetworkError::NoTable(2))));
    assert_eq!(add(&mut steps, usize::MAX, 1.0).unwrap(), Some(true));
    assert!(matches!(steps.add(&none), Err(NetworkError::NotDrawn)));
    assert!(matches!(steps.finish(), Err(NetworkError::NotDone { left: 11, steps: 12 })));
}

fn look(steps: &mut NetworkSteps, row: i64) -> Result<Vec<f32>, NetworkError> {
    let mut values = Vec::new();
    steps.read(0, &[row], None, &mut values).map(|()| values)
}

/// Settings of which the first table is so wide that its rows owe noise until they are read.
fn wide() -> NetworkSettings {
    let mut wide = settings(false);
    wide.tables[0].rows = 100_000;
    wide.engine.training.checkpoints = 2;
    wide
}

/// Noise that was left for later is drawn where a row is read: a row that is read at another step than before would have other
/// noise on the same sum. Whoever looks earlier or at another row is refused, and a row that the program does not look at any more is
/// read where it was.
#[test]
fn rows_are_read_again_where_they_were_read() {
    let place = tempfile::tempdir().unwrap();
    let run = |name: &str, looks: &[u64], kill: Option<u64>| {
        let path = place.path().join(name);
        let resumed = NetworkSteps::resume(&wide(), data(), &path).ok().flatten();
        let begun = || NetworkSteps::begin(wide(), data(), &path, true).unwrap();
        let mut steps = resumed.unwrap_or_else(begun);
        while steps.steps().0 < kill.unwrap_or(12) {
            if looks.contains(&steps.steps().0) {
                steps.draw(usize::MAX).unwrap();
                look(&mut steps, 50_000).unwrap();
            }
            add(&mut steps, usize::MAX, 1.0).unwrap();
        }
        steps
    };
    let whole = bits(run("whole", &[2], None));
    // Within the first block, so that the look and all steps are made again: without the look, or with it.
    for (name, looks) in [("looks again", &[2][..]), ("looks no more", &[])] {
        drop(run(name, &[2], Some(4)));
        assert!(whole == bits(run(name, looks, None)), "{name}");
    }
    // The twin: a run that never looked has other noise on that row, and on no other.
    let never = bits(run("never", &[], None));
    assert_ne!(whole[200_000..200_004], never[200_000..200_004]);

    let path = place.path().join("refused");
    let mut steps = NetworkSteps::begin(wide(), data(), &path, true).unwrap();
    add(&mut steps, usize::MAX, 1.0).unwrap();
    add(&mut steps, usize::MAX, 1.0).unwrap();
    steps.draw(usize::MAX).unwrap();
    let before = look(&mut steps, 50_000).unwrap();
    add(&mut steps, usize::MAX, 1.0).unwrap();
    drop(steps);
    let mut steps = NetworkSteps::resume(&wide(), data(), &path).unwrap().unwrap();
    // Before the first step nothing is owed.
    look(&mut steps, 50_000).unwrap();
    add(&mut steps, usize::MAX, 1.0).unwrap();
    assert!(matches!(look(&mut steps, 50_000), Err(NetworkError::OtherRows(1))));
    add(&mut steps, usize::MAX, 1.0).unwrap();
    assert!(matches!(look(&mut steps, 50_001), Err(NetworkError::OtherRows(2))));
    assert_eq!(before, look(&mut steps, 50_000).unwrap());
    // What was not done before may be done now.
    add(&mut steps, usize::MAX, 1.0).unwrap();
    look(&mut steps, 70_000).unwrap();
    add(&mut steps, usize::MAX, 1.0).unwrap();
}

/// Looks by a counter of the program, which begins anew with each process: at a checkpoint, and after any steps.
#[test]
fn a_run_that_looks_at_tables_goes_on_whenever_it_was_killed() {
    let place = tempfile::tempdir().unwrap();
    for (number, every) in [2, 3, 5].into_iter().enumerate() {
        for killed in [2, 5, 6, 7, 9] {
            let path = place.path().join(format!("{number} {killed}"));
            let mut looked = 0;
            for last in [killed, 12] {
                let begun = || NetworkSteps::begin(wide(), data(), &path, true).unwrap();
                let resumed = (last == 12).then(|| NetworkSteps::resume(&wide(), data(), &path));
                let mut steps = resumed.map_or_else(begun, |it| it.unwrap().unwrap());
                let mut counter = 0;
                while steps.steps().0 < last {
                    add(&mut steps, usize::MAX, 1.0).unwrap();
                    counter += 1;
                    if counter % every == 0 {
                        look(&mut steps, 50_000).unwrap();
                        looked += 1;
                    }
                }
            }
            assert!(looked > 0);
        }
    }
}

/// Without the journal nothing shows whether a step is made again of the same sum: also before the first checkpoint after it.
#[test]
fn a_run_that_has_lost_its_journal_does_not_go_on() {
    let place = tempfile::tempdir().unwrap();
    for steps_made in [0, 1, 5] {
        let path = place.path().join(steps_made.to_string());
        let mut steps = NetworkSteps::begin(settings(false), data(), &path, true).unwrap();
        while steps.steps().0 < steps_made {
            add(&mut steps, usize::MAX, 1.0).unwrap();
        }
        drop(steps);
        std::fs::remove_file(path.join("private/steps.txt")).unwrap();
        let resumed = NetworkSteps::resume(&settings(false), data(), &path);
        match steps_made {
            // Nothing was paid for.
            0 => assert!(resumed.unwrap().is_some()),
            _ => {
                let refused = resumed.err().expect("other sums could follow").to_string();
                assert!(refused.contains("it is missing"), "{refused}");
            }
        }
    }
}

/// A number that no row has is somebody's: it counts as none, in all that it could change, and is told of at the end.
#[test]
fn rows_beyond_the_last_count_as_none() {
    let place = tempfile::tempdir().unwrap();
    let mut models = Vec::new();
    for (number, none) in [-1, -7, ROWS as i64, i64::MAX].into_iter().enumerate() {
        let path = place.path().join(number.to_string());
        let mut steps = NetworkSteps::begin(settings(false), data(), &path, true).unwrap();
        let mut given = 0;
        while let Some(part) = steps.draw(usize::MAX).unwrap().cloned() {
            let rows: Vec<i64> = part.examples.iter().flat_map(|it| [*it as i64, none]).collect();
            given += part.examples.len();
            let pool = Some(Pool { rows: 2, mean: true });
            let mut values = Vec::new();
            steps.read(0, &rows, pool, &mut values).unwrap();
            let (weights, bias) = (vec![0.1; values.len()], vec![0.1; part.examples.len()]);
            let lookup = Lookups { table: 0, per_example: 2, rows: &rows, values: &values, pool };
            let dense: &[&[f32]] = &[&weights, &bias];
            steps.add(&Gradients { lookups: &[lookup], dense }).unwrap();
        }
        let run = steps.finish().unwrap();
        let told = if none > 0 {
            vec![format!("{given} numbers of rows in steps were beyond")]
        } else {
            vec![]
        };
        assert_eq!(run.remarks.len(), told.len());
        assert!(run.remarks.iter().zip(&told).all(|(remark, told)| remark.starts_with(told)));
        assert!(run.certificate.not_private.iter().any(|it| it.contains("remarks")));
        let summary = std::fs::read_to_string(path.join("summary.json")).unwrap();
        assert_eq!(summary.contains("beyond"), none > 0);
        models.push(run.model);
    }
    assert!(models.iter().all(|model| *model == models[0]));
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
                let zeros = vec![0.0; part.examples.len() * 4];
                let dense: &[&[f32]] = &[&zeros, &zeros[..part.examples.len()]];
                steps.add(&Gradients { lookups: &[], dense }).unwrap();
            }
            let conditions = steps.finish().unwrap().certificate.conditions.join("\n");
            assert_eq!(conditions.contains("NOT CHECKED"), !one_at_a_time);
            for said in ["first values", "PyTorch's generator", "rounded"] {
                assert!(conditions.contains(said), "{said}: {conditions}");
            }
        }
    }
}
