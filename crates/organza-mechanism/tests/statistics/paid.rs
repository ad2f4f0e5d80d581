//! Proofs of charges for releases that are made many times.

use organza_ledger::Charged;
use organza_ledger::testing::paid;
use organza_mechanism::{RandomSource, Release};

/// Releases of one purpose, in any order: each from a source of its own.
pub(crate) struct Paid<'a> {
    seed: u64,
    release: Box<dyn Fn(&RandomSource) -> Release + 'a>,
}

impl<'a> Paid<'a> {
    /// Pays for all releases like the one that `release` makes.
    pub(crate) fn new(seed: u64, release: impl Fn(&RandomSource) -> Release + 'a) -> Self {
        Self { seed, release: Box::new(release) }
    }

    /// The release of this number, with its proof.
    pub(crate) fn number(&self, number: u64) -> (Release, Charged) {
        let source = RandomSource::from_seed((self.seed << 32) + number);
        let release = (self.release)(&source);
        let charged = paid(release.charge());
        (release, charged)
    }
}
