//! A stream of randomness cannot be copied, so noise is not used twice by accident.
use organza_mechanism::random::PrivateRandom;

fn twice(random: &PrivateRandom) -> (PrivateRandom, PrivateRandom) {
    (random.clone(), random.clone())
}

fn main() {}
