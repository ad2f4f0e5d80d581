//! The paper that Organza began with, "Wide Network Learning with Differential Privacy" (Zhang, Mironov and Hejazinia
//! 2021): its theorems as printed and as they hold, its experiments run again, the Brown corpus they need, and a
//! benchmark of its training step.
//!
//! No library needs any of this, and nothing that a run promises rests on it. Only the tool uses it, to show the paper's
//! figures beside sound ones.
#![forbid(unsafe_code)]

pub mod bench;
pub mod bounds;
pub mod compared;
mod fetch;
pub mod reproduce;
pub mod theorem;

pub use fetch::{FetchError, fetch_brown};
