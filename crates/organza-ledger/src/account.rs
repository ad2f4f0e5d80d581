//! The question that a budget asks of an accountant.

use crate::{Event, Neighbouring};
use thiserror::Error;

/// Prices events. Implemented by every accountant; the ledger itself knows no formula.
///
/// # Privacy
/// `epsilon` must be an upper bound on the true epsilon at `delta` of the adaptive composition of
/// `events` in whatever order, for the relation that `neighbouring` names, and must refuse what it
/// cannot bound.
pub trait Account {
    /// The relation that the answers speak about.
    fn neighbouring(&self) -> Neighbouring;

    /// An upper bound on epsilon at `delta` for all `events` together.
    ///
    /// # Errors
    /// [`AccountError::Unsupported`] for an event that cannot be treated soundly, by name.
    fn epsilon(&self, events: &[Event], delta: f64) -> Result<f64, AccountError>;
}

/// Why an accountant gives no answer.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum AccountError {
    /// The event's kind has no sound treatment in this accountant.
    #[error("this accountant cannot treat `{kind}` soundly: {reason}")]
    Unsupported {
        /// The kind of the event, as it stands in JSON.
        kind: String,
        /// Why, and what would do.
        reason: String,
    },
    /// The question itself makes no sense.
    #[error(transparent)]
    Event(#[from] crate::EventError),
    /// The question is outside the range in which the numerics hold.
    #[error("no account for this question: {0}")]
    OutOfRange(String),
}
