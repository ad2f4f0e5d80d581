//! When coordinates are brought up to date: a choice that settings make, never the data.

use super::resting::MOST_STEPS;
use crate::optimizer::OptimizerSettings;
use organza_mechanism::{By, OwedNoise, Plan, PoissonSampler, SelectionSettings, Shape};

/// How many rows a unit is taken to read; a pair with eight negatives has ten.
const ROWS_OF_A_UNIT: f64 = 16.0;
/// Tables up to this size are kept up to date faster than they are asked about.
const SMALL: u64 = 1 << 14;
/// A coordinate that is read and moved costs as much as so many that are kept up to date in passing.
const PRICE: f64 = 2.0;

/// When coordinates are brought up to date.
#[derive(Clone, Debug)]
pub enum Upkeep {
    /// All of them at every step.
    EveryStep,
    /// When they are read (Adam).
    WhenRead,
    /// When they are read, with the noise that they owe (plain gradient descent, noise on everything).
    Owed(OwedNoise),
}

impl Upkeep {
    /// What is cheaper to expect, for a private run.
    ///
    /// # Privacy
    /// It depends on settings alone.
    pub fn of_private(
        plan: &Plan,
        sampler: &PoissonSampler,
        optimizer: OptimizerSettings,
        average: bool,
        steps: u64,
    ) -> Self {
        let settings = plan.settings();
        let (shape, batch) = (&settings.shape, settings.expected_batch);
        let (coordinates, widest) = (shape.coordinates(), shape.widest() as f64);
        let read = batch * ROWS_OF_A_UNIT * widest;
        let moved = match settings.selection {
            SelectionSettings::Everything => coordinates as f64,
            SelectionSettings::Exponential { by, draws, .. }
            | SelectionSettings::SparseVector { by, hits: draws, .. }
            | SelectionSettings::NoisyMax { by, draws, .. }
            | SelectionSettings::Uniform { by, draws } => {
                draws as f64 * if by == By::Row { widest } else { 1.0 }
            }
            SelectionSettings::LimitedDomain { draws, .. } => draws as f64 * widest,
        };
        let wide = coordinates > SMALL && steps <= MOST_STEPS;
        match optimizer {
            OptimizerSettings::Adam { .. }
                if wide && PRICE * (read + moved) < coordinates as f64 =>
            {
                Self::WhenRead
            }
            // The average of weights would need (weight, running sum) drawn together.
            OptimizerSettings::Sgd { .. }
                if wide && !average && PRICE * read < coordinates as f64 =>
            {
                sampler.owed_noise().map_or(Self::EveryStep, Self::Owed)
            }
            _ => Self::EveryStep,
        }
    }

    /// What is cheaper to expect, for a run without privacy.
    pub fn of_plain(
        shape: &Shape,
        expected_batch: f64,
        optimizer: OptimizerSettings,
        steps: u64,
    ) -> Self {
        let coordinates = shape.coordinates();
        let read = expected_batch * ROWS_OF_A_UNIT * shape.widest() as f64;
        let wide = coordinates > SMALL && steps <= MOST_STEPS;
        match optimizer {
            // What is read gets a gradient, so it is moved as well.
            OptimizerSettings::Adam { .. } if wide && PRICE * 2.0 * read < coordinates as f64 => {
                Self::WhenRead
            }
            _ => Self::EveryStep,
        }
    }
}
