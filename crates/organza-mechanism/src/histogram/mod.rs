//! Noisy counts over many cells, most of which are empty, released once.
//!
//! ```text
//! UnitCounts ─(bound, whole numbers)─▶ Histogram ─(noise, public bar)─▶ NoisyHistogram
//! ```

mod noisy;
mod plan;
mod settings;
mod sum;
mod unit;

pub use noisy::NoisyHistogram;
pub use plan::HistogramPlan;
pub(crate) use plan::at_most;
pub use settings::{Bound, CountNoise, HistogramSettings};
pub use sum::Histogram;
pub use unit::UnitCounts;
