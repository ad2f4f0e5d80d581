//! Selective SGD: Shokri and Shmatikov, "Privacy-Preserving Deep Learning" (2015).

use organza_ledger::Event;
use organza_mechanism::{
    By, NoiseSettings, PassOrder, Plan, PlanSettings, SelectionSettings, Shape,
};
use organza_train::settings::{EngineSettings, TrainingSettings};
use organza_train::{CalibrationError, OptimizerSettings, Schedule};
use serde::{Deserialize, Serialize};

/// The parts of a step's epsilon that go to threshold and queries, and to values: 8/9 and, as two halves of 2/9 of which one
/// is never spent, 1/9.
const FOR_HITS: f64 = 8.0 / 9.0;
const FOR_VALUES: f64 = 1.0 / 9.0;

/// In each step, the first c coordinates whose bounded size clears a noisy threshold, in an order that chance picks, and their
/// values with Laplace noise.
///
/// # Privacy
/// It is Dwork and Roth's NumericSparse (2014, Algorithm 3, delta 0): with epsilon for a step, e1 = 8 epsilon / 9,
/// e2 = 2 epsilon / 9 and s(x) = 2 c D / x, D the sensitivity of a coordinate, the threshold has Laplace noise of scale s(e1), fresh
/// after each hit, a query one of 2 s(e1), a value one of s(e2). So
///
/// ```text
/// D / s(e1) = 4 epsilon / (9 c)      threshold_epsilon of the event
/// 2 D / (2 s(e1)) = 4 epsilon / (9 c)    query_epsilon
/// D / s(e2) = epsilon / (9 c)        value_epsilon
/// ```
///
/// and the step is c (8/9 + 1/9) epsilon / c = epsilon-differentially private: *all c values of it together*. The event states
/// just these three numbers and c, an accountant composes them c times, samples, and composes the steps.
///
/// The paper reports epsilon / c, "per parameter". That is what one uploaded value of one step adds. It is no bound for what one
/// record gives away: the record is in all c values of a step, and in all steps that it joins.
///
/// D: the gradient of each record is clipped to S1 in L2 and sums are divided by the constant b, so a coordinate moves by at
/// most S1 / b. They bound the coordinates of the sum instead, to [-bound, bound]; here that bounds the score that is compared with the
/// threshold, and D for threshold and queries is the smaller of both. They draw coordinates at random, with repeats, until c have cleared
/// the threshold; here a step passes all coordinates once, from one that is drawn uniformly, and may find fewer than c. For the
/// account any order is the same, if no data decides it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectiveSgd {
    /// The most coordinates that a step releases (c).
    pub hits: u64,
    /// The threshold on sizes (tau), in the units of the averaged gradient.
    pub threshold: f64,
    /// The bound on sizes (gamma).
    pub bound: f64,
}

impl SelectiveSgd {
    /// Selection and noise of a step that is epsilon-differentially private before sampling, with all of its values.
    pub fn settings(&self, epsilon: f64) -> (SelectionSettings, NoiseSettings) {
        let one = self.per_parameter(epsilon);
        let selection = SelectionSettings::SparseVector {
            by: By::Coordinate,
            hits: self.hits,
            order: PassOrder::FromRandom,
            threshold: self.threshold,
            threshold_epsilon: FOR_HITS / 2.0 * one,
            query_epsilon: FOR_HITS / 2.0 * one,
            cap: Some(self.bound),
        };
        (selection, NoiseSettings::Laplace { epsilon: FOR_VALUES * one })
    }

    /// What such a step releases, before sampling.
    pub fn event(&self, epsilon: f64) -> Event {
        let one = self.per_parameter(epsilon);
        Event::SparseVector {
            threshold_epsilon: FOR_HITS / 2.0 * one,
            query_epsilon: FOR_HITS / 2.0 * one,
            hits: self.hits,
            refreshed: true,
            value_epsilon: Some(FOR_VALUES * one),
        }
    }

    /// What the paper reports of such a step, *no guarantee of anything*: epsilon / c.
    pub fn per_parameter(&self, epsilon: f64) -> f64 {
        epsilon / self.hits as f64
    }

    /// The epsilon of a whole step that released this event, if it is one of selective SGD: what its c values cost together,
    /// before sampling.
    pub fn epsilon_of(event: &Event) -> Option<f64> {
        match event {
            Event::SparseVector {
                threshold_epsilon,
                query_epsilon,
                value_epsilon: Some(values),
                hits,
                ..
            } => Some(*hits as f64 * (threshold_epsilon + query_epsilon + values)),
            _ => None,
        }
    }
}

/// Steps of selective SGD, for the rest as another schedule has them.
pub(super) struct SelectiveSchedule<'a> {
    pub(super) selective: SelectiveSgd,
    pub(super) settings: EngineSettings,
    pub(super) shape: Shape,
    pub(super) other: Box<dyn Schedule + 'a>,
}

impl Schedule for SelectiveSchedule<'_> {
    fn steps(&self) -> u64 {
        self.other.steps()
    }

    fn sampling(&self) -> (f64, f64) {
        self.other.sampling()
    }

    /// c epsilons of 1 / (sqrt(c) together): draws of pure differential privacy compose by their squares.
    fn at_scale(&self, together: f64) -> Result<Plan, CalibrationError> {
        self.with_epsilon((self.selective.hits as f64).sqrt() / together)
    }

    /// A noise that was asked for is one over the epsilon of a value.
    fn fixed(&self) -> Option<Result<Plan, CalibrationError>> {
        let multiplier = self.settings.privacy.noise_multiplier?;
        Some(self.with_epsilon(self.selective.hits as f64 / (FOR_VALUES * multiplier)))
    }

    fn optimizer(&self, plan: Option<&Plan>) -> OptimizerSettings {
        self.other.optimizer(plan)
    }
}

impl SelectiveSchedule<'_> {
    fn with_epsilon(&self, epsilon: f64) -> Result<Plan, CalibrationError> {
        let (rate, expected_batch) = self.sampling();
        let TrainingSettings { clip, .. } = self.settings.training;
        let (selection, noise) = self.selective.settings(epsilon);
        let neighbouring = self.settings.privacy.neighbouring;
        let shape = self.shape.clone();
        let settings =
            PlanSettings { shape, neighbouring, rate, expected_batch, clip, selection, noise };
        Ok(Plan::new(settings)?)
    }
}
