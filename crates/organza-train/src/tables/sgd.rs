//! Plain gradient descent: w <- w - rate g.

use super::owed::Owed;
use super::{BLOCKS_OF_A_THREAD, Storage, Upkeep, Weights};
use crate::optimizer::{Optimizer, Rule, Runs};
use organza_mechanism::{Noised, Shape};
use rayon::prelude::*;
use std::io;

/// Plain gradient descent: its settings are all of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sgd {
    pub(crate) learning_rate: f32,
}

impl Rule for Sgd {
    fn can_owe(&self) -> bool {
        true
    }

    fn start(
        &self,
        shape: &Shape,
        upkeep: Upkeep,
        _: Storage<'_>,
    ) -> io::Result<Box<dyn Optimizer>> {
        Ok(match upkeep {
            Upkeep::Owed(noise) => Box::new(Owed::new(self.learning_rate, noise, shape)),
            _ => Box::new(*self),
        })
    }
}

impl Sgd {
    fn on(self, weights: &mut [f32], gradient: &[f32]) {
        let rate = self.learning_rate;
        weights.iter_mut().zip(gradient).for_each(|(weight, slope)| *weight -= rate * slope);
    }
}

impl Optimizer for Sgd {
    fn step(&mut self, weights: Weights<'_>, gradient: &mut Runs<'_>) {
        gradient(&mut |first, gradient| {
            let first = first as usize;
            self.on(&mut weights.values[first..first + gradient.len()], gradient);
        });
    }

    /// Blocks are drawn on all threads, and are the same bits on any number of them.
    fn step_dense(&mut self, weights: Weights<'_>, gradient: &Noised) {
        let (rule, size) = (*self, Noised::BLOCK as usize);
        let blocks =
            weights.values.par_chunks_mut(size).enumerate().with_min_len(BLOCKS_OF_A_THREAD);
        blocks.for_each(|(block, weights)| {
            let start = (block * size) as u64;
            gradient.block(block as u64, |first, values| {
                rule.on(&mut weights[(first - start) as usize..], values);
            });
        });
    }

    fn takes_ascending_runs(&self) -> bool {
        false
    }
}
