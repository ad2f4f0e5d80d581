//! What can go wrong with a ledger.

use crate::LineError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a ledger cannot be made, read or charged.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// The file system refused.
    #[error("cannot {action} the ledger `{}`: {source}", path.display())]
    File {
        /// The ledger.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// There is a ledger already.
    #[error(
        "there is a ledger already at `{}`: resume its run, or start a new one in another folder",
        .0.display()
    )]
    Exists(PathBuf),
    /// Another process writes to the ledger.
    #[error("the ledger `{}` is in use by another process: let it end first", .0.display())]
    Locked(PathBuf),
    /// There is not even a whole first line.
    #[error(
        "`{}` holds no whole header, so no charge was ever confirmed in it: either it is not a ledger, \
         or its run was cut off at the very start and can be started again in another folder",
        .0.display()
    )]
    NoHeader(PathBuf),
    /// A line cannot be trusted or understood, and no cut-off write explains it.
    #[error("`{}` line {line}: {source}", path.display())]
    Line {
        /// The ledger.
        path: PathBuf,
        /// The number of the line, counted from 1.
        line: u64,
        /// What is wrong with it.
        source: LineError,
    },
    /// The last line of a data set's ledger is whole, and not what was written.
    #[error(
        "`{}` line {line} ends as a whole line does, but its checksum does not match: bring back an undamaged copy of \
         the ledger, since to go on without the line could spend more than the budget",
        path.display()
    )]
    Damaged {
        /// The ledger.
        path: PathBuf,
        /// The number of the line, counted from 1.
        line: u64,
    },
    /// The header or charge that was given cannot be written.
    #[error("this cannot stand on a ledger: {0}")]
    Unwritable(LineError),
    /// The same noise would go on two different releases, so that their difference bares the data.
    #[error(
        "steps {from_step} to {last_step} of `{purpose}` were charged with the same key for another \
         event, and the same noise must not serve twice: take a new key, or the earlier settings"
    )]
    NoiseReused {
        /// What the charge is for.
        purpose: String,
        /// The first step of the earlier charge.
        from_step: u64,
        /// The last step of the earlier charge.
        last_step: u64,
    },
    /// An earlier write failed half-way, so what the file holds is not known.
    #[error(
        "an earlier write to the ledger `{}` failed: open it again, which finds out what it holds",
        .0.display()
    )]
    Broken(PathBuf),
}

impl LedgerError {
    /// Wraps what the system says about `path` when it is asked to `action`.
    pub(crate) fn file(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), action, source }
    }
}
