//! What is made of a released gradient before it moves parameters.

use crate::run::RunPlan;
use crate::tables::Tables;
use crate::task::Task;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::{FlatRows, Noised, Purpose, RandomSource, ReadRows};

/// A post-processing of released gradients, such as a projection on directions that public data shows.
///
/// # Privacy
/// Of a run it is shown what was released and nothing else: gradients with their noise, and weights, which come of earlier
/// ones. So what it makes of them costs nothing, as long as whatever else it holds is public or was released too: whoever
/// makes one answers for that. The account is that of the steps without it.
pub trait Refinement: Send + Sync {
    /// Steps from one look at the weights to the next, at least one.
    fn every(&self) -> u64;

    /// Looks at the weights before a step. `random` is fresh, and no data has touched it.
    fn look(&mut self, weights: &dyn ReadRows, random: &mut PrivateRandom);

    /// Turns a released gradient into what parameters move by, given as all coordinates.
    fn refine(&self, gradient: &mut [f32]);
}

/// A refinement at work, with memory for a gradient.
pub(crate) struct Refiner {
    refinement: Box<dyn Refinement>,
    /// Steps are charged and saved in blocks of so many, and there is a look before each.
    block: u64,
    source: RandomSource,
    has_looked: bool,
    gradient: Vec<f32>,
}

impl Refiner {
    /// What the task makes of released gradients, if anything.
    pub(crate) fn of<T: Task + ?Sized>(
        task: &T,
        plan: &RunPlan,
        source: &RandomSource,
    ) -> Option<Self> {
        let refinement = task.refinement()?;
        let (block, source) = (plan.checkpoint_every, source.clone());
        Some(Self { refinement, block, source, has_looked: false, gradient: Vec::new() })
    }

    /// Whether there is a look at the weights before `step`. A run may stop there and nowhere else: what was seen of weights
    /// before it is not needed to go on, so the bits are the same.
    pub(crate) fn looks_at(&self, step: u64) -> bool {
        (step % self.block).is_multiple_of(self.refinement.every().max(1))
    }

    /// Moves the parameters by what becomes of the release of a step.
    pub(crate) fn apply(&mut self, released: &Noised, tables: &mut Tables) {
        let step = tables.steps();
        if !self.has_looked || self.looks_at(step) {
            let shape = tables.shape().clone();
            let mut random = self.source.step(Purpose::Public, step).shard(0);
            let mut reading = tables.read();
            self.refinement.look(&FlatRows::new(shape, reading.all()), &mut random);
            self.has_looked = true;
        }
        self.gradient.clear();
        self.gradient.resize(tables.coordinates(), 0.0);
        released.visit(|first, values| {
            let first = first as usize;
            self.gradient[first..first + values.len()].copy_from_slice(values);
        });
        self.refinement.refine(&mut self.gradient);
        tables.step(|visit| visit(0, &self.gradient));
    }
}

impl std::fmt::Debug for Refiner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Refiner(every {} steps)", self.refinement.every())
    }
}
