//! The budget: what exceeds it is refused before it is written, and copies are free.

use super::samples::{Summing, header, pure, replay};
use crate::{
    Account, AccountError, Budget, BudgetError, Charge, Event, Header, KeyFingerprint, Ledger,
    LedgerError, Neighbouring,
};
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;
use tempfile::{TempDir, tempdir};

const ACCOUNT: Summing = Summing(Neighbouring::AddRemove);

fn new_ledger() -> (TempDir, PathBuf, Ledger) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let ledger = Ledger::create(&path, header()).unwrap();
    (folder, path, ledger)
}

fn budget(epsilon: f64) -> Budget {
    Budget::new(epsilon, header().delta, Neighbouring::AddRemove).unwrap()
}

fn block(from: u64, to: u64) -> Charge {
    Charge::block("training", from..to, pure(0.125))
}

/// One way to charge, and whether it did.
type Spend = fn(&Budget, &mut Ledger, Charge) -> bool;

fn properly(budget: &Budget, ledger: &mut Ledger, charge: Charge) -> bool {
    budget.charge(ledger, &ACCOUNT, charge).is_ok()
}

/// Broken twin: it writes first and asks later.
fn asking_too_late(budget: &Budget, ledger: &mut Ledger, charge: Charge) -> bool {
    ledger.append(charge).is_ok() && budget.spent(ledger, &ACCOUNT).unwrap() <= budget.epsilon
}

/// Broken twin: it asks, but whether there is anything left, not whether there is enough.
fn asking_for_too_little(budget: &Budget, ledger: &mut Ledger, charge: Charge) -> bool {
    budget.spent(ledger, &ACCOUNT).unwrap() < budget.epsilon && ledger.append(charge).is_ok()
}

/// Broken twin: it confirms without writing.
fn writing_nothing(budget: &Budget, ledger: &mut Ledger, _charge: Charge) -> bool {
    budget.spent(ledger, &ACCOUNT).unwrap() < budget.epsilon
}

/// Charges blocks of these lengths: what is on the disk must be just what was confirmed, and never
/// cost more than the budget.
fn keeps_within(spend: Spend, epsilon: f64, lengths: &[u64]) -> Result<(), String> {
    let (_folder, path, mut ledger) = new_ledger();
    let mut confirmed = Vec::new();
    let mut step = 0;
    for length in lengths {
        let charge = block(step, step + length);
        step += length;
        if spend(&budget(epsilon), &mut ledger, charge.clone()) {
            confirmed.push(charge);
        }
        let found = replay(&fs::read(&path).unwrap()).unwrap();
        if found.charges != confirmed {
            return Err(format!("{} lines, {} confirmed", found.charges.len(), confirmed.len()));
        }
        let spent: f64 = found.charges.iter().map(|charge| charge.steps as f64 * 0.125).sum();
        if spent > epsilon {
            return Err(format!("{spent} spent of {epsilon}"));
        }
    }
    Ok(())
}

#[test]
fn broken_budgets_are_caught() {
    let lengths = [6, 6, 2];
    assert_eq!(keeps_within(properly, 1.0, &lengths), Ok(()));
    for twin in [asking_too_late, asking_for_too_little, writing_nothing] {
        assert!(keeps_within(twin, 1.0, &lengths).is_err());
    }
}

#[test]
fn the_refusal_says_what_was_asked_spent_and_left() {
    let (_folder, _path, mut ledger) = new_ledger();
    let budget = budget(2.0);
    let _ = budget.charge(&mut ledger, &ACCOUNT, block(0, 12)).unwrap();
    let error = budget.charge(&mut ledger, &ACCOUNT, block(12, 18)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the budget is too small: 6 steps of `training` would bring epsilon from 1.5 to 2.25 at \
         delta 0.000001 (add-remove), but the budget is 2, of which 0.5 is left. Take fewer steps, \
         more noise or a smaller batch, or allow a larger epsilon"
    );
    // What still fits is still allowed, to the last bit.
    let _ = budget.charge(&mut ledger, &ACCOUNT, block(12, 16)).unwrap();
    assert_eq!(budget.spent(&ledger, &ACCOUNT).unwrap(), 2.0);
    assert!(budget.charge(&mut ledger, &ACCOUNT, block(16, 17)).is_err());
}

#[test]
fn relation_and_delta_must_be_those_of_the_ledger() {
    let (_folder, _path, mut ledger) = new_ledger();
    let (ours, other) = (Neighbouring::AddRemove, Neighbouring::ReplaceOne);
    for (of_budget, of_account) in [(other, ours), (ours, other), (other, other)] {
        let budget = Budget::new(2.0, header().delta, of_budget).unwrap();
        let refused = budget.charge(&mut ledger, &Summing(of_account), block(0, 1));
        assert!(matches!(refused, Err(BudgetError::Neighbouring { .. })));
        assert!(budget.spent(&ledger, &Summing(of_account)).is_err());
    }
    let budget = Budget::new(2.0, header().delta, ours).unwrap();
    let refused = budget.charge(&mut ledger, &ACCOUNT, block(0, 1).for_neighbours(other));
    assert!(matches!(refused, Err(BudgetError::ChargedFor { .. })));
    let refused = Budget::new(2.0, 1e-5, ours).unwrap().charge(&mut ledger, &ACCOUNT, block(0, 1));
    assert!(matches!(refused, Err(BudgetError::Delta { .. })));
    assert_eq!(ledger.charges(), []);
}

#[test]
fn a_budget_that_makes_no_sense_is_refused() {
    for (epsilon, delta) in [
        (-1.0, 0.0),
        (f64::NAN, 0.0),
        (f64::INFINITY, 0.0),
        (1.0, 1.0),
        (1.0, -0.1),
        (1.0, f64::NAN),
    ] {
        assert!(Budget::new(epsilon, delta, Neighbouring::AddRemove).is_err());
    }
    assert!(Budget::new(0.0, 0.0, Neighbouring::AddRemove).is_ok());
}

#[test]
fn an_account_without_a_number_lets_nothing_pass() {
    struct Answering(f64);
    impl Account for Answering {
        fn neighbouring(&self) -> Neighbouring {
            Neighbouring::AddRemove
        }
        fn epsilon(&self, _events: &[Event], _delta: f64) -> Result<f64, AccountError> {
            Ok(self.0)
        }
    }
    let (_folder, _path, mut ledger) = new_ledger();
    for answer in [f64::NAN, f64::INFINITY] {
        assert!(budget(2.0).charge(&mut ledger, &Answering(answer), block(0, 1)).is_err());
    }
    let unknown = Charge::once("training", Event::Gaussian { noise_multiplier: 1.0 });
    let refused = budget(2.0).charge(&mut ledger, &ACCOUNT, unknown);
    assert!(matches!(refused, Err(BudgetError::Account(AccountError::Unsupported { .. }))));
    let senseless = budget(2.0).charge(&mut ledger, &ACCOUNT, Charge::once("", pure(0.1)));
    assert!(matches!(senseless, Err(BudgetError::Charge(_))));
    assert_eq!(ledger.charges(), []);
}

#[test]
fn a_copy_is_free_and_fresh_noise_is_not() {
    let (_folder, path, mut ledger) = new_ledger();
    let budget = budget(5.0);
    let key = |byte| KeyFingerprint::new([byte; 16]);
    let _ = budget.charge(&mut ledger, &ACCOUNT, block(0, 8).with_key(key(1))).unwrap();
    drop(ledger);
    let (mut ledger, _) = Ledger::open(&path).unwrap();
    let mut cost = |charge: Charge| {
        let before = budget.spent(&ledger, &ACCOUNT).unwrap();
        let charged = budget.charge(&mut ledger, &ACCOUNT, charge.clone()).unwrap();
        assert_eq!(charged.charge(), &charge);
        let cost = budget.spent(&ledger, &ACCOUNT).unwrap() - before;
        assert_eq!(charged.spent().is_none(), cost == 0.0);
        cost
    };
    // The same key: all of the block, or a part of it.
    assert_eq!(cost(block(0, 8).with_key(key(1))), 0.0);
    assert_eq!(cost(block(4, 8).with_key(key(1))), 0.0);
    // The next block, and one that is only half covered.
    assert_eq!(cost(block(8, 16).with_key(key(1))), 1.0);
    assert_eq!(cost(block(12, 18).with_key(key(1))), 0.75);
    // Fresh noise: another key, none at all, another purpose.
    assert_eq!(cost(block(0, 8).with_key(key(2))), 1.0);
    assert_eq!(cost(block(0, 4)), 0.5);
    assert_eq!(cost(block(0, 4)), 0.5);
    let curve = Charge { purpose: "curve".into(), ..block(0, 1).with_key(key(1)) };
    assert_eq!(cost(curve), 0.125);
}

#[test]
fn the_same_noise_on_another_event_is_refused() {
    let (_folder, _path, mut ledger) = new_ledger();
    let key = KeyFingerprint::new([1; 16]);
    let _ = budget(9.0).charge(&mut ledger, &ACCOUNT, block(0, 8).with_key(key)).unwrap();
    let louder = Charge { event: pure(0.25), ..block(7, 9).with_key(key) };
    let refused = budget(9.0).charge(&mut ledger, &ACCOUNT, louder.clone()).unwrap_err();
    assert!(matches!(refused, BudgetError::Ledger(LedgerError::NoiseReused { .. })));
    assert!(refused.to_string().starts_with("steps 0 to 7 of `training`"), "{refused}");
    let fresh = louder.with_key(KeyFingerprint::new([2; 16]));
    assert!(budget(9.0).charge(&mut ledger, &ACCOUNT, fresh).is_ok());
}

#[test]
fn a_copy_needs_the_same_relation_too() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let replace_one = Header { neighbouring: Neighbouring::ReplaceOne, ..header() };
    let mut ledger = Ledger::create(&path, replace_one).unwrap();
    let charge = block(0, 1).with_key(KeyFingerprint::new([1; 16]));
    let matching = Budget::new(1.0, header().delta, Neighbouring::ReplaceOne).unwrap();
    let account = Summing(Neighbouring::ReplaceOne);
    let _ = matching.charge(&mut ledger, &account, charge.clone()).unwrap();
    assert!(matching.charge(&mut ledger, &account, charge.clone()).unwrap().spent().is_none());
    assert!(budget(1.0).charge(&mut ledger, &ACCOUNT, charge).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_sequence_of_charges_exceeds_the_budget(
        epsilon in 0.0..4.0_f64,
        lengths in prop::collection::vec(1..12_u64, 0..8),
    ) {
        keeps_within(properly, epsilon, &lengths).map_err(TestCaseError::fail)?;
    }
}
