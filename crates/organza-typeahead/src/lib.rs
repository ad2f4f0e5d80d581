//! Typeahead with differential privacy: completes what people write, without keeping what anyone wrote.
//!
//! ```text
//! text ─▶ words ─▶ what each writer wrote ─(distinct words, norm 1, exact noise)─▶ words
//!                                         ─(distinct bigrams, norm 1, exact noise, bar)─▶ bigrams
//!                                         ─(trigrams that released bigrams make, norm 1 again, ...)─▶ trigrams ─▶ model, for free
//! ```
#![forbid(unsafe_code)]

mod application;
mod arpa;
mod bayes;
mod box_to_type;
mod endings;
mod level;
mod model;
mod network;
mod page;
pub mod plain;
mod quality;
mod release;
mod saved;
pub mod settings;
mod tensors;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod typeahead;

pub use application::{FittedTypeahead, Text, TypeaheadRun, fit};
pub use arpa::back_off;
pub use level::{Context, Level};
pub use model::{Likely, Model};
pub use network::{Network, NextWord};
pub use page::page;
pub use quality::{Quality, quality};
pub use release::Released;
pub use saved::{ARPA, MODEL, NGRAMS, SavedError, WORDS};
pub use settings::{Method, Rules, Settings};
pub use typeahead::{Completion, Phrase, Typeahead};

/// A run of a typeahead.
pub type Session = organza_train::Session<TypeaheadRun>;
