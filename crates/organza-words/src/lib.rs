//! Word embeddings (word vectors) trained with differential privacy: from counts that are released once, by DP-SGD, or by
//! private selection.
//!
//! [`Words`] is the [application](organza_train::Application) that the engine trains: it reads text, releases a private
//! vocabulary and counts, gives samples and their gradients, plants canaries for audits, and writes the model's files.
//!
//! ```
//! use organza_words::{Ended, Session, settings::Settings};
//!
//! let mut settings = Settings::standard(); // the built-in corpus at epsilon 3
//! settings.data.synthetic_lines = Some(300);
//! # let place = tempfile::tempdir()?;
//! # let path = place.path().join("run");
//! let Ended::Finished(run) = Session::begin(settings, &path)?.train(false, &mut ())? else { return Ok(()) };
//! assert!(run.certificate.epsilon <= Some(3.0));
//! println!("{:?}", run.model.vectors.words());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod application;
mod canaries;
mod check;
mod export;
mod page;
mod phases;
mod prepare;
pub mod settings;
mod start;
pub mod suite;
mod task;
mod vocabulary;

pub use application::{Text, WordModel, Words};
pub use page::page;
pub use prepare::{PrepareError, initial, read_text};
pub use task::WordTask;

/// A run of word vectors.
pub type Session = organza_train::Session<Words>;
/// How it ended.
pub type Ended = organza_train::Ended<WordModel>;
/// What it has to show when it is finished.
pub type Finished = organza_train::Finished<WordModel>;
