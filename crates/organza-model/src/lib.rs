//! Models made of embedding tables, and what is done with them afterwards.
//!
//! A model says which tables it has, what the loss of one sample is and how the gradient of that
//! loss looks, as a few rows. It knows nothing of privacy: weights are read and gradients written row by row
//! ([`ReadRows`](organza_mechanism::ReadRows), [`WriteRows`](organza_mechanism::WriteRows)), and whoever gives those
//! clips gradients, adds noise and moves the weights.
//!
//! ```text
//! rows, Sample ─▶ WordVectors::gradient ─▶ rows                 (training)
//! released counts ─▶ counts::learn_counts ─▶ parameters         (training on counts)
//! parameters ─▶ SavedModel, Vectors ─▶ files ─▶ nearest, analogy, similarity   (use)
//! ```
#![forbid(unsafe_code)]

pub mod counts;
pub mod kernels;
pub mod vectors;

mod word_vectors;

pub use word_vectors::{
    ExpectedLoss, Held, Layout, ModelError, Sample, Scratch, WordVectors, frequency_bias,
};
