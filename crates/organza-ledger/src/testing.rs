//! Proofs of charges for tests, which have nothing to pay with (feature `testing`).

use crate::{Account, AccountError, Budget, Charge, Charged, Event, Header, Ledger};
use crate::{Neighbouring, Unit};

/// Prices everything at nothing.
struct Free(Neighbouring);

impl Account for Free {
    fn neighbouring(&self) -> Neighbouring {
        self.0
    }

    fn epsilon(&self, _: &[Event], _: f64) -> Result<f64, AccountError> {
        Ok(0.0)
    }
}

/// The proof of `charge`, on a ledger of its own and by an account that lets everything pass: *nothing that is
/// released against it is private*.
///
/// # Panics
/// If the charge makes no sense.
pub fn paid(charge: Charge) -> Charged {
    let relation = charge.neighbouring.unwrap_or(Neighbouring::AddRemove);
    let mut ledger =
        Ledger::in_memory(Header::new(relation, Unit::Line, 1e-6)).expect("a good header");
    let budget = Budget::new(0.0, 1e-6, relation).expect("a good budget");
    budget.charge(&mut ledger, &Free(relation), charge).expect("a charge that makes sense")
}
