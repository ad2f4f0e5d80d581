//! Private training: joins data, model, mechanisms and account.
//!
//! [`Session`] is a run from its first file to its last; `step.rs` shows one private step, from the
//! batch to the parameters, as the paper's Algorithm 3 has it.
#![forbid(unsafe_code)]

mod average;
mod calibration;
mod canaries;
mod certificate;
mod check;
mod checkpoint;
mod export;
mod first;
mod folder;
pub mod metrics;
mod optimizer;
mod phases;
mod plain;
mod planned;
mod prepare;
mod run;
mod session;
pub mod settings;
mod shared;
mod step;
mod steps;
pub mod suite;
mod tables;
mod task;
mod vocabulary;
mod words;

pub use average::Average;
pub use calibration::CalibrationError;
pub use canaries::{Canaries, Guesses, Planted, Tossed};
pub use certificate::{Certificate, DECIDED};
pub use check::SettingError;
pub use checkpoint::{Best, Checkpoint, CheckpointError};
pub use folder::{FolderError, RunFolder};
pub use optimizer::OptimizerSettings;
pub use prepare::{PrepareError, Prepared, initial, read_text};
pub use run::{Observer, Outcome, Purse, RunError, RunPlan, StepMethod, run};
pub use session::{Ended, Finished, Session, SessionError};
pub use steps::Steps;
pub use tables::{Reading, Tables, Upkeep};
pub use task::{Losses, Rows, Task, number_or_null};
pub use words::WordTask;
