//! The ledger: a file to which every charge is written before anything is released.

use crate::atomic::sync_folder;
use crate::line::Line;
use crate::spending::Spending;
use crate::storage::{Memory, Storage};
use crate::{Charge, Event, Header, LedgerError, Replay, TornLine};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufReader, ErrorKind, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The open ledger of a run; while it is open, no other process can open it.
///
/// # Privacy
/// - *Write-ahead.* A charge counts once its line was written and synced, and only then is it
///   confirmed; whatever is released later is on the disk's record already.
/// - *Nothing is forgotten.* Opening replays every line ([`Replay`]), and syncs what it found before
///   trusting it, since a process may have died between its write and its sync.
/// - *One writer.* The file is locked, so that two runs cannot spend the same budget.
/// - Charges are made through a [`Budget`](crate::Budget) alone.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    header: Header,
    charges: Vec<Charge>,
    spending: Spending,
    checksum: u32,
    storage: Box<dyn Storage>,
    /// Whether a write failed, so that the end of the file is not known.
    broken: bool,
}

impl Ledger {
    /// Starts a ledger at `path`, where no file may be yet.
    ///
    /// # Errors
    /// If there is a file, the header makes no sense, or the file system refuses.
    pub fn create(path: &Path, header: Header) -> Result<Self, LedgerError> {
        let line = Line::Header(header.clone());
        let (text, checksum) = line.encode(0).map_err(LedgerError::Unwritable)?;
        let mut file = match OpenOptions::new().read(true).write(true).create_new(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(LedgerError::Exists(path.to_owned()));
            }
            Err(error) => return Err(LedgerError::file(path, "create")(error)),
        };
        lock(&file, path)?;
        file.append(&text).map_err(LedgerError::file(path, "write"))?;
        file.sync().map_err(LedgerError::file(path, "sync"))?;
        sync_folder(path).map_err(LedgerError::file(path, "sync the folder of"))?;
        let replay = Replay {
            header,
            charges: Vec::new(),
            torn: None,
            good_bytes: text.len() as u64,
            checksum,
        };
        Ok(Self::continuing(replay, path, Box::new(file)))
    }

    /// Starts a ledger that no file holds: for tests, benchmarks, and programs that keep their charges
    /// themselves ([`Ledger::charges`]).
    ///
    /// # Privacy
    /// Budgets hold as on a file, but for as long as the process lives: what was charged is forgotten with it,
    /// so whoever releases something to anybody has to remember it elsewhere.
    ///
    /// ```
    /// use organza_ledger::*;
    /// # struct Summing;
    /// # impl Account for Summing {
    /// #     fn neighbouring(&self) -> Neighbouring {
    /// #         Neighbouring::AddRemove
    /// #     }
    /// #     fn epsilon(&self, events: &[Event], _delta: f64) -> Result<f64, AccountError> {
    /// #         Ok(events.len() as f64)
    /// #     }
    /// # }
    /// # let account = Summing;
    /// let header = Header::new(Neighbouring::AddRemove, Unit::Line, 1e-6);
    /// let mut ledger = Ledger::in_memory(header)?;
    /// let budget = Budget::new(1.5, 1e-6, Neighbouring::AddRemove)?;
    ///
    /// let count = Charge::once("count", Event::Pure { epsilon: 1.0 });
    /// let charged = budget.charge(&mut ledger, &account, count)?;
    /// assert_eq!(ledger.charges(), [charged.charge().clone()]);
    /// # let more = Charge::once("more", Event::Pure { epsilon: 2.0 });
    /// # assert!(budget.charge(&mut ledger, &account, more).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the header makes no sense.
    pub fn in_memory(header: Header) -> Result<Self, LedgerError> {
        let line = Line::Header(header.clone());
        let (_, checksum) = line.encode(0).map_err(LedgerError::Unwritable)?;
        let replay = Replay { header, charges: Vec::new(), torn: None, good_bytes: 0, checksum };
        Ok(Self::continuing(replay, Path::new("(in memory)"), Box::new(Memory)))
    }

    /// Opens the ledger at `path`. A torn last line is cut off the file and handed to the caller,
    /// who must tell the user.
    ///
    /// # Errors
    /// If another process has it open, the file cannot be read, or any other line is bad; the file
    /// is then left as it is.
    pub fn open(path: &Path) -> Result<(Self, Option<TornLine>), LedgerError> {
        Self::open_once(path, lock, |_| Ok(()))
    }

    /// As [`Ledger::open`], but where another process has it open, after that one has closed it; and unless
    /// `accept` takes a torn line for what it says, nothing is cut off and this fails.
    pub(crate) fn open_in_turn(
        path: &Path,
        accept: impl FnOnce(&TornLine) -> Result<(), LedgerError>,
    ) -> Result<(Self, Option<TornLine>), LedgerError> {
        let wait = |file: &File, path: &Path| file.lock().map_err(LedgerError::file(path, "lock"));
        Self::open_once(path, wait, accept)
    }

    /// Opens the file once `lock` has returned, and reads only then.
    fn open_once(
        path: &Path,
        lock: impl FnOnce(&File, &Path) -> Result<(), LedgerError>,
        accept: impl FnOnce(&TornLine) -> Result<(), LedgerError>,
    ) -> Result<(Self, Option<TornLine>), LedgerError> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(LedgerError::file(path, "open"))?;
        lock(&file, path)?;
        let mut replay = Replay::from_reader(&mut BufReader::new(&file), path)?;
        let torn = replay.torn.take();
        if let Some(torn) = &torn {
            accept(torn)?;
            file.set_len(replay.good_bytes).map_err(LedgerError::file(path, "repair"))?;
        }
        file.seek(SeekFrom::Start(replay.good_bytes)).map_err(LedgerError::file(path, "read"))?;
        file.sync_all().map_err(LedgerError::file(path, "sync"))?;
        sync_folder(path).map_err(LedgerError::file(path, "sync the folder of"))?;
        Ok((Self::continuing(replay, path, Box::new(file)), torn))
    }

    /// A ledger that goes on after all that `replay` holds; `storage` stands at its end.
    pub(crate) fn continuing(replay: Replay, path: &Path, storage: Box<dyn Storage>) -> Self {
        Self {
            path: path.to_owned(),
            header: replay.header,
            spending: replay.charges.iter().collect(),
            charges: replay.charges,
            checksum: replay.checksum,
            storage,
            broken: false,
        }
    }

    /// What the charges are relative to.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The charges, in the order in which they were made.
    pub fn charges(&self) -> &[Charge] {
        &self.charges
    }

    /// All that was charged, as an account prices it: equal events are counted together.
    pub fn events(&self) -> Vec<Event> {
        self.spending.events()
    }

    /// All that would be charged with `charge` on top.
    pub(crate) fn events_with(&self, charge: &Charge) -> Vec<Event> {
        let mut spending = self.spending.clone();
        spending.add(charge);
        spending.events()
    }

    /// Whether `charge` asks for a copy of what an earlier charge covers, which costs nothing (see
    /// [`Charged::spent`](crate::Charged::spent)).
    ///
    /// # Privacy
    /// The same key with *another* event would put the same noise on another value, and the
    /// difference of the two releases would show the data: that is refused at any price. Another
    /// key, or none, means fresh noise, and is charged in full. So is a block that an earlier one
    /// covers only in part: that charges some steps twice, which is sound.
    pub(crate) fn is_copy(&self, charge: &Charge) -> Result<bool, LedgerError> {
        let shared = || self.charges.iter().filter(|made| made.shares_noise_with(charge));
        if let Some(other) = shared().find(|made| made.event != charge.event) {
            return Err(LedgerError::NoiseReused {
                purpose: other.purpose.clone(),
                from_step: other.from_step,
                last_step: other.range().end.saturating_sub(1),
            });
        }
        Ok(shared().any(|made| made.covers(charge)))
    }

    /// Writes and syncs a charge. When this returns, the charge is made.
    pub(crate) fn append(&mut self, charge: Charge) -> Result<(), LedgerError> {
        if self.broken {
            return Err(LedgerError::Broken(self.path.clone()));
        }
        let line = Line::Charge(charge.clone());
        let (text, checksum) = line.encode(self.checksum).map_err(LedgerError::Unwritable)?;
        // Until both calls have succeeded the end of the file is in doubt.
        self.broken = true;
        self.storage.append(&text).map_err(LedgerError::file(&self.path, "write"))?;
        self.storage.sync().map_err(LedgerError::file(&self.path, "sync"))?;
        self.broken = false;
        self.checksum = checksum;
        self.spending.add(&charge);
        self.charges.push(charge);
        Ok(())
    }
}

fn lock(file: &File, path: &Path) -> Result<(), LedgerError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => LedgerError::Locked(path.to_owned()),
        TryLockError::Error(source) => LedgerError::file(path, "lock")(source),
    })
}
