//! The ledger as a real file: made once, locked, opened again, repaired.

use super::samples::{Summing, header, pure, text_of};
use crate::{Budget, Charge, KeyFingerprint, Ledger, LedgerError, LineError, Neighbouring, Replay};
use proptest::prelude::*;
use std::fs;
use tempfile::tempdir;

const ACCOUNT: Summing = Summing(Neighbouring::AddRemove);

fn budget() -> Budget {
    Budget::new(1e9, header().delta, Neighbouring::AddRemove).unwrap()
}

fn block(from: u64) -> Charge {
    Charge::block("training", from..from + 10, pure(0.01))
}

#[test]
fn charges_are_found_again() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let mut ledger = Ledger::create(&path, header()).unwrap();
    let _ = budget().charge(&mut ledger, &ACCOUNT, block(0)).unwrap();
    drop(ledger);
    let (mut ledger, torn) = Ledger::open(&path).unwrap();
    assert_eq!(torn, None);
    let _ = budget().charge(&mut ledger, &ACCOUNT, block(10)).unwrap();
    assert_eq!(ledger.header(), &header());
    assert_eq!(ledger.events(), [pure(0.01).repeat(20)]);
    assert_eq!(fs::read(&path).unwrap(), text_of(&[block(0), block(10)]));
    assert_eq!(Replay::read(&path).unwrap().charges, ledger.charges());
}

#[test]
fn there_is_one_writer_at_a_time() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let ledger = Ledger::create(&path, header()).unwrap();
    assert!(matches!(Ledger::open(&path), Err(LedgerError::Locked(_))));
    assert!(Replay::read(&path).is_ok());
    drop(ledger);
    let (_ledger, _) = Ledger::open(&path).unwrap();
    assert!(matches!(Ledger::open(&path), Err(LedgerError::Locked(_))));
}

#[test]
fn a_ledger_is_never_written_over() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    fs::write(&path, "something").unwrap();
    assert!(matches!(Ledger::create(&path, header()), Err(LedgerError::Exists(_))));
    assert_eq!(fs::read(&path).unwrap(), b"something");
}

#[test]
fn a_header_that_makes_no_sense_makes_no_file() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let header = crate::Header { delta: f64::NAN, ..header() };
    let refused = Ledger::create(&path, header);
    assert!(matches!(refused, Err(LedgerError::Unwritable(LineError::Header(_)))));
    assert!(!path.exists());
}

#[test]
fn a_missing_file_or_folder_is_an_error_that_names_it() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("missing").join("ledger.jsonl");
    for error in [Ledger::open(&path).err(), Ledger::create(&path, header()).err()] {
        assert!(error.unwrap().to_string().contains("ledger.jsonl"));
    }
    assert!(Ledger::open(folder.path()).is_err());
}

#[test]
fn a_bad_ledger_is_left_as_it_is() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let mut text = text_of(&[block(0), block(10)]);
    let middle = text.len() / 2;
    text[middle] ^= 1;
    for text in [&text[..], b"", b"not a ledger", b"not a ledger\n"] {
        fs::write(&path, text).unwrap();
        assert!(Ledger::open(&path).is_err());
        assert_eq!(fs::read(&path).unwrap(), text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Cut anywhere in its charges, a ledger opens, says what it dropped, and goes on as if the
    /// dropped line had never been begun.
    #[test]
    fn a_torn_line_is_repaired(place in 0.0..1.0_f64) {
        let folder = tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let key = KeyFingerprint::new([3; 16]);
        let charges = [block(0).with_key(key), block(10).with_key(key)];
        let text = text_of(&charges);
        let whole = [text_of(&[]).len(), text_of(&charges[..1]).len(), text.len()];
        let cut = whole[0] + ((text.len() - whole[0]) as f64 * place) as usize;
        let kept = whole.iter().filter(|end| **end <= cut).count() - 1;
        fs::write(&path, &text[..cut]).unwrap();

        let (mut ledger, torn) = Ledger::open(&path).unwrap();
        prop_assert_eq!(ledger.charges(), &charges[..kept]);
        prop_assert_eq!(fs::read(&path).unwrap(), &text[..whole[kept]]);
        prop_assert_eq!(torn.map_or(0, |torn| torn.text.len()), cut - whole[kept]);
        for charge in charges {
            let _ = budget().charge(&mut ledger, &ACCOUNT, charge).unwrap();
        }
        prop_assert_eq!(fs::read(&path).unwrap(), text);
    }
}
