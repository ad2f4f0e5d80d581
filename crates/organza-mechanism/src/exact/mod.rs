//! Exact draws of whole numbers: random bits are compared with probabilities that are known to any
//! precision, so that no rounding of a float enters the law.
//!
//! [`interval`] encloses numbers between two fixed-point ones, [`functions`] the exponential and the
//! normal tail, and [`inversion`] turns a tail function into a sampler.

pub(crate) mod functions;
pub(crate) mod interval;
pub(crate) mod inversion;
