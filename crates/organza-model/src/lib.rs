//! Models made of embedding tables: word embeddings, their gradients, their files, and how they are used.
//!
//! A model says which tables it has, what the loss of one sample is, and which few rows the gradient of that loss
//! touches. It knows nothing about differential privacy: it reads weights and writes gradients row by row
//! ([`ReadRows`](organza_mechanism::ReadRows), [`WriteRows`](organza_mechanism::WriteRows)), and its caller clips the
//! gradients, adds noise and moves the weights.
//!
//! ```text
//! rows, Sample ─▶ WordVectors::gradient ─▶ rows                 (training)
//! released counts ─▶ counts::learn_counts ─▶ parameters         (training on counts)
//! parameters ─▶ SavedModel, Vectors ─▶ files ─▶ nearest, analogy, similarity   (use)
//! ```
#![forbid(unsafe_code)]

pub mod counts;
pub mod kernels;
pub mod ranking;
pub mod vectors;

mod tensors;
mod word_vectors;

pub use tensors::{Number, Tensors, numbers, tensor_header};
pub use word_vectors::{
    ExpectedLoss, HeldOutSample, Layout, ModelError, Sample, Scratch, WordVectors, frequency_bias,
};
