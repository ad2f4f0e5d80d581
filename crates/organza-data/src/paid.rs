//! Proofs of charges for tests of releases.

use organza_ledger::{
    Account, AccountError, Budget, Charged, Event, Header, Ledger, Neighbouring, Unit,
};
use organza_mechanism::Release;

struct Free(Neighbouring);

impl Account for Free {
    fn neighbouring(&self) -> Neighbouring {
        self.0
    }

    fn epsilon(&self, _: &[Event], _: f64) -> Result<f64, AccountError> {
        Ok(0.0)
    }
}

/// A charge for the release, on a ledger of its own and an account that lets everything pass.
pub(crate) fn pay(release: &Release) -> Charged {
    let folder = tempfile::tempdir().expect("a folder");
    let charge = release.charge();
    let relation = charge.neighbouring.expect("a release states its relation");
    let header = Header::new(relation, Unit::Line, 1e-6);
    let path = folder.path().join("ledger.jsonl");
    let mut ledger = Ledger::create(&path, header).expect("a new ledger");
    let budget = Budget::new(1.0, 1e-6, relation).expect("a good budget");
    budget.charge(&mut ledger, &Free(relation), charge).expect("a good charge")
}
