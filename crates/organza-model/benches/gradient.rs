//! What one sample costs: `cargo bench -p organza-model`.
//!
//! A table of 1,000 x 100, eight negatives; gradients go to a dense one, so that the model alone is
//! measured and not the merging of rows.
#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{Criterion, criterion_group, criterion_main};
use organza_mechanism::{Shape, WriteRows};
use organza_model::{ExpectedLoss, HeldOutSample, Layout, Sample, Scratch, WordVectors, kernels};
use std::hint::black_box;

const WORDS: u64 = 1000;
const DIMENSIONS: usize = 100;

/// A dense gradient of all tables.
struct Dense(Shape, Vec<f32>);

impl WriteRows for Dense {
    fn row(&mut self, row: u32) -> &mut [f32] {
        &mut self.1[self.0.range(row)]
    }
}

fn start(model: &WordVectors) -> Vec<f32> {
    let mut state = 1_u32;
    model.initial_normal(0.1, |table| {
        for value in table {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *value = state as f32 / u32::MAX as f32 - 0.5;
        }
    })
}

fn samples(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sample");
    for (name, layout) in [("tied", Layout::Tied), ("two_tables", Layout::TwoTables)] {
        let model = WordVectors::new(layout, WORDS, DIMENSIONS).unwrap();
        let (shape, parameters) = (Shape::tables(&model.tables()).unwrap(), start(&model));
        let rows = model.rows(&parameters).unwrap();
        let mut dense = Dense(shape, vec![0.0; model.parameters()]);
        let mut scratch = Scratch::default();
        for (kind, inputs) in [("skip_gram", 1), ("cbow_8", 8)] {
            let words: Vec<u32> = (0..17 * 64).map(|place| place * 397 % WORDS as u32).collect();
            let mut turn = 0;
            group.bench_function(format!("gradient/{name}/{kind}"), |bencher| {
                bencher.iter(|| {
                    turn = (turn + 1) % 64;
                    let words = &words[turn * 17..(turn + 1) * 17];
                    let sample = Sample {
                        inputs: &words[9..9 + inputs],
                        positive: words[0],
                        negatives: &words[1..9],
                    };
                    model.gradient(&rows, sample, 1e-3, &mut scratch, &mut dense).unwrap()
                });
            });
        }
    }
}

fn expected(criterion: &mut Criterion) {
    let model = WordVectors::new(Layout::TwoTables, WORDS, DIMENSIONS).unwrap();
    let parameters = start(&model);
    let rows = model.rows(&parameters).unwrap();
    let words: Vec<[u32; 1]> = (0..WORDS as u32).map(|word| [word]).collect();
    let held: Vec<HeldOutSample<'_>> = (0..200_000_u32)
        .map(|place| HeldOutSample {
            inputs: &words[(place * 7 % 1000) as usize],
            positive: place * 31 % 997,
            weight: 1.0,
        })
        .collect();
    let expected = ExpectedLoss::new(&model, &[1.0; WORDS as usize], 8).unwrap();
    let mut group = criterion.benchmark_group("expected_loss");
    group.sample_size(10);
    group.bench_function("200000_pairs_1000_words", |bencher| {
        bencher.iter(|| expected.mean(&rows, &held).unwrap());
    });
}

fn rows(criterion: &mut Criterion) {
    let (mut left, right) = (vec![0.5_f32; DIMENSIONS], vec![0.25_f32; DIMENSIONS]);
    let mut group = criterion.benchmark_group("kernel_100");
    group.bench_function("dot", |bencher| {
        bencher.iter(|| kernels::dot(black_box(&left), black_box(&right)));
    });
    group.bench_function("add_scaled", |bencher| {
        bencher.iter(|| kernels::add_scaled(black_box(&mut left), 1e-9, black_box(&right)));
    });
}

criterion_group!(benches, samples, expected, rows);
criterion_main!(benches);
