//! The proof of a charge is used up by a release.
use organza_ledger::Charged;
use organza_mechanism::{Histogram, Release};

fn twice(one: Histogram, other: Histogram, release: &Release, paid: Charged) {
    let _ = one.noise(release, paid);
    let _ = other.noise(release, paid);
}

fn main() {}
