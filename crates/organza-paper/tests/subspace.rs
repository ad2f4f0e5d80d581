//! The projection on a public subspace, against a plain dense computation.
#![allow(clippy::unwrap_used)]

use faer::Mat;
use organza_mechanism::{FlatRows, Purpose, RandomSource, ReadRows, WriteRows};
use organza_paper::compared::{PublicSubspace, Subspace};
use organza_train::{Losses, Refinement, Task};

const ROWS: u64 = 9;
const WIDTH: u64 = 3;
const ALL: usize = (ROWS * WIDTH) as usize;

/// Samples whose gradients are given: a few rows each, times one plus the first weight.
#[derive(Clone)]
struct Given(Vec<Vec<(u32, [f32; 3])>>);

impl Given {
    /// Samples of three rows, one of them shared by all; the last repeats the first.
    fn new(samples: usize) -> Self {
        let mut random = RandomSource::from_seed(3).substream(Purpose::Data, 0, 0);
        let mut number = || organza_mechanism::sample::normal(&mut random) as f32;
        let mut row_of = |sample: usize, place: usize| {
            let row = if place == 0 { 0 } else { (sample * place + place) as u64 % ROWS };
            (row as u32, [number(), number(), number()])
        };
        let sample = |sample| (0..3).map(|place| row_of(sample, place)).collect();
        let mut samples: Vec<_> = (0..samples).map(sample).collect();
        let first: Option<Vec<(u32, [f32; 3])>> = samples.first().cloned();
        samples.extend(first);
        Self(samples)
    }
}

impl Task for Given {
    fn tables(&self) -> Vec<(u64, u64)> {
        vec![(ROWS, WIDTH)]
    }

    fn units(&self) -> u64 {
        self.0.len() as u64
    }

    fn gradient(&self, unit: u64, _: &[u32], weights: &dyn ReadRows, gradient: &mut dyn WriteRows) {
        let factor = 1.0 + weights.row(0)[0];
        for (row, values) in &self.0[unit as usize] {
            for (sum, value) in gradient.row(*row).iter_mut().zip(values) {
                *sum += factor * value;
            }
        }
    }

    fn evaluate(&self, _: &dyn ReadRows) -> Losses {
        Losses { train: 0.0, validation: 0.0, test: 0.0 }
    }
}

fn projected(given: &Given, dimensions: usize, gradient: &[f32]) -> Vec<f32> {
    let settings = PublicSubspace { samples: u64::MAX, dimensions, every: 1 };
    let mut subspace = Subspace::new(given.clone(), settings).unwrap();
    let mut random = RandomSource::from_seed(1).substream(Purpose::Public, 0, 0);
    let weights = vec![0.25; ALL];
    subspace.look(&FlatRows::new(given.shape().unwrap(), &weights), &mut random);
    let mut gradient = gradient.to_vec();
    subspace.refine(&mut gradient);
    gradient
}

/// The p x p second moment and its eigenvectors, without any trick.
fn densely(given: &Given, dimensions: usize, gradient: &[f32]) -> Vec<f64> {
    let mut moment = Mat::<f64>::zeros(ALL, ALL);
    for sample in &given.0 {
        let mut dense = vec![0.0; ALL];
        for (row, values) in sample {
            for (place, value) in values.iter().enumerate() {
                dense[*row as usize * 3 + place] += 1.25 * f64::from(*value);
            }
        }
        for row in 0..ALL {
            for column in 0..ALL {
                moment[(row, column)] += dense[row] * dense[column] / given.0.len() as f64;
            }
        }
    }
    let found = moment.self_adjoint_eigen(faer::Side::Lower).unwrap();
    let (values, vectors) = (found.S(), found.U());
    let mut projected = vec![0.0; ALL];
    for place in (0..ALL).rev().take(dimensions).filter(|place| values[*place] > 1e-8) {
        let along: f64 = (0..ALL).map(|row| vectors[(row, place)] * f64::from(gradient[row])).sum();
        (0..ALL).for_each(|row| projected[row] += along * vectors[(row, place)]);
    }
    projected
}

fn noisy() -> Vec<f32> {
    (0..ALL).map(|place| (place as f32 * 1.7).sin() * 3.0).collect()
}

fn close(one: &[f32], other: &[f64]) -> bool {
    one.iter().zip(other).all(|(one, other)| (f64::from(*one) - other).abs() < 1e-4)
}

#[test]
fn it_is_the_projection_on_the_leading_eigenvectors() {
    let given = Given::new(12);
    for dimensions in [1, 2, 5, 11, 12, 40] {
        let ours = projected(&given, dimensions, &noisy());
        assert!(close(&ours, &densely(&given, dimensions, &noisy())), "{dimensions}");
        // Projected again, it stays.
        let again = projected(&given, dimensions, &ours);
        assert!(close(&again, &ours.iter().map(|it| f64::from(*it)).collect::<Vec<_>>()));
    }
    // The check sees one direction more or less.
    let ours = projected(&given, 3, &noisy());
    assert!(!close(&ours, &densely(&given, 2, &noisy())));
    assert!(!close(&ours, &densely(&given, 4, &noisy())));
}

#[test]
fn without_directions_nothing_moves() {
    let mut given = Given::new(3);
    given.0.iter_mut().flatten().for_each(|(_, values)| *values = [0.0; 3]);
    assert_eq!(projected(&given, 5, &noisy()), [0.0; ALL]);
    given.0.iter_mut().flatten().for_each(|(_, values)| *values = [f32::NAN; 3]);
    assert_eq!(projected(&given, 5, &noisy()), [0.0; ALL]);
    given.0.clear();
    assert_eq!(projected(&given, 5, &noisy()), [0.0; ALL]);
}
