//! Descent on private gradients: the paper's Algorithm 2, and Algorithm 3 for linear models.

use crate::design::Design;
use crate::groups::Groups;
use crate::loss::Loss;
use crate::schedule::Schedule;
use crate::weights::{Constraint, Weights};
use organza_mechanism::sample::below;
use organza_mechanism::{Batch, PoissonSampler, Purpose, RandomSource, UnitGradient};

/// The purpose under which steps are charged and drawn.
pub(crate) const TRAINING: &str = "training";

/// Which units a step looks at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Visits<'a> {
    /// A Poisson batch of records.
    Records,
    /// A Poisson batch of groups, each with its mean gradient.
    Groups(&'a Groups),
    /// All records of one group, picked uniformly; the choice may be known.
    OneGroup(&'a Groups),
}

/// What descent needs to know.
pub(crate) struct Descent<'a> {
    pub(crate) design: &'a Design<'a>,
    pub(crate) loss: Loss,
    pub(crate) schedule: &'a Schedule,
    pub(crate) visits: Visits<'a>,
    pub(crate) l2: f64,
    pub(crate) region: Constraint,
}

impl Descent<'_> {
    /// Makes all steps, which whoever calls has paid for, and returns the average of the weights over
    /// the second half of them, with the intercept.
    ///
    /// A step costs what its records and the released coordinates cost, whatever the width of the
    /// model: shrinking and projecting change a common factor.
    pub(crate) fn run(&self, source: &RandomSource) -> (Vec<f64>, f64) {
        let mut weights = Weights::new(self.design.features(), self.region);
        for step in 0..self.schedule.steps {
            if step == self.schedule.steps / 2 {
                weights.start_average();
            }
            self.step(step, source, &mut weights);
        }
        weights.finish()
    }

    /// One step: batch, gradients, clip, selection, noise, descent, projection.
    pub(crate) fn step(&self, step: u64, source: &RandomSource, weights: &mut Weights) {
        let Schedule { plan, learning_rate, .. } = self.schedule;
        let sampler = |units: usize| plan.sampler(TRAINING, units as u64, source);
        let sum = match self.visits {
            Visits::Records => {
                let batch = sampler(self.design.len()).batch(step);
                batch.sum(|record, gradient| self.add(record as usize, 1.0, weights, gradient))
            }
            Visits::Groups(groups) => {
                let batch: Batch = sampler(groups.len()).batch(step);
                batch.sum(|group, gradient| {
                    let records = groups.records(group as usize);
                    // A rule that sees this group alone.
                    let share = 1.0 / records.len().max(1) as f64;
                    records.iter().for_each(|it| self.add(*it as usize, share, weights, gradient));
                })
            }
            Visits::OneGroup(groups) => {
                let mut random = source.named("groups").substream(Purpose::Batch, step, 0);
                let records = groups.records(below(groups.len() as u64, &mut random) as usize);
                let everyone: PoissonSampler = sampler(records.len());
                everyone.batch(step).sum(|place, gradient| {
                    self.add(records[place as usize] as usize, 1.0, weights, gradient);
                })
            }
        };
        let noised = sum.select().noise();
        weights.shrink((1.0 - learning_rate * self.l2).max(0.0));
        noised.visit(|first, run| {
            for (coordinate, slope) in (first as usize..).zip(run) {
                weights.add(coordinate, -learning_rate * f64::from(*slope));
            }
        });
        weights.project();
        weights.end_step();
    }

    /// Adds a share of the gradient of a record: its slope times its row.
    fn add(&self, record: usize, share: f64, weights: &Weights, gradient: &mut UnitGradient) {
        let margin: f64 = self
            .design
            .entries(record)
            .map(|(column, value)| weights.value(column as usize) * value)
            .sum();
        let slope = share * self.loss.slope(margin, self.design.label(record));
        for (column, value) in self.design.entries(record) {
            if let Some(row) = gradient.row(column) {
                row[0] += (slope * value) as f32;
            }
        }
    }
}
