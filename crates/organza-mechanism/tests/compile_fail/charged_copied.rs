//! A proof cannot be copied, so one charge pays for one release.
use organza_ledger::Charged;
use organza_mechanism::{NoisyCount, Release};

fn twice(count: NoisyCount, release: &Release, paid: Charged) {
    let _ = count.noise(100, release, paid.clone());
    let _ = count.noise(101, release, paid);
}

fn main() {}
