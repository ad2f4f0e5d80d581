//! A sum cannot be scaled before the noise.
use organza_mechanism::{BatchSum, RandomSource};

fn step(sum: BatchSum, source: &RandomSource) {
    let _ = (sum * 0.5).select(source).noise(source);
}

fn main() {}
