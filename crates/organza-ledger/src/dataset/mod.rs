//! The ledger of a data set: one budget that all runs on the data share.
//!
//! ```
//! use organza_ledger::*;
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("reviews.jsonl");
//! let dataset = DataSet { name: "reviews".into(), epsilon: 8.0 };
//! let header = Header::new(Neighbouring::AddRemove, Unit::Line, 1e-5);
//! let ledger = DataSetLedger::create(&path, header, dataset)?;
//!
//! let share = Share {
//!     purpose: "train counts".into(),
//!     epsilon: 5.0,
//!     delta: 1e-6,
//!     unit: Unit::Line,
//!     neighbouring: Neighbouring::AddRemove,
//! };
//! let first = ledger.reserve(&share, KeyFingerprint::new([1; 16]))?;
//! assert_eq!(first.total.epsilon, 5.0);
//! let second = ledger.reserve(&share, KeyFingerprint::new([2; 16]));
//! assert!(matches!(second, Err(DataSetError::Exceeded { .. })));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod share;
#[cfg(test)]
mod tests;

pub use error::DataSetError;
pub use share::{DataSet, LedgerSettings, Reserved, Share, SharedTotal};

use crate::{Charge, Header, KeyFingerprint, Ledger, LedgerError, Replay, TornLine};
use share::Sums;
use std::path::{Path, PathBuf};

/// A file on which every run of a data set reserves what it may spend, before it releases anything.
///
/// # Privacy
/// Let the header say (E, D). A run reserves (e, d) and then keeps to it: its own [`Budget`](crate::Budget) is
/// (e, d), so for its settings, whatever it releases on the way, it is (e, d)-differentially private. A reservation
/// is refused unless the sums of all e and of all d stay within E and D. Then *everything that all runs ever
/// release* is (E, D)-differentially private for the header's relation and unit, although settings and budgets of a
/// run are chosen by someone who has seen what the runs before it released.
///
/// Sums are a *privacy filter* (Rogers, Roth, Ullman and Vadhan 2016, on basic composition). Tight composition of
/// the events of all runs together is none: it holds for events that were fixed beforehand, and
/// `tests/account/adaptive.rs` of the accountant shows a choice among runs, each of which it lets pass, whose true delta
/// is 1.47 times what it promises. So it is used within one run, never across runs.
///
/// # Proof
/// By induction over the number of runs, which a finite file bounds. With no run there is nothing to show. Let
/// the first run be (e, d)-private, with laws p and q of its output o on two neighbours. Given o, the later runs are
/// a strategy that never reserves more than (E - e, D - d), so by induction, for the section S(o) of any event S,
/// P_o(S(o)) <= min(1, e^(E - e) Q_o(S(o))) + D - d. The first term is a function of o with values in \[0, 1\],
/// so its mean under p is at most e^e times that under q, plus d. Hence
/// P(S) <= e^e e^(E - e) Q(S) + d + D - d = e^E Q(S) + D.
///
/// *Runs at the same time, runs that are stopped.* Think of all that a run would release, to its end, as drawn when
/// it reserves: its settings are fixed then, and its noise is its own key's. What is seen of it, in whatever
/// order and up to whatever step, is a function of that. So the order of reservations is the order of the induction,
/// and a run that was stopped keeps its whole share: to give the rest back would make its price depend on what it
/// released.
///
/// *What it asks for.* One unit of the data is one unit of every run (the same unit and relation, refused otherwise),
/// and every use of the data is on the file. Sums are taken in double precision: a total of n runs passes up to
/// n 2^-52 of the budget above it, the rounding of the sum itself.
///
/// The file names runs by the fingerprint of their key, and the data set by the name that a person gave it. A hash of
/// the data would tell whoever knows all but one unit whether that unit is in it.
#[derive(Clone, Debug)]
pub struct DataSetLedger {
    path: PathBuf,
    header: Header,
    dataset: DataSet,
}

impl DataSetLedger {
    /// Starts the ledger of a data set at `path`, where no file may be yet. The delta of `header` is the sum that all
    /// runs together may have.
    ///
    /// # Errors
    /// If there is a file, name or budget make no sense, or the file system refuses.
    pub fn create(path: &Path, header: Header, dataset: DataSet) -> Result<Self, DataSetError> {
        let header = Header { dataset: Some(dataset.clone()), ..header };
        Ledger::create(path, header.clone())?;
        Ok(Self { path: path.to_owned(), header, dataset })
    }

    /// Opens the ledger of a data set. It is not locked: others may reserve until [`DataSetLedger::reserve`] does.
    ///
    /// # Errors
    /// If it cannot be read, is damaged, or is the ledger of a single run.
    pub fn open(path: &Path) -> Result<Self, DataSetError> {
        let (header, dataset, _) = read(path, Replay::read(path)?)?;
        Ok(Self { path: path.to_owned(), header, dataset })
    }

    /// Opens the ledger that `settings` name.
    ///
    /// # Errors
    /// As [`DataSetLedger::open`], and if the data set has another name than the one that was given.
    pub fn named(settings: &LedgerSettings) -> Result<Self, DataSetError> {
        let ledger = Self::open(&settings.path)?;
        match &settings.dataset {
            Some(given) if *given != ledger.dataset.name => Err(DataSetError::Name {
                path: settings.path.clone(),
                stated: ledger.dataset.name,
                given: given.clone(),
            }),
            _ => Ok(ledger),
        }
    }

    /// What the shares are relative to.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The name and the budget.
    pub fn dataset(&self) -> &DataSet {
        &self.dataset
    }

    /// The shares so far, each with the total up to it.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged.
    pub fn shares(&self) -> Result<Vec<(Charge, SharedTotal)>, DataSetError> {
        let (_, _, charges) = read(&self.path, Replay::read(&self.path)?)?;
        let mut sums = Sums::default();
        let each = charges.into_iter().map(|charge| {
            sums = sums.with(&charge);
            (charge, self.total(sums))
        });
        Ok(each.collect())
    }

    /// Whether all of `shares` fit at this moment. It reserves nothing: it is there to refuse early.
    ///
    /// # Errors
    /// As [`DataSetLedger::reserve`].
    pub(crate) fn check(&self, shares: &[Share]) -> Result<(), DataSetError> {
        let (_, _, charges) = read(&self.path, Replay::read(&self.path)?)?;
        let mut sums = charges.iter().fold(Sums::default(), Sums::with);
        for share in shares {
            self.agrees(share)?;
            sums = self.fits(sums, share, &share.charge())?;
        }
        Ok(())
    }

    /// Reserves what a run with this key may spend. A run that has reserved already, and goes on, does not pay again.
    ///
    /// # Privacy
    /// One at a time: the file is locked, read to its end, judged, written, synced and unlocked. Without a
    /// [`Reserved`] nothing of the run may be released.
    ///
    /// # Errors
    /// [`DataSetError::Exceeded`] if there is not enough left, in which case nothing is written; or if unit or
    /// relation are not those of the data set, or the file is damaged or cannot be written.
    pub fn reserve(&self, share: &Share, key: KeyFingerprint) -> Result<Reserved, DataSetError> {
        self.agrees(share)?;
        let charge = share.charge().with_key(key);
        let accept = |torn: &TornLine| check_torn(&self.path, torn);
        let (mut ledger, torn) = Ledger::open_in_turn(&self.path, accept)?;
        if *ledger.header() != self.header {
            return Err(DataSetError::Changed(self.path.clone()));
        }
        check_shares(&self.path, ledger.charges())?;
        let mut sums = Sums::default();
        if ledger.is_copy(&charge)? {
            for made in ledger.charges() {
                sums = sums.with(made);
                if *made == charge {
                    break;
                }
            }
        } else {
            let before = ledger.charges().iter().fold(sums, Sums::with);
            sums = self.fits(before, share, &charge)?;
            ledger.append(charge)?;
        }
        Ok(Reserved { total: self.total(sums), torn })
    }

    fn total(&self, sums: Sums) -> SharedTotal {
        SharedTotal {
            dataset: self.dataset.name.clone(),
            runs: sums.runs,
            epsilon: sums.epsilon,
            delta: sums.delta,
            epsilon_budget: self.dataset.epsilon,
            delta_budget: self.header.delta,
        }
    }

    /// Whether a share speaks about the same thing as the ledger.
    fn agrees(&self, share: &Share) -> Result<(), DataSetError> {
        let Header { unit, neighbouring, .. } = self.header;
        if (unit, neighbouring) != (share.unit, share.neighbouring) {
            return Err(DataSetError::Promise {
                dataset: self.dataset.name.clone(),
                unit,
                neighbouring,
                asked_unit: share.unit,
                asked_neighbouring: share.neighbouring,
            });
        }
        Ok(())
    }

    /// The sums with `charge`, if the budget allows them.
    fn fits(&self, before: Sums, share: &Share, charge: &Charge) -> Result<Sums, DataSetError> {
        charge.check()?;
        let with = before.with(charge);
        let (epsilon, delta) = (self.dataset.epsilon, self.header.delta);
        if with.is_within(epsilon, delta) {
            return Ok(with);
        }
        Err(DataSetError::Exceeded {
            dataset: self.dataset.name.clone(),
            asked: (share.epsilon, share.delta),
            left: ((epsilon - before.epsilon).max(0.0), (delta - before.delta).max(0.0)),
            budget: (epsilon, delta),
        })
    }
}

/// The parts of a data set's ledger.
fn read(path: &Path, replay: Replay) -> Result<(Header, DataSet, Vec<Charge>), DataSetError> {
    let Replay { header, charges, torn, .. } = replay;
    torn.iter().try_for_each(|torn| check_torn(path, torn))?;
    let Some(dataset) = header.dataset.clone() else {
        return Err(DataSetError::NotShared(path.to_owned()));
    };
    check_shares(path, &charges)?;
    Ok((header, dataset, charges))
}

/// A write that was cut short leaves the beginning of a line. A last line that is whole, and wrong, may be one that a
/// run was let pass on, so it is not passed over as the ledger of a single run does.
fn check_torn(path: &Path, torn: &TornLine) -> Result<(), LedgerError> {
    match torn.ended {
        false => Ok(()),
        true => Err(LedgerError::Damaged { path: path.to_owned(), line: torn.line }),
    }
}

/// Every line below the header must be the share of a run: nothing else has a place in the sums.
fn check_shares(path: &Path, charges: &[Charge]) -> Result<(), DataSetError> {
    match charges.iter().position(|charge| !Share::is_one(charge)) {
        None => Ok(()),
        Some(place) => Err(DataSetError::NoShare { path: path.to_owned(), line: place as u64 + 2 }),
    }
}
