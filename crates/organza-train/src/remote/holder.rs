//! A holder of rows: it keeps some ranges of the tables, gathers their sums, and draws the noise on them.

use super::holder_messages::{HolderJob, HolderMessage, HolderSettings, HolderState, Upkept};
use super::messages::{MessageError, begin_rows, push, read_asks};
use crate::average::Average;
use crate::checkpoint::Checkpoint;
use crate::step::release_selected;
use crate::tables::{Tables, Upkeep};
use organza_mechanism::buckets::{BatchOrder, PartError, parts_of};
use organza_mechanism::ranges::{
    GatheredBatch, PaidOrder, RangeDecision, RangeKeys, RangeSum, RowRange, RowRanges,
};
use rayon::prelude::*;
use std::ops::Range;

/// Keeps the rows of some ranges of the tables.
///
/// # Privacy
/// See [`remote`](crate::remote) and [`organza_mechanism::ranges`]: it has the keys of the noise on its rows and sees their sums without
/// noise, and has no data. It draws noise for what a [`StepLead`](super::StepLead) has charged alone. Its state is as private as that of any run,
/// since it tells which rows were touched lately.
pub struct RowHolder {
    /// The public name of the key of the run.
    run: [u8; 16],
    keys: RangeKeys,
    cut: RowRanges,
    average: bool,
    /// All steps of the run.
    steps: u64,
    held: Vec<HeldRange>,
    /// The step under way.
    order: Option<PaidOrder>,
}

/// The rows of one range.
struct HeldRange {
    range: RowRange,
    state: Checkpoint,
    batch: Option<GatheredBatch>,
    sum: Option<RangeSum>,
}

impl RowHolder {
    /// A holder of the rows `state`, which are those of its job.
    ///
    /// # Errors
    /// If they are not, or the job is of another version.
    pub fn new(job: HolderJob, state: &HolderState) -> Result<Self, MessageError> {
        let HolderJob { settings, keys } = job;
        let cut = settings.ranges.cut();
        if keys.ranges().is_empty() || state.run != *settings.ranges.run.bytes() {
            return Err(PartError::OtherTables.into());
        }
        let of = |range: RowRange| HeldRange::new(range, &settings, state);
        let held = settings.ranges.ranges(&keys)?.into_iter().map(of);
        let held = held.collect::<Result<Vec<HeldRange>, MessageError>>()?;
        let HolderSettings { average, steps, .. } = settings;
        Ok(Self { run: state.run, keys, cut, average, steps, held, order: None })
    }

    /// Answers a message, for engines that carry bytes. Where there is nothing to answer, the answer is empty.
    ///
    /// # Errors
    /// If the message is damaged, late, or not sealed by the lead of this run.
    pub fn answer(&mut self, message: &[u8]) -> Result<Vec<u8>, MessageError> {
        match HolderMessage::from_bytes(message)? {
            HolderMessage::Open { opening, read } => self.open(opening, &read)?,
            HolderMessage::Rows(asks) => return self.rows(asks),
            HolderMessage::Parts(parts) => {
                self.add(parts)?;
                return Ok(if self.missing().is_empty() { self.offers()? } else { Vec::new() });
            }
            HolderMessage::Decision(decision) => self.decide(decision)?,
            HolderMessage::Save => return self.state(),
            HolderMessage::End => return Ok(self.weights()),
        }
        Ok(Vec::new())
    }

    /// Opens a step, in which the rows `read` were read before the run was stopped.
    pub(super) fn open(&mut self, opening: &[u8], read: &[u32]) -> Result<(), MessageError> {
        let paid = self.keys.opened(opening)?;
        if self.order == Some(paid) {
            return Ok(());
        }
        if self.held.iter().any(|held| held.state.tables.steps() != paid.order().step) {
            return Err(MessageError::OtherStep);
        }
        // None of them is at the step alone.
        let batches: Result<Vec<GatheredBatch>, PartError> =
            self.held.iter().map(|held| held.range.gather(&paid)).collect();
        for (held, batch) in self.held.iter_mut().zip(batches?) {
            (held.batch, held.sum) = (Some(batch), None);
        }
        self.order = Some(paid);
        // What was read at this step before the run was stopped has its noise from here.
        for row in read {
            self.visit(*row, |_| ())?;
        }
        Ok(())
    }

    /// The rows that a worker asks for, as they are now.
    pub(super) fn rows(&mut self, asks: &[u8]) -> Result<Vec<u8>, MessageError> {
        let (order, rows) = read_asks(asks)?;
        if self.order()? != order {
            return Err(MessageError::OtherStep);
        }
        let mut bytes = begin_rows(&order, &rows);
        let mut left = &rows[..];
        // The rows of a range are settled together.
        while let Some(row) = left.first() {
            let range = self.cut.of_row(*row);
            let end = left.iter().position(|row| self.cut.of_row(*row) != range);
            let (own, after) = left.split_at(end.unwrap_or(left.len()));
            left = after;
            self.visit_all(own, |values| {
                bytes.reserve(size_of_val(values));
                bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            })?;
        }
        Ok(bytes)
    }

    fn visit(&mut self, row: u32, visit: impl FnMut(&[f32])) -> Result<(), MessageError> {
        self.visit_all(&[row], visit)
    }

    /// Visits rows of one range.
    fn visit_all(&mut self, rows: &[u32], visit: impl FnMut(&[f32])) -> Result<(), MessageError> {
        let range = rows.first().map(|row| self.cut.of_row(*row));
        let held = self.held.iter_mut().find(|held| Some(held.range.number()) == range);
        let held = held.ok_or(MessageError::Damaged("list of rows"))?;
        let first = held.range.rows().start;
        let own: Vec<u32> = rows.iter().map(|row| row - first).collect();
        held.state.tables.visit(&own, visit);
        Ok(())
    }

    /// Takes the parts of its ranges, of one worker: all of them, or none.
    pub(super) fn add(&mut self, parts: &[u8]) -> Result<Range<u16>, MessageError> {
        let parts = parts_of(parts)?;
        if !parts
            .iter()
            .map(|(range, _)| *range)
            .eq(self.held.iter().map(|held| held.range.number()))
        {
            return Err(PartError::OtherTables.into());
        }
        let read = |(held, (_, part)): (&HeldRange, &(u16, &[u8]))| {
            held.batch.as_ref().ok_or(MessageError::OtherStep)?.read(part).map_err(Into::into)
        };
        let read: Result<Vec<_>, MessageError> =
            self.held.par_iter().zip(&parts).map(read).collect();
        let mut buckets: Option<Range<u16>> = None;
        let read = read?;
        if read.iter().any(|part| buckets.get_or_insert(part.buckets()).clone() != part.buckets()) {
            return Err(PartError::Damaged("its ranges are of other buckets").into());
        }
        for (held, part) in self.held.iter_mut().zip(read) {
            held.batch.as_mut().ok_or(MessageError::OtherStep)?.take(part)?;
        }
        Ok(buckets.unwrap_or_default())
    }

    /// The buckets whose parts are still to come: of all ranges the same.
    pub(super) fn missing(&self) -> Vec<Range<u16>> {
        let batch = self.held.first().and_then(|held| held.batch.as_ref());
        batch.map(GatheredBatch::missing).unwrap_or_default()
    }

    /// What its ranges offer to the rule of selection, when all parts are there. *Not private.*
    pub(super) fn offers(&mut self) -> Result<Vec<u8>, MessageError> {
        let offer = |held: &mut HeldRange| {
            let batch = held.batch.take().ok_or(MessageError::OtherStep)?;
            let sum = batch.join().ok_or(MessageError::OtherStep)?;
            let offer = sum.offer();
            held.sum = Some(sum);
            Ok(offer)
        };
        let offers: Result<Vec<Vec<u8>>, MessageError> =
            self.held.par_iter_mut().map(offer).collect();
        let mut bytes = Vec::new();
        offers?.iter().for_each(|offer| push(&mut bytes, offer));
        Ok(bytes)
    }

    /// Adds noise to what was decided, and moves its rows.
    pub(super) fn decide(&mut self, decision: &[u8]) -> Result<(), MessageError> {
        let decision = self.keys.decided(decision)?;
        if self.order()? != decision.order() {
            return Err(MessageError::OtherStep);
        }
        for held in &self.held {
            held.sum.as_ref().ok_or(MessageError::OtherStep)?.check(&decision)?;
        }
        let (average, steps) = (self.average, self.steps);
        let make = |held: &mut HeldRange| held.make(&decision, average, steps);
        self.held.par_iter_mut().try_for_each(make)?;
        self.order = None;
        Ok(())
    }

    fn order(&self) -> Result<BatchOrder, MessageError> {
        Ok(self.order.ok_or(MessageError::OtherStep)?.order())
    }

    /// Its rows as a checkpoint keeps them. *Not private.*
    pub(super) fn state(&self) -> Result<Vec<u8>, MessageError> {
        let steps = self.held.first().map(|held| held.state.tables.steps());
        let mut state = HolderState { run: self.run, steps, ..HolderState::default() };
        for held in &self.held {
            if Some(held.state.tables.steps()) != steps {
                return Err(MessageError::OtherStep);
            }
            let mut bytes = Vec::new();
            held.state.write(&mut bytes).map_err(|_| MessageError::Damaged("state"))?;
            state.ranges.insert(held.range.number(), bytes);
        }
        Ok(state.to_bytes())
    }

    /// Its weights at the end, all up to date. It holds nothing afterwards.
    pub(super) fn weights(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        let average = self.average;
        let of = |held: HeldRange| {
            let weights = held.state.into_parameters(average);
            let weights = weights.iter().flat_map(|value| value.to_le_bytes()).collect();
            (held.range.number(), weights)
        };
        let ranges: Vec<(u16, Vec<u8>)> = held.into_par_iter().map(of).collect();
        HolderState { run: self.run, steps: None, ranges: ranges.into_iter().collect() }.to_bytes()
    }
}

impl HeldRange {
    fn new(
        range: RowRange,
        settings: &HolderSettings,
        state: &HolderState,
    ) -> Result<Self, MessageError> {
        let damaged = || MessageError::Damaged("state");
        let shape = range.shape();
        let upkeep = match (settings.upkeep, range.owed()) {
            (Upkept::EveryStep, _) => Upkeep::EveryStep,
            (Upkept::WhenRead, _) => Upkeep::WhenRead,
            (Upkept::Owed, Some(owed)) => Upkeep::Owed(owed.clone()),
            (Upkept::Owed, None) => return Err(MessageError::Damaged("job")),
        };
        let own = state.ranges.get(&range.number()).ok_or_else(damaged)?;
        let coordinates = shape.coordinates() as usize;
        let weights = match state.steps {
            None => read_floats(own).ok_or_else(damaged)?,
            Some(_) => vec![0.0; coordinates],
        };
        let tables = Tables::new(shape, settings.optimizer, upkeep, weights).ok_or_else(damaged)?;
        let average = Average::new(if settings.average { coordinates } else { 0 });
        let state = match state.steps {
            None => Checkpoint { tables, average, best: None, clip: None },
            Some(steps) => {
                let read = Checkpoint::read(&mut &own[..], own.len() as u64, tables);
                read.ok().filter(|read| read.tables.steps() == steps).ok_or_else(damaged)?
            }
        };
        Ok(Self { range, state, batch: None, sum: None })
    }

    fn make(
        &mut self,
        decision: &RangeDecision,
        average: bool,
        steps: u64,
    ) -> Result<(), MessageError> {
        let sum = self.sum.take().ok_or(MessageError::OtherStep)?;
        let selected = sum.chosen(decision)?;
        release_selected(selected, &mut self.state.tables, &mut None);
        self.state.add_to_average(average, steps);
        Ok(())
    }
}

/// Numbers of four bytes each.
pub(super) fn read_floats(bytes: &[u8]) -> Option<Vec<f32>> {
    let (values, []) = bytes.as_chunks::<4>() else { return None };
    Some(values.iter().map(|value| f32::from_le_bytes(*value)).collect())
}

impl std::fmt::Debug for RowHolder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "RowHolder({:?})", self.keys.ranges())
    }
}
