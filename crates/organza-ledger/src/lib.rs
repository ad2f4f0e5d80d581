//! What privacy was spent on.
//!
//! Every mechanism describes what it released as an [`Event`]; an accountant (anything that
//! implements [`Account`]) turns events into (epsilon, delta).
#![forbid(unsafe_code)]

mod account;
mod event;
mod relation;

pub use account::{Account, AccountError};
pub use event::{Event, EventError, MaxNoise};
pub use relation::{Neighbouring, Unit};
