//! What a privacy budget was spent on.
//!
//! Every mechanism describes what it released as an [`Event`]; an accountant (anything that
//! implements [`Account`]) turns events into (epsilon, delta). A [`Charge`] is an event for a block
//! of steps. A [`Budget`] writes it to the [`Ledger`], a file (or [in memory](Ledger::in_memory)), before any of it is
//! released. Where several runs use the same data, each first reserves its whole budget on a [`DataSetLedger`].
//!
//! ```text
//! Charge ─▶ Budget ── asks ──▶ Account
//!             │ fits
//!             ▼
//!           Ledger ── writes a line, syncs ──▶ Charged ─▶ the steps may run
//! ```
//!
//! ```
//! use organza_ledger::*;
//! # struct Summing;
//! # impl Account for Summing {
//! #     fn neighbouring(&self) -> Neighbouring {
//! #         Neighbouring::AddRemove
//! #     }
//! #     fn epsilon(&self, events: &[Event], _delta: f64) -> Result<f64, AccountError> {
//! #         fn cost(event: &Event) -> f64 {
//! #             match event {
//! #                 Event::Pure { epsilon } => *epsilon,
//! #                 Event::Repeat { times, event } => *times as f64 * cost(event),
//! #                 _ => f64::INFINITY,
//! #             }
//! #         }
//! #         Ok(events.iter().map(cost).sum())
//! #     }
//! # }
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("ledger.jsonl");
//! # let account = Summing;
//! let header = Header::new(Neighbouring::AddRemove, Unit::Line, 1e-6);
//! let mut ledger = Ledger::create(&path, header)?;
//! let budget = Budget::new(3.0, 1e-6, Neighbouring::AddRemove)?;
//!
//! let step = Event::Pure { epsilon: 0.25 };
//! let charged = budget.charge(&mut ledger, &account, Charge::block("training", 0..10, step.clone()))?;
//! assert_eq!(charged.charge().range(), 0..10);
//!
//! let refused = budget.charge(&mut ledger, &account, Charge::block("training", 10..20, step));
//! assert!(matches!(refused, Err(BudgetError::Exceeded { left: 0.5, .. })));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod account;
pub mod atomic;
mod budget;
mod charge;
mod checksum;
mod dataset;
mod decides;
mod error;
mod event;
mod header;
mod key;
mod ledger;
mod line;
mod relation;
mod replay;
mod selected;
mod spending;
mod storage;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(test)]
mod tests;

pub use account::{Account, AccountError};
pub use budget::{Budget, BudgetError, Charged};
pub use charge::{Charge, ChargeError};
pub use dataset::{
    DataSet, DataSetError, DataSetLedger, LedgerSettings, Reserved, Share, SharedTotal,
};
pub use error::LedgerError;
pub use event::{Event, EventError, MaxNoise};
pub(crate) use header::LEDGER_VERSION;
pub use header::{Header, HeaderError, PublicFact};
pub use key::{KeyFingerprint, KeyFingerprintError};
pub use ledger::Ledger;
pub use line::LineError;
pub use relation::{Neighbouring, Unit};
pub use replay::{Replay, TornLine};
pub use selected::{SELECTED_FORM, SelectedNoise};
