//! Runs that share a budget: never more than it, whatever they do at the same time.
#![allow(clippy::unwrap_used)]

use super::share::Sums;
use super::*;
use crate::{LedgerError, Neighbouring, Unit};
use std::fs;
use std::sync::Barrier;
use tempfile::{TempDir, tempdir};

fn key(byte: u8) -> KeyFingerprint {
    KeyFingerprint::new([byte; 16])
}

fn share(epsilon: f64, delta: f64) -> Share {
    let (unit, neighbouring) = (Unit::Line, Neighbouring::AddRemove);
    Share { purpose: "train counts".into(), epsilon, delta, unit, neighbouring }
}

fn header() -> Header {
    Header::new(Neighbouring::AddRemove, Unit::Line, 1e-5)
}

fn reviews(epsilon: f64) -> DataSet {
    DataSet { name: "reviews".into(), epsilon }
}

fn ledger(epsilon: f64) -> (TempDir, DataSetLedger) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("reviews.jsonl");
    let ledger = DataSetLedger::create(&path, header(), reviews(epsilon)).unwrap();
    (folder, ledger)
}

#[test]
fn runs_add_up_and_the_one_too_many_is_refused() {
    let (_folder, ledger) = ledger(8.0);
    let first = ledger.reserve(&share(3.0, 1e-6), key(1)).unwrap().total;
    assert_eq!(
        first.to_string(),
        "data set `reviews`: epsilon 3 of 8 and delta 1e-6 of 1e-5 are taken, by 1 run"
    );
    let second = ledger.reserve(&share(3.0, 1e-6), key(2)).unwrap().total;
    assert_eq!((second.runs, second.epsilon), (2, 6.0));
    let before = fs::read(&ledger.path).unwrap();
    let refused = ledger.reserve(&share(3.0, 1e-6), key(3)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the budget of the data set `reviews` is too small: this run would take epsilon 3 at delta 1e-6, but of \
         epsilon 8 and delta 1e-5 only 2 and 8e-6 are left. Nothing was released: give a smaller --epsilon"
    );
    let refused = ledger.reserve(&share(1.0, 9e-6), key(3)).unwrap_err().to_string();
    assert!(refused.ends_with("give a smaller --delta"), "{refused}");
    assert_eq!(fs::read(&ledger.path).unwrap(), before, "nothing was written");
    let _ = ledger.reserve(&share(2.0, 8e-6), key(3)).unwrap();
    let refused = ledger.reserve(&share(1e-9, 1e-20), key(4)).unwrap_err().to_string();
    assert!(refused.ends_with("nothing more can be promised about this data"), "{refused}");
    let totals: Vec<f64> = ledger.shares().unwrap().iter().map(|(_, it)| it.epsilon).collect();
    assert_eq!(totals, [3.0, 6.0, 8.0]);
}

/// What people take for equal is equal: ten tenths fit, an eleventh does not.
#[test]
fn decimals_fit_as_people_add_them() {
    let (_folder, ledger) = ledger(1.0);
    for number in 0..10 {
        let _ = ledger.reserve(&share(0.1, 1e-6), key(number)).unwrap();
    }
    assert!(ledger.reserve(&share(1e-9, 0.0), key(10)).is_err());
}

#[test]
fn a_run_that_goes_on_pays_once_and_keeps_its_place() {
    let (_folder, ledger) = ledger(8.0);
    let first = ledger.reserve(&share(3.0, 1e-6), key(1)).unwrap();
    let _ = ledger.reserve(&share(4.0, 1e-6), key(2)).unwrap();
    let before = fs::read(&ledger.path).unwrap();
    for _ in 0..3 {
        assert_eq!(ledger.reserve(&share(3.0, 1e-6), key(1)).unwrap(), first);
    }
    assert_eq!(fs::read(&ledger.path).unwrap(), before);
    // The same key for another budget would be another release with the same noise.
    let other = ledger.reserve(&share(0.5, 1e-6), key(1)).unwrap_err();
    assert!(matches!(other, DataSetError::Ledger(LedgerError::NoiseReused { .. })), "{other}");
}

#[test]
fn another_unit_relation_or_name_is_refused() {
    let (_folder, ledger) = ledger(8.0);
    let pair = Share { unit: Unit::Pair, ..share(1.0, 1e-6) };
    let replaced = Share { neighbouring: Neighbouring::ReplaceOne, ..share(1.0, 1e-6) };
    for other in [pair, replaced] {
        let refused = ledger.reserve(&other, key(1)).unwrap_err();
        assert!(matches!(refused, DataSetError::Promise { .. }), "{refused}");
        assert!(ledger.check(&[other]).is_err());
    }
    let named = |name: Option<&str>| {
        let dataset = name.map(str::to_owned);
        DataSetLedger::named(&LedgerSettings { path: ledger.path.clone(), dataset })
    };
    assert!(named(None).is_ok() && named(Some("reviews")).is_ok());
    let refused = named(Some("letters")).unwrap_err().to_string();
    assert!(refused.contains("`reviews`") && refused.contains("`letters`"), "{refused}");
    assert!(ledger.shares().unwrap().is_empty());
}

#[test]
fn names_and_budgets_that_make_no_sense_make_no_file() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("ledger");
    for dataset in [
        DataSet { name: String::new(), ..reviews(1.0) },
        DataSet { name: "two\nlines".into(), ..reviews(1.0) },
        DataSet { name: "x".repeat(65), ..reviews(1.0) },
        reviews(0.0),
        reviews(f64::NAN),
        reviews(f64::INFINITY),
    ] {
        assert!(DataSetLedger::create(&path, header(), dataset).is_err());
        assert!(!path.exists());
    }
    let (_folder, ledger) = ledger(8.0);
    for (epsilon, delta) in [(-1.0, 1e-6), (f64::NAN, 1e-6), (1.0, -1e-6), (1.0, f64::NAN)] {
        assert!(ledger.reserve(&share(epsilon, delta), key(1)).is_err(), "{epsilon} {delta}");
    }
}

#[test]
fn the_ledger_of_a_run_is_none_of_a_data_set() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    drop(Ledger::create(&path, header()).unwrap());
    assert!(matches!(DataSetLedger::open(&path), Err(DataSetError::NotShared(_))));
    // A charge of a run has no place among the shares of runs.
    let header = Header { dataset: Some(reviews(8.0)), ..header() };
    fs::remove_file(&path).unwrap();
    let mut shared = Ledger::create(&path, header).unwrap();
    shared.append(Charge::once("training", crate::Event::Pure { epsilon: 0.1 })).unwrap();
    drop(shared);
    assert!(matches!(DataSetLedger::open(&path), Err(DataSetError::NoShare { line: 2, .. })));
}

#[test]
fn a_changed_lost_or_doubled_line_is_refused_and_a_torn_one_is_told() {
    let (_folder, ledger) = ledger(8.0);
    for number in 0..3 {
        let _ = ledger.reserve(&share(1.0, 1e-6), key(number)).unwrap();
    }
    let text = fs::read_to_string(&ledger.path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let cheaper = text.replacen("\"epsilon\":1.0", "\"epsilon\":0.1", 1);
    let last_cheaper = [lines[0], lines[1], lines[2], &lines[3].replace("1.0", "0.1")].concat();
    let larger = text.replacen("\"epsilon\":8.0", "\"epsilon\":9.0", 1);
    assert!(cheaper != text && larger != text && last_cheaper != text);
    let without = [lines[0], lines[2], lines[3]].concat();
    let doubled = [lines[0], lines[1], lines[1], lines[2], lines[3]].concat();
    for bad in [cheaper, last_cheaper, larger, without, doubled] {
        fs::write(&ledger.path, &bad).unwrap();
        assert!(ledger.reserve(&share(1.0, 1e-6), key(9)).is_err());
        assert!(DataSetLedger::open(&ledger.path).is_err());
        assert_eq!(fs::read_to_string(&ledger.path).unwrap(), bad);
    }
    fs::write(&ledger.path, &text[..text.len() - 5]).unwrap();
    let reserved = ledger.reserve(&share(1.0, 1e-6), key(9)).unwrap();
    assert_eq!((reserved.torn.unwrap().line, reserved.total.epsilon), (4, 3.0));
    // Another ledger of the same name, put in its place while a run begins.
    fs::remove_file(&ledger.path).unwrap();
    DataSetLedger::create(&ledger.path, header(), reviews(80.0)).unwrap();
    let changed = ledger.reserve(&share(1.0, 1e-6), key(9));
    assert!(matches!(changed, Err(DataSetError::Changed(_))));
}

/// How a run reserves: `true` if it may begin.
type Reserve = fn(&DataSetLedger, u8, &Barrier) -> bool;

fn properly(ledger: &DataSetLedger, number: u8, ready: &Barrier) -> bool {
    ready.wait();
    ledger.reserve(&share(1.0, 1e-6), key(number)).is_ok()
}

/// Broken twin: it judges by what stood there before it had the file for itself.
fn looking_too_early(ledger: &DataSetLedger, number: u8, ready: &Barrier) -> bool {
    let fits = ledger.check(&[share(1.0, 1e-6)]).is_ok();
    ready.wait();
    let (mut file, _) = Ledger::open_in_turn(&ledger.path, |_| Ok(())).unwrap();
    fits && file.append(share(1.0, 1e-6).charge().with_key(key(number))).is_ok()
}

/// Broken twin: it begins without writing.
fn writing_nothing(ledger: &DataSetLedger, _number: u8, ready: &Barrier) -> bool {
    ready.wait();
    ledger.check(&[share(1.0, 1e-6)]).is_ok()
}

/// Eight runs at once on a budget for three: three may begin, and stand on the file.
fn keeps_to_three(reserve: Reserve) -> Result<(), String> {
    let (_folder, ledger) = ledger(3.0);
    let ready = Barrier::new(8);
    let begun = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..8)
            .map(|number| {
                let (ledger, ready) = (&ledger, &ready);
                scope.spawn(move || reserve(ledger, number, ready))
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).filter(|it| *it).count()
    });
    let written = ledger.shares().unwrap().len();
    if (begun, written) == (3, 3) {
        Ok(())
    } else {
        Err(format!("{begun} begun, {written} written"))
    }
}

#[test]
fn runs_at_the_same_time_keep_to_the_budget_together() {
    for _ in 0..20 {
        keeps_to_three(properly).unwrap();
    }
    for twin in [looking_too_early, writing_nothing] {
        assert!(keeps_to_three(twin).is_err());
    }
}

#[test]
fn many_shares_are_checked_together() {
    let (_folder, ledger) = ledger(3.0);
    let one = share(1.0, 1e-6);
    assert!(ledger.check(&vec![one.clone(); 3]).is_ok());
    assert!(ledger.check(&vec![one.clone(); 4]).is_err());
    let _ = ledger.reserve(&one, key(1)).unwrap();
    assert!(ledger.check(&vec![one; 3]).is_err());
}

#[test]
fn what_is_no_share_costs_everything() {
    let charge = Charge::once("training", crate::Event::Pure { epsilon: 0.1 });
    assert!(!Sums::default().with(&charge).is_within(1e300, 1.0));
}
