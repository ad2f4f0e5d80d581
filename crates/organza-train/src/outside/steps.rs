//! The steps of a network, made one by one with gradients from outside.

use super::gradients::{Gradients, Pool};
use super::network::{Network, NetworkData, NetworkSettings};
use crate::application::Application;
use crate::books::Releases;
use crate::checkpoint::Checkpoint;
use crate::folder::{FolderError, RunFolder};
use crate::journal::Journal;
use crate::metrics::{self, Metrics};
use crate::run::{RunError, RunPlan, TRAINING, opened_as, pay};
use crate::session::{Finished, Session, SessionError};
use crate::step::{draw_batch, release};
use crate::task::Losses;
use organza_ledger::Charged;
use organza_mechanism::{BatchPart, PartSum, Purpose, ReadRows, Sampler, UnitGradient};
use rayon::prelude::*;
use std::collections::VecDeque;
use std::path::Path;
use std::time::Instant;
use thiserror::Error;

/// Why a step cannot be made.
#[derive(Debug, Error)]
pub enum NetworkError {
    /// The run.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// No part of a batch waits for gradients.
    #[error("no batch waits for gradients: draw one first, and step once for each")]
    NotDrawn,
    /// Gradients of something else.
    #[error("the gradients do not fit the batch: {0}")]
    Misfit(String),
    /// There is no such table.
    #[error("there is no table {0}")]
    NoTable(usize),
    /// A step was made before, of other gradients.
    #[error(
        "step {0} was made before the run was stopped, of other gradients: its noise would not hide the difference. The model, its \
         code, or the number of threads has changed: bring them back, or begin a new run"
    )]
    Diverged(u64),
    /// A step was made before, of other rows.
    #[error(
        "step {0} was made before the run was stopped, without rows that are read in it now: their noise is drawn where they are \
         read. Look at tables at the same steps as before, by `plan.steps` and not by a counter of the program, or after the \
         step at which the run was stopped"
    )]
    OtherRows(u64),
    /// There are steps left.
    #[error("{left} steps are left of {steps}: the certificate is for all of them")]
    NotDone {
        /// The steps that are left.
        left: u64,
        /// All steps.
        steps: u64,
    },
}

impl From<RunError> for NetworkError {
    fn from(error: RunError) -> Self {
        Self::Session(error.into())
    }
}

impl From<FolderError> for NetworkError {
    fn from(error: FolderError) -> Self {
        Self::Session(error.into())
    }
}

/// A part of a batch: whole units, with the examples that each has in this step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The examples, unit by unit. *Not private*: they must not leave the run.
    pub examples: Vec<u64>,
    /// Where those of each unit end.
    pub ends: Vec<usize>,
    /// The seed of what layers draw for this part, such as dropout. A secret of the run: a layer draws for one example after the
    /// other, so that one unit more moves all draws by a place. That is hidden where draws are independent to whoever sees
    /// the result, and not where their seed is known.
    pub seed: u64,
}

/// A run of a network whose gradients come from outside.
///
/// # Privacy
/// Batches are drawn here, by Poisson sampling of units, against a charge; gradients are taken for the batch that was drawn, once,
/// and each unit's are clipped as one. What whoever computes them has to see to is that those of an example depend on this
/// example and on what was released, and on no other example.
pub struct NetworkSteps {
    session: Session<Network>,
    plan: RunPlan,
    sampler: Sampler,
    state: Checkpoint,
    /// The steps that `charged` pays for.
    paid: Option<(u64, Charged)>,
    drawn: Option<Drawn>,
    /// None where no checkpoints are written.
    journal: Option<Journal>,
    /// The step at which rows were read again that were read at it before the run was stopped.
    caught_up: Option<u64>,
    /// Whether rows were read outside of a batch since the last checkpoint.
    looked: bool,
    seconds: f64,
}

/// A batch that waits for gradients.
struct Drawn {
    step: u64,
    /// Parts that are still to come, those of one [`Part`] together.
    waiting: VecDeque<(Vec<BatchPart>, Part)>,
    sums: Vec<PartSum>,
}

impl NetworkSteps {
    /// Begins a run in an empty folder; one that `goes_on` can be resumed.
    ///
    /// # Errors
    /// As [`Session::begin`].
    pub fn begin(
        settings: NetworkSettings,
        data: NetworkData,
        path: &Path,
        goes_on: bool,
    ) -> Result<Self, NetworkError> {
        let session = match goes_on {
            true => Session::begin_with(settings, path, |_| Ok(data))?,
            false => Session::once(settings, path, |_| Ok(data))?,
        };
        Self::open(session, goes_on)
    }

    /// Goes on with the run in a folder, if it was begun with these settings and is not finished.
    ///
    /// # Errors
    /// As [`Session::resume`].
    pub fn resume(
        settings: &NetworkSettings,
        data: NetworkData,
        path: &Path,
    ) -> Result<Option<Self>, NetworkError> {
        if !Session::<Network>::is_unfinished(settings, path) {
            return Ok(None);
        }
        let session = Session::resume_with(path, None, |_| Ok(data))?;
        Self::open(session, true).map(Some)
    }

    fn open(mut session: Session<Network>, goes_on: bool) -> Result<Self, NetworkError> {
        let mut releases = Releases::new(&mut session.books, &session.phases);
        let start = session.application.start(&session.settings, &mut releases);
        let start = start.map_err(SessionError::from)?.parameters;
        let plan = session.plan.clone().ok_or(RunError::NoPurse)?;
        let source = session.books.source().clone();
        let begun = session.books.has_paid(TRAINING);
        let (folder, purse) = session.books.purse()?;
        let saved = folder.filter(|_| goes_on);
        let task = session.application.task();
        let (sampler, state) =
            opened_as(TRAINING, task, &plan, saved, &source, start, purse, &mut ())?;
        let sampler = sampler.ok_or(RunError::NoPurse)?;
        let journal = match saved {
            Some(folder) => {
                let journal = Journal::open(folder, state.tables.steps(), begun)?;
                // What the dense part began with is known to whoever begins, and to nobody who goes on.
                if state.tables.steps() == 0 {
                    state.save(folder)?;
                }
                Some(journal)
            }
            None => None,
        };
        Ok(Self {
            session,
            plan,
            sampler,
            state,
            paid: None,
            drawn: None,
            journal,
            caught_up: None,
            looked: false,
            seconds: 0.0,
        })
    }

    /// The steps that were made, and those that there are.
    pub fn steps(&self) -> (u64, u64) {
        (self.state.tables.steps(), self.plan.steps)
    }

    /// The deviation of the noise over the sensitivity, and the probability with which a unit joins.
    pub fn noise(&self) -> (f64, f64) {
        let plan = self.plan.method.plan().expect("steps of a network are private");
        let settings = plan.settings();
        (plan.noise_deviation() * settings.expected_batch / settings.clip, settings.rate)
    }

    /// The part that waits for gradients; if none does, the batch of the next step is drawn, in parts of at most `units` units.
    /// None if all steps are made. A part may have no example.
    ///
    /// # Errors
    /// If a charge is refused.
    pub fn draw(&mut self, units: usize) -> Result<Option<&Part>, NetworkError> {
        if self.drawn.is_none() {
            let step = self.state.tables.steps();
            if step >= self.plan.steps {
                return Ok(None);
            }
            if std::mem::take(&mut self.looked) {
                // Whoever goes on need not look again where this program did.
                self.save()?;
            }
            self.catch_up();
            self.pay(step)?;
            let (_, paid) = self.paid.as_ref().ok_or(RunError::NoPurse)?;
            let clip = self.state.clip;
            let batch = draw_batch(&self.sampler, paid, step, clip).map_err(RunError::from)?;
            let parts = batch.units().len().div_ceil(units.max(1)).max(1);
            // A whole batch is summed on all threads, a part on one: parts are the same with any number of them.
            let threads = if parts == 1 { rayon::current_num_threads() } else { 1 };
            let mut random = self.session.books.source().step(Purpose::Negatives, step).shard(0);
            let examples = self.session.application.examples();
            let mut split = batch.split(parts * threads).into_iter();
            let layers = self.session.books.source().step(Purpose::Layers, step);
            let waiting = (0..parts).map(|number| {
                let group: Vec<BatchPart> = split.by_ref().take(threads).collect();
                let seed = layers.shard(number as u64).word();
                let mut part = Part { seed, ..Part::default() };
                for unit in group.iter().flat_map(BatchPart::units) {
                    random.turn_to(*unit);
                    examples.draw(*unit, &mut random, &mut part.examples);
                    part.ends.push(part.examples.len());
                }
                (group, part)
            });
            let waiting = waiting.collect();
            self.drawn = Some(Drawn { step, waiting, sums: Vec::new() });
        }
        Ok(self.drawn.as_ref().and_then(|drawn| drawn.waiting.front()).map(|(_, part)| part))
    }

    /// Charges for the block of steps that `step` is in, unless it is charged.
    fn pay(&mut self, step: u64) -> Result<(), NetworkError> {
        if self.paid.as_ref().is_none_or(|(end, _)| step >= *end) {
            let every = self.plan.checkpoint_every;
            let end = self.plan.steps.min((step / every + 1) * every);
            let (_, purse) = self.session.books.purse()?;
            let charged = pay(&self.plan, &(step..end), Some(&self.sampler), purse)?;
            self.paid = charged.map(|charged| (end, charged));
        }
        Ok(())
    }

    /// Reads what was read at this step before the run was stopped, whether or not the program does: it has its noise from here.
    fn catch_up(&mut self) {
        let step = self.state.tables.steps();
        if self.caught_up != Some(step)
            && let Some(journal) = &self.journal
        {
            self.state.tables.visit(&journal.rows(step), |_| ());
            self.caught_up = Some(step);
        }
    }

    /// Writes a checkpoint, if there are any.
    fn save(&mut self) -> Result<(), NetworkError> {
        if let Some(journal) = &mut self.journal {
            let (folder, _) = self.session.books.purse()?;
            self.state.save(folder.ok_or(RunError::NoPurse)?)?;
            journal.clear(self.state.tables.steps())?;
        }
        Ok(())
    }

    /// Rows of a table as they are now, one after another, or put together; zeros for numbers below zero and beyond the last. They
    /// were released.
    ///
    /// # Errors
    /// If there is no such table, or tables owe noise and this step was made before without these rows.
    pub fn read(
        &mut self,
        table: usize,
        rows: &[i64],
        pool: Option<Pool>,
        values: &mut Vec<f32>,
    ) -> Result<(), NetworkError> {
        self.catch_up();
        let places = self.session.application.places();
        let (_, dimensions) = *places.tables.get(table).ok_or(NetworkError::NoTable(table))?;
        let tables = &mut self.state.tables;
        let mut asked = Vec::new();
        if tables.wait() {
            asked.extend(rows.iter().filter_map(|row| places.row(table, *row)));
            if let Some(journal) = &mut self.journal {
                let step = tables.steps();
                let owing = asked.iter().copied().filter(|row| tables.owes(*row));
                let owing: Vec<u32> = owing.collect();
                if !journal.note_rows(step, &owing)? {
                    return Err(NetworkError::OtherRows(step));
                }
                self.looked |= self.drawn.is_none() && !owing.is_empty();
            }
        }
        let mut weights = self.state.tables.read();
        weights.ask_for(&asked);
        let settled = weights.rows();
        let bag = pool.map_or(1, |pool| pool.rows.max(1));
        let before = values.len();
        values.resize(before + rows.len().div_ceil(bag) * dimensions, 0.0);
        for (bag, sums) in rows.chunks(bag).zip(values[before..].chunks_mut(dimensions)) {
            let mut there = 0;
            for row in bag.iter().filter_map(|row| places.row(table, *row)) {
                sums.iter_mut().zip(settled.row(row)).for_each(|(sum, value)| *sum += value);
                there += 1;
            }
            if let Some(pool) = pool {
                let factor = pool.factor(there);
                sums.iter_mut().for_each(|sum| *sum *= factor);
            }
        }
        Ok(())
    }

    /// The dense part as it is now, tensor after tensor. It was released.
    pub fn dense(&mut self) -> Vec<f32> {
        let Some(row) = self.session.application.places().dense else { return Vec::new() };
        self.state.tables.read().rows().row(row).to_vec()
    }

    /// Takes the gradients of the part that waits. After the last part of a batch the step is made; returns whether it was.
    ///
    /// # Errors
    /// If no part waits, gradients do not fit, or the step was made before, of other gradients.
    pub fn add(&mut self, gradients: &Gradients<'_>) -> Result<bool, NetworkError> {
        let begun = Instant::now();
        let drawn = self.drawn.as_mut().ok_or(NetworkError::NotDrawn)?;
        let (_, part) = drawn.waiting.front().ok_or(NetworkError::NotDrawn)?;
        let places = self.session.application.places();
        if let Some(misfit) = places.misfit(gradients, part.examples.len()) {
            return Err(NetworkError::Misfit(misfit));
        }
        let beyond = gradients.lookups.iter().map(|it| places.beyond(it.table, it.rows));
        let beyond: u64 = beyond.sum();
        let (parts, part) = drawn.waiting.pop_front().ok_or(NetworkError::NotDrawn)?;
        let mut first = 0;
        let parts: Vec<(usize, BatchPart)> = parts
            .into_iter()
            .map(|part| {
                first += part.units().len();
                (first - part.units().len(), part)
            })
            .collect();
        let sums: Vec<PartSum> = parts
            .into_par_iter()
            .map(|(mut place, units)| {
                units.sum(|_, unit: &mut UnitGradient| {
                    let start = place.checked_sub(1).map_or(0, |before| part.ends[before]);
                    places.add(gradients, start..part.ends[place], unit);
                    place += 1;
                })
            })
            .collect();
        drawn.sums.extend(sums);
        self.session.application.beyond += beyond;
        let made = self.drawn.as_ref().is_some_and(|drawn| drawn.waiting.is_empty());
        if made {
            self.make()?;
        }
        self.seconds += begun.elapsed().as_secs_f64();
        Ok(made)
    }

    /// Makes the step whose sums are all there.
    fn make(&mut self) -> Result<(), NetworkError> {
        let Some(Drawn { step, sums, .. }) = self.drawn.take() else { return Ok(()) };
        let sum = PartSum::join(sums).expect("all parts of one batch are there once");
        if let Some(journal) = &mut self.journal
            && !journal.note_sum(step, sum.digest())?
        {
            return Err(NetworkError::Diverged(step));
        }
        release(sum, &mut self.state.tables, &mut self.state.clip);
        // By rule, and not because somebody reads it: if nobody has touched it, it owes noise.
        if let Some(dense) = self.session.application.places().dense {
            self.state.tables.visit(&[dense], |_| ());
        }
        self.state.add_to_average(&self.plan);
        let done = step + 1;
        if done.is_multiple_of(self.plan.checkpoint_every) || done == self.plan.steps {
            self.save()?;
        }
        Ok(())
    }

    fn folder(&mut self) -> Result<Option<&RunFolder>, NetworkError> {
        Ok(self.session.books.purse()?.0)
    }

    /// Puts losses that were measured outside on the learning curve. *Not private.*
    ///
    /// # Errors
    /// If the curve cannot be written.
    pub fn record(&mut self, losses: Losses) -> Result<(), NetworkError> {
        let step = self.state.tables.steps();
        let folder = self.folder()?;
        Ok(Metrics::open(folder, step)?.add(step, losses, &mut ())?)
    }

    /// Ends the run, after its last step: certificate, model.
    ///
    /// # Errors
    /// If steps are left, or a file cannot be written.
    pub fn finish(mut self) -> Result<Finished<Vec<f32>>, NetworkError> {
        let (done, steps) = self.steps();
        if done < steps {
            return Err(NetworkError::NotDone { left: steps - done, steps });
        }
        let curve = self.folder()?.map(metrics::read).transpose()?.unwrap_or_default();
        let parameters = self.state.into_parameters(self.plan.average);
        Ok(self.session.finish(parameters, Vec::new(), curve, self.seconds, false)?)
    }
}
