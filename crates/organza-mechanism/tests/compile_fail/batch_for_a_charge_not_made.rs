//! A charge that nobody has put on a ledger is no proof.
use organza_mechanism::{Batch, NotPaid, Sampler};

fn step(sampler: &Sampler) -> Result<Batch, NotPaid> {
    sampler.batch(0, &sampler.charge(0..1))
}

fn main() {}
