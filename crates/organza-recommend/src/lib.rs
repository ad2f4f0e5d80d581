//! Recommenders with differential privacy: what a person did stays with the person, and the recommendations are still good.
//!
//! ```text
//! events ─▶ histories ─(scaled to norm 1, exact noise)─▶ counts of items ─▶ items, weights, direction of popularity
//!        ─▶ rests beside that direction ─(cells scaled to norm 1, exact noise)─▶ table of pairs ─▶ model, for free
//! ```
//!
//! The unit is the person: all of their events together. A model is made of two releases and public numbers; everything
//! after them, the choice of how items are scored among it, is post-processing. [`Method`] has others to compare with.
//!
//! ```
//! use organza_recommend::{Histories, Settings, fit_histories};
//!
//! let rows = (0..2_000_u32).map(|person| (0..3).map(move |item| person % 4 * 5 + (person + item) % 5));
//! let histories = Histories::of_rows(20, rows);
//! let (fitted, certificate) = fit_histories(histories, Settings::new(None, 3.0, 1e-6))?;
//! let next = fitted.saved.model.recommend(&[0], 1);
//! assert!(certificate.epsilon <= Some(3.0) && next.len() == 1);
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
#![forbid(unsafe_code)]

mod application;
mod events;
mod fit;
mod histories;
mod method;
mod model;
mod page;
mod pairs;
mod picker;
pub mod quality;
mod release;
mod saved;
pub mod settings;
mod spectrum;
mod synthetic;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use application::{
    FittedRecommender, RecommenderData, RecommenderRun, fit_data, fit_histories,
};
pub use events::{Events, EventsError, read_items, read_titles};
pub use fit::{Choice, Score};
pub use histories::{FULL_WEIGHT, Histories, LentRows};
pub use method::dpsgd::Factorisation;
pub use model::{Recommender, Scored};
pub use page::page;
pub use pairs::{Pair, Pairs};
pub use release::Rules;
pub use saved::{ITEMS, MODEL, SavedError, SavedRecommender};
pub use settings::{Method, Settings};

/// A run of a recommender.
pub type Session = organza_train::Session<RecommenderRun>;
