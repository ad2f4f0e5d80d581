//! Embeddings and other wide models, trained with differential privacy: all of Organza's libraries under one name.
//!
//! A *wide* model keeps almost all of its parameters in tables of which one record touches only a few rows: word
//! embeddings, recommenders, typeahead, click models, sparse linear models.
//!
//! - [`words`] trains word embeddings, [`recommend`] recommenders, [`typeahead`] completions, [`clicks`] click models, and
//!   [`erm`] linear models.
//! - [`train`] is the engine below them. Give it the gradient of a model of your own, such as a factorisation, and it
//!   trains that model by DP-SGD or by private selection.
//! - [`accountant`], [`ledger`] and [`mechanism`] serve any training: they find the privacy loss of a run or the noise
//!   multiplier for a budget, record what was spent, and add the noise.
//!
//! The folder `examples` has a short program for each of these.
//!
//! The command line tool is a crate of its own, `organza-cli`. The feature `parquet`, on by default, reads Parquet
//! tables.
//!
//! ```
//! use organza::accountant::Accountant;
//! use organza::ledger::{Event, Neighbouring};
//!
//! let step = Event::Gaussian { noise_multiplier: 0.5 };
//! let run = step.poisson(1e-4).repeat(200_000);
//! let guarantee = Accountant::new(Neighbouring::AddRemove).compose(&run)?.epsilon(1e-5)?;
//! assert!(guarantee.epsilon < 2.42);
//! # Ok::<(), organza::ledger::AccountError>(())
//! ```
#![forbid(unsafe_code)]

pub use organza_accountant as accountant;
pub use organza_audit as audit;
pub use organza_clicks as clicks;
pub use organza_data as data;
pub use organza_erm as erm;
pub use organza_ledger as ledger;
pub use organza_mechanism as mechanism;
pub use organza_model as model;
pub use organza_recommend as recommend;
pub use organza_report as report;
pub use organza_train as train;
pub use organza_typeahead as typeahead;
pub use organza_words as words;
