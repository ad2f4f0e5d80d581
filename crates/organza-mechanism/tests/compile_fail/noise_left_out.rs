//! An optimizer takes `Noised`; a selected sum without noise is not one.
use organza_mechanism::{BatchSum, Noised};

fn optimize(_: Noised) {}

fn step(sum: BatchSum) {
    optimize(sum.select());
}

fn main() {}
