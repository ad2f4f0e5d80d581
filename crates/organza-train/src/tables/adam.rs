//! Adam on every coordinate at every step.

use super::aligned::Aligned;
use super::resting::Resting;
use super::{BLOCKS_OF_A_THREAD, List, SavedTables, Storage, TableState, Upkeep, WEIGHTS, Weights};
use crate::optimizer::{Optimizer, Rule, Runs};
use organza_mechanism::{Noised, Shape};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use std::io;

/// Moments below this are set to zero: decaying ones would become denormal, and those are slow.
pub(crate) const SMALLEST: f32 = 1e-30;

/// Adam's constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AdamSettings {
    pub(crate) learning_rate: f32,
    pub(crate) beta1: f32,
    pub(crate) beta2: f32,
    pub(crate) epsilon: f32,
}

impl AdamSettings {
    pub(crate) fn beta1(&self) -> f64 {
        f64::from(self.beta1)
    }

    pub(crate) fn beta2(&self) -> f64 {
        f64::from(self.beta2)
    }

    /// b1 / sqrt(b2): what a move without gradient falls by from step to step.
    pub(crate) fn ratio(&self) -> f64 {
        self.beta1() / self.beta2().sqrt()
    }

    /// K = sqrt(1 - b2^u) / (1 - b1^u) and sqrt(1 - b2^u), the inverse of c, of step u, which counts from 1.
    pub(crate) fn corrections(&self, step: u64) -> (f64, f64) {
        let correction = |beta: f64| -f64::exp_m1(step as f64 * beta.ln());
        let inverse = correction(self.beta2()).sqrt();
        (inverse / correction(self.beta1()), inverse)
    }

    /// What step u, which counts from 1, does to each coordinate.
    pub(crate) fn step(self, step: u64) -> AdamStep {
        let (weight, inverse) = self.corrections(step);
        AdamStep {
            settings: self,
            step_size: (f64::from(self.learning_rate) * weight / inverse) as f32,
            root_correction: inverse.recip() as f32,
        }
    }
}

impl Rule for AdamSettings {
    fn can_rest(&self) -> bool {
        true
    }

    fn start(
        &self,
        shape: &Shape,
        upkeep: Upkeep,
        storage: Storage<'_>,
    ) -> io::Result<Box<dyn Optimizer>> {
        let resting = match upkeep {
            Upkeep::WhenRead => Resting::new(*self, shape, storage)?,
            _ => None,
        };
        Ok(match resting {
            Some(resting) => Box::new(resting),
            None => Box::new(Moments::new(*self, shape.coordinates() as usize)),
        })
    }
}

/// One step of Adam:
///
/// ```text
/// m <- b1 m + (1 - b1) g,   v <- b2 v + (1 - b2) g^2,   w <- w - lr / (1 - b1^u) m / (sqrt(v) c_u + eps).
/// ```
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdamStep {
    settings: AdamSettings,
    step_size: f32,
    root_correction: f32,
}

/// Some coordinates with their moments.
struct Coordinates<'a> {
    weights: &'a mut [f32],
    first: &'a mut [f32],
    second: &'a mut [f32],
}

impl Coordinates<'_> {
    fn part(&mut self, range: std::ops::Range<usize>) -> Coordinates<'_> {
        Coordinates {
            weights: &mut self.weights[range.clone()],
            first: &mut self.first[range.clone()],
            second: &mut self.second[range],
        }
    }
}

/// Where moments begin, in lines after a page: a third of one apart from each other and from the weights.
const MOMENTS: [usize; 2] = [21, 42];
/// How many coordinates are moved together where some have a gradient.
const STRETCH: usize = 256;

/// The gradient of a stretch of coordinates, zero where there is none. It begins at a multiple of its length:
/// vectors that begin anywhere lie across two lines of the cache, and cost twice as much.
#[repr(C, align(64))]
struct Stretch {
    gradient: [f32; STRETCH],
    start: usize,
}

/// The moments of all coordinates.
#[derive(Debug, PartialEq)]
pub(crate) struct Moments {
    pub(crate) settings: AdamSettings,
    pub(crate) first: Aligned<f32>,
    pub(crate) second: Aligned<f32>,
}

impl Moments {
    pub(crate) fn new(settings: AdamSettings, coordinates: usize) -> Self {
        let [first, second] = MOMENTS.map(|lines| Aligned::zeros(coordinates, lines));
        Self { settings, first, second }
    }
}

const FIRST: &str = "first_moment";
const SECOND: &str = "second_moment";

impl Optimizer for Moments {
    fn step(&mut self, weights: Weights<'_>, gradient: &mut Runs<'_>) {
        let adam = self.settings.step(weights.steps + 1);
        let (first, second) = (&mut self.first[..], &mut self.second[..]);
        let mut all = Coordinates { weights: weights.values, first, second };
        let end = all.weights.len();
        let mut stretch = Stretch { start: 0, gradient: [0.0; STRETCH] };
        gradient(&mut |first, mut gradient| {
            let mut first = first as usize;
            while !gradient.is_empty() {
                let start = first - first % STRETCH;
                if start > stretch.start {
                    let after = stretch.start + STRETCH;
                    adam.on(all.part(stretch.start..after), Some(&stretch.gradient));
                    adam.on(all.part(after..start), None);
                    stretch = Stretch { start, gradient: [0.0; STRETCH] };
                }
                let inside = first - start;
                let (now, later) = gradient.split_at(gradient.len().min(STRETCH - inside));
                stretch.gradient[inside..inside + now.len()].copy_from_slice(now);
                (first, gradient) = (first + now.len(), later);
            }
        });
        let after = end.min(stretch.start + STRETCH);
        adam.on(all.part(stretch.start..after), Some(&stretch.gradient));
        adam.on(all.part(after..end), None);
    }

    /// The noise of a dense release is drawn block by block on the way, each while it is in the cache, on all
    /// threads: the same bits for any number of them.
    fn step_dense(&mut self, weights: Weights<'_>, gradient: &Noised) {
        let adam = self.settings.step(weights.steps + 1);
        let size = Noised::BLOCK as usize;
        let blocks = weights
            .values
            .par_chunks_mut(size)
            .zip(self.first.par_chunks_mut(size))
            .zip(self.second.par_chunks_mut(size))
            .enumerate()
            .with_min_len(BLOCKS_OF_A_THREAD);
        blocks.for_each(|(block, ((weights, first), second))| {
            let mut block_of = Coordinates { weights, first, second };
            let start = block * size;
            gradient.block(block as u64, |coordinate, values| {
                let from = coordinate as usize - start;
                adam.on(block_of.part(from..from + values.len()), Some(values));
            });
        });
    }

    fn moves_all(&self) -> bool {
        true
    }

    fn state<'a>(&'a self, weights: &'a [f32]) -> Vec<TableState<'a>> {
        vec![
            (WEIGHTS, List::Floats(weights)),
            (FIRST, List::Floats(&self.first)),
            (SECOND, List::Floats(&self.second)),
        ]
    }

    fn resume(&mut self, shape: &Shape, _: u64, saved: &mut dyn SavedTables) -> Option<Vec<f32>> {
        let fits = |list: &Vec<f32>| list.len() as u64 == shape.coordinates();
        let [first, second] = MOMENTS;
        self.first = Aligned::new(saved.floats(FIRST).filter(fits)?, first);
        self.second = Aligned::new(saved.floats(SECOND).filter(fits)?, second);
        saved.floats(WEIGHTS)
    }
}

impl AdamStep {
    fn on(&self, coordinates: Coordinates<'_>, gradient: Option<&[f32]>) {
        if !coordinates.weights.is_empty() {
            Arch::new().dispatch(Kernel { step: *self, coordinates, gradient });
        }
    }
}

struct Kernel<'a> {
    step: AdamStep,
    coordinates: Coordinates<'a>,
    gradient: Option<&'a [f32]>,
}

impl WithSimd for Kernel<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { step, coordinates, gradient } = self;
        let AdamSettings { beta1, beta2, epsilon, .. } = step.settings;
        let Coordinates { weights, first, second } = coordinates;
        let flushed = |value: f32| if value.abs() < SMALLEST { 0.0 } else { value };
        let moments = first.iter_mut().zip(second.iter_mut());
        match gradient {
            Some(gradient) => {
                for ((weight, (first, second)), slope) in
                    weights.iter_mut().zip(moments).zip(gradient)
                {
                    *first = flushed(beta1 * *first + (1.0 - beta1) * slope);
                    *second = flushed(beta2 * *second + (1.0 - beta2) * (slope * slope));
                    let root = second.sqrt() * step.root_correction + epsilon;
                    *weight -= step.step_size * *first / root;
                }
            }
            None => {
                for (weight, (first, second)) in weights.iter_mut().zip(moments) {
                    *first = flushed(beta1 * *first);
                    *second = flushed(beta2 * *second);
                    let root = second.sqrt() * step.root_correction + epsilon;
                    *weight -= step.step_size * *first / root;
                }
            }
        }
    }
}
