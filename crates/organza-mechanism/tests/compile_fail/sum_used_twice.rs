//! A sum is selected from once: a second selection would be a second release.
use organza_mechanism::BatchSum;

fn step(sum: BatchSum) {
    let _ = sum.select().noise();
    let _ = sum.select().noise();
}

fn main() {}
