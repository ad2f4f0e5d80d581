//! Wide models trained with differential privacy: one name for all of Organza's libraries.
//!
//! A *wide* model keeps almost all of its parameters in tables of which one record touches a few
//! rows. The command line tool of the same name is built on what is re-exported here.
//!
//! ```
//! use organza::ledger::Event;
//!
//! let step = Event::Gaussian { noise_multiplier: 0.5 };
//! let run = step.poisson(1e-4).repeat(200_000);
//! assert!(run.check().is_ok());
//! ```
#![forbid(unsafe_code)]

pub use organza_data as data;
pub use organza_ledger as ledger;
pub use organza_mechanism as mechanism;
pub use organza_model as model;
pub use organza_train as train;
