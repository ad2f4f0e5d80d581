//! A network whose gradients come from outside, such as from PyTorch: embedding tables and a dense part, stepped by
//! whoever computes the gradients.
//!
//! ```text
//! NetworkSteps ─draw()─▶ Part: examples of sampled units ─read()─▶ rows ─▶ losses, backward, outside
//!              ◀─add(gradients of the examples)─┘  clip by unit, sum; after the last part: select, noise, move
//!              ─finish()─▶ certificate, model
//! ```

mod examples;
mod gradients;
mod network;
mod steps;

pub use examples::Examples;
pub use gradients::{Gradients, Lookups, Pool};
pub use network::{Dense, NetworkData, NetworkSettings, Table};
pub use steps::{NetworkError, NetworkSteps, Part};
