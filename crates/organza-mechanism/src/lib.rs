//! The private mechanisms: everything that looks at sensitive data on its way out.
//!
//! Data flows one way, and changes type at each stage so that none between the batch and the optimizer
//! can be left out:
//!
//! ```text
//! Plan ─▶ PoissonSampler ─▶ Batch ─(gradient of each unit, clip S1)─▶ BatchSum
//!      ─(select)─▶ Selected ─(clip S2, noise)─▶ Noised ─▶ optimizer
//! ```
//!
//! Where dense noise is left for later ([`OwedNoise`]), [`TouchedRows`] stand in the place of [`Noised`], and
//! go nowhere but into a table with debts.
//!
//! A [`Plan`] is made from checked settings and makes all the others; its sampler also makes the
//! charge ([`PoissonSampler::charge`]), so what is drawn and what is charged agree. Whoever runs steps
//! makes that charge first. Only [`Noised`] has values to read, but for counts that say themselves
//! that they are not private.
//!
//! What is released once, before any step, takes the same way: a [`HistogramPlan`] makes counts over
//! known cells, an [`ItemsPlan`] those of items whose names may be secret. Each makes a [`Release`],
//! which states its charge, and takes the proof of that charge before it gives anything.
#![forbid(unsafe_code)]

mod batch;
mod clip;
mod count;
mod dense;
mod exact;
mod gradient;
mod grid;
mod histogram;
mod memory;
mod noise;
mod noised;
mod owed;
mod plan;
pub mod random;
mod release;
mod row_index;
mod row_words;
mod runs;
pub mod sample;
mod scores;
mod select;
mod shape;
mod sum;
mod unknown_domain;
mod whole;

pub use batch::{Batch, BatchPart, BatchSum, PartSum, PoissonSampler, Selected};
pub use count::NoisyCount;
pub use gradient::{PlainSum, UnitGradient};
pub use grid::Grid;
pub use histogram::{
    Bound, CountNoise, Histogram, HistogramPlan, HistogramSettings, NoisyHistogram, UnitCounts,
};
pub use noised::Noised;
pub use owed::{
    Debt, Deferral, DeferredGrid, Indebted, OwedNoise, Settling, Touched, TouchedRows,
};
pub use plan::{NoiseSettings, NumericSparse, Plan, PlanError, PlanSettings, SelectionSettings};
pub use random::{Purpose, RandomSource};
pub use release::{NotPaid, Release};
pub use scores::By;
pub use select::Selection;
pub use shape::{Shape, ShapeError};
pub use unknown_domain::{ItemCounts, ItemRule, ItemSettings, ItemsPlan, NoisyItems};
