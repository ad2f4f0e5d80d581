//! Turns privacy events into (epsilon, delta), soundly and tightly.
#![forbid(unsafe_code)]

pub mod calibrate;
pub mod group;
mod near;
pub mod normal;
pub mod pld;
pub mod rdp;

pub use pld::{Accountant, Direction, Guarantee};
