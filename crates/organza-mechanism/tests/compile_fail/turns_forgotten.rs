//! What was handed out cannot be taken back.
use organza_mechanism::RandomSource;

fn again(source: &mut RandomSource) {
    source.turns = Default::default();
}

fn main() {}
