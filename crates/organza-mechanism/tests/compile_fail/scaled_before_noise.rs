//! A sum cannot be scaled before the noise.
use organza_mechanism::BatchSum;

fn step(sum: BatchSum) {
    let _ = (sum * 0.5).select().noise();
}

fn main() {}
