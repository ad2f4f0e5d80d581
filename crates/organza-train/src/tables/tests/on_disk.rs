//! Tables on a disk against those in memory: the same bits, all of them up to date at the end.

use super::unannounced::{
    ALWAYS, Asks, NEVER, Pull, SOMETIMES, STEPS, first, owed, sampler, shape,
};
use crate::OptimizerSettings;
use crate::export::{HEAD, header};
use crate::step::private_step;
use crate::tables::{FirstWeights, Tables, Upkeep};
use organza_ledger::atomic::UNFINISHED;
use organza_ledger::testing::paid;
use organza_mechanism::RandomSource;
use safetensors::SafeTensors;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const SGD: OptimizerSettings = OptimizerSettings::Sgd { learning_rate: 0.1 };
const ADAGRAD: OptimizerSettings = OptimizerSettings::Adagrad { learning_rate: 0.1, epsilon: 1e-6 };

/// Ways of keeping tables that go on a disk.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Plain,
    Adagrad,
    Resting,
    Owed,
}

/// Tables after training, in memory or in files of a folder.
fn trained(kind: Kind, folder: Option<&Path>, asks: Asks, threads: usize) -> Tables {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let (sampler, source) = (sampler(), RandomSource::from_seed(4));
    let (optimizer, upkeep) = match kind {
        Kind::Plain => (SGD, Upkeep::EveryStep),
        Kind::Adagrad => (ADAGRAD, Upkeep::EveryStep),
        Kind::Resting => (OptimizerSettings::adam(0.1), Upkeep::WhenRead),
        Kind::Owed => (SGD, Upkeep::Owed(owed(&sampler))),
    };
    let mut next = 0_u32..;
    let mut fill =
        |piece: &mut [f32]| piece.iter_mut().zip(&mut next).for_each(|(it, at)| *it = first(at));
    let mut tables = match folder {
        None => {
            let mut initial = vec![0.0; shape().coordinates() as usize];
            fill(&mut initial);
            Tables::new(shape(), optimizer, upkeep, initial).unwrap()
        }
        Some(folder) => {
            let first = FirstWeights::new(1.0, fill);
            Tables::on_disk(shape(), optimizer, upkeep, first, folder).unwrap()
        }
    };
    let paid = paid(sampler.charge(0..STEPS));
    pool.install(|| {
        for step in 0..STEPS {
            let tables = &mut tables;
            private_step(&Pull(asks), &sampler, &paid, &source, step, tables, &mut None).unwrap();
        }
    });
    tables
}

fn tables() -> [(u64, u64); 1] {
    [(shape().rows(), shape().widest())]
}

/// The only tensor of a file, and its metadata.
fn tensor(path: &Path) -> (Vec<f32>, Option<String>) {
    let bytes = fs::read(path).unwrap();
    let (_, facts) = SafeTensors::read_metadata(&bytes).unwrap();
    let fact = facts.metadata().as_ref().and_then(|facts| facts.get("fact").cloned());
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let tensor = tensors.tensor("table0").unwrap();
    let values =
        tensor.data().chunks_exact(4).map(|value| f32::from_le_bytes(value.try_into().unwrap()));
    (values.collect(), fact)
}

#[test]
fn a_disk_gives_the_same_bits_as_memory_and_is_the_file_of_the_model() {
    let facts = BTreeMap::from([("fact".to_owned(), "private".to_owned())]);
    for kind in [Kind::Plain, Kind::Adagrad, Kind::Resting, Kind::Owed] {
        let folder = tempfile::tempdir().unwrap();
        let parameters = trained(kind, None, ALWAYS, 1).into_parameters();
        let copy = folder.path().join("copy");
        trained(kind, None, ALWAYS, 1).export(&header(&tables(), &facts), &copy).unwrap();
        let written = (parameters, Some("private".to_owned()));
        assert_eq!(tensor(&copy), written, "{kind:?}");
        for (asks, threads) in [(ALWAYS, 1), (SOMETIMES, 1), (NEVER, 3), (ALWAYS, 3)] {
            let path = folder.path().join(format!("model {threads} {}", asks(1)));
            let tables_on_disk = trained(kind, Some(folder.path()), asks, threads);
            assert!(names(folder.path()).iter().any(|name| name.starts_with(UNFINISHED)));
            tables_on_disk.export(&header(&tables(), &facts), &path).unwrap();
            assert_eq!(tensor(&path), written, "{kind:?}, {threads} threads");
            fs::remove_file(path).unwrap();
        }
        assert_eq!(names(folder.path()), ["copy"], "{kind:?}");
    }
}

/// Untouched rows have moved by the noise of all steps in the file. The twin gives the file its name without bringing
/// rows up to date, and is caught: rows that were touched lately could be told from those that were not.
#[test]
fn every_row_of_the_file_is_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = trained(Kind::Owed, None, ALWAYS, 1).into_parameters();
    let differing = |is_twin: bool| {
        let path = folder.path().join(format!("model {is_twin}"));
        let mut on_disk = trained(Kind::Owed, Some(folder.path()), ALWAYS, 1);
        if is_twin {
            // As weights, of all that was settled and of what was not.
            let scale = on_disk.farthest().unwrap() / 2_147_483_648.0;
            for weight in &mut on_disk.weights[..] {
                *weight = (f64::from(weight.to_bits().cast_signed()) * scale) as f32;
            }
            on_disk.weights.into_file().unwrap().keep(&[b' '; HEAD], &path).unwrap();
            let bytes = fs::read(&path).unwrap();
            let values = bytes[HEAD..].chunks_exact(4);
            let values = values.map(|value| f32::from_le_bytes(value.try_into().unwrap()));
            return values.zip(&parameters).filter(|(one, other)| one != *other).count();
        }
        on_disk.export(&header(&tables(), &BTreeMap::new()), &path).unwrap();
        tensor(&path).0.iter().zip(&parameters).filter(|(one, other)| one != other).count()
    };
    assert_eq!(differing(false), 0);
    // Rows that the last batch did not touch, about .45 of all.
    let unsettled = differing(true);
    assert!(unsettled > parameters.len() / 4, "{unsettled}");
}

#[test]
fn what_cannot_be_kept_on_a_disk_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let made = |optimizer, first: f32| {
        let first = FirstWeights::new(1.0, move |piece| piece.fill(first));
        Tables::on_disk(shape(), optimizer, Upkeep::EveryStep, first, folder.path())
    };
    for first in [1.5, -1.5, f32::NAN, f32::NEG_INFINITY] {
        let refusal = made(SGD, first).unwrap_err().to_string();
        assert!(refusal.contains("up to 1"), "{refusal}");
    }
    let refusal = made(OptimizerSettings::adam(0.1), 0.0).unwrap_err().to_string();
    assert!(refusal.contains("every row at every step"), "{refusal}");
    let long = BTreeMap::from([("fact".to_owned(), "x".repeat(HEAD))]);
    let path = folder.path().join("model");
    assert!(made(SGD, 0.5).unwrap().export(&header(&tables(), &long), &path).is_err());
    fs::write(&path, "another").unwrap();
    assert!(made(SGD, 0.5).unwrap().export(&header(&tables(), &BTreeMap::new()), &path).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"another");
    drop(made(SGD, 0.5).unwrap());
    assert_eq!(names(folder.path()), ["model"]);
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
