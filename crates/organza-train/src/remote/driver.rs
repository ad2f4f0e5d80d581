//! The driver: it charges, gathers parts, selects, adds noise, moves the tables and saves.

use super::messages::{Job, MessageError, begin_rows, read_asks};
use crate::application::Application;
use crate::books::Releases;
use crate::checkpoint::Checkpoint;
use crate::folder::FolderError;
use crate::journal::Journal;
use crate::run::{RunError, RunPlan, opened_as, pay};
use crate::session::{Finished, Session, SessionError};
use crate::settings::RunSettings;
use crate::step::release;
use crate::task::Task as _;
use organza_ledger::Charged;
use organza_mechanism::Sampler;
use organza_mechanism::buckets::{GatheredBatch, PartError, WorkerSettings};
use std::ops::Range;
use std::path::Path;
use std::time::Instant;
use thiserror::Error;

/// The purpose under which steps are charged. It is not that of [`Session::train`], which would draw the same noise
/// for other batches.
const PURPOSE: &str = "training in buckets";

/// Why a driver cannot go on, or does not take a message.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// The run.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A message, which changed nothing.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The settings are for something else.
    #[error("steps by workers need {0}")]
    Settings(&'static str),
    /// A step was made before, of another sum or from other rows.
    #[error(
        "step {0} was made before the run was stopped, of another sum: its noise would not hide the difference. The data or the \
         program of a worker has changed: bring them back, or begin a new run"
    )]
    Diverged(u64),
    /// Parts are missing.
    #[error("the step cannot be made: buckets {}..{} are missing", .0.start, .0.end)]
    Missing(Range<u16>),
    /// No step is under way.
    #[error("no step is under way: ask for its order first")]
    NotOrdered,
    /// There are steps left.
    #[error("{left} steps are left of {steps}: the certificate is for all of them")]
    NotDone {
        /// The steps that are left.
        left: u64,
        /// All steps.
        steps: u64,
    },
    /// A worker could not go on.
    #[error("worker {worker} failed: {reason}")]
    Worker {
        /// Its number.
        worker: usize,
        /// Why, as it said. *Not private*: it may be about its data.
        reason: String,
    },
}

impl From<RunError> for RemoteError {
    fn from(error: RunError) -> Self {
        Self::Session(error.into())
    }
}

impl From<FolderError> for RemoteError {
    fn from(error: FolderError) -> Self {
        Self::Session(error.into())
    }
}

impl From<PartError> for RemoteError {
    fn from(error: PartError) -> Self {
        Self::Message(error.into())
    }
}

/// A run whose gradients are computed by workers. It needs an application, for its tables, its first parameters and
/// its files, and none of its units.
///
/// # Privacy
/// See [`remote`](crate::remote): it holds the key of the noise and sees sums without noise.
pub struct StepDriver<A: Application> {
    session: Session<A>,
    plan: RunPlan,
    sampler: Sampler,
    settings: WorkerSettings,
    state: Checkpoint,
    /// The steps that `charged` pays for.
    paid: Option<(u64, Charged)>,
    /// The batch of the step under way.
    batch: Option<GatheredBatch>,
    journal: Journal,
    seconds: f64,
}

impl<A: Application> StepDriver<A> {
    /// Begins a run in an empty folder, or goes on with the one that was begun there with these settings; `data` is that of
    /// an application without units.
    ///
    /// # Errors
    /// If the run is not private, its number of units is not declared, it has no steps, or its task a refinement; as [`Session::begin`] and
    /// [`Session::resume`]; if another process goes on with it.
    pub fn open(settings: A::Settings, data: A::Data, path: &Path) -> Result<Self, RemoteError> {
        let engine = settings.engine();
        if !engine.private {
            return Err(RemoteError::Settings("privacy: a run without it trains on one machine"));
        }
        if engine.privacy.units.is_none() {
            return Err(RemoteError::Settings(
                "the number of units to be declared (--units): the driver has none to count",
            ));
        }
        if !A::phases(&settings, &data).map_err(SessionError::from)?.is_empty() {
            return Err(RemoteError::Settings(
                "a method that releases nothing before its steps: the driver has no units to count",
            ));
        }
        let mut session: Session<A> = match Session::<A>::is_unfinished(&settings, path) {
            true => Session::resume_with(path, None, |_| Ok(data))?,
            false => Session::begin_with(settings, path, |_| Ok(data))?,
        };
        if session.application.task().refinement().is_some() {
            return Err(RemoteError::Settings(
                "a task without a refinement: parameters move by released gradients as they are",
            ));
        }
        let mut releases = Releases::new(&mut session.books, &session.phases);
        let start = session.application.start(&session.settings, &mut releases);
        let start = start.map_err(SessionError::from)?.parameters;
        let plan = session.plan.clone().ok_or(RemoteError::Settings("steps"))?;
        let source = session.books.source().clone();
        let begun = session.books.has_paid(PURPOSE);
        let (folder, purse) = session.books.purse()?;
        let folder = folder.ok_or(RunError::NoPurse)?;
        let task = session.application.task();
        let (sampler, state) =
            opened_as(PURPOSE, task, &plan, Some(folder), &source, start, purse, &mut ())?;
        let journal = Journal::open(folder, state.tables.steps(), begun)?;
        let sampler = sampler.ok_or(RunError::NoPurse)?;
        let settings = sampler.worker_settings();
        let settings =
            settings.ok_or(RemoteError::Settings("units that join one by one, not groups"))?;
        Ok(Self {
            session,
            plan,
            sampler,
            settings,
            state,
            paid: None,
            batch: None,
            journal,
            seconds: 0.0,
        })
    }

    /// The steps that were made, and those that there are.
    pub fn steps(&self) -> (u64, u64) {
        (self.state.tables.steps(), self.plan.steps)
    }

    /// What the worker of `buckets` needs once, with their keys: for it alone.
    pub fn job(&self, buckets: Range<u16>) -> Job {
        Job { settings: self.settings.clone(), keys: self.sampler.bucket_keys(buckets) }
    }

    /// The order for the step under way, the same for all workers; the next one begins when the one before was made. `None` if
    /// all are made.
    ///
    /// # Errors
    /// If a charge is refused, or a file cannot be written.
    pub fn order(&mut self) -> Result<Option<Vec<u8>>, RemoteError> {
        let (step, steps) = self.steps();
        if self.batch.is_none() && step < steps {
            self.pay(step)?;
            let (_, paid) = self.paid.as_ref().ok_or(RunError::NoPurse)?;
            let batch = self.sampler.gather(step, paid).map_err(RunError::from)?;
            self.batch = Some(match self.state.clip {
                Some(clip) => batch.at_clip(clip),
                None => batch,
            });
            // What was read at this step before the run was stopped has its noise from here.
            self.state.tables.visit(&self.journal.rows(step), |_| ());
        }
        Ok(self.batch.as_ref().map(|batch| batch.order().to_bytes()))
    }

    /// Charges for the block of steps that `step` is in, unless it is charged.
    fn pay(&mut self, step: u64) -> Result<(), RemoteError> {
        if self.paid.as_ref().is_none_or(|(end, _)| step >= *end) {
            let every = self.plan.checkpoint_every;
            let end = self.plan.steps.min((step / every + 1) * every);
            let (_, purse) = self.session.books.purse()?;
            let charged = pay(&self.plan, &(step..end), Some(&self.sampler), purse)?;
            self.paid = charged.map(|charged| (end, charged));
        }
        Ok(())
    }

    /// The rows that a worker asks for, as they are now: for the worker that asked.
    ///
    /// # Errors
    /// If it asks for another step than the one under way, or there are no such rows; if this step was made before without
    /// them.
    pub fn rows(&mut self, asks: &[u8]) -> Result<Vec<u8>, RemoteError> {
        let (order, rows) = read_asks(asks)?;
        let batch = self.batch.as_ref().ok_or(RemoteError::NotOrdered)?;
        if order != batch.order() {
            return Err(MessageError::OtherStep.into());
        }
        let tables = &mut self.state.tables;
        if rows.iter().any(|row| tables.shape().row(*row).is_none()) {
            return Err(MessageError::Damaged("list of rows").into());
        }
        if tables.owed_noise().is_some() && !self.journal.note_rows(order.step, &rows)? {
            return Err(RemoteError::Diverged(order.step));
        }
        let mut bytes = begin_rows(&order, &rows);
        tables.visit(&rows, |values| {
            bytes.reserve(size_of_val(values));
            bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        });
        Ok(bytes)
    }

    /// Takes a part of the step under way.
    ///
    /// # Errors
    /// If it is damaged, of another run or step, or of buckets that are there already. Nothing has changed then, and the step
    /// goes on.
    pub fn add(&mut self, part: &[u8]) -> Result<Range<u16>, RemoteError> {
        let batch = self.batch.as_mut().ok_or(RemoteError::NotOrdered)?;
        Ok(batch.add(part)?)
    }

    /// The buckets whose parts are still to come.
    pub fn missing(&self) -> Vec<Range<u16>> {
        self.batch.as_ref().map(GatheredBatch::missing).unwrap_or_default()
    }

    /// Makes the step, all of whose parts are there: joins them, selects, adds noise, moves the tables, and saves where the plan
    /// says so.
    ///
    /// # Errors
    /// If parts are missing, the step was made before of another sum, or a file cannot be written.
    pub fn make(&mut self) -> Result<(), RemoteError> {
        let begun = Instant::now();
        if let Some(missing) = self.missing().into_iter().next() {
            return Err(RemoteError::Missing(missing));
        }
        let batch = self.batch.take().ok_or(RemoteError::NotOrdered)?;
        let step = batch.order().step;
        let sum = batch.join().ok_or(RemoteError::NotOrdered)?;
        if !self.journal.note_sum(step, sum.digest())? {
            return Err(RemoteError::Diverged(step));
        }
        release(sum, &mut self.state.tables, &mut self.state.clip);
        self.state.add_to_average(&self.plan);
        let done = step + 1;
        if done.is_multiple_of(self.plan.checkpoint_every) || done == self.plan.steps {
            let (folder, _) = self.session.books.purse()?;
            self.state.save(folder.ok_or(RunError::NoPurse)?)?;
            self.journal.clear(done)?;
        }
        self.seconds += begun.elapsed().as_secs_f64();
        Ok(())
    }

    /// Ends the run, after its last step: certificate, model. Where the private part of the folder stays, whoever asked for that
    /// forgets it later.
    ///
    /// # Errors
    /// If steps are left, or a file cannot be written.
    pub fn finish(self, keep_private: bool) -> Result<Finished<A::Model>, RemoteError> {
        let (done, steps) = self.steps();
        if done < steps {
            return Err(RemoteError::NotDone { left: steps - done, steps });
        }
        let parameters = self.state.into_parameters(self.plan.average);
        Ok(self.session.finish(parameters, Vec::new(), Vec::new(), self.seconds, keep_private)?)
    }
}
