//! Private training: joins data, model, mechanisms and account.
#![forbid(unsafe_code)]

mod average;
mod checkpoint;
mod folder;
mod optimizer;
mod step;
mod task;

pub use average::Average;
pub use checkpoint::{Checkpoint, CheckpointError};
pub use folder::{FolderError, RunFolder};
pub use optimizer::{Optimizer, OptimizerSettings};
pub use task::{Losses, Rows, Task};
