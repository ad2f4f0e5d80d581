//! The mechanisms of differential privacy: clipping, private selection, noise and noisy counts. Everything that sensitive
//! data passes on its way out is in this crate.
//!
//! Data flows one way, and changes its type at each stage, so that no stage between the batch and the optimizer
//! can be left out:
//!
//! ```text
//! Plan ─▶ Sampler ─▶ Batch ─(gradient of each unit, clip S1)─▶ BatchSum
//!      ─(select)─▶ Selected ─(clip S2, noise)─▶ Noised ─▶ optimizer
//! ```
//!
//! Where dense noise is left for later ([`OwedNoise`]), [`TouchedRows`] take the place of [`Noised`], and
//! can only go into a table that keeps track of the noise it owes.
//!
//! A [`Plan`] is made from checked settings and makes all the others; its sampler also makes the
//! charge ([`Sampler::charge`]), so what is drawn and what is charged agree. A batch is drawn against
//! the proof of that charge ([`Charged`](organza_ledger::Charged)), which a budget hands out once the charge is
//! on the ledger. Only [`Noised`] has values to read, apart from counts that are marked as not private.
//!
//! Where units are in many places, a batch is drawn and summed there, and its parts are joined where the noise is:
//! see [`buckets`].
//!
//! What is released once, before any step, takes the same path: a [`HistogramPlan`] releases counts over
//! known cells, a [`GramPlan`] a table of pairs of columns, an [`ItemsPlan`] counts of items whose names may be secret, a [`NoisyCount`] the number of units. Each
//! makes a [`Release`], which states its charge, and gives nothing without the proof of that charge.
//!
//! Nothing is drawn twice: a step of a purpose, or a numbered release, is handed out once in the life of a
//! [`RandomSource`]. The same noise on two values would reveal their difference, whatever was charged.
//!
//! ```
//! use organza_ledger::{Account, Budget, Header, Ledger, Neighbouring, Unit};
//! use organza_mechanism::*;
//!
//! # fn step(account: &dyn Account) -> Result<(), Box<dyn std::error::Error>> {
//! let plan = Plan::new(PlanSettings {
//!     shape: Shape::table(1_000, 8)?,
//!     neighbouring: Neighbouring::AddRemove,
//!     rate: 0.01,
//!     expected_batch: 50.0,
//!     clip: 1.0,
//!     selection: SelectionSettings::Everything,
//!     noise: NoiseSettings::Gaussian { multiplier: 1.0, second_clip: None },
//! })?;
//! let source = RandomSource::from_operating_system()?;
//! let sampler = plan.sampler("training", 5_000, &source);
//!
//! let header = Header::new(Neighbouring::AddRemove, Unit::Line, 1e-6);
//! let mut ledger = Ledger::in_memory(header)?;
//! let budget = Budget::new(3.0, 1e-6, Neighbouring::AddRemove)?;
//! let paid = budget.charge(&mut ledger, account, sampler.charge(0..100))?;
//!
//! let sum = sampler.batch(0, &paid)?.sum(|unit, gradient| {
//!     let row = gradient.row(unit as u32 % 1_000).expect("a row of the table");
//!     row[0] = 0.5;
//! });
//! sum.select().noise().visit(|first, values| { /* an optimizer's step */ });
//! assert!(matches!(sampler.batch(0, &paid), Err(NotPaid::DrawnBefore { .. })));
//! # Ok(())
//! # }
//! # struct Free;
//! # impl Account for Free {
//! #     fn neighbouring(&self) -> Neighbouring {
//! #         Neighbouring::AddRemove
//! #     }
//! #     fn epsilon(&self, _: &[organza_ledger::Event], _: f64) -> Result<f64, organza_ledger::AccountError> {
//! #         Ok(0.0)
//! #     }
//! # }
//! # step(&Free).expect("a good step");
//! ```
#![forbid(unsafe_code)]

mod adaptive;
mod batch;
pub mod buckets;
mod candidate_clip;
mod clip;
mod count;
mod dense;
mod due;
mod exact;
mod exchange;
mod gradient;
mod gram;
mod grid;
mod groups;
mod histogram;
mod memory;
mod noise;
mod noised;
mod owed;
mod plan;
pub mod random;
pub mod ranges;
mod release;
mod row_index;
mod row_words;
mod rows;
mod runs;
pub mod sample;
mod scores;
mod select;
mod shape;
mod sum;
mod unknown_domain;
mod whole;
mod wide;

pub use adaptive::{AdaptiveClip, ReleasedClip};
pub use batch::{Batch, BatchPart, BatchSum, PartSum, Sampler, Selected};
pub use count::NoisyCount;
pub use due::NotPaid;
pub use exchange::{
    Exchange, MOST_SHARDS, NoteSums, Partial, PartialError, ReleasedRound, Round, SumsDigest,
    TaskName,
};
pub use gradient::{PlainSum, UnitGradient};
pub use gram::{GramPlan, GramSettings, GramSum, LARGEST_DIRECTION, LARGEST_ENTRY, NoisyGram};
pub use grid::Grid;
pub use groups::{Groups, Units};
pub use histogram::{
    Bound, CountNoise, Histogram, HistogramPlan, HistogramSettings, NoisyHistogram, UnitCounts,
};
pub use noised::Noised;
pub use owed::{
    DEFERRED_NOISE, Debt, Deferral, DeferredGrid, Indebted, OwedNoise, Settling, Touched,
    TouchedRows,
};
pub use plan::{NoiseSettings, NumericSparse, Plan, PlanError, PlanSettings};
pub use random::{Purpose, RandomSource};
pub use release::Release;
pub use rows::{FlatRows, ReadRows, WriteRows};
pub use scores::By;
pub use select::{Choice, PassOrder, Selection, SelectionRule, SelectionSettings, Split};
pub use shape::{Shape, ShapeError};
pub use unknown_domain::{ItemCounts, ItemRule, ItemSettings, ItemsPlan, NoisyItems, of_shard};
