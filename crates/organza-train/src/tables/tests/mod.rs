//! Every way of keeping tables against the plain one.
#![allow(clippy::unwrap_used)]

mod adam;
mod owed;
