//! The tables of a model with what their optimizer knows, brought up to date when they are read.
//!
//! ```text
//! Tables ─read()─▶ Reading ─row(r), all()─▶ &[f32]     targets, contexts, negatives, evaluation, average
//!        ─apply(Noised), pay(TouchedRows)─▶ the next step
//!        ─into_parameters()─▶ Vec<f32>                  export
//! ```

mod adam;
mod aligned;
mod lent;
mod owed;
mod parts;
mod powers;
mod regions;
mod resting;
mod series;
mod state;
#[cfg(test)]
mod tests;
mod upkeep;

pub(crate) use adam::AdamSettings;
pub(crate) use state::{SavedTables, TableState};
pub use upkeep::Upkeep;
pub(crate) use upkeep::{deferred, defers};

use crate::optimizer::OptimizerSettings;
use adam::Moments;
use aligned::Aligned;
use organza_mechanism::{Noised, OwedNoise, Shape, TouchedRows};
use owed::Owed;
use rayon::prelude::*;
use resting::Resting;
use std::ops::Range;

/// Blocks of a dense release that are worth a thread of their own.
const BLOCKS_OF_A_THREAD: usize = 4;

/// The parameters of all tables, one table after another, and the state of their optimizer: a
/// post-processing of what was released.
///
/// There is no way to a value but through a [`Reading`], which brings it up to date first, and no way to
/// move one but by what was released.
#[derive(Debug)]
pub struct Tables {
    shape: Shape,
    steps: u64,
    weights: Aligned<f32>,
    kept: Kept,
    /// The rows that are read together, in memory that is used again.
    asked: Vec<Vec<u32>>,
}

/// How the weights are kept.
#[derive(Debug)]
enum Kept {
    /// Moved by the gradient alone.
    Sgd { learning_rate: f32 },
    /// Every coordinate is moved at every step.
    Adam(Moments),
    /// Coordinates are kept at their resting places.
    Resting(Box<Resting>),
    /// Rows owe noise, and weights are whole numbers unless they are read.
    Owed(Box<Owed>),
}

impl Tables {
    /// Fresh tables of this shape. Those that cannot be kept as `upkeep` says (Adam cannot owe noise; decays
    /// that never die out have no resting place) are kept up to date at every step, which is a function
    /// of the settings alone.
    pub fn new(
        shape: Shape,
        optimizer: OptimizerSettings,
        upkeep: Upkeep,
        initial: Vec<f32>,
    ) -> Option<Self> {
        let coordinates = shape.coordinates() as usize;
        if initial.len() != coordinates {
            return None;
        }
        let mut weights = Aligned::new(initial, 0);
        let kept = match (optimizer, optimizer.adam_settings(), upkeep) {
            (_, Some(adam), Upkeep::WhenRead) => match Resting::new(adam, &shape) {
                Some(resting) => Kept::Resting(Box::new(resting)),
                None => Kept::Adam(Moments::new(adam, coordinates)),
            },
            (_, Some(adam), _) => Kept::Adam(Moments::new(adam, coordinates)),
            (OptimizerSettings::Sgd { learning_rate }, _, Upkeep::Owed(noise)) => {
                Kept::Owed(Box::new(Owed::new(learning_rate, noise, &shape, &mut weights)))
            }
            (OptimizerSettings::Sgd { learning_rate }, ..) => Kept::Sgd { learning_rate },
            (OptimizerSettings::Adam { .. }, None, _) => return None,
        };
        Some(Self { shape, steps: 0, weights, kept, asked: Vec::new() })
    }

    /// The steps that were made.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The number of parameters.
    pub fn coordinates(&self) -> usize {
        self.weights.len()
    }

    /// Opens the tables for reading.
    pub fn read(&mut self) -> Reading<'_> {
        self.give_back();
        Reading { tables: self }
    }

    /// Ends a reading: nothing is lent any more, also if whoever read has forgotten to say so.
    fn give_back(&mut self) {
        let Self { shape, weights, kept, .. } = self;
        match kept {
            Kept::Sgd { .. } | Kept::Adam(_) => {}
            Kept::Resting(resting) => resting.give_back(shape, weights),
            Kept::Owed(owed) => owed.give_back(shape, weights),
        }
    }

    /// The largest weight that there can be, where weights are whole numbers.
    pub fn farthest(&self) -> Option<f64> {
        match &self.kept {
            Kept::Owed(owed) => Some(owed.farthest()),
            _ => None,
        }
    }

    /// What may be left for later, if these tables owe noise.
    pub fn owed_noise(&self) -> Option<&OwedNoise> {
        match &self.kept {
            Kept::Owed(owed) => Some(owed.noise()),
            _ => None,
        }
    }

    /// Moves the parameters by one private gradient.
    pub fn apply(&mut self, gradient: &Noised) {
        match &mut self.kept {
            Kept::Adam(moments) if gradient.blocks() > 1 => {
                self.steps += 1;
                moments.step_dense(self.steps, &mut self.weights, gradient);
            }
            Kept::Sgd { learning_rate } if gradient.blocks() > 1 => {
                self.steps += 1;
                descend_dense(*learning_rate, &mut self.weights, gradient);
            }
            _ => self.step(|visit| gradient.visit(visit)),
        }
    }

    /// Moves the parameters by one private gradient, of which the rows that nobody touched owe the noise.
    pub fn pay(&mut self, touched: TouchedRows) {
        self.give_back();
        if let Kept::Owed(owed) = &mut self.kept {
            owed.pay(&self.shape, &mut self.weights, self.steps, touched);
            self.steps += 1;
        }
    }

    /// Whether [`Tables::step`] takes runs in ascending order only.
    pub(crate) fn take_ascending_runs(&self) -> bool {
        !matches!(self.kept, Kept::Sgd { .. })
    }

    /// Moves the parameters by a gradient given as runs of coordinates, in ascending order where that matters.
    pub(crate) fn step(&mut self, runs: impl FnOnce(&mut dyn FnMut(u64, &[f32]))) {
        self.steps += 1;
        let (steps, weights) = (self.steps, &mut self.weights[..]);
        match &mut self.kept {
            Kept::Adam(moments) => moments.step(steps, weights, runs),
            Kept::Resting(resting) => resting.step(&self.shape, steps, weights, runs),
            Kept::Sgd { learning_rate } => descend(*learning_rate, weights, runs),
            Kept::Owed(_) => unreachable!("tables that owe noise take touched rows"),
        }
    }

    /// The parameters, all up to date.
    pub fn into_parameters(mut self) -> Vec<f32> {
        self.give_back();
        match self.kept {
            Kept::Sgd { .. } | Kept::Adam(_) => {}
            Kept::Resting(resting) => resting.finish(&self.shape, &mut self.weights, self.steps),
            Kept::Owed(owed) => owed.finish(&self.shape, &mut self.weights, self.steps),
        }
        self.weights.into_values()
    }
}

/// Where the values of `row` stand: nowhere, beyond the last row.
fn place_of(shape: &Shape, row: u32) -> Range<usize> {
    shape.row(row).map_or(0..0, |(first, length)| first as usize..first as usize + length)
}

fn descend(
    learning_rate: f32,
    weights: &mut [f32],
    runs: impl FnOnce(&mut dyn FnMut(u64, &[f32])),
) {
    runs(&mut |first, gradient| {
        let first = first as usize;
        let targets = weights[first..first + gradient.len()].iter_mut();
        targets.zip(gradient).for_each(|(weight, slope)| *weight -= learning_rate * slope);
    });
}

/// As [`descend`], with the noise of a dense release drawn block by block on all threads.
fn descend_dense(learning_rate: f32, weights: &mut [f32], gradient: &Noised) {
    let size = Noised::BLOCK as usize;
    let blocks = weights.par_chunks_mut(size).enumerate().with_min_len(BLOCKS_OF_A_THREAD);
    blocks.for_each(|(block, weights)| {
        let start = (block * size) as u64;
        gradient.block(block as u64, |first, values| {
            descend(learning_rate, weights, |visit| visit(first - start, values));
        });
    });
}

/// The parameters of tables, of which the rows that were asked for are up to date.
#[derive(Debug)]
pub struct Reading<'a> {
    tables: &'a mut Tables,
}

impl Reading<'_> {
    /// Whether rows have to be asked for.
    pub fn asks(&self) -> bool {
        matches!(self.tables.kept, Kept::Resting(_) | Kept::Owed(_))
    }

    /// Brings `row` up to date; nothing if it is already.
    pub fn row(&mut self, row: u32) {
        self.rows(std::iter::once(row));
    }

    /// Brings the rows up to date that `ask` pushes, which is called for each of the numbers below `parts`, on
    /// all threads; everything if it answers false.
    pub fn ask(&mut self, parts: usize, ask: impl Fn(usize, &mut Vec<u32>) -> bool + Sync) {
        let mut asked = std::mem::take(&mut self.tables.asked);
        asked.resize(parts.max(asked.len()), Vec::new());
        let lists = &mut asked[..parts];
        lists.iter_mut().for_each(Vec::clear);
        let told = match lists {
            [] => true,
            [list] => ask(0, list),
            lists => lists
                .par_iter_mut()
                .enumerate()
                .map(|(part, list)| ask(part, list))
                .reduce(|| true, |one, other| one && other),
        };
        if told {
            self.rows(asked[..parts].iter().flatten().copied());
        } else {
            self.all();
        }
        self.tables.asked = asked;
    }

    /// Brings `rows` up to date, on all threads if they are many: the same bits in any order.
    pub fn rows(&mut self, rows: impl Iterator<Item = u32> + Clone + Send + Sync) {
        let Tables { shape, steps, weights, kept, .. } = &mut *self.tables;
        match kept {
            Kept::Sgd { .. } | Kept::Adam(_) => {}
            Kept::Resting(resting) => resting.lend(shape, weights, *steps, rows),
            Kept::Owed(owed) => owed.lend(shape, weights, *steps, rows),
        }
    }

    /// Brings all rows up to date.
    ///
    /// # Privacy
    /// Only at scheduled steps, or because of what was released: never because of what the data was.
    pub fn all(&mut self) {
        let Tables { shape, steps, weights, kept, .. } = &mut *self.tables;
        match kept {
            Kept::Sgd { .. } | Kept::Adam(_) => {}
            Kept::Resting(resting) => resting.lend_all(shape, weights, *steps),
            Kept::Owed(owed) => owed.lend_all(shape, weights, *steps),
        }
    }
}

impl std::ops::Deref for Reading<'_> {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.tables.weights
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.tables.give_back();
    }
}
