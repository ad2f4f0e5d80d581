//! Steps of a network whose gradients come from outside: one clip of a unit over tables and dense part, in parts or whole.

use crate::{Compared, l2, worst};
use organza_ledger::Unit;
use organza_mechanism::{By, Selection, SelectionRule};
use organza_train::OptimizerSettings;
use organza_train::outside::{
    Dense, Examples, Gradients, Lookups, NetworkData, NetworkSettings, NetworkSteps, Table,
};
use organza_train::settings::{EngineSettings, Steps};

/// Units that both neighbours have, with three examples each.
const UNITS: u64 = 24;
const OWN: u64 = 3;
const ROWS: u64 = 60;
const BATCH: f64 = 12.0;
const CLIP: f64 = 0.5;
/// Steps of one number: so many keys are tried.
const KEYS: u64 = 8;

/// What is wrong with a program, or with what it hands over.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// The clip is twice as large as stated.
    LooseClip,
    /// The last unit is two, each in a part of its own.
    Split,
    /// A mean over the examples that happen to be in the batch.
    Mean,
    /// The gradients of others change with the last unit, as where a layer normalises over the batch.
    ReadsAnother,
}

fn settings(selection: Option<SelectionRule>, fault: Fault, key: u64) -> NetworkSettings {
    let mut engine = EngineSettings::new("network", Unit::User, 3.0, 1e-6);
    engine.privacy.epsilon = None;
    engine.privacy.noise_multiplier = Some(if selection.is_some() { 1e-6 } else { 0.5 });
    engine.privacy.units = Some(UNITS);
    engine.training.batch = BATCH;
    engine.training.steps = Some(1);
    engine.training.clip = if fault == Fault::LooseClip { 2.0 * CLIP } else { CLIP };
    engine.training.optimizer = OptimizerSettings::Sgd { learning_rate: 1.0 };
    engine.seed = Some(key);
    if let Some(rule) = selection {
        engine.steps = Some(Steps::Selected);
        engine.selection =
            Selection { rule, by: By::Row, draws: Some(2 * ROWS), ..Selection::default() };
    }
    let table = |name: &str| Table { name: name.into(), rows: ROWS, dimensions: 4, deviation: 0.1 };
    NetworkSettings {
        engine,
        tables: vec![table("one"), table("other")],
        dense: vec![Dense { name: "dense.weight".into(), shape: vec![5] }],
        per_unit: None,
        one_at_a_time: true,
    }
}

fn data(with: bool, fault: Fault) -> NetworkData {
    let mut ends: Vec<u64> = (1..=UNITS + u64::from(with)).map(|unit| OWN * unit).collect();
    if with && fault == Fault::Split {
        let last = ends.len() - 1;
        ends.insert(last, ends[last] - 1);
    }
    let examples = ends.last().copied().unwrap_or(0);
    let examples = Examples::new((0..examples).collect(), ends, None).unwrap();
    NetworkData { examples, fingerprint: [1; 32], tables: vec![None, None], dense: vec![0.1; 5] }
}

/// What one step makes of all parameters, times the expected batch: by the noise of the key, and the sum under it.
fn stepped(settings: NetworkSettings, with: bool, fault: Fault, units: usize) -> (Vec<f64>, bool) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let mut steps = NetworkSteps::begin(settings, data(with, fault), &path, false).unwrap();
    let mut joined = false;
    while let Some(part) = steps.draw(units).unwrap().cloned() {
        let size = part.examples.len();
        let strange = part.examples.iter().any(|example| *example >= OWN * UNITS);
        joined |= strange;
        let factor = if fault == Fault::Mean { BATCH as f32 / size as f32 } else { 1.0 };
        let factor_of = |example: u64| match fault {
            Fault::ReadsAnother if strange && example < OWN * UNITS => -1.0,
            _ => factor,
        };
        // Long enough to be cut by far: what is divided by the batch stays below the clip.
        let length = if fault == Fault::Mean { 0.9 * CLIP as f32 } else { 2.0 };
        let sign = |example: u64| if example < OWN * UNITS { length } else { -length };
        let mut rows = [Vec::new(), Vec::new()];
        let mut values = [Vec::new(), Vec::new()];
        let mut dense = Vec::new();
        for example in part.examples.iter().copied() {
            for table in 0..2 {
                let row = (example * (7 + table as u64) % (ROWS - 1)) as i64;
                rows[table].extend([row, -1]);
                let small = if fault == Fault::Mean { 0.0 } else { sign(example) };
                values[table].extend([small * factor_of(example); 4]);
                values[table].extend([1e9; 4]);
            }
            dense.extend([sign(example) * factor_of(example), 0.0, 0.0, 0.0, 0.0]);
        }
        let lookups: Vec<Lookups<'_>> = (0..2)
            .map(|table| Lookups {
                table,
                per_example: 2,
                rows: &rows[table],
                values: &values[table],
                pool: None,
            })
            .collect();
        steps.add(&Gradients { lookups: &lookups, dense: &[&dense] }).unwrap();
    }
    let model = steps.finish().unwrap().model;
    (model.into_iter().map(|value| f64::from(value) * BATCH).collect(), joined)
}

/// Both neighbours under the same keys. Noise is the same, and so is who joins, but for the last unit.
fn compared(selection: Option<SelectionRule>, fault: Fault, units: usize) -> Vec<Compared> {
    let one_key = |key: u64| {
        let settings = settings(selection, fault, key);
        let (without, _) = stepped(settings.clone(), false, fault, units);
        let (with, joined) = stepped(settings, true, fault, units);
        let stated = if joined { CLIP } else { 0.0 };
        Compared::new(format!("key {key}"), l2(&without, &with), stated)
    };
    (0..KEYS).map(one_key).collect()
}

#[test]
fn a_unit_moves_tables_and_dense_part_by_one_clip() {
    for selection in [None, Some(SelectionRule::Uniform)] {
        for units in [usize::MAX, 5, 1] {
            let all = compared(selection, Fault::None, units);
            let joined = all.iter().filter(|it| it.stated > 0.0).count();
            assert!((1..KEYS as usize).contains(&joined), "in some batches: {joined}");
            assert!(all.iter().any(|it| it.found > 0.9 * CLIP), "the bound is reached");
            let worst = worst(all);
            assert!(!worst.violates(), "{worst}");
        }
    }
}

#[test]
fn what_a_program_must_not_do_is_caught() {
    for fault in [Fault::LooseClip, Fault::Split, Fault::Mean, Fault::ReadsAnother] {
        for selection in [None, Some(SelectionRule::Uniform)] {
            eprint!("twin {fault:?}: ");
            let worst = worst(compared(selection, fault, usize::MAX));
            assert!(worst.violates(), "{fault:?}: {worst}");
        }
    }
}
