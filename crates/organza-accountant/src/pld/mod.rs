//! Privacy loss distributions: exact up to pessimistic rounding on a grid.

mod pair;

pub use pair::Pair;
