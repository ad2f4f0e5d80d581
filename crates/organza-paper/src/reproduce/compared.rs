//! The two systems that the paper compares itself with, beside DP-SGD and its own method: at equal epsilon, all else as printed.

use super::ReproduceError;
use super::nearest::Ended;
use super::plan::{Base, COMPARED_BUDGETS, SELECTIVE, SUBSPACE};
use super::tight::{events_of, look};
use crate::compared::{PublicSubspace, SelectiveSgd};
use organza_accountant::Accountant;
use organza_ledger::Event;
use organza_train::metrics::Point;
use organza_words::settings::Settings;
use organza_words::suite::{Outcome, Suite};
use serde::Serialize;

/// A run at one of the budgets.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedRun {
    /// What trains.
    pub method: &'static str,
    /// The budget.
    pub budget: f64,
    /// Deviation over sensitivity, of Gaussian noise.
    pub noise_multiplier: Option<f64>,
    /// Of selective SGD: the epsilon of a step with all of its values.
    pub step_epsilon: Option<f64>,
    /// Of selective SGD: what its paper would print, no guarantee.
    pub per_parameter: Option<f64>,
    /// How it ended.
    #[serde(flatten)]
    pub ended: Ended,
    /// The learning curve. *Not private.*
    pub curve: Vec<Point>,
}

/// All methods at all budgets, and what a figure of selective SGD is worth.
#[derive(Clone, Debug, Serialize)]
pub struct Others {
    /// The steps of a run.
    pub steps: u64,
    /// The settings of selective SGD.
    pub selective: SelectiveSgd,
    /// The settings of the subspace.
    pub subspace: PublicSubspace,
    /// What such steps cost in all at epsilon 1 per parameter, as selective SGD prints it.
    pub at_one_per_parameter: f64,
    /// The runs.
    pub runs: Vec<ComparedRun>,
}

/// The methods, in the order of the runs at a budget.
const METHODS: [&str; 4] = ["dp-sgd", "sparse-exponential", "selective-sgd", "projected-dpsgd"];

impl Others {
    pub(super) fn run(base: &Base, suite: &Suite) -> Result<Self, ReproduceError> {
        let own = suite.run(&COMPARED_BUDGETS.map(|budget| base.compared(budget)).concat())?;
        let others = suite.run(&COMPARED_BUDGETS.map(|budget| base.others(budget)).concat())?;
        let steps = own.first().map_or(0, |outcome| outcome.steps);
        let mut runs = Vec::new();
        for (place, budget) in COMPARED_BUDGETS.into_iter().enumerate() {
            let pair = 2 * place..2 * place + 2;
            let planned = base.compared(budget).map(|it| it.name).into_iter();
            let names: Vec<String> = planned.chain(base.others(budget).map(|it| it.name)).collect();
            let mut methods = METHODS.into_iter().zip(names);
            for outcome in &own[pair.clone()] {
                runs.extend(methods.next().map(|it| read(suite, it, budget, outcome)));
            }
            for outcome in &others[pair] {
                runs.extend(methods.next().map(|it| read(suite, it, budget, outcome)));
            }
        }
        Ok(Self {
            steps,
            selective: SELECTIVE,
            subspace: SUBSPACE,
            at_one_per_parameter: price(base.settings(), SELECTIVE, steps)?,
            runs: runs.into_iter().collect::<Result<_, _>>()?,
        })
    }

    /// The run of a method at a budget.
    pub(super) fn of(&self, method: &str, budget: f64) -> Option<&ComparedRun> {
        self.runs.iter().find(|it| it.method == method && it.budget == budget)
    }
}

/// What steps at epsilon 1 per parameter cost in all.
fn price(settings: &Settings, selective: SelectiveSgd, steps: u64) -> Result<f64, ReproduceError> {
    let Settings { training, privacy, .. } = settings;
    let rate = training.batch / privacy.units.unwrap_or(1) as f64;
    let step = selective.event(selective.hits as f64).poisson(rate.min(1.0));
    let account = Accountant::new(privacy.neighbouring).compose(&step.repeat(steps))?;
    Ok(account.epsilon(privacy.delta)?.epsilon)
}

fn read<S>(
    suite: &Suite,
    (method, name): (&'static str, String),
    budget: f64,
    outcome: &Outcome<S>,
) -> Result<ComparedRun, ReproduceError> {
    let (mut noise_multiplier, mut step_epsilon) = (None, None);
    for event in events_of(suite, &name)? {
        look(&event, &mut |part| match part {
            Event::Gaussian { noise_multiplier: found } => noise_multiplier = Some(*found),
            event => step_epsilon = SelectiveSgd::epsilon_of(event).or(step_epsilon),
        });
    }
    let per_parameter = step_epsilon.map(|epsilon| SELECTIVE.per_parameter(epsilon));
    let (ended, curve) = (Ended::new(outcome), outcome.curve.clone());
    Ok(ComparedRun { method, budget, noise_multiplier, step_epsilon, per_parameter, ended, curve })
}
