//! Recommenders with differential privacy, with the person as the unit.
#![forbid(unsafe_code)]

mod fit;
mod histories;
mod model;
mod release;
mod spectrum;

pub use fit::{Choice, Score};
pub use histories::{FULL_WEIGHT, Histories};
pub use model::{Recommender, Scored};
pub use release::Rules;
