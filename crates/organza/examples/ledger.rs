//! A budget that says no: every release is on the ledger, in a file, before it is made.
#![allow(clippy::print_stdout)]

use organza::accountant::Accountant;
use organza::ledger::{Budget, BudgetError, Charge, Event, Header, Ledger, Neighbouring, Unit};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (relation, delta) = (Neighbouring::AddRemove, 1e-6);
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("ledger.jsonl");
    let mut ledger = Ledger::create(&file, Header::new(relation, Unit::User, delta))?;
    let budget = Budget::new(1.0, delta, relation)?;
    let account = Accountant::new(relation);

    for year in 2021.. {
        let survey = Event::Gaussian { noise_multiplier: 10.0 };
        let charge = Charge::once(format!("survey of {year}"), survey);
        match budget.charge(&mut ledger, &account, charge) {
            Ok(paid) => println!("{year}: epsilon {:.3} so far", paid.spent().unwrap_or(0.0)),
            Err(BudgetError::Exceeded { .. }) => break,
            Err(error) => return Err(error.into()),
        }
    }
    println!("the next one would exceed the budget, and is not made");
    assert!(budget.spent(&ledger, &account)? <= 1.0);
    Ok(())
}
