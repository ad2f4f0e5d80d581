//! How often words stand together: counted unit by unit, released once, trained on for free.
//!
//! ```text
//! CooccurrenceSettings ─▶ PairCounts ─(release, charge)─▶ NoisyPairs
//!                      └▶ WordCounts ─(release, charge)─▶ NoisyWords
//! ```
//!
//! A window looks both ways, so that order carries nothing: pairs are counted in unordered cells
//! {a, b}, which is half as many cells and, for units of lines or users, a shorter vector of counts.
//! No table of all cells is ever made; what is kept are the cells that occur.

mod pairs;
mod settings;
mod sizes;
mod table;
#[cfg(test)]
mod tests;
mod together;
mod words;

pub use pairs::{NoisyPair, NoisyPairs, PairCounts};
pub use settings::CooccurrenceSettings;
pub use sizes::{NoisySizes, UnitSizes};
pub use table::PairTable;
pub use words::{NoisyWords, WordCounts};
