//! Only the noise makes `Noised`.
use organza_mechanism::{Noised, RandomSource};

fn forged(source: RandomSource) -> Noised {
    Noised { source, step: 0 }
}

fn main() {}
