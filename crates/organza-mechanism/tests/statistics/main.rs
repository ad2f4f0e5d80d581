//! Statistical tests: every sampler and mechanism has the law it claims, and broken twins are caught.
//!
//! Each test has a false-alarm rate of 1e-6 and a fixed seed.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![allow(unreachable_pub, reason = "a test crate has no outside")]

mod buckets;
mod histograms;
mod integer_noise;
mod lyu;
mod naive;
mod normals;
mod paid;
mod privacy;
mod sampler_checks;
mod sampler_twins;
mod samplers;
mod selectors;
mod selectors_wide;
mod subsets;
mod support;
