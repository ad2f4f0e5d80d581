//! Small models for tests.
#![allow(clippy::unwrap_used)]

use organza_mechanism::sample::fill_normal_f32;
use organza_mechanism::{Purpose, RandomSource};
use organza_model::{Layout, WordVectors};

pub(crate) fn model(layout: Layout, words: u64, dimensions: usize) -> WordVectors {
    WordVectors::new(layout, words, dimensions).unwrap()
}

/// Normal parameters of a deviation.
pub(crate) fn parameters(model: &WordVectors, deviation: f32, seed: u64) -> Vec<f32> {
    let mut values = vec![0.0; model.parameters()];
    let source = RandomSource::from_seed(seed);
    fill_normal_f32(&mut values, &mut source.substream(Purpose::Initialisation, 0, 0));
    values.iter_mut().for_each(|value| *value *= deviation);
    values
}
