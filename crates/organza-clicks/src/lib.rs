//! Click models with differential privacy: what a user saw and clicked stays with the user, and the predictions are still good.
//!
//! ```text
//! rows ─▶ users ─(views of a column scaled to norm 1, exact noise)─▶ clicks and views of buckets ─▶ log odds, shrunk by the noise
//!      ─▶ moments beside these ─(scaled to norm 1, exact noise)─▶ logistic regression, for free ─▶ steps with the rest of the budget
//! ```
//!
//! A model is a logistic regression or a factorisation machine over hashed categories and bounded numbers. The unit is the user,
//! where rows name one, or the row. [`Method`] says what is trained how; all of them share the engine, its ledger and its
//! certificate.
//!
//! ```
//! use organza_clicks::{MadeUp, Method, Settings, fit};
//!
//! let (data, _) = MadeUp { users: 2_000, test_users: 500, buckets: 50, ..MadeUp::default() }.data()?;
//! let (fitted, certificate) = fit(Settings::new(None, Method::OneShot, 8.0, 1e-6), data)?;
//! assert!(certificate.epsilon <= Some(8.0) && fitted.train.auc > Some(0.55));
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
#![forbid(unsafe_code)]

mod application;
mod buckets;
mod data;
mod layout;
mod model;
mod moments;
mod one_shot;
mod page;
pub mod quality;
mod reader;
pub mod settings;
mod synthetic;
mod task;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use application::{ClickRun, FittedClicks, fit};
pub use data::ClickData;
pub use model::{ClickModel, MODEL};
pub use page::page;
pub use quality::Quality;
pub use reader::{ClickReader, LARGEST_NUMBER, READER, features};
pub use settings::{DataSettings, Method, Model, Rules, Settings};
pub use synthetic::MadeUp;
pub use task::ClickTask;

/// A run of a click model.
pub type Session = organza_train::Session<ClickRun>;
