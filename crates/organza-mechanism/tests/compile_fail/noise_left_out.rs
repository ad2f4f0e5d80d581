//! An optimizer takes `Noised`; a selected sum without noise is not one.
use organza_mechanism::{BatchSum, Noised, RandomSource};

fn optimize(_: Noised) {}

fn step(sum: BatchSum, source: &RandomSource) {
    optimize(sum.select(source));
}

fn main() {}
