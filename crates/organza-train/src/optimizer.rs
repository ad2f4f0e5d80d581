//! Optimizers: their settings, the table of those that there are, and what each does to the weights.
//!
//! A new one is a file beside `tables/adagrad.rs` with an [`Optimizer`] and its [`Rule`], a variant of
//! [`OptimizerSettings`] with its arms, and a line in `OptimizerSettings::TABLE`.

use crate::tables::{
    AdagradSettings, AdamSettings, List, Projection, RowRequest, SavedTables, Sgd, Standing,
    Storage, TableState, Upkeep, WEIGHTS, Weights,
};
use organza_mechanism::{Noised, OwedNoise, Shape, TouchedRows};
use serde::{Deserialize, Serialize};
use std::io;
use std::ops::Range;
use thiserror::Error;

/// Which optimizer, with which constants. It works on gradients that are private already.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum OptimizerSettings {
    /// Plain gradient descent.
    Sgd {
        /// The step size.
        learning_rate: f32,
    },
    /// Adam (Kingma and Ba 2015), with PyTorch's conventions and dense semantics: the moments of all
    /// coordinates decay at every step, and all coordinates move, whether or not they were selected.
    Adam {
        /// The step size.
        learning_rate: f32,
        /// The decay of the first moment.
        beta1: f32,
        /// The decay of the second moment.
        beta2: f32,
        /// What keeps the division finite.
        epsilon: f32,
    },
    /// Adagrad (Duchi, Hazan and Singer 2011), with PyTorch's conventions: coordinates that get a gradient often
    /// move less.
    Adagrad {
        /// The step size.
        learning_rate: f32,
        /// What keeps the division finite.
        epsilon: f32,
    },
    /// Gradient descent on weights that shrink, stay in a set and are averaged.
    Projected(Projection),
}

/// The usual constants of an optimizer at a learning rate.
type AtRate = fn(f32) -> OptimizerSettings;

impl OptimizerSettings {
    /// All optimizers that a user names: the name of each, and its usual constants at a learning rate.
    const TABLE: [(&str, AtRate); 3] = [
        ("adam", Self::adam),
        ("adagrad", |learning_rate| Self::Adagrad { learning_rate, epsilon: 1e-10 }),
        ("sgd", |learning_rate| Self::Sgd { learning_rate }),
    ];

    /// Adam with its usual decays.
    pub fn adam(learning_rate: f32) -> Self {
        Self::Adam { learning_rate, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }

    /// Its name in the table, if it has one.
    pub fn name(self) -> Option<OptimizerName> {
        let is_this = |other: Self| std::mem::discriminant(&other) == std::mem::discriminant(&self);
        let place = Self::TABLE.iter().position(|(_, with)| is_this(with(0.0)));
        place.map(OptimizerName)
    }

    /// The step size.
    pub fn learning_rate(mut self) -> f32 {
        *self.rate()
    }

    /// The same optimizer with another step size.
    pub fn with_learning_rate(mut self, rate: f32) -> Self {
        *self.rate() = rate;
        self
    }

    fn rate(&mut self) -> &mut f32 {
        match self {
            Self::Sgd { learning_rate }
            | Self::Adam { learning_rate, .. }
            | Self::Adagrad { learning_rate, .. }
            | Self::Projected(Projection { learning_rate, .. }) => learning_rate,
        }
    }

    /// Whether noise on rows that no unit touched may be left for later with it, which costs a part of delta.
    pub fn can_defer(self) -> bool {
        self.rule().can_owe()
    }

    /// What these settings stand for.
    pub(crate) fn rule(self) -> Box<dyn Rule> {
        match self {
            Self::Sgd { learning_rate } => Box::new(Sgd { learning_rate }),
            Self::Adam { learning_rate, beta1, beta2, epsilon } => {
                Box::new(AdamSettings { learning_rate, beta1, beta2, epsilon })
            }
            Self::Adagrad { learning_rate, epsilon } => {
                Box::new(AdagradSettings { learning_rate, epsilon })
            }
            Self::Projected(projection) => Box::new(projection),
        }
    }
}

/// A name that no optimizer has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no optimizer {0}")]
pub struct UnknownOptimizer(String);

/// The name of an optimizer, by its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub struct OptimizerName(usize);

impl OptimizerName {
    /// Adam.
    pub const ADAM: Self = Self(0);
    /// Plain gradient descent.
    pub const SGD: Self = Self(2);

    /// All names.
    pub fn all() -> impl Iterator<Item = &'static str> {
        OptimizerSettings::TABLE.iter().map(|(name, _)| *name)
    }

    /// The optimizer with its usual constants at a learning rate.
    pub fn at(self, learning_rate: f32) -> OptimizerSettings {
        OptimizerSettings::TABLE[self.0].1(learning_rate)
    }
}

impl From<OptimizerName> for &'static str {
    fn from(name: OptimizerName) -> Self {
        OptimizerSettings::TABLE[name.0].0
    }
}

impl TryFrom<String> for OptimizerName {
    type Error = UnknownOptimizer;

    fn try_from(name: String) -> Result<Self, UnknownOptimizer> {
        let place = Self::all().position(|it| it == name);
        place.map(Self).ok_or(UnknownOptimizer(name))
    }
}

impl std::fmt::Display for OptimizerName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str((*self).into())
    }
}

/// The settings of an optimizer, which make it.
pub(crate) trait Rule {
    /// Whether it can keep coordinates in a form that is brought up to date when it is read ([`Upkeep::WhenRead`]).
    fn can_rest(&self) -> bool {
        false
    }

    /// Whether its tables can leave noise for later ([`Upkeep::Owed`]): it must move a weight by a multiple of the gradient
    /// of the step and by nothing else, as [`OwedNoise`] asks.
    fn can_owe(&self) -> bool {
        false
    }

    /// The optimizer of fresh tables, which keeps what it knows of each coordinate in `storage`. What cannot be kept as `upkeep`
    /// says is kept up to date at every step, which is a function of the settings alone.
    ///
    /// # Errors
    /// Whatever the disk says.
    fn start(
        &self,
        shape: &Shape,
        upkeep: Upkeep,
        storage: Storage<'_>,
    ) -> io::Result<Box<dyn Optimizer>>;
}

/// Runs of coordinates with their gradient: a function that calls what it is given with each.
pub(crate) type Runs<'a> = dyn FnMut(&mut dyn FnMut(u64, &[f32])) + 'a;

/// What moves the weights of tables, with all that it remembers.
///
/// # Privacy
/// It sees released values and steps alone, so all that it does is a post-processing. One that leaves work for later
/// ([`Optimizer::lend`]) must make a row that is read the same bits whatever was read before: see
/// `tables/resting.rs` and `tables/owed.rs`, which say why.
pub(crate) trait Optimizer: std::fmt::Debug + Send + Sync {
    /// Takes first weights before the first step, and may put them into a form of its own: one piece after another, unless it
    /// [moves all](Optimizer::moves_all).
    fn begin(&mut self, _first: &mut [f32]) {}

    /// Whether steps move weights that got no gradient, so that each costs the whole width.
    fn moves_all(&self) -> bool {
        false
    }

    /// Has a disk fetch what is kept of these coordinates beside their weights.
    fn fetch(&mut self, _shape: &Shape, _places: &mut dyn Iterator<Item = Range<usize>>) {}

    /// Moves the weights by a gradient that is zero outside its runs.
    fn step(&mut self, weights: Weights<'_>, gradient: &mut Runs<'_>);

    /// The same with a release of several blocks on every coordinate, which may be drawn on all threads.
    fn step_dense(&mut self, weights: Weights<'_>, gradient: &Noised) {
        self.step(weights, &mut |visit| gradient.visit(visit));
    }

    /// Whether runs have to ascend.
    fn takes_ascending_runs(&self) -> bool {
        true
    }

    /// All that makes up the state, the weights included, as lists to be written as they are.
    fn state<'a>(&'a self, weights: &'a [f32]) -> Vec<TableState<'a>> {
        vec![(WEIGHTS, List::Floats(weights))]
    }

    /// Puts the state after `steps` steps in place and returns the weights; `None` if it does not fit.
    fn resume(
        &mut self,
        _shape: &Shape,
        _steps: u64,
        saved: &mut dyn SavedTables,
    ) -> Option<Vec<f32>> {
        saved.floats(WEIGHTS)
    }

    /// What may be left for later, for tables that owe noise; those take touched rows instead of steps.
    fn owed_noise(&self) -> Option<&OwedNoise> {
        None
    }

    /// Moves the touched rows by the release of a step; all others owe its noise.
    fn pay(&mut self, _weights: Weights<'_>, _touched: TouchedRows) {}

    /// The largest weight that there can be, where there is one.
    fn farthest(&self) -> Option<f64> {
        None
    }

    /// Which rows stand in the table as what they are worth; `None` if all always do, and then nothing below is called.
    fn standing(&self, _steps: u64) -> Option<Standing<'_>> {
        None
    }

    /// Puts what rows are worth into their places in the table, until they are given back.
    fn lend(&mut self, _weights: Weights<'_>, _rows: RowRequest<'_>) {}

    /// Ends all lending; `late` are the rows that were read by their [`Optimizer::value`].
    fn give_back(&mut self, _weights: Weights<'_>, _late: &[u32]) {}

    /// What a row that does not stand in the table is worth: the bits that lending would put there.
    fn value(&self, shape: &Shape, steps: u64, weights: &[f32], row: u32) -> Vec<f32> {
        let _ = steps;
        weights[shape.range(row)].to_vec()
    }

    /// Turns all rows into what they are worth, for good.
    fn finish(&mut self, _weights: Weights<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_optimizer_has_its_name_and_its_rate() {
        for name in OptimizerName::all() {
            let named = OptimizerName::try_from(name.to_owned()).expect("a name of the table");
            let settings = named.at(0.25);
            assert_eq!((settings.name(), settings.learning_rate()), (Some(named), 0.25));
            assert_eq!(settings.with_learning_rate(0.5), named.at(0.5));
            let json = serde_json::to_value(settings).expect("settings are JSON");
            assert_eq!(json["kind"], name);
        }
        assert_eq!(OptimizerName::ADAM.to_string(), "adam");
        assert_eq!(OptimizerName::SGD.to_string(), "sgd");
        assert!(OptimizerName::try_from("newton".to_owned()).is_err());
    }
}
