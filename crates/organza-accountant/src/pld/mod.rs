//! Privacy loss distributions: exact up to pessimistic rounding on a grid.

pub mod joint;
mod pair;

pub use pair::Pair;
