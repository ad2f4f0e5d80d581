//! Why a driver cannot go on.

use super::messages::MessageError;
use crate::folder::FolderError;
use crate::run::RunError;
use crate::session::SessionError;
use organza_mechanism::buckets::PartError;
use std::ops::Range;
use thiserror::Error;

/// Why a driver cannot go on, or does not take a message.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// The run.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A message, which changed nothing.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The settings are for something else.
    #[error("steps by workers need {0}")]
    Settings(&'static str),
    /// A step was made before, of another sum or from other rows.
    #[error(
        "step {0} was made before the run was stopped, of another sum: its noise would not hide the difference. The data or the \
         program of a worker has changed: bring them back, or begin a new run"
    )]
    Diverged(u64),
    /// Parts are missing.
    #[error("the step cannot be made: buckets {}..{} are missing", .0.start, .0.end)]
    Missing(Range<u16>),
    /// Ranges of rows are missing.
    #[error("the step cannot be made: what ranges {}..{} of the rows offer is missing", .0.start, .0.end)]
    MissingRange(Range<u16>),
    /// Rows were not saved.
    #[error(
        "step {0} is one at which all rows are saved: have all who hold some hand over their state"
    )]
    NotSaved(u64),
    /// No step is under way.
    #[error("no step is under way: ask for its order first")]
    NotOrdered,
    /// There are steps left.
    #[error("{left} steps are left of {steps}: the certificate is for all of them")]
    NotDone {
        /// The steps that are left.
        left: u64,
        /// All steps.
        steps: u64,
    },
    /// A worker could not go on.
    #[error("worker {worker} failed: {reason}")]
    Worker {
        /// Its number.
        worker: usize,
        /// Why, as it said. *Not private*: it may be about its data.
        reason: String,
    },
}

impl From<RunError> for RemoteError {
    fn from(error: RunError) -> Self {
        Self::Session(error.into())
    }
}

impl From<FolderError> for RemoteError {
    fn from(error: FolderError) -> Self {
        Self::Session(error.into())
    }
}

impl From<PartError> for RemoteError {
    fn from(error: PartError) -> Self {
        Self::Message(error.into())
    }
}
