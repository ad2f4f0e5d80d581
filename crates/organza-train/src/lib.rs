//! Private training: joins data, model, mechanisms and account.
#![forbid(unsafe_code)]

mod average;
mod calibration;
mod checkpoint;
mod folder;
pub mod metrics;
mod optimizer;
mod run;
pub mod settings;
mod step;
mod task;
mod words;

pub use average::Average;
pub use calibration::CalibrationError;
pub use checkpoint::{Checkpoint, CheckpointError};
pub use folder::{FolderError, RunFolder};
pub use optimizer::{Optimizer, OptimizerSettings};
pub use run::{Observer, Outcome, Purse, RunError, RunPlan, StepMethod, run};
pub use task::{Losses, Rows, Task};
pub use words::WordTask;
