//! Empirical privacy loss: no mechanism leaks more than it claims, and broken twins are caught.
//!
//! Each mechanism runs on the neighbours that it tells apart best; [`harness`] turns the runs into a
//! lower bound on epsilon. A bound above the claim is a failure, and so is one far below it, since
//! such a test would not notice much. The twins are the same mechanisms with one flaw each.

mod candidate_clip;
mod claims;
mod exponential;
mod gaussian;
pub(crate) mod harness;
mod histogram;
mod limited_domain;
mod low_bits;
pub(crate) mod naive;
mod noisy_max;
mod numeric_sparse;
mod pipeline;
mod replaced;
mod rounds;
mod sampling;
mod second_clip;
mod sparse_vector;
mod uniform_mask;
mod unknown_domain;
