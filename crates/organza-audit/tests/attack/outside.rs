//! A network whose gradients come from outside as a victim: its folder, after a run with made-up gradients.

use crate::words::{NOT_PRIVATE, PROMISED};
use organza_audit::attack::{Attack, Knowledge, Neighbour, Observation, Verdict};
use organza_ledger::Unit;
use organza_mechanism::{By, Selection, SelectionRule};
use organza_train::OptimizerName;
use organza_train::outside::{
    Dense, Examples, Gradients, Lookups, NetworkData, NetworkError, NetworkSettings, NetworkSteps,
    Table,
};
use organza_train::settings::{EngineSettings, Steps};
use std::path::Path;

/// Units that both neighbours have, with an example each.
const UNITS: u64 = 30;
/// The examples of the unit in question, whose gradients nothing but the clip holds down.
const OWN: u64 = 6_000;
const STEEP: f32 = 50.0;
const DIMENSIONS: usize = 8;
/// A table that is kept up to date at every step, and one that is not.
const NARROW: u64 = 40;
const WIDE: u64 = 4_000;
/// The rows that only the unit in question reads.
const RARE: u64 = 5;
const RATE: f32 = 0.3;

/// What is wrong with a run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// A clip that cuts nothing, and the noise of the one that is promised.
    NoClip,
    /// A small part of the noise.
    LittleNoise,
    /// Each example of the unit in question is a unit.
    Split,
    /// Settings that depend on who is there, on the certificate.
    SaysWhatItSaw,
}

/// One way to train.
#[derive(Clone, Copy, Debug)]
struct Way {
    rows: u64,
    optimizer: OptimizerName,
    select: Option<SelectionRule>,
    units_at_once: usize,
    fault: Fault,
}

impl Way {
    fn settings(&self, with: bool) -> NetworkSettings {
        let mut engine =
            EngineSettings::new("network", Unit::User, PROMISED.epsilon, PROMISED.delta);
        engine.privacy.units = Some(UNITS);
        // Every unit joins every batch: nothing hides in a batch that it did not join.
        engine.training.batch = UNITS as f64;
        engine.training.steps = Some(2);
        engine.training.checkpoints = 1;
        engine.training.optimizer = self.optimizer.at(RATE);
        if let Some(rule) = self.select {
            engine.steps = Some(Steps::Selected);
            engine.selection =
                Selection { rule, by: By::Row, draws: Some(8), ..Selection::default() };
        }
        let deviating = match self.fault {
            // About 60 deviations of a unit are promised.
            Fault::NoClip => Some((1e6, 6e-5)),
            Fault::LittleNoise => Some((1.0, 0.01)),
            _ => None,
        };
        if let Some((clip, noise)) = deviating {
            engine.training.clip = clip;
            engine.privacy.epsilon = None;
            engine.privacy.noise_multiplier = Some(noise);
        }
        // So small that noise, and not chance at the start, hides the unit.
        let (dimensions, deviation) = (DIMENSIONS as u64, 1e-4);
        NetworkSettings {
            engine,
            tables: vec![Table { name: "table".into(), rows: self.rows, dimensions, deviation }],
            dense: vec![Dense { name: "dense".into(), shape: vec![3] }],
            per_unit: None,
            one_at_a_time: !(with && self.fault == Fault::SaysWhatItSaw),
        }
    }

    fn run(&self, with: bool, folder: &Path) -> Result<(), NetworkError> {
        let own = if with { OWN } else { 0 };
        let mut ends: Vec<u64> = (1..=UNITS).collect();
        match self.fault {
            Fault::Split => ends.extend(UNITS + 1..=UNITS + own),
            _ if with => ends.push(UNITS + own),
            _ => {}
        }
        let examples = Examples::new((0..UNITS + own).collect(), ends, None);
        let examples = examples.expect("each example is of one unit");
        let (tables, dense) = (vec![None], vec![0.1; 3]);
        let data = NetworkData { examples, fingerprint: [7; 32], tables, dense };
        let mut steps = NetworkSteps::begin(self.settings(with), data, folder, true)?;
        while let Some(part) = steps.draw(self.units_at_once)?.cloned() {
            let row = |example: &u64| match *example < UNITS {
                true => (example * 3 % 20) as i64,
                false => (self.rows - 1 - example % RARE) as i64,
            };
            let rows: Vec<i64> = part.examples.iter().map(row).collect();
            let mut values = Vec::new();
            steps.read(0, &rows, None, &mut values)?;
            let steep = |example: u64| if example < UNITS { 1.0 } else { STEEP };
            let each = part.examples.iter().map(|example| steep(*example));
            let slopes = values
                .chunks(DIMENSIONS)
                .zip(each.clone())
                .flat_map(|(row, steep)| row.iter().map(move |value| steep * (4.0 * value + 0.5)));
            let values: Vec<f32> = slopes.collect();
            let dense: Vec<f32> = each.flat_map(|steep| [0.5 * steep; 3]).collect();
            let lookups =
                [Lookups { table: 0, per_example: 1, rows: &rows, values: &values, pool: None }];
            steps.add(&Gradients { lookups: &lookups, dense: &[&dense] })?;
        }
        steps.finish().map(drop)
    }

    fn attacked(&self, runs: u64) -> Verdict {
        let grid = 1.0 / (UNITS as f64 * f64::from(1 << 30));
        let knowledge = Knowledge::of_rows(self.rows - RARE..self.rows)
            .with_rates(&[RATE])
            .with_grids(&[grid, grid * f64::from(RATE)]);
        let name = format!("network: {self:?}");
        let attack = Attack { name, runs, knowledge, promised: PROMISED };
        let place = tempfile::tempdir().expect("a folder");
        let victim = |neighbour: Neighbour, folder: &Path| {
            let out = folder.join("run");
            let ended = self.run(neighbour == Neighbour::With, &out);
            let ended = ended.map(|()| "finished".to_owned()).map_err(|error| error.to_string());
            Observation::of(&out, ended, &NOT_PRIVATE).expect("files that can be read")
        };
        let verdict = attack.run(&victim, place.path(), &|| ()).expect("an attack");
        eprintln!("{verdict}");
        verdict
    }
}

const PLAIN: Way = Way {
    rows: NARROW,
    optimizer: OptimizerName::SGD,
    select: None,
    units_at_once: usize::MAX,
    fault: Fault::None,
};

/// A false alarm has probability 1e-6 in each.
#[test]
fn networks_give_no_membership_away() {
    let ways = [
        PLAIN,
        Way { rows: WIDE, ..PLAIN },
        Way { rows: WIDE, units_at_once: 4, ..PLAIN },
        Way { optimizer: OptimizerName::ADAM, units_at_once: 4, ..PLAIN },
        Way { select: Some(SelectionRule::SparseVector), ..PLAIN },
        Way {
            rows: WIDE,
            select: Some(SelectionRule::NoisyMax),
            optimizer: OptimizerName::ADAM,
            ..PLAIN
        },
    ];
    for way in ways {
        let verdict = way.attacked(crate::combinations::RUNS);
        assert!(!verdict.refutes(), "{verdict}");
    }
}

#[test]
fn networks_without_their_conditions_are_caught() {
    for fault in [Fault::NoClip, Fault::LittleNoise, Fault::Split, Fault::SaysWhatItSaw] {
        for rows in [NARROW, WIDE] {
            let verdict = Way { fault, rows, ..PLAIN }.attacked(crate::combinations::RUNS);
            assert!(verdict.refutes(), "{verdict}");
        }
    }
}
