//! The loop of a run: charge a block, make its steps, save, and go on.

use crate::average::Average;
use crate::checkpoint::{Best, CHECKPOINT, Checkpoint, CheckpointError};
use crate::engine_schedule::EngineSchedule;
use crate::folder::{FolderError, RunFolder};
use crate::metrics::{Metrics, Point};
use crate::optimizer::OptimizerSettings;
use crate::plain::PlainBatch;
use crate::purse::Purse;
use crate::refinement::Refiner;
use crate::schedule::{self, CalibrationError, Schedule};
use crate::settings::EngineSettings;
use crate::step::{plain_step, private_step};
use crate::tables::{OnDiskError, Tables, Upkeep, deferred, largest_of};
use crate::task::{Losses, Task};
use organza_ledger::{BudgetError, Charge, Charged, Event};
use organza_mechanism::{
    DeferredGrid, FlatRows, NotPaid, Plan, RandomSource, Sampler, Shape, ShapeError, Units,
};
use organza_progress::{Size, Stage};
use std::ops::Range;
use std::time::Instant;
use thiserror::Error;

/// The purpose under which steps are charged.
pub(crate) const TRAINING: &str = "training";

/// What a run does, after all settings were checked and calibrated.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// How steps are made.
    pub method: StepMethod,
    /// The number of steps.
    pub steps: u64,
    /// How parameters move.
    pub optimizer: OptimizerSettings,
    /// The grid on which the noise of rows that no unit touched is left for later, where that pays and the account
    /// allows for it.
    pub deferred: Option<DeferredGrid>,
    /// Whether the result is the average over the second half of the run.
    pub average: bool,
    /// Losses are computed after each of so many steps (and at both ends).
    pub evaluate_every: u64,
    /// A charge is made and a checkpoint is written for each of so many steps.
    pub checkpoint_every: u64,
}

impl RunPlan {
    /// What the settings ask for on these tables and so many units, after `before` was charged.
    ///
    /// # Errors
    /// If a setting makes no sense, or no noise meets the budget.
    pub fn new(
        settings: &EngineSettings,
        tables: Vec<(u64, u64)>,
        units: u64,
        before: Vec<Event>,
    ) -> Result<Self, CalibrationError> {
        let shape = Shape::tables(&tables)?;
        let schedule = EngineSchedule { settings: settings.clone(), shape, units };
        Self::of(settings, &schedule, &before)
    }

    /// The same for the steps of any schedule.
    pub(crate) fn of(
        settings: &EngineSettings,
        schedule: &dyn Schedule,
        before: &[Event],
    ) -> Result<Self, CalibrationError> {
        let (steps, training) = (schedule.steps(), &settings.training);
        let every = |times: u64| steps.div_ceil(times.max(1)).max(1);
        let (rate, expected_batch) = schedule.sampling();
        let deferred = schedule.deferred(before)?;
        let method = match settings.private {
            true => {
                let grid = deferred.as_ref();
                let plan = schedule::calibrate(schedule, &settings.privacy, before, grid)?;
                StepMethod::Private(plan)
            }
            false => StepMethod::NotPrivate { rate, expected_batch },
        };
        Ok(Self {
            optimizer: schedule.optimizer(method.plan()),
            method,
            steps,
            deferred,
            average: training.average,
            evaluate_every: every(training.evaluations),
            checkpoint_every: every(training.checkpoints),
        })
    }
}

/// How steps are made.
#[derive(Clone, Debug)]
pub enum StepMethod {
    /// Without any privacy: asked for by name, and said on everything that comes of it.
    NotPrivate {
        /// The probability with which a unit joins a batch.
        rate: f64,
        /// What sums are divided by.
        expected_batch: f64,
    },
    /// By a plan.
    Private(Plan),
}

impl StepMethod {
    /// The plan, if steps are private.
    pub fn plan(&self) -> Option<&Plan> {
        match self {
            Self::Private(plan) => Some(plan),
            Self::NotPrivate { .. } => None,
        }
    }

    /// What draws private batches of a task, under the name of `purpose`; none without privacy.
    pub(crate) fn sampler<T: Task + ?Sized>(
        &self,
        purpose: &str,
        task: &T,
        source: &RandomSource,
    ) -> Option<Sampler> {
        let units = task.groups().map_or(Units::Count(task.units()), Units::Grouped);
        Some(self.plan()?.sampler(purpose, units, source))
    }
}

/// Who watches a run.
pub trait Observer {
    /// After each step.
    fn step(&mut self, done: u64, steps: u64);

    /// After each evaluation. *Not private.*
    fn point(&mut self, point: &Point);

    /// After each new charge: the epsilon of everything that is charged, up to the end of the block
    /// that begins.
    fn charged(&mut self, _epsilon: f64) {}

    /// What the user should know about the plan, at its beginning.
    fn note(&mut self, _note: String) {}

    /// Whether the run shall save and stop.
    fn interrupted(&self) -> bool;
}

/// Nobody.
impl Observer for () {
    fn step(&mut self, _: u64, _: u64) {}

    fn point(&mut self, _: &Point) {}

    fn interrupted(&self) -> bool {
        false
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// All steps were made: the parameters to keep.
    Done {
        /// The parameters, averaged if the plan says so; without privacy those of the evaluation with
        /// the smallest validation loss, if that is smaller.
        parameters: Vec<f32>,
        /// The learning curve. *Not private.*
        curve: Vec<Point>,
        /// Seconds spent in steps (of this process).
        seconds: f64,
    },
    /// It was interrupted and can go on.
    Interrupted {
        /// The steps that were made.
        steps: u64,
    },
}

/// Why a run stopped.
#[derive(Debug, Error)]
pub enum RunError {
    /// A file cannot be read or written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The checkpoint is of no use.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A charge was refused.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// A step was not charged, or was made before; it was not made.
    #[error(transparent)]
    NotPaid(#[from] NotPaid),
    /// The model has a shape that no tables have.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Tables cannot be kept on a disk.
    #[error(transparent)]
    OnDisk(#[from] OnDiskError),
    /// There is no memory for the tables.
    #[error("there is not enough memory for tables of this size: take fewer rows or dimensions")]
    Memory,
    /// The first parameters are of another model.
    #[error("the first parameters do not fit the tables of the model")]
    Initial,
    /// A private run has nothing to pay with.
    #[error("private steps need a ledger and a budget")]
    NoPurse,
}

/// Trains from the last checkpoint in `folder`, or from `initial`, to the end. Without a folder nothing is written, and
/// an interrupted run is lost.
///
/// # Privacy
/// A block of steps is charged, and its charge synced to the disk, before its first step. A run that
/// goes on makes the steps since its checkpoint again with the same key: the same batches, the same
/// noise, the same values, which is no second release. That takes a source which was
/// [resumed](RandomSource::resume), since one source draws a step once; whoever resumes it vouches for the data, the
/// settings and the checkpoint, as [`Session`](crate::Session) does.
///
/// Validation losses choose the result of a run without privacy alone: see [`Outcome::Done`].
///
/// # Errors
/// If a charge is refused or a file cannot be written; what was done stays, and can go on.
pub fn run<'a, T: Task + ?Sized>(
    task: &T,
    plan: &RunPlan,
    folder: impl Into<Option<&'a RunFolder>>,
    source: &RandomSource,
    initial: Vec<f32>,
    mut purse: Option<&mut Purse>,
    observer: &mut dyn Observer,
) -> Result<Outcome, RunError> {
    let folder = folder.into();
    let (sampler, mut state) =
        opened_as(TRAINING, task, plan, folder, source, initial, purse.as_deref_mut(), observer)?;
    // The last point is of the result, and is written when there is one.
    let mut metrics =
        Metrics::open(folder, state.tables.steps().min(plan.steps.saturating_sub(1)))?;
    if metrics.is_empty() && state.tables.steps() == 0 {
        metrics.add(0, evaluate(task, &mut state.tables), observer)?;
    }
    let mut plain = PlainBatch::new(&task.tables())?;
    let mut seconds = 0.0;
    state.tables.refine(Refiner::of(task, plan, source));
    while state.tables.steps() < plan.steps {
        let start = state.tables.steps() / plan.checkpoint_every * plan.checkpoint_every;
        let block = state.tables.steps()..plan.steps.min(start + plan.checkpoint_every);
        let paid = pay(plan, &block, sampler.as_ref(), purse.as_deref_mut())?;
        if let Some(spent) = paid.as_ref().and_then(Charged::spent) {
            observer.charged(spent);
        }
        for step in block {
            let begun = Instant::now();
            let paid = sampler.as_ref().zip(paid.as_ref());
            make_step(task, plan, source, step, &mut state, paid, &mut plain)?;
            seconds += begun.elapsed().as_secs_f64();
            let done = step + 1;
            observer.step(done, plan.steps);
            if done.is_multiple_of(plan.evaluate_every) && done < plan.steps {
                let losses = evaluate(task, &mut state.tables);
                metrics.add(done, losses, observer)?;
                keep_best(plan, &mut state, losses);
            }
            if observer.interrupted() && state.tables.may_rest() {
                break;
            }
        }
        if let Some(folder) = folder {
            state.save(folder)?;
        }
        let steps = state.tables.steps();
        if observer.interrupted() && steps < plan.steps {
            return Ok(Outcome::Interrupted { steps });
        }
    }
    let best = state.best.take();
    let mut parameters = state.into_parameters(plan.average);
    let mut losses = losses_of(task, &parameters)?;
    if let Some(best) = best.filter(|best| best.loss < losses.validation) {
        parameters = best.parameters;
        losses = losses_of(task, &parameters)?;
    }
    metrics.add(plan.steps, losses, observer)?;
    Ok(Outcome::Done { parameters, curve: metrics.into_points(), seconds })
}

/// What draws private batches, for steps that are charged under the name of `purpose`, and the state at the last checkpoint, or
/// before the first step.
#[expect(clippy::too_many_arguments, reason = "they are those of a run")]
pub(crate) fn opened_as<T: Task + ?Sized>(
    purpose: &str,
    task: &T,
    plan: &RunPlan,
    folder: Option<&RunFolder>,
    source: &RandomSource,
    initial: Vec<f32>,
    purse: Option<&mut Purse>,
    observer: &mut dyn Observer,
) -> Result<(Option<Sampler>, Checkpoint), RunError> {
    let sampler = plan.method.sampler(purpose, task, source);
    let tables = tables(task, plan, sampler.as_ref(), initial, |charge| {
        Ok(purse.ok_or(RunError::NoPurse)?.charge(charge)?)
    })?;
    if let (StepMethod::Private(private), Some(farthest)) = (&plan.method, tables.farthest())
        && reach(private, plan) > farthest
    {
        observer.note(format!(
            "weights beyond {farthest:.3e} would wrap round, as noise is left for later on a grid of whole numbers: if \
             training diverges, lower --learning-rate"
        ));
    }
    let saved = match folder {
        Some(folder) => folder.open_file(&folder.private(CHECKPOINT))?,
        None => None,
    };
    let state = match saved {
        Some((mut file, length)) => Checkpoint::read(&mut file, length, tables)?,
        None => Checkpoint {
            average: Average::new(if plan.average { tables.coordinates() } else { 0 }),
            tables,
            best: None,
            clip: None,
        },
    };
    Ok((sampler, state))
}

/// How far gradients that all point one way would move a weight.
fn reach(private: &Plan, plan: &RunPlan) -> f64 {
    f64::from(plan.optimizer.learning_rate()) * private.settings().clip * plan.steps as f64
}

/// Fresh tables, kept in the way that the plan makes cheapest; `pay` charges for noise that is left for later.
pub(crate) fn tables<T: Task + ?Sized>(
    task: &T,
    plan: &RunPlan,
    sampler: Option<&Sampler>,
    initial: Vec<f32>,
    pay: impl FnOnce(Charge) -> Result<Charged, RunError>,
) -> Result<Tables, RunError> {
    let shape = task.shape()?;
    let upkeep = upkeep(task, plan, sampler, largest_of(&initial), pay)?;
    Tables::new(shape, plan.optimizer, upkeep, initial).ok_or(RunError::Initial)
}

/// The way in which the plan makes tables cheapest, for first weights of sizes up to `largest`; `pay` charges for noise that is left for later.
pub(crate) fn upkeep<T: Task + ?Sized>(
    task: &T,
    plan: &RunPlan,
    sampler: Option<&Sampler>,
    largest: f32,
    pay: impl FnOnce(Charge) -> Result<Charged, RunError>,
) -> Result<Upkeep, RunError> {
    Ok(match (&plan.method, sampler) {
        (StepMethod::Private(private), Some(sampler)) => {
            let deferral = plan
                .deferred
                .as_ref()
                .filter(|_| task.refinement().is_none())
                .and_then(|grid| deferred(sampler, grid, plan.optimizer, largest));
            let owed = match deferral {
                Some(deferral) => {
                    let charged = pay(deferral.charge())?;
                    Some(deferral.paid(charged)?)
                }
                None => None,
            };
            Upkeep::of_private(private, plan.optimizer, plan.steps, owed)
        }
        (StepMethod::NotPrivate { expected_batch, .. }, _) => {
            Upkeep::of_plain(&task.shape()?, *expected_batch, plan.optimizer, plan.steps)
        }
        (StepMethod::Private(_), None) => Upkeep::EveryStep,
    })
}

/// The losses of these parameters. *Not private.*
pub(crate) fn losses_of<T: Task + ?Sized>(
    task: &T,
    parameters: &[f32],
) -> Result<Losses, RunError> {
    let _stage = Stage::begin("measuring losses", Size::Unknown);
    let shape = task.shape()?;
    Ok(task.evaluate(&FlatRows::new(shape, parameters)))
}

/// The losses of the parameters as they are now. *Not private.* It is asked for at scheduled steps only.
fn evaluate<T: Task + ?Sized>(task: &T, tables: &mut Tables) -> Losses {
    let shape = tables.shape().clone();
    task.evaluate(&FlatRows::new(shape, tables.read().all()))
}

/// Remembers the parameters if they do best on validation data so far: early stopping, for runs without
/// privacy. With privacy the choice among parameters would be a release without a charge.
fn keep_best(plan: &RunPlan, state: &mut Checkpoint, losses: Losses) {
    let better = state.best.as_ref().is_none_or(|best| losses.validation < best.loss);
    if better && matches!(plan.method, StepMethod::NotPrivate { .. }) && !losses.validation.is_nan()
    {
        // Into the memory of the best so far, if there is one.
        let mut kept = state.best.take().map_or_else(Vec::new, |best| best.parameters);
        kept.clear();
        kept.extend_from_slice(state.tables.read().all());
        state.best = Some(Best { loss: losses.validation, parameters: kept });
    }
}

/// Charges a block; `None` for a run without privacy.
pub(crate) fn pay(
    plan: &RunPlan,
    block: &Range<u64>,
    sampler: Option<&Sampler>,
    purse: Option<&mut Purse>,
) -> Result<Option<Charged>, RunError> {
    let Some(sampler) = sampler else { return Ok(None) };
    let purse = purse.ok_or(RunError::NoPurse)?;
    // Always the whole block between two checkpoints, so that going on within one is a copy of it.
    let start = block.start / plan.checkpoint_every * plan.checkpoint_every;
    let charge = sampler.charge(start..block.end);
    Ok(Some(purse.charge(charge)?))
}

pub(crate) fn make_step<T: Task + ?Sized>(
    task: &T,
    plan: &RunPlan,
    source: &RandomSource,
    step: u64,
    state: &mut Checkpoint,
    paid: Option<(&Sampler, &Charged)>,
    plain: &mut PlainBatch,
) -> Result<(), RunError> {
    let tables = &mut state.tables;
    match (&plan.method, paid) {
        (StepMethod::Private(_), Some((sampler, paid))) => {
            private_step(task, sampler, paid, source, step, tables, &mut state.clip)?;
        }
        (StepMethod::Private(_), None) => return Err(RunError::NoPurse),
        (StepMethod::NotPrivate { rate, expected_batch }, _) => {
            plain_step(task, source, step, *rate, *expected_batch, plain, tables);
        }
    }
    state.add_to_average(plan);
    Ok(())
}
