//! The engine of private training, which knows no words: budget to plan, phases that are released before the first
//! step, steps, checkpoints, ledger, certificate.
//!
//! An [`Application`] says what is trained; [`Session`] is a run of it from its first file to its last. `step.rs` shows
//! one private step, from the batch to the parameters, as the paper's Algorithm 3 has it.
#![forbid(unsafe_code)]

mod application;
mod average;
mod books;
mod calibration;
mod certificate;
pub mod check;
mod checkpoint;
mod fingerprint;
mod folder;
pub mod metrics;
mod optimizer;
mod phases;
mod plain;
mod plan;
mod run;
mod session;
pub mod settings;
mod simple;
mod step;
mod stepper;
mod tables;
mod task;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use application::{Application, Failure, Start};
pub use average::Average;
pub use books::Releases;
pub use calibration::CalibrationError;
pub use certificate::{Certificate, DECIDED};
pub use check::SettingError;
pub use checkpoint::{Best, Checkpoint, CheckpointError};
pub use fingerprint::fingerprint;
pub use folder::{CANARIES, FolderError, RunFolder};
pub use optimizer::{OptimizerName, OptimizerSettings, UnknownOptimizer};
pub use organza_mechanism::{FlatRows, ReadRows, WriteRows};
pub use phases::Phase;
pub use run::{Observer, Outcome, Purse, RunError, RunPlan, StepMethod, run};
pub use session::{Ended, Finished, Session, SessionError};
pub use simple::Simple;
pub use stepper::Stepper;
pub use tables::{Reading, SettledRows, Tables, Upkeep};
pub use task::{Losses, Task, number_or_null};
