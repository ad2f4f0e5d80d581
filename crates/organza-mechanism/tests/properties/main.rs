//! Properties that hold for all inputs: of sums, of releases and of settings.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![allow(unreachable_pub, reason = "a test crate has no outside")]

mod dense;
mod edges;
mod releases;
mod settings;
mod sums;
mod support;
