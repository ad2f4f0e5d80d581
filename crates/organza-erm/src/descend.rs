//! Descent on private gradients: the paper's Algorithm 2, and Algorithm 3 for linear models.

use crate::design::Design;
use crate::groups::Groups;
use crate::loss::Loss;
use crate::schedule::Schedule;
use crate::weights::{Constraint, Weights};
use organza_ledger::{Charge, Charged};
use organza_mechanism::{
    GroupSampler, NotPaid, PlanError, PoissonSampler, RandomSource, UnitGradient,
};
use std::ops::Range;

/// The purpose under which steps are charged and drawn.
const TRAINING: &str = "training";

/// Which units a step looks at.
#[derive(Clone, Copy, Debug)]
pub enum Visits<'a> {
    /// A Poisson batch of records.
    Records,
    /// A Poisson batch of groups, each with its mean gradient.
    Groups(&'a Groups),
    /// All records of one group, picked uniformly; the choice may be known.
    OneGroup(&'a Groups),
}

/// Private gradient descent on rows.
///
/// # Privacy
/// Steps release what the charge of their [`Batches`] says, against the proof of it.
#[derive(Clone, Copy, Debug)]
pub struct Descent<'a> {
    /// The rows.
    pub design: &'a Design<'a>,
    /// The loss of each.
    pub loss: Loss,
    /// The steps, and what makes them.
    pub schedule: &'a Schedule,
    /// Which units a step looks at; those that the schedule was made for.
    pub visits: Visits<'a>,
    /// The weight of the squared norm.
    pub l2: f64,
    /// The set that weights are kept in.
    pub region: Constraint,
}

/// What draws the batches of a descent, and states what they cost.
#[derive(Clone, Debug)]
pub struct Batches<'a>(Sampler<'a>);

#[derive(Clone, Debug)]
enum Sampler<'a> {
    Records(PoissonSampler),
    Groups(PoissonSampler, &'a Groups),
    OneGroup(GroupSampler, &'a Groups),
}

impl Batches<'_> {
    /// What `steps` cost, with the key of their noise.
    pub fn charge(&self, steps: Range<u64>) -> Charge {
        match &self.0 {
            Sampler::Records(sampler) | Sampler::Groups(sampler, _) => sampler.charge(steps),
            Sampler::OneGroup(sampler, _) => sampler.charge(steps),
        }
    }
}

impl<'a> Descent<'a> {
    /// What draws the batches, all of whose randomness comes from `source`.
    ///
    /// # Errors
    /// If the plan was not made for what a step visits.
    pub fn batches(&self, source: &RandomSource) -> Result<Batches<'a>, PlanError> {
        let plan = &self.schedule.plan;
        let poisson = |units: usize| plan.sampler(TRAINING, units as u64, source);
        Ok(Batches(match self.visits {
            Visits::Records => Sampler::Records(poisson(self.design.len())),
            Visits::Groups(groups) => Sampler::Groups(poisson(groups.len()), groups),
            Visits::OneGroup(groups) => {
                let count = groups.len() as u64;
                Sampler::OneGroup(plan.group_sampler(TRAINING, count, source)?, groups)
            }
        }))
    }

    /// Makes all steps, which `paid` pays for, and returns the average of the weights over the second half of
    /// them, with the intercept.
    ///
    /// A step costs what its records and the released coordinates cost, whatever the width of the
    /// model: shrinking and projecting change a common factor.
    ///
    /// # Errors
    /// If the charge is not for these steps, or they were made before.
    pub fn run(&self, batches: &Batches<'_>, paid: &Charged) -> Result<(Vec<f64>, f64), NotPaid> {
        let mut weights = Weights::new(self.design.features(), self.region);
        for step in 0..self.schedule.steps {
            if step == self.schedule.steps / 2 {
                weights.start_average();
            }
            self.step(step, batches, paid, &mut weights)?;
        }
        Ok(weights.finish())
    }

    /// One step: batch, gradients, clip, selection, noise, descent, projection.
    ///
    /// # Errors
    /// If the charge is not for this step, or it was made before.
    pub fn step(
        &self,
        step: u64,
        batches: &Batches<'_>,
        paid: &Charged,
        weights: &mut Weights,
    ) -> Result<(), NotPaid> {
        let learning_rate = self.schedule.learning_rate;
        let sum = match &batches.0 {
            Sampler::Records(sampler) => {
                let batch = sampler.batch(step, paid)?;
                batch.sum(|record, gradient| self.add(record as usize, 1.0, weights, gradient))
            }
            Sampler::Groups(sampler, groups) => {
                let batch = sampler.batch(step, paid)?;
                batch.sum(|group, gradient| {
                    let records = groups.records(group as usize);
                    // A rule that sees this group alone.
                    let share = 1.0 / records.len().max(1) as f64;
                    records.iter().for_each(|it| self.add(*it as usize, share, weights, gradient));
                })
            }
            Sampler::OneGroup(sampler, groups) => {
                let size = |group: u64| groups.records(group as usize).len() as u64;
                let (group, batch) = sampler.batch(step, paid, size)?;
                let records = groups.records(group as usize);
                batch.sum(|place, gradient| {
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
        Ok(())
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::schedule::ScheduleInputs;
    use crate::settings::{Method, Settings};
    use organza_data::sparse::SparseRows;
    use organza_ledger::testing::paid;

    const RUNS: u64 = 20_000;

    /// Rows of one feature with these labels, two to a group.
    fn rows(labels: &[f64]) -> SparseRows {
        let mut rows = SparseRows::new(Some(1));
        for (place, label) in labels.iter().enumerate() {
            rows.push(*label, &mut [(0, 1.0)], Some(&(place / 2).to_string())).unwrap();
        }
        rows
    }

    fn settings(method: Method) -> Settings {
        let mut settings = Settings::new(Loss::Linear);
        settings.method = method;
        (settings.epsilon, settings.delta) = (1.0, 1e-2);
        settings.intercept = false;
        settings.steps = Some(2);
        settings.hits = Some(1);
        // Below zero: what is released is the value, with its noise.
        settings.threshold = Some(-1e3);
        settings.batch = Some(1.0);
        settings.learning_rate = Some(0.5);
        settings
    }

    fn schedule(settings: &Settings) -> Schedule {
        let groups = if settings.method == Method::Corrected { 2 } else { 1 };
        let units = if settings.method == Method::Corrected { 4.0 } else { 2.0 };
        let known = ScheduleInputs { settings, coordinates: 1, units, groups, before: Vec::new() };
        known.schedule().unwrap()
    }

    /// How often the last weight is positive.
    fn share(method: Method, schedule: &Schedule, rows: &SparseRows, purpose: &str) -> f64 {
        let design = Design::new(rows, 1, Some(1.0), false);
        let groups = Groups::by_column(rows.groups().unwrap());
        let visits = match method {
            Method::Corrected => Visits::OneGroup(&groups),
            _ => Visits::Groups(&groups),
        };
        let region = Constraint::Free;
        let descent =
            Descent { design: &design, loss: Loss::Linear, schedule, visits, l2: 0.0, region };
        let positive = (0..RUNS).filter(|run| {
            let source = RandomSource::from_seed(*run).named(purpose);
            let batches = descent.batches(&source).unwrap();
            let paid = paid(batches.charge(0..schedule.steps));
            let mut weights = Weights::new(1, region);
            for step in 0..schedule.steps {
                descent.step(step, &batches, &paid, &mut weights).unwrap();
            }
            weights.value(0) > 0.0
        });
        positive.count() as f64 / RUNS as f64
    }

    /// Whether the probability of a positive weight grows by more than e^epsilon and delta between
    /// neighbours. Each share errs by more than 5.2 deviations with probability below 2e-7.
    fn violates(method: Method, schedule: &Schedule) -> bool {
        let (one, other) = match method {
            // One record replaced.
            Method::Corrected => (rows(&[1.0, 0.0, 0.0, 0.0]), rows(&[-1.0, 0.0, 0.0, 0.0])),
            // One group of two records added.
            _ => (rows(&[1.0, 1.0, -0.2, -0.2]), rows(&[-0.2, -0.2])),
        };
        let more = share(method, schedule, &one, "one");
        let less = share(method, schedule, &other, "other");
        let error = |share: f64| 5.2 * (share * (1.0 - share) / RUNS as f64).sqrt();
        more - error(more) > 1_f64.exp() * (less + error(less)) + 1e-2
    }

    #[test]
    fn both_corrected_accounts_survive_an_audit_and_less_noise_does_not() {
        for method in [Method::Corrected, Method::PoissonGroups] {
            let sound = settings(method);
            assert!(!violates(method, &schedule(&sound)), "{method}");
            // The noise of a budget forty times as large.
            let broken = Settings { epsilon: 40.0, ..sound };
            assert!(violates(method, &schedule(&broken)), "{method}: the audit has to see it");
        }
    }
}
