//! A sum has no values to read.
use organza_mechanism::BatchSum;

fn peek(sum: &BatchSum) -> f32 {
    sum.visit(|_, values| drop(values[0]));
    sum.memory.sum.value(0) as f32
}

fn main() {}
