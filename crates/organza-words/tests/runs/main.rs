//! Whole runs of word embeddings, in one program: each more would be linked with everything once more.
#![allow(unreachable_pub, reason = "a test crate has no outside")]

mod agreement;
mod known_neighbours;
mod paid_units;
mod presets;
mod promises;
