//! Prices differential privacy: turns the events of a run into a tight and sound (epsilon, delta), by privacy loss
//! distributions ([`pld`]) or Renyi divergences ([`rdp`]), and finds the noise multiplier for a budget ([`calibrate`]).
#![forbid(unsafe_code)]

pub mod calibrate;
pub mod group;
mod near;
pub mod normal;
pub mod pld;
pub mod rdp;

pub use pld::{Accountant, Direction, Guarantee};
