//! The engine that trains wide models, such as embedding tables and recommenders, with differential privacy. It knows
//! nothing of words or ratings: an [`Application`] says what is trained.
//!
//! - A [`Session`] is one run of an application, from its first file to its last.
//! - A [`Phase`] is something released before the first step, such as a vocabulary, for a share of the budget.
//!   [`Releases`] charges phases and hands out the proofs that pay for them.
//! - A [`Purse`] is a ledger with a budget: it adds up the privacy loss, and nothing is released that it has not charged.
//! - Steps follow, by DP-SGD or by private selection. The noise multiplier is calibrated to what is left of the budget.
//!
//! A task whose data is in memory, with nothing to release before its steps, needs no application of its own: see
//! [`Simple`]. `step.rs` shows one private step, from the batch to the parameters (the paper's Algorithm 3).
#![forbid(unsafe_code)]

mod application;
mod average;
mod books;
mod certificate;
pub mod check;
mod checkpoint;
mod engine_schedule;
mod export;
mod fingerprint;
mod folder;
mod journal;
pub mod metrics;
mod notes;
mod optimizer;
pub mod outside;
mod paid_block;
mod phases;
mod plain;
mod plan;
mod purse;
mod refinement;
pub mod remote;
mod run;
mod schedule;
mod session;
pub mod settings;
pub mod shard;
mod simple;
mod step;
mod stepper;
mod tables;
mod task;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use application::{Application, Failure, Start};
pub use books::Releases;
pub use certificate::{Certificate, DECIDED};
pub use check::SettingError;
pub use checkpoint::CheckpointError;
pub use fingerprint::fingerprint;
pub use folder::{FolderError, RunFolder};
pub use optimizer::{OptimizerName, OptimizerSettings, UnknownOptimizer};
pub use organza_mechanism::{FlatRows, ReadRows, WriteRows};
pub use phases::Phase;
pub use purse::Purse;
pub use refinement::Refinement;
pub use run::{Observer, Outcome, RunError, RunPlan, StepMethod, run};
pub use schedule::{CalibrationError, Schedule};
pub use session::{Ended, Finished, Session, SessionError};
pub use simple::Simple;
pub use stepper::{Stepper, StepperOnDisk};
pub use tables::{Constraint, FirstWeights, OnDiskError, Projection};
pub use task::{Losses, Task, number_or_null};
