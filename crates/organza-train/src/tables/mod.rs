//! The tables of a model with what their optimizer knows, brought up to date when they are read.
//!
//! ```text
//! Tables ─read()─▶ Reading ─rows()─▶ SettledRows ─row(r)─▶ &[f32]     targets, contexts, negatives
//!                          ─all()──▶ &[f32]                           evaluation, average
//!        ─apply(Noised), pay(TouchedRows)─▶ the next step
//!        ─into_parameters()─▶ Vec<f32>                                export
//! ```

mod adagrad;
mod adam;
mod aligned;
mod lent;
mod owed;
mod parts;
mod powers;
mod projected;
mod reading;
mod regions;
mod resting;
mod series;
mod sgd;
mod state;
#[cfg(test)]
mod tests;
mod upkeep;

pub(crate) use adagrad::AdagradSettings;
pub(crate) use adam::AdamSettings;
pub use projected::{Constraint, Projection};
pub(crate) use reading::Reading;
pub(crate) use reading::{RowRequest, Standing, UnitDraws};
pub(crate) use sgd::Sgd;
pub(crate) use state::{List, SavedTables, TableState, WEIGHTS};
pub(crate) use upkeep::Upkeep;
pub(crate) use upkeep::{deferred, defers};

use crate::optimizer::{Optimizer, OptimizerSettings};
use crate::refinement::Refiner;
use aligned::Aligned;
use lent::LENT;
use organza_mechanism::{Noised, OwedNoise, Shape, TouchedRows};
use reading::Late;

/// Blocks of a dense release that are worth a thread of their own.
const BLOCKS_OF_A_THREAD: usize = 4;

/// The parameters of all tables, one table after another, and the state of their optimizer: a
/// post-processing of what was released.
///
/// There is no way to a value but through a [`Reading`], which brings it up to date first, and no way to
/// move one but by what was released.
#[derive(Debug)]
pub(crate) struct Tables {
    shape: Shape,
    steps: u64,
    weights: Aligned<f32>,
    optimizer: Box<dyn Optimizer>,
    /// The draws of units that are read together, in memory that is used again.
    asked: Vec<UnitDraws>,
    /// Rows that were read without having been asked for.
    late: Late,
    /// What is made of released gradients.
    refiner: Option<Refiner>,
}

/// The weights of tables in a step.
pub(crate) struct Weights<'a> {
    pub(crate) shape: &'a Shape,
    /// The steps that were made before.
    pub(crate) steps: u64,
    pub(crate) values: &'a mut [f32],
}

impl Tables {
    /// Fresh tables of this shape; `None` if the first weights do not fit it. Those that cannot be kept as `upkeep` says
    /// (Adam cannot owe noise; decays that never die out have no resting place) are kept up to date at every step, which
    /// is a function of the settings alone.
    pub(crate) fn new(
        shape: Shape,
        optimizer: OptimizerSettings,
        upkeep: Upkeep,
        initial: Vec<f32>,
    ) -> Option<Self> {
        if initial.len() as u64 != shape.coordinates() {
            return None;
        }
        let mut weights = Aligned::new(initial, 0);
        let optimizer = optimizer.rule().start(&shape, upkeep, &mut weights);
        let (asked, late) = (Vec::new(), Late::default());
        Some(Self { shape, steps: 0, weights, optimizer, asked, late, refiner: None })
    }

    /// The steps that were made.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Which tables there are.
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The number of parameters.
    pub(crate) fn coordinates(&self) -> usize {
        self.weights.len()
    }

    /// Whether rows wait until they are read, so that it pays to ask for them.
    pub(crate) fn wait(&self) -> bool {
        self.optimizer.standing(self.steps).is_some()
    }

    /// Opens the tables for reading.
    pub(crate) fn read(&mut self) -> Reading<'_> {
        self.give_back();
        Reading::new(self)
    }

    /// The largest weight that there can be, where weights are whole numbers.
    pub(crate) fn farthest(&self) -> Option<f64> {
        self.optimizer.farthest()
    }

    /// What may be left for later, if these tables owe noise.
    pub(crate) fn owed_noise(&self) -> Option<&OwedNoise> {
        self.optimizer.owed_noise()
    }

    /// Makes something of every private gradient before it moves the parameters.
    pub(crate) fn refine(&mut self, refiner: Option<Refiner>) {
        self.refiner = refiner;
    }

    /// Whether a run may stop here and go on with the same bits.
    pub(crate) fn may_rest(&self) -> bool {
        self.refiner.as_ref().is_none_or(|refiner| refiner.looks_at(self.steps))
    }

    /// Moves the parameters by one private gradient.
    pub(crate) fn apply(&mut self, gradient: &Noised) {
        if let Some(mut refiner) = self.refiner.take() {
            refiner.apply(gradient, self);
            self.refiner = Some(refiner);
            return;
        }
        if gradient.blocks() > 1 {
            self.make_step(|optimizer, weights| optimizer.step_dense(weights, gradient));
        } else {
            self.step(|visit| gradient.visit(visit));
        }
    }

    /// Moves the parameters by one private gradient, of which the rows that nobody touched owe the noise.
    pub(crate) fn pay(&mut self, touched: TouchedRows) {
        self.make_step(|optimizer, weights| optimizer.pay(weights, touched));
    }

    /// Whether [`Tables::step`] takes runs in ascending order only.
    pub(crate) fn take_ascending_runs(&self) -> bool {
        self.optimizer.takes_ascending_runs()
    }

    /// Moves the parameters by a gradient given as runs of coordinates, in ascending order where that matters.
    pub(crate) fn step(&mut self, mut runs: impl FnMut(&mut dyn FnMut(u64, &[f32]))) {
        self.make_step(|optimizer, weights| optimizer.step(weights, &mut runs));
    }

    /// The parameters, all up to date.
    pub(crate) fn into_parameters(mut self) -> Vec<f32> {
        self.give_back();
        let (weights, optimizer) = self.parts();
        optimizer.finish(weights);
        self.weights.into_values()
    }

    fn make_step(&mut self, step: impl FnOnce(&mut dyn Optimizer, Weights<'_>)) {
        self.give_back();
        let (weights, optimizer) = self.parts();
        step(optimizer, weights);
        self.steps += 1;
    }

    /// Ends a reading: nothing is lent any more, also if whoever read has forgotten to say so.
    fn give_back(&mut self) {
        let late = self.late.take();
        let (weights, optimizer) = self.parts();
        optimizer.give_back(weights, &late);
    }

    fn parts(&mut self) -> (Weights<'_>, &mut dyn Optimizer) {
        let Self { shape, steps, weights, optimizer, .. } = self;
        (Weights { shape, steps: *steps, values: weights }, &mut **optimizer)
    }
}
