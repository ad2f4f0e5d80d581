//! A charge that nobody has put on a ledger is no proof.
use organza_mechanism::{Batch, NotPaid, PoissonSampler};

fn step(sampler: &PoissonSampler) -> Result<Batch, NotPaid> {
    sampler.batch(0, &sampler.charge(0..1))
}

fn main() {}
