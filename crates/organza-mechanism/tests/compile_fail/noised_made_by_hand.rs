//! Only the noise makes `Noised`.
use organza_mechanism::{BatchSum, Noised};

fn forged(sum: BatchSum, other: Noised) -> Noised {
    Noised { memory: sum.memory, random: other.random, body: other.body }
}

fn main() {}
