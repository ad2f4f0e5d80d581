//! The gradient against finite differences of a loss that is written out in double precision, and
//! the expected loss against the mean over all negatives.
#![allow(missing_docs, clippy::unwrap_used)]

use organza_mechanism::{FlatRows, Shape, WriteRows};
use organza_model::{
    ExpectedLoss, HeldOutSample, Layout, ModelError, Sample, Scratch, WordVectors,
};
use proptest::prelude::*;

const LAYOUTS: [Layout; 2] = [Layout::Tied, Layout::TwoTables];

/// A dense gradient of all tables.
struct Dense {
    shape: Shape,
    values: Vec<f32>,
    touched: Vec<u32>,
}

impl Dense {
    fn new(model: &WordVectors) -> Self {
        Self { shape: shape(model), values: vec![0.0; model.parameters()], touched: Vec::new() }
    }
}

fn shape(model: &WordVectors) -> Shape {
    Shape::tables(&model.tables()).unwrap()
}

impl WriteRows for Dense {
    fn row(&mut self, row: u32) -> &mut [f32] {
        self.touched.push(row);
        &mut self.values[self.shape.range(row)]
    }
}

/// The formula of the loss, word by word, for any parameters in double precision.
fn plain_loss(model: &WordVectors, parameters: &[f64], sample: Sample<'_>) -> f64 {
    let (words, dimensions) = (model.words() as usize, model.dimensions());
    let logit = |word: u32| {
        let word = word as usize;
        let (output, bias) = match model.layout() {
            Layout::Tied => (word * dimensions, 0.0),
            Layout::TwoTables => {
                ((words + word) * dimensions, parameters[2 * words * dimensions + word])
            }
        };
        let mut sum = 0.0;
        for place in 0..dimensions {
            let inputs = sample.inputs.iter();
            let mean = inputs.map(|input| parameters[*input as usize * dimensions + place]);
            let mean = mean.sum::<f64>() / sample.inputs.len() as f64;
            sum += mean * parameters[output + place];
        }
        sum + bias
    };
    let mut loss = (1.0 + (-logit(sample.positive)).exp()).ln();
    for negative in sample.negatives {
        loss += (1.0 + logit(*negative).exp()).ln();
    }
    loss
}

/// Compares every coordinate of the gradient with a central difference, and the loss with the plain
/// one; returns what was touched.
fn check(model: &WordVectors, parameters: &[f32], sample: Sample<'_>, weight: f32) -> Vec<u32> {
    let mut dense = Dense::new(model);
    let mut scratch = Scratch::default();
    let rows = model.rows(parameters).unwrap();
    let loss = model.gradient(&rows, sample, weight, &mut scratch, &mut dense).unwrap();
    let mut exact: Vec<f64> = parameters.iter().map(|value| f64::from(*value)).collect();
    let plain = plain_loss(model, &exact, sample);
    assert!((loss - plain).abs() < 1e-5 * plain.max(1.0), "{loss} {plain}");
    for place in 0..exact.len() {
        let (value, step) = (exact[place], 1e-5);
        exact[place] = value + step;
        let above = plain_loss(model, &exact, sample);
        exact[place] = value - step;
        let below = plain_loss(model, &exact, sample);
        exact[place] = value;
        let difference = f64::from(weight) * (above - below) / (2.0 * step);
        let found = f64::from(dense.values[place]);
        assert!(
            (difference - found).abs() < 3e-6 * f64::from(weight.abs()).max(1.0) * plain.max(1.0),
            "coordinate {place}: {found} instead of {difference} for {sample:?}"
        );
    }
    dense.touched
}

fn parameters(model: &WordVectors) -> Vec<f32> {
    (0..model.parameters())
        .map(|place| ((place * 7919 % 1000) as f32 / 500.0 - 1.0) * 0.8)
        .collect()
}

#[test]
fn every_kind_of_repetition_is_exact() {
    let samples: [(&[u32], u32, &[u32]); 9] = [
        (&[0], 1, &[2, 3]),
        (&[0], 1, &[]),
        (&[0], 1, &[1, 2]),
        (&[0], 1, &[0, 2]),
        (&[0], 0, &[2, 3]),
        (&[0], 0, &[0, 0, 0]),
        (&[0, 1, 2, 3], 4, &[5, 5, 1]),
        (&[2, 2, 2, 3], 2, &[3, 2, 4, 4]),
        (&[5], 4, &[0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3]),
    ];
    for layout in LAYOUTS {
        for dimensions in [1, 5, 37] {
            let model = WordVectors::new(layout, 6, dimensions).unwrap();
            let parameters = parameters(&model);
            for (inputs, positive, negatives) in samples {
                let sample = Sample { inputs, positive, negatives };
                check(&model, &parameters, sample, 1.0);
            }
        }
    }
}

#[test]
fn only_the_rows_of_the_sample_are_touched() {
    let sample = Sample { inputs: &[3, 1], positive: 4, negatives: &[0, 4] };
    for (layout, expected) in LAYOUTS.into_iter().zip([vec![0, 1, 3, 4], vec![1, 3, 6, 10, 12, 16]])
    {
        let model = WordVectors::new(layout, 6, 3).unwrap();
        let mut touched = check(&model, &parameters(&model), sample, 0.25);
        touched.sort_unstable();
        touched.dedup();
        assert_eq!(touched, expected);
    }
}

proptest! {
    #[test]
    fn gradients_of_any_sample_are_derivatives(
        tied in any::<bool>(),
        values in prop::collection::vec(-1.5f32..1.5, 8 * (2 * 7 + 1)),
        inputs in prop::collection::vec(0u32..8, 1..5),
        positive in 0u32..8,
        negatives in prop::collection::vec(0u32..8, 0..20),
        weight in -2.0f32..2.0,
    ) {
        let model = WordVectors::new(LAYOUTS[usize::from(!tied)], 8, 7).unwrap();
        let sample = Sample { inputs: &inputs, positive, negatives: &negatives };
        check(&model, &values[..model.parameters()], sample, weight);
    }

    /// The expected loss is the mean of the loss over all negatives: each word alone as the only
    /// negative, weighted by its probability.
    #[test]
    fn the_expected_loss_is_an_expectation(
        tied in any::<bool>(),
        values in prop::collection::vec(-1.5f32..1.5, 21 * (2 * 3 + 1)),
        held in prop::collection::vec(
            (prop::collection::vec(0u32..21, 1..3), 0u32..21, 0.0f64..3.0), 1..70),
        mut weights in prop::collection::vec(0.0f64..2.0, 21),
        negatives in 0u32..10,
    ) {
        weights[3] += 1.0;
        let model = WordVectors::new(LAYOUTS[usize::from(!tied)], 21, 3).unwrap();
        let values = &values[..model.parameters()];
        let held: Vec<HeldOutSample<'_>> = held.iter()
            .map(|(inputs, positive, weight)| HeldOutSample { inputs, positive: *positive, weight: weight + 0.1 })
            .collect();
        let expected = ExpectedLoss::new(&model, &weights, negatives).unwrap();
        let found = expected.mean(&model.rows(values).unwrap(), &held).unwrap();

        let exact: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        for HeldOutSample { inputs, positive, weight } in &held {
            let alone = Sample { inputs, positive: *positive, negatives: &[] };
            let alone = plain_loss(&model, &exact, alone);
            let mut loss = alone;
            for (word, probability) in weights.iter().enumerate() {
                let negatives_of_one = [word as u32];
                let one = Sample { inputs, positive: *positive, negatives: &negatives_of_one };
                let term = plain_loss(&model, &exact, one) - alone;
                loss += f64::from(negatives) * probability / total * term;
            }
            sum += weight * loss;
        }
        let plain = sum / held.iter().map(|held| held.weight).sum::<f64>();
        prop_assert!((found - plain).abs() < 1e-5 * plain.max(1.0), "{} {}", found, plain);
    }
}

#[test]
fn the_expected_loss_has_the_same_bits_on_any_number_of_threads() {
    let model = WordVectors::new(Layout::TwoTables, 300, 20).unwrap();
    let parameters = parameters(&model);
    let rows = model.rows(&parameters).unwrap();
    let words: Vec<[u32; 1]> = (0..300).map(|word| [word]).collect();
    let held: Vec<HeldOutSample<'_>> = (0..5000)
        .map(|place| HeldOutSample {
            inputs: &words[place * 31 % 300],
            positive: (place * 17 % 299) as u32,
            weight: 0.5 + (place % 7) as f64,
        })
        .collect();
    let expected = ExpectedLoss::new(&model, &[1.0; 300], 8).unwrap();
    let with_threads = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| expected.mean(&rows, &held).unwrap())
    };
    let one = with_threads(1);
    assert_eq!(one.to_bits(), with_threads(2).to_bits());
    assert_eq!(one.to_bits(), with_threads(5).to_bits());
}

#[test]
fn the_zero_model_loses_a_bit_a_term() {
    let model = WordVectors::new(Layout::Tied, 1000, 100).unwrap();
    let zero = vec![0.0; model.parameters()];
    let expected = ExpectedLoss::new(&model, &[1.0; 1000], 8).unwrap();
    let held = [HeldOutSample { inputs: &[5], positive: 6, weight: 2.0 }];
    let nine_bits = 9.0 * std::f64::consts::LN_2;
    assert!((expected.mean(&model.rows(&zero).unwrap(), &held).unwrap() - nine_bits).abs() < 1e-6);
}

#[test]
fn what_does_not_fit_the_model_is_refused() {
    assert!(WordVectors::new(Layout::Tied, 0, 5).is_err());
    assert!(WordVectors::new(Layout::Tied, 5, 0).is_err());
    assert!(WordVectors::new(Layout::TwoTables, 1 << 31, 5).is_err());
    assert!(WordVectors::new(Layout::TwoTables, 1 << 30, usize::MAX / 4).is_err());
    let model = WordVectors::new(Layout::TwoTables, 5, 2).unwrap();
    let values = vec![0.0; model.parameters()];
    let rows = model.rows(&values).unwrap();
    let mut scratch = Scratch::default();
    let good = Sample { inputs: &[1], positive: 2, negatives: &[3] };
    let mut error = |sample| {
        let mut dense = Dense::new(&model);
        let error = model.gradient(&rows, sample, 1.0, &mut scratch, &mut dense).unwrap_err();
        assert!(dense.touched.is_empty());
        error
    };
    let word = ModelError::Word { word: 5, words: 5 };
    assert_eq!(error(Sample { inputs: &[1, 5], ..good }), word);
    assert_eq!(error(Sample { positive: 5, ..good }), word);
    assert_eq!(error(Sample { negatives: &[5], ..good }), word);
    assert_eq!(error(Sample { inputs: &[], ..good }), ModelError::NoInput);
    let short = model.rows(&values[1..]).unwrap_err();
    assert_eq!(short, ModelError::Parameters { expected: 25, found: 24 });
    // Rows that are missing are empty, and nothing panics.
    let missing = FlatRows::new(shape(&model), &values[..3]);
    let mut dense = Dense::new(&model);
    assert!(model.gradient(&missing, good, 1.0, &mut Scratch::default(), &mut dense).is_ok());

    assert!(ExpectedLoss::new(&model, &[1.0; 4], 8).is_err());
    assert!(ExpectedLoss::new(&model, &[-1.0, 2.0, 2.0, 2.0, 2.0], 8).is_err());
    let expected = ExpectedLoss::new(&model, &[1.0; 5], 8).unwrap();
    assert!(expected.mean(&rows, &[]).is_err());
    let beyond = [HeldOutSample { inputs: &[5], positive: 0, weight: 1.0 }];
    assert_eq!(expected.mean(&rows, &beyond), Err(word));
}
