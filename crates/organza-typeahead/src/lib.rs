//! Typeahead with differential privacy: completes what people write, without keeping what anyone wrote.
//!
//! ```text
//! text ─▶ words ─▶ what each writer wrote ─(distinct words, norm 1, exact noise)─▶ how frequent words are
//!                  ─(words after endings, norm 1 again, exact noise)─▶ what to expect after words
//!                  ─(words after words, norm 1 again, exact noise; a bar where little is expected)─▶ what follows words
//!                  ─(words after two words that are frequent together, ...)─▶ what follows two words ─▶ model, for free
//! ```
//!
//! The unit is the writer: all of their text together. Every stage is a Gaussian mechanism on cells that the stages before chose; empirical
//! Bayes makes probabilities of the noisy counts, which is a post-processing.
//!
//! ```
//! use organza_data::settings::DataSettings;
//! use organza_typeahead::{Settings, fit};
//!
//! let mut settings = Settings::new(DataSettings::default(), 3.0, 1e-6); // the built-in corpus, which is in lines
//! settings.privacy.unit = organza_ledger::Unit::Line;
//! let (fitted, certificate) = fit(settings)?;
//! let next = fitted.typeahead.complete("good ", 3);
//! assert!(certificate.epsilon <= Some(3.0) && next.len() == 3);
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
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
