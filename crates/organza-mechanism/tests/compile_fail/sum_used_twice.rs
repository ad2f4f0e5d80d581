//! A sum is selected from once: a second selection would be a second release.
use organza_mechanism::{BatchSum, RandomSource};

fn step(sum: BatchSum, source: &RandomSource) {
    let _ = sum.select(source).noise(source);
    let _ = sum.select(source).noise(source);
}

fn main() {}
