//! From a budget to steps: how many, on which units, with how much noise.

use crate::loss::Loss;
use crate::settings::{L2, Method, Settings};
use organza_ledger::Neighbouring;
use organza_mechanism::{
    By, NoiseSettings, NumericSparse, PassOrder, Plan, PlanSettings, Selection, SelectionRule,
    SelectionSettings, Shape, Split,
};
use organza_train::{CalibrationError, OptimizerSettings, Projection, Schedule};

/// How many coordinates a step of Algorithm 2 releases unless asked otherwise.
const HITS: u64 = 32;
/// How far the noise of all steps together may carry a margin, in expectation.
const WANDER: f64 = 0.7;

/// Theorem 1 as printed, *not sound*: the (epsilon', delta') of a step on one of m groups, for T steps that are claimed to
/// be (epsilon, delta): epsilon m / (2 sqrt(2 T ln(2 / delta))) and delta m / (2 T).
pub fn printed_step((epsilon, delta): (f64, f64), groups: f64, steps: f64) -> (f64, f64) {
    let root = (2.0 * steps * libm::log(2.0 / delta)).sqrt();
    (epsilon * groups / (2.0 * root), delta * groups / (2.0 * steps))
}

/// The steps of a fit: settings and public or released numbers.
#[derive(Clone, Debug)]
pub struct LinearSchedule {
    /// What was asked for.
    pub settings: Settings,
    /// The number of features.
    pub features: u64,
    /// The number of units (n), public or released.
    pub units: f64,
    /// The number of groups (m), where one of them is visited in each step.
    pub groups: Option<u64>,
    /// How many models are fitted beside each other.
    pub models: usize,
}

impl Schedule for LinearSchedule {
    /// For DP-SGD: so many of the longest steps that their noise together
    /// carries a margin by no more than `WANDER`. A step's noise is near R S1 sqrt(T) z / n in a
    /// margin, z = sqrt(2 ln(1 / delta)) / epsilon, so T of them carry it by eta T z R S1 / n.
    fn steps(&self) -> u64 {
        let Settings { method, epsilon, delta, steps, .. } = &self.settings;
        let whole = self.settings.input().whole_norm();
        let reach = self.units * epsilon / (-2.0 * libm::log(*delta)).sqrt();
        let longest = self.longest_step();
        let room = WANDER * reach / (whole * self.clip() * longest);
        let usual = match method {
            Method::Printed => (0.01 * self.visited().powi(2)).max(self.units),
            Method::Corrected | Method::PoissonGroups => {
                (room / (self.hits() as f64).sqrt()).clamp(10.0, 200.0)
            }
            _ => room.clamp(10.0, 1_000.0),
        };
        steps.unwrap_or(usual.round() as u64)
    }

    fn sampling(&self) -> (f64, f64) {
        match self.settings.method {
            Method::Corrected | Method::Printed => (1.0, self.units / self.visited()),
            method => {
                // Laplace noise of a large epsilon gains little by sampling, and groups are few: half of them.
                let part = if method == Method::PoissonGroups { 2.0 } else { 16.0 };
                let usual = (self.units / part).max(256.0);
                let batch = self.settings.batch.unwrap_or(usual).min(self.units);
                (batch / self.units, batch)
            }
        }
    }

    fn at_scale(&self, together: f64) -> Result<Plan, CalibrationError> {
        let Settings { method, selection: rule, share, .. } = self.settings;
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
                    order: PassOrder::FromFirst,
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
                    SelectionRule::Exponential => self.clip() * self.units.sqrt() / batch,
                    _ => f64::INFINITY,
                };
                let shape = self.shape()?;
                (selection.settings(&shape, draw), gaussian(noise_multiplier))
            }
            _ => (SelectionSettings::Everything, gaussian(together)),
        };
        self.plan(selection, noise)
    }

    /// The noise that Theorem 1 claims to be enough, for [`Method::Printed`].
    fn fixed(&self) -> Option<Result<Plan, CalibrationError>> {
        (self.settings.method == Method::Printed).then(|| self.printed())
    }

    /// The longest steps, or such short ones that the noise carries a margin by no more than `WANDER` in all; the
    /// result is the mean over the second half of them.
    fn optimizer(&self, plan: Option<&Plan>) -> OptimizerSettings {
        let (settings, steps) = (&self.settings, self.steps());
        let deviation = plan.map_or(0.0, Plan::noise_deviation);
        let noise = settings.input().whole_norm() * deviation * (steps as f64).sqrt();
        let usual = self.longest_step().min(WANDER / noise);
        OptimizerSettings::Projected(Projection {
            learning_rate: settings.learning_rate.unwrap_or(usual) as f32,
            l2: settings.l2.unwrap_or(L2),
            shrinking: self.features * self.models as u64,
            constraint: settings.region(),
            average_from: steps / 2,
        })
    }
}

impl LinearSchedule {
    /// All coordinates of all models.
    fn coordinates(&self) -> u64 {
        self.rows() * self.models as u64
    }

    /// The coordinates of one model.
    fn rows(&self) -> u64 {
        self.features + u64::from(self.settings.intercept)
    }

    fn shape(&self) -> Result<Shape, CalibrationError> {
        Ok(Shape::table(self.rows(), self.models as u64)?)
    }

    /// The clip of a unit's gradient over all models: of K slopes, half each at the start, the norm is sqrt(K) / 2.
    fn clip(&self) -> f64 {
        self.settings.record_clip() * (0.5 * (self.models as f64).sqrt()).max(1.0)
    }

    fn visited(&self) -> f64 {
        self.groups.unwrap_or(1) as f64
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

    fn hits(&self) -> u64 {
        self.settings.hits.unwrap_or(HITS).min(self.coordinates())
    }

    fn draws(&self) -> u64 {
        self.settings
            .draws
            .unwrap_or((self.coordinates() / 4).clamp(1, 200))
            .min(self.coordinates())
    }

    /// The threshold at which about a quarter of the hits are of coordinates that are zero: a zero
    /// passes alpha with probability near e^(-alpha / scale) / 2.
    fn threshold(&self, query_epsilon: f64) -> f64 {
        let scale = 2.0 * self.sensitivity() / query_epsilon;
        let hits = match self.settings.method {
            Method::Sparse => self.draws(),
            _ => self.hits(),
        };
        let usual = scale * libm::log(2.0 * self.coordinates() as f64 / hits as f64).max(0.0);
        self.settings.threshold.map_or(usual, |it| it / self.settings.label_unit())
    }

    /// How far one unit moves the averaged gradient.
    fn sensitivity(&self) -> f64 {
        let (_, batch) = self.sampling();
        let share = self.clip() / batch;
        match self.settings.method.neighbouring() {
            Neighbouring::AddRemove => share,
            Neighbouring::ReplaceOne => 2.0 * share,
        }
    }

    /// Algorithm 2 with the noise that Theorem 1 prints, but for the test that stops it, which stands
    /// inside the loop. The bound on a whole gradient serves as that on its coordinates (c2).
    fn printed(&self) -> Result<Plan, CalibrationError> {
        let Settings { epsilon, delta, .. } = self.settings;
        let (epsilon, delta) = printed_step((epsilon, delta), self.visited(), self.steps() as f64);
        let mut sparse = NumericSparse { threshold: 0.0, hits: self.hits(), epsilon, delta };
        let failure = (1.0 / self.units).min(0.5);
        let lemma = sparse.lemma_threshold(self.sensitivity(), self.coordinates(), failure)?;
        let given = self.settings.threshold.map(|it| it / self.settings.label_unit());
        sparse.threshold = given.unwrap_or(lemma);
        let (selection, noise) = sparse.settings()?;
        self.plan(selection, noise)
    }

    fn plan(
        &self,
        selection: SelectionSettings,
        noise: NoiseSettings,
    ) -> Result<Plan, CalibrationError> {
        let (rate, expected_batch) = self.sampling();
        let plan = Plan::new(PlanSettings {
            shape: self.shape()?,
            neighbouring: self.settings.method.neighbouring(),
            rate,
            expected_batch,
            clip: self.clip(),
            selection,
            noise,
        })?;
        Ok(match self.groups {
            Some(groups) => plan.in_groups(groups)?,
            None => plan,
        })
    }
}
