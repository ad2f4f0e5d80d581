//! A batch is drawn against the proof of a charge.
use organza_mechanism::{Batch, NotPaid, PoissonSampler};

fn step(sampler: &PoissonSampler) -> Result<Batch, NotPaid> {
    sampler.batch(0)
}

fn main() {}
