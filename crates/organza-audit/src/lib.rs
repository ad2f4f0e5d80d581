//! What a trained model gives away to someone who looks at it from outside.
//!
//! There are three kinds of evidence about one run, none of which replaces the account of its privacy loss:
//!
//! ```text
//! repeated canaries ─▶ Phrases of a model ─▶ ranks ─▶ histogram ─▶ chi-squared       (beside controls)
//! tossed canaries   ─▶ Phrases of a model ─▶ scores ─▶ guesses ─▶ lower bound on epsilon
//! learning curve    ─▶ the gap between training and test loss                       (of word vectors)
//! ```
//!
//! The account is an upper bound on what a run can give away to anyone; an audit shows what one
//! particular observer found. A test of ranks that finds nothing proves nothing. A lower bound above
//! the promise proves, at its confidence, that the promise is broken.
//!
//! [`attack`] looks at many runs instead: from their files it tries to tell which of two neighbouring data sets each run
//! was trained on.
//!
//! # Privacy
//! Canaries are synthetic. Ranks, scores and bounds are computed from them and from the released
//! model, so for a private run they are post-processing and cost nothing. Losses are not: they come
//! from the data without noise, and are marked in [`AuditReport::not_private`].
#![forbid(unsafe_code)]

pub mod attack;
mod audit;
mod bound;
mod chi_squared;
mod guess;
mod page;
mod perplexity;
mod phrases;
mod rank;
mod report;
#[cfg(test)]
mod tests;
mod typeahead;
mod words;

pub use audit::{AuditError, AuditOptions, audit};
pub use bound::lower_bound;
pub use chi_squared::{Uniformity, uniformity};
pub use guess::{Guessed, guess};
pub use rank::Among;
pub use report::{
    AuditReport, Audited, Gap, LowerBoundEvidence, Promise, RankEvidence, RankSummary,
};
