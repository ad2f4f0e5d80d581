//! The number of units is drawn against the proof of a charge.
use organza_mechanism::{NotPaid, NoisyCount, Release};

fn number(count: NoisyCount, release: &Release) -> Result<u64, NotPaid> {
    count.noise(1_000, release)
}

fn main() {}
