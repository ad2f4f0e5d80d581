//! "Wide Network Learning with Differential Privacy" (Zhang, Mironov and Hejazinia 2021): what it prints, what holds in
//! its place, and its experiments, run again.
//!
//! No library needs any of this, and nothing that a run promises rests on it: the tool shows it beside what is sound.
#![forbid(unsafe_code)]

pub mod bench;
pub mod bounds;
mod fetch;
pub mod reproduce;
pub mod theorem;

pub use fetch::{FetchError, fetch_brown};
