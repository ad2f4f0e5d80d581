//! The bits of noise are not to be had from the source, but only from what was paid for.
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::{Purpose, RandomSource};

fn noise(source: &RandomSource) -> PrivateRandom {
    source.substream(Purpose::Noise, 0, 0)
}

fn release(source: &RandomSource) -> PrivateRandom {
    source.secret(organza_mechanism::random::Secret::Release, 0).shard(0)
}

fn main() {}
