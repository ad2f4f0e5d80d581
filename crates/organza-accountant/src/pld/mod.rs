//! Privacy loss distributions: exact up to pessimistic rounding on a grid.

pub mod bounded_range;
pub mod gaussian;
pub mod grid;
pub mod joint;
pub mod laplace;
pub mod pure;
pub mod sparse_vector;

mod accountant;
mod closed;
mod compose;
mod pair;
mod plan;
mod prepared;
mod run;
mod sample;
mod selection;
mod solver;
mod window;

pub use accountant::{Accountant, Direction, Guarantee};
pub use pair::Pair;
