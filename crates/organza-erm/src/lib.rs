//! Private empirical risk minimisation for linear models with sparse inputs.
#![forbid(unsafe_code)]

mod bounds;
mod design;
mod loss;
mod minimise;
mod weights;

pub use bounds::{InputBounds, LossBounds};
pub use design::Design;
pub use loss::Loss;
pub use minimise::{Minimum, Objective};
pub use weights::{Constraint, Weights};
