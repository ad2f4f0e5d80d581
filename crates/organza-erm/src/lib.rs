//! Linear models on sparse rows, fitted with differential privacy (private empirical risk minimisation).
//!
//! ```text
//! UnreleasedRows ─(categories, charged)─▶ SparseRows
//! SparseRows ─(declared bounds)─▶ Design ─▶ Objective ── minimise ─────────────┐
//!                                        └▶ LinearTask, LinearSchedule ─▶ engine ─▶ LinearModel, Certificate
//! ```
//!
//! [`Linear`] is the [application](organza_train::Application) that the engine trains; [`fit`] does so in memory.
//!
//! The methods to choose from, at the same budget: objective perturbation, DP-SGD, private selection (the paper's
//! Algorithm 3), its Algorithm 2 with accounts that hold and with its printed noise (not sound), and no privacy at all.
//!
//! ```
//! use organza_data::sparse::SparseRows;
//! use organza_erm::LogisticRegression;
//!
//! let mut rows = SparseRows::new(Some(2));
//! for number in 0..5_000_u32 {
//!     let side = if number % 2 == 0 { 1.0 } else { -1.0 };
//!     rows.push(f64::from(number % 2), &mut [(0, -side), (1, 0.5)], None)?;
//! }
//! let fit = LogisticRegression::new().epsilon(1.0).delta(1e-5).fit(&rows)?;
//! assert!(fit.certificate.epsilon <= Some(1.0) && fit.model.weights[0] > 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod application;
mod bounds;
mod categories;
mod data;
mod design;
mod estimator;
mod fit;
mod groups;
mod loss;
mod minimise;
mod model;
mod page;
mod perturbation;
mod reader;
mod schedule;
mod score;
mod settings;
mod start;
mod sum;
mod task;

pub use application::{Fitted, Linear, MODEL, READER};
pub use data::{FitError, LARGEST_INDEX, LinearData};
pub use estimator::{Estimator, LinearRegression, LogisticRegression, PoissonRegression};
pub use fit::{Fit, fit, fit_table};
pub use groups::{GROUPS_IGNORED, GroupSparsity};
pub use loss::Loss;
pub use model::{LinearModel, ModelError};
pub use organza_train::Constraint;
pub use page::page;
pub use reader::Reader;
pub use schedule::{LinearSchedule, printed_step};
pub use score::{Scores, score};
pub use settings::{DataSettings, Method, Settings};
pub use task::LinearTask;
