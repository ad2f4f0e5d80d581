//! Tests that need more than one file of the crate.
#![allow(clippy::unwrap_used)]

mod crash;
mod damage;
mod event_check;
mod event_json;
mod file;
mod hostile;
mod samples;
mod spend;
