//! A batch is drawn against the proof of a charge.
use organza_mechanism::{Batch, NotPaid, Sampler};

fn step(sampler: &Sampler) -> Result<Batch, NotPaid> {
    sampler.batch(0)
}

fn main() {}
