//! Wide models trained with differential privacy: one name for all of Organza's libraries.
//!
//! A *wide* model keeps almost all of its parameters in tables of which one record touches a few
//! rows. The command line tool of the same name is the crate `organza-cli`;
//! nothing of it is needed here.
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
pub use organza_data as data;
pub use organza_erm as erm;
pub use organza_ledger as ledger;
pub use organza_mechanism as mechanism;
pub use organza_model as model;
pub use organza_report as report;
pub use organza_train as train;
pub use organza_words as words;
