//! Proofs of charges for releases that are made many times.

use organza_ledger::{
    Account, AccountError, Budget, Charge, Charged, Event, Header, Ledger, Neighbouring, Unit,
};
use organza_mechanism::{RandomSource, Release};

/// A ledger on which all releases of a purpose were charged at once; the account lets everything pass.
pub(crate) struct Paid {
    _folder: tempfile::TempDir,
    ledger: Ledger,
    budget: Budget,
    release: Release,
}

struct Free(Neighbouring);

impl Account for Free {
    fn neighbouring(&self) -> Neighbouring {
        self.0
    }

    fn epsilon(&self, _: &[Event], _: f64) -> Result<f64, AccountError> {
        Ok(0.0)
    }
}

impl Paid {
    /// Pays for all releases like the one that `release` makes.
    pub(crate) fn new(seed: u64, release: impl Fn(&RandomSource) -> Release) -> Self {
        let release = release(&RandomSource::from_seed(seed));
        let folder = tempfile::tempdir().unwrap();
        let relation = release.charge().neighbouring.unwrap();
        let header = Header::new(relation, Unit::Line, 1e-6);
        let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl"), header).unwrap();
        let budget = Budget::new(1.0, 1e-6, relation).unwrap();
        let all = Charge { steps: 1 << 40, ..release.charge() };
        let _block = budget.charge(&mut ledger, &Free(relation), all).unwrap();
        Self { _folder: folder, ledger, budget, release }
    }

    /// The release of this number, with its proof.
    pub(crate) fn number(&mut self, number: u64) -> (Release, Charged) {
        let release = self.release.clone().numbered(number);
        let charge = release.charge();
        let account = Free(charge.neighbouring.unwrap());
        let paid = self.budget.charge(&mut self.ledger, &account, charge).unwrap();
        (release, paid)
    }
}
