//! A part of a batch cannot be released by itself: the parts share their noise.
use organza_mechanism::Batch;

fn step(batch: Batch) {
    for part in batch.split(2) {
        let _ = part.sum(|_, _| ()).select().noise();
    }
}

fn main() {}
