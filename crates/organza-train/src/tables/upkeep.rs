//! When coordinates are brought up to date: a choice that settings make, never the data.

use super::owed::has_room;
use super::resting::MOST_STEPS;
use crate::optimizer::OptimizerSettings;
use organza_mechanism::{By, Deferral, DeferredGrid, OwedNoise, Plan, Sampler, Shape};

/// How many rows a unit is taken to read; a pair with eight negatives has ten.
const ROWS_OF_A_UNIT: f64 = 16.0;
/// Tables up to this size are kept up to date faster than they are asked about.
const SMALL: u64 = 1 << 14;
/// A coordinate that is read and moved costs as much as so many that are kept up to date in passing.
const PRICE: f64 = 2.0;

/// When coordinates are brought up to date.
#[derive(Clone, Debug)]
pub(crate) enum Upkeep {
    /// All of them at every step.
    EveryStep,
    /// When they are read.
    WhenRead,
    /// When they are read, with the noise that they owe (plain gradient descent, noise on everything).
    Owed(OwedNoise),
}

impl Upkeep {
    /// What is cheaper to expect, for a private run; `owed` is the right to leave noise for later, where that was
    /// paid for.
    ///
    /// # Privacy
    /// It depends on settings alone.
    pub(crate) fn of_private(
        plan: &Plan,
        optimizer: OptimizerSettings,
        steps: u64,
        owed: Option<OwedNoise>,
    ) -> Self {
        if let Some(owed) = owed {
            return Self::Owed(owed);
        }
        let settings = plan.settings();
        let read = read(&settings.shape, settings.expected_batch);
        let moved = plan.most_selected() as f64;
        Self::when_read(optimizer, &settings.shape, steps, PRICE * (read + moved))
    }

    /// What is cheaper to expect, for a run without privacy.
    pub(crate) fn of_plain(
        shape: &Shape,
        expected_batch: f64,
        optimizer: OptimizerSettings,
        steps: u64,
    ) -> Self {
        // What is read gets a gradient, so it is moved as well.
        let cost = PRICE * 2.0 * read(shape, expected_batch);
        Self::when_read(optimizer, shape, steps, cost)
    }

    /// When they are read, if the optimizer can do so and it costs less than all coordinates.
    fn when_read(optimizer: OptimizerSettings, shape: &Shape, steps: u64, cost: f64) -> Self {
        let pays = is_wide(shape, steps) && cost < shape.coordinates() as f64;
        if pays && optimizer.rule().can_rest() { Self::WhenRead } else { Self::EveryStep }
    }
}

/// How many coordinates a batch is taken to read.
fn read(shape: &Shape, expected_batch: f64) -> f64 {
    let dense = shape.coordinates() - shape.candidates(By::Coordinate);
    expected_batch * ROWS_OF_A_UNIT * shape.widest() as f64 + dense as f64
}

fn is_wide(shape: &Shape, steps: u64) -> bool {
    shape.coordinates() > SMALL && steps <= MOST_STEPS
}

/// Whether leaving noise for later pays, where it may be. (The average of weights would need (weight, running sum) drawn
/// together.)
pub(crate) fn defers(shape: &Shape, expected_batch: f64, steps: u64) -> bool {
    is_wide(shape, steps) && PRICE * read(shape, expected_batch) < shape.coordinates() as f64
}

/// Leave to defer noise on this grid, if the table's numbers have room for the weights.
///
/// # Privacy
/// It depends on settings, and on how large first weights are, which were drawn by chance or released.
pub(crate) fn deferred(
    sampler: &Sampler,
    grid: &DeferredGrid,
    optimizer: OptimizerSettings,
    largest: f32,
) -> Option<Deferral> {
    let deferral = sampler.defer(grid).filter(|_| optimizer.rule().can_owe())?;
    has_room(optimizer.learning_rate(), deferral.unit(), largest).then_some(deferral)
}
