//! The sum of a batch is not what an optimizer takes.
use organza_mechanism::{BatchSum, Noised};

fn optimize(_: Noised) {}

fn step(sum: BatchSum) {
    optimize(sum);
}

fn main() {}
