//! Statistical tests: every sampler and mechanism has the law it claims, and broken twins are caught.
//!
//! Each test has a false-alarm rate of 1e-6 and a fixed seed.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod lyu;
mod privacy;
mod support;
