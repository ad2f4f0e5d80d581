//! The lead of a run whose gradients are computed, and whose rows are held, elsewhere: it charges, orders, selects and saves.

use super::error::RemoteError;
use super::holder::read_floats;
use super::holder_messages::{
    END, HolderJob, HolderMessage, HolderSettings, HolderState, SAVE, Upkept,
};
use super::messages::{Job, MessageError, asks, pull, read_asks};
use super::saved::SavedRows;
use crate::application::Application;
use crate::books::Releases;
use crate::journal::Journal;
use crate::optimizer::OptimizerSettings;
use crate::paid_block::PaidBlock;
use crate::run::{RunError, RunPlan, upkeep};
use crate::session::{Finished, Session, SessionError};
use crate::settings::RunSettings;
use crate::tables::{Upkeep, largest_of};
use crate::task::Task as _;
use organza_mechanism::buckets::WorkerSettings;
use organza_mechanism::ranges::{Decision, PaidStep, RowRanges};
use organza_mechanism::{ReleasedClip, Sampler, Shape};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

/// The purpose under which steps are charged. It is not that of [`Session::train`], which would draw the same noise
/// for other batches.
const PURPOSE: &str = "training in buckets";

/// A run whose gradients are computed by workers, and whose rows are kept by holders. It needs an application, for its tables, its first
/// parameters and its files, and none of its units.
///
/// # Privacy
/// See [`remote`](crate::remote): it holds the key of the run, and sees which rows are read, and the sizes of those that may be selected, or their sums
/// where single coordinates are. Other sums do not come here; rows do in the states of holders, to be saved, and at the end.
pub struct StepLead<A: Application> {
    session: Session<A>,
    plan: RunPlan,
    sampler: Sampler,
    workers: WorkerSettings,
    holders: HolderSettings,
    shape: Shape,
    cut: RowRanges,
    /// First weights, until rows were saved.
    first: Vec<f32>,
    saved: SavedRows,
    steps: u64,
    clip: Option<ReleasedClip>,
    paid: PaidBlock,
    /// The step under way.
    step: Option<PaidStep>,
    journal: Journal,
    /// Since when a step is under way, and the seconds of those before.
    begun: Option<Instant>,
    seconds: f64,
}

impl<A: Application> StepLead<A> {
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
        let first = start.map_err(SessionError::from)?.parameters;
        let plan = session.plan.clone().ok_or(RemoteError::Settings("steps"))?;
        let source = session.books.source().clone();
        let begun = session.books.has_paid(PURPOSE);
        let (folder, purse) = session.books.purse()?;
        let folder = folder.ok_or(RunError::NoPurse)?;
        let task = session.application.task();
        let shape = task.shape().map_err(RunError::from)?;
        let cut = RowRanges::of(&shape);
        if cut.count() > 1 && matches!(plan.optimizer, OptimizerSettings::Projected(_)) {
            return Err(RemoteError::Settings(
                "an optimizer that moves each weight by itself: projections look at where it stands, and at others",
            ));
        }
        if first.len() as u64 != shape.coordinates() {
            return Err(RunError::Initial.into());
        }
        let sampler = plan.method.sampler(PURPOSE, task, &source).ok_or(RunError::NoPurse)?;
        let upkeep = upkeep(task, &plan, Some(&sampler), largest_of(&first), |charge| {
            Ok(purse.ok_or(RunError::NoPurse)?.charge(charge)?)
        })?;
        let (upkeep, owed) = match &upkeep {
            Upkeep::EveryStep => (Upkept::EveryStep, None),
            Upkeep::WhenRead => (Upkept::WhenRead, None),
            Upkeep::Owed(owed) => (Upkept::Owed, Some(owed)),
        };
        let of_groups = RemoteError::Settings("units that join one by one, not groups");
        let (Some(workers), Some(ranges)) =
            (sampler.worker_settings(), sampler.range_settings(owed))
        else {
            return Err(of_groups);
        };
        let (optimizer, average, steps) = (plan.optimizer, plan.average, plan.steps);
        let holders = HolderSettings { ranges, optimizer, upkeep, average, steps };
        let (saved, clip) = SavedRows::open(folder, cut)?;
        let steps = saved.steps();
        let journal = Journal::open(folder, steps, begun)?;
        Ok(Self {
            session,
            plan,
            sampler,
            workers,
            holders,
            shape,
            cut,
            first,
            saved,
            steps,
            clip,
            paid: PaidBlock::default(),
            step: None,
            journal,
            begun: None,
            seconds: 0.0,
        })
    }

    /// The steps that were made, and those that there are.
    pub fn steps(&self) -> (u64, u64) {
        (self.steps, self.plan.steps)
    }

    /// How rows are cut into ranges, which holders share.
    pub fn cut(&self) -> RowRanges {
        self.cut
    }

    /// What the worker of `buckets` needs once, with their keys: for it alone.
    pub fn job(&self, buckets: Range<u16>) -> Job {
        Job { settings: self.workers.clone(), keys: self.sampler.bucket_keys(buckets) }
    }

    /// What the holder of `ranges` needs once, with their keys: for it alone.
    pub fn holder_job(&self, ranges: Range<u16>) -> HolderJob {
        HolderJob { settings: self.holders.clone(), keys: self.sampler.range_keys(ranges) }
    }

    /// The rows of `ranges`, as they were at the last checkpoint: for whoever holds them.
    ///
    /// # Errors
    /// If what was saved cannot be read.
    pub fn holder_state(&self, ranges: Range<u16>) -> Result<HolderState, RemoteError> {
        Ok(match self.saved.steps() {
            0 => {
                let first = |range| {
                    let rows = self.cut.rows(range);
                    let last = self.shape.range(rows.end.saturating_sub(1)).end;
                    let weights = &self.first[self.shape.range(rows.start).start..last];
                    (range, weights.iter().flat_map(|weight| weight.to_le_bytes()).collect())
                };
                HolderState { run: self.run(), steps: None, ranges: ranges.map(first).collect() }
            }
            _ => self.saved.read(ranges)?,
        })
    }

    /// The order for the step under way, the same for all workers; the next one begins when the one before was made. `None` if
    /// all are made.
    ///
    /// # Errors
    /// If a charge is refused, a file cannot be written, or rows were not saved that have to be.
    pub fn order(&mut self) -> Result<Option<Vec<u8>>, RemoteError> {
        let (step, steps) = self.steps();
        if self.saves() {
            return Err(RemoteError::NotSaved(step));
        }
        if self.step.is_none() && step < steps {
            self.begun.get_or_insert_with(Instant::now);
            let (_, purse) = self.session.books.purse()?;
            let paid = self.paid.of_step(step, &self.plan, &self.sampler, purse)?;
            let opened = self.sampler.open(step, paid, self.clip).map_err(RunError::from)?;
            self.step = Some(opened);
        }
        Ok(self.step.as_ref().map(|step| step.order().to_bytes()))
    }

    fn run(&self) -> [u8; 16] {
        *self.workers.run.bytes()
    }

    /// Whether a step is under way.
    pub(super) fn is_ordered(&self) -> bool {
        self.step.is_some()
    }

    /// What the holder of `ranges` is told before anything else of the step that was ordered.
    ///
    /// # Errors
    /// If none was.
    pub fn opening(&self, ranges: Range<u16>) -> Result<Vec<u8>, RemoteError> {
        let step = self.step.as_ref().ok_or(RemoteError::NotOrdered)?;
        let mut read = self.journal.rows(step.order().step);
        read.retain(|row| ranges.contains(&self.cut.of_row(*row)));
        Ok(HolderMessage::Open { opening: &step.opening(ranges), read }.to_bytes())
    }

    /// Notes the rows that a worker asks for, and gives what each of `of` holders is asked: their answers are for the worker that asked, and
    /// those who are asked for nothing are told nothing.
    ///
    /// # Errors
    /// If it asks for another step than the one under way, or there are no such rows; if this step was made before without
    /// them.
    pub fn rows(&mut self, asked: &[u8], of: usize) -> Result<Vec<(usize, Vec<u8>)>, RemoteError> {
        let (order, rows) = read_asks(asked)?;
        let step = self.step.as_ref().ok_or(RemoteError::NotOrdered)?;
        if order != step.order() {
            return Err(MessageError::OtherStep.into());
        }
        if rows.iter().any(|row| self.shape.row(*row).is_none()) {
            return Err(MessageError::Damaged("list of rows").into());
        }
        if self.holders.upkeep == Upkept::Owed && !self.journal.note_rows(order.step, &rows)? {
            return Err(RemoteError::Diverged(order.step));
        }
        let of_holder = |number: usize| {
            let ranges = self.cut.of_place(number, of);
            let own = rows.iter().filter(|row| ranges.contains(&self.cut.of_row(**row)));
            let own: Vec<u32> = own.copied().collect();
            let message = HolderMessage::Rows(&asks(&order, &own)).to_bytes();
            (!own.is_empty()).then_some((number, message))
        };
        Ok((0..of).filter_map(of_holder).collect())
    }

    /// Takes what a holder answered to the last part: the offers of its ranges.
    ///
    /// # Errors
    /// If one is damaged, of another step, of other parts than those of other holders, or there already. It is not taken then; those before it are.
    pub fn offers(&mut self, mut offers: &[u8]) -> Result<(), RemoteError> {
        let step = self.step.as_mut().ok_or(RemoteError::NotOrdered)?;
        while !offers.is_empty() {
            let (offer, rest) = pull(offers, "offer")?;
            step.offer(offer)?;
            offers = rest;
        }
        Ok(())
    }

    /// The ranges whose offers are still to come.
    pub fn missing(&self) -> Vec<Range<u16>> {
        self.step.as_ref().map(PaidStep::missing).unwrap_or_default()
    }

    /// Decides what the step updates, when all offers are there, and gives what is told to the holder of each of these ranges.
    ///
    /// # Errors
    /// If offers are missing, or the step was made before of other sums.
    pub fn decide(&mut self, of: usize) -> Result<Vec<Vec<u8>>, RemoteError> {
        if let Some(missing) = self.missing().into_iter().next() {
            return Err(RemoteError::MissingRange(missing));
        }
        let paid_step = self.step.take().ok_or(RemoteError::NotOrdered)?;
        let step = paid_step.order().step;
        if !self.journal.note_sum(step, paid_step.digest())? {
            return Err(RemoteError::Diverged(step));
        }
        let decision: Decision = paid_step.decide().ok_or(RemoteError::NotOrdered)?;
        self.clip = decision.next_clip();
        self.steps = step + 1;
        self.seconds += self.begun.take().map_or(0.0, |begun| begun.elapsed().as_secs_f64());
        let for_holder = |number| decision.for_ranges(self.cut.of_place(number, of));
        let told = |number| HolderMessage::Decision(&for_holder(number)).to_bytes();
        Ok((0..of).map(told).collect())
    }

    /// Whether the rows of all holders are to be saved before the next step: their answers to [`StepLead::SAVE`] go to
    /// [`StepLead::save`].
    pub fn saves(&self) -> bool {
        self.saved.steps() < self.steps && self.plan.saves_after(self.steps)
    }

    /// What a holder is told to hand over its state.
    pub const SAVE: [u8; 1] = [SAVE];
    /// What a holder is told after the last step, to hand over its parameters.
    pub const END: [u8; 1] = [END];

    /// Keeps the state of a holder. When all are there, the run goes on from here if it is stopped.
    ///
    /// # Errors
    /// If nothing is to be saved, it is of another step or there already, or a file cannot be written.
    pub fn save(&mut self, state: &[u8]) -> Result<(), RemoteError> {
        if !self.saves() {
            return Err(MessageError::OtherStep.into());
        }
        let state = HolderState::from_bytes(state)?;
        if state.run != self.run() {
            return Err(MessageError::OtherStep.into());
        }
        if self.saved.keep(&state, self.steps, self.clip)? {
            self.first = Vec::new();
            // Before anything else: a step that is noted beside an older checkpoint would be forgotten.
            self.journal.clear(self.steps)?;
            self.saved.clean();
        }
        Ok(())
    }

    /// Ends the run, after its last step, with what all holders answered to [`StepLead::END`], in any order: certificate, model. Where the
    /// private part of the folder stays, whoever asked for that forgets it later.
    ///
    /// # Errors
    /// If steps are left, parameters are missing, or a file cannot be written.
    pub fn finish(
        self,
        parameters: &[Vec<u8>],
        keep_private: bool,
    ) -> Result<Finished<A::Model>, RemoteError> {
        let (done, steps) = self.steps();
        if done < steps {
            return Err(RemoteError::NotDone { left: steps - done, steps });
        }
        let damaged = || MessageError::Damaged("list of parameters");
        let mut ranges = BTreeMap::new();
        for own in parameters {
            let own = HolderState::from_bytes(own)?;
            if own.run != self.run()
                || own.steps.is_some()
                || own.ranges.keys().any(|range| ranges.contains_key(range))
            {
                return Err(damaged().into());
            }
            ranges.extend(own.ranges);
        }
        let mut all = Vec::new();
        for (range, values) in ranges {
            let rows = self.cut.rows(range);
            let length = self.shape.part(rows).coordinates();
            let values = read_floats(&values).filter(|values| values.len() as u64 == length);
            all.extend(values.ok_or_else(damaged)?);
        }
        if all.len() as u64 != self.shape.coordinates() {
            return Err(damaged().into());
        }
        Ok(self.session.finish(all, Vec::new(), Vec::new(), self.seconds, keep_private)?)
    }
}
