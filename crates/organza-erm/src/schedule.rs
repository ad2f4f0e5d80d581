//! From a budget to steps: how many, on which units, with how much noise.

use crate::loss::Loss;
use crate::settings::{Method, Settings};
use organza_accountant::calibrate::{CalibrateError, Target, scale};
use organza_ledger::{Event, Neighbouring};
use organza_mechanism::{
    By, NoiseSettings, NumericSparse, Plan, PlanError, PlanSettings, Selection, SelectionRule,
    SelectionSettings, Shape, ShapeError, Split,
};
use thiserror::Error;

/// How many coordinates a step of Algorithm 2 releases unless asked otherwise.
const HITS: u64 = 32;
/// How far the noise of all steps together may carry a margin, in expectation.
const WANDER: f64 = 0.7;

/// Why there is no schedule.
#[derive(Debug, Error)]
pub enum ScheduleError {
    /// The shape of the model.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A setting of a step.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// No noise meets the budget.
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
}

/// Theorem 1 as printed, *not sound*: the (epsilon', delta') of a step on one of m groups, for T steps that are claimed to
/// be (epsilon, delta): epsilon m / (2 sqrt(2 T ln(2 / delta))) and delta m / (2 T).
pub fn printed_step((epsilon, delta): (f64, f64), groups: f64, steps: f64) -> (f64, f64) {
    let root = (2.0 * steps * libm::log(2.0 / delta)).sqrt();
    (epsilon * groups / (2.0 * root), delta * groups / (2.0 * steps))
}

/// The steps of a fit.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// What makes each step.
    pub plan: Plan,
    /// The number of steps (T).
    pub steps: u64,
    /// The step size (eta).
    pub learning_rate: f64,
}

/// What a schedule is made from: settings and public or released numbers.
#[derive(Clone, Debug)]
pub struct ScheduleInputs<'a> {
    /// What was asked for.
    pub settings: &'a Settings,
    /// The number of coordinates (p).
    pub coordinates: u64,
    /// The number of units (n), public or released.
    pub units: f64,
    /// The number of groups (m), where one of them is visited in each step.
    pub groups: u64,
    /// What was charged before.
    pub before: Vec<Event>,
}

impl ScheduleInputs<'_> {
    /// The schedule that spends the budget, or for [`Method::Printed`] what Theorem 1 claims to.
    ///
    /// # Errors
    /// If a setting makes no sense, or no noise is enough.
    pub fn schedule(&self) -> Result<Schedule, ScheduleError> {
        let Settings { method, epsilon, delta, .. } = self.settings;
        let steps = self.steps();
        let plan = if *method == Method::Printed {
            self.printed(steps)?
        } else {
            let neighbouring = method.neighbouring();
            let target = Target { neighbouring, tolerance: 2e-3, ..Target::new(*epsilon, *delta) };
            // A first look, so that settings that make no sense are named as such.
            self.at_scale(1.0)?;
            let (together, _) = scale(&target, |together| {
                let step = self.event(&self.at_scale(together).ok()?).ok()?;
                let all = self.before.iter().cloned().chain([step.repeat(steps)]);
                Some(Event::Compose(all.collect()))
            })?;
            self.at_scale(together)?
        };
        let learning_rate = self.settings.learning_rate.unwrap_or(self.learning_rate(&plan, steps));
        Ok(Schedule { plan, steps, learning_rate })
    }

    /// What a step releases: what its sampler will charge.
    fn event(&self, plan: &Plan) -> Result<Event, PlanError> {
        match self.settings.method {
            Method::Corrected | Method::Printed => plan.group_event(self.groups),
            _ => Ok(plan.step_event().clone()),
        }
    }

    /// The smoothness of the loss where its slope is within the clip.
    fn smoothness(&self) -> f64 {
        let whole = self.settings.input().whole_norm();
        let bend = match self.settings.model {
            Loss::Poisson => self.settings.label_bound,
            other => other.curvature_bound(0.0),
        };
        bend * whole * whole
    }

    /// The longest step: 1 / K, or twice that where the curvature is far below its bound almost
    /// everywhere.
    fn longest_step(&self) -> f64 {
        let factor = match self.settings.model {
            Loss::Logistic | Loss::Sigmoid => 2.0,
            Loss::Linear | Loss::Poisson => 1.0,
        };
        factor / self.smoothness()
    }

    /// The number of steps. For DP-SGD: so many of the longest steps that their noise together
    /// carries a margin by no more than `WANDER`. A step's noise is near R S1 sqrt(T) z / n in a
    /// margin, z = sqrt(2 ln(1 / delta)) / epsilon, so T of them carry it by eta T z R S1 / n.
    fn steps(&self) -> u64 {
        let Settings { method, epsilon, delta, steps, .. } = self.settings;
        let whole = self.settings.input().whole_norm();
        let reach = self.units * epsilon / (-2.0 * libm::log(*delta)).sqrt();
        let longest = self.longest_step();
        let room = WANDER * reach / (whole * self.settings.record_clip() * longest);
        let usual = match method {
            Method::Printed => (0.01 * (self.groups as f64).powi(2)).max(self.units),
            Method::Corrected | Method::PoissonGroups => {
                (room / (self.hits() as f64).sqrt()).clamp(10.0, 200.0)
            }
            _ => room.clamp(10.0, 1_000.0),
        };
        steps.unwrap_or(usual.round() as u64)
    }

    /// The step size: the longest one, or so short that the noise carries a margin by no more than
    /// `WANDER` in all.
    fn learning_rate(&self, plan: &Plan, steps: u64) -> f64 {
        let whole = self.settings.input().whole_norm();
        let noise = whole * plan.noise_deviation() * (steps as f64).sqrt();
        self.longest_step().min(WANDER / noise)
    }

    fn hits(&self) -> u64 {
        self.settings.hits.unwrap_or(HITS).min(self.coordinates)
    }

    fn draws(&self) -> u64 {
        self.settings.draws.unwrap_or((self.coordinates / 4).clamp(1, 200)).min(self.coordinates)
    }

    /// The probability with which a unit joins a step, and the number that sums are divided by.
    fn sampling(&self) -> (f64, f64) {
        match self.settings.method {
            Method::Corrected | Method::Printed => (1.0, self.units / self.groups as f64),
            method => {
                // Laplace noise of a large epsilon gains little by sampling, and groups are few: half of them.
                let part = if method == Method::PoissonGroups { 2.0 } else { 16.0 };
                let usual = (self.units / part).max(256.0);
                let batch = self.settings.batch.unwrap_or(usual).min(self.units);
                (batch / self.units, batch)
            }
        }
    }

    /// The plan whose selection and noise together cost about as much as one Gaussian of multiplier
    /// `together`.
    fn at_scale(&self, together: f64) -> Result<Plan, ScheduleError> {
        let Settings { method, selection: rule, share, .. } = *self.settings;
        let gaussian = |multiplier| NoiseSettings::Gaussian { multiplier, second_clip: None };
        let by = By::Coordinate;
        let (selection, noise) = match method {
            Method::Corrected | Method::PoissonGroups => {
                let hits = self.hits();
                // A threshold test and a Laplace value a hit, each of the same epsilon.
                let epsilon = 1.0 / (together * (2.0 * hits as f64).sqrt());
                let settings = SelectionSettings::SparseVector {
                    by,
                    hits,
                    threshold: self.threshold(epsilon / 2.0),
                    threshold_epsilon: epsilon / 2.0,
                    query_epsilon: epsilon / 2.0,
                    cap: None,
                };
                (settings, NoiseSettings::Laplace { epsilon })
            }
            Method::Sparse => {
                let (draws, (_, batch)) = (self.draws(), self.sampling());
                let mut selection =
                    Selection { rule, by, draws: Some(draws), share, ..Selection::default() };
                let Split { noise_multiplier, draw } = selection.split(draws, together);
                let draw = draw.unwrap_or_default();
                selection.threshold = self.threshold(draw / 2.0);
                selection.cap = match rule {
                    SelectionRule::Exponential => {
                        self.settings.record_clip() * self.units.sqrt() / batch
                    }
                    _ => f64::INFINITY,
                };
                let shape = Shape::table(self.coordinates, 1)?;
                (selection.settings(&shape, draw), gaussian(noise_multiplier))
            }
            _ => (SelectionSettings::Everything, gaussian(together)),
        };
        self.plan(selection, noise)
    }

    /// The threshold at which about a quarter of the hits are of coordinates that are zero: a zero
    /// passes alpha with probability near e^(-alpha / scale) / 2.
    fn threshold(&self, query_epsilon: f64) -> f64 {
        let scale = 2.0 * self.sensitivity() / query_epsilon;
        let hits = match self.settings.method {
            Method::Sparse => self.draws(),
            _ => self.hits(),
        };
        let usual = scale * libm::log(2.0 * self.coordinates as f64 / hits as f64).max(0.0);
        self.settings.threshold.unwrap_or(usual)
    }

    /// How far one unit moves the averaged gradient.
    fn sensitivity(&self) -> f64 {
        let (_, batch) = self.sampling();
        let share = self.settings.record_clip() / batch;
        match self.settings.method.neighbouring() {
            Neighbouring::AddRemove => share,
            Neighbouring::ReplaceOne => 2.0 * share,
        }
    }

    /// Algorithm 2 with the noise that Theorem 1 prints, but for the test that stops it, which stands
    /// inside the loop. The bound on a whole gradient serves as that on its coordinates (c2).
    fn printed(&self, steps: u64) -> Result<Plan, ScheduleError> {
        let Settings { epsilon, delta, .. } = *self.settings;
        let (epsilon, delta) = printed_step((epsilon, delta), self.groups as f64, steps as f64);
        let mut sparse = NumericSparse { threshold: 0.0, hits: self.hits(), epsilon, delta };
        let failure = (1.0 / self.units).min(0.5);
        let lemma = sparse.lemma_threshold(self.sensitivity(), self.coordinates, failure)?;
        sparse.threshold = self.settings.threshold.unwrap_or(lemma);
        let (selection, noise) = sparse.settings()?;
        self.plan(selection, noise)
    }

    fn plan(
        &self,
        selection: SelectionSettings,
        noise: NoiseSettings,
    ) -> Result<Plan, ScheduleError> {
        let (rate, expected_batch) = self.sampling();
        Ok(Plan::new(PlanSettings {
            shape: Shape::table(self.coordinates, 1)?,
            neighbouring: self.settings.method.neighbouring(),
            rate,
            expected_batch,
            clip: self.settings.record_clip(),
            selection,
            noise,
        })?)
    }
}
