//! A table of pairs of columns, summed over units and released once.
//!
//! ```text
//! row of a unit ─(rest beside a public direction, whole numbers of norm 1)─▶ GramSum ─(noise)─▶ NoisyGram
//! ```

mod noisy;
mod plan;
mod row;
mod sum;
#[cfg(test)]
mod tests;

pub use noisy::NoisyGram;
pub use plan::{GramPlan, GramSettings};
pub use row::{LARGEST_DIRECTION, LARGEST_ENTRY};
pub use sum::GramSum;
