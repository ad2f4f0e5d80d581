//! Items whose very names may be secret: what is released is only what many units have.
//!
//! ```text
//! items of a unit ─(at most c of them)─▶ ItemCounts ─(noise, in rounds; threshold)─▶ NoisyItems
//! ```

mod counts;
mod plan;
mod rounds;
mod shards;
mod threshold;

pub use counts::{ItemCounts, NoisyItems};
pub use plan::{ItemRule, ItemSettings, ItemsPlan};
pub use shards::of_shard;
