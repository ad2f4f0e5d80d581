//! A worker: its units' part of each step.

use super::messages::{Job, MessageError, Reply, asks, read_rows};
use crate::step::units_of_a_part;
use crate::tables::UnitDraws;
use crate::task::Task;
use organza_mechanism::buckets::{BatchOrder, BucketBatch, BucketSampler, BucketUnits, PartError};
use organza_mechanism::{ReadRows, Shape};
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, PoisonError};

/// Computes the part of its units in each step that it is ordered to, over the units of a task.
///
/// It keeps nothing between steps: one that was restarted gives the same bytes to the same order.
pub struct StepWorker<T> {
    task: T,
    shape: Shape,
    sampler: BucketSampler,
    left_out: u64,
    /// The step that it is at.
    drawn: Option<Drawn>,
}

struct Drawn {
    order: BatchOrder,
    batch: BucketBatch,
    /// How many units a thread takes.
    each: usize,
    draws: Vec<UnitDraws>,
    rows: HeldRows,
}

impl<T: Task> StepWorker<T> {
    /// A worker for the units of `task` that fall into the buckets of `job`: unit 0 has the first of `names`, by which it is
    /// known wherever it is. Other units are left out, and so is a second one of the same name.
    ///
    /// # Errors
    /// If the run has other tables, or units and names are not equally many.
    pub fn new<N: AsRef<[u8]>>(
        task: T,
        names: impl IntoIterator<Item = N>,
        job: &Job,
    ) -> Result<Self, MessageError> {
        let shape = task.shape().map_err(|_| PartError::OtherTables)?;
        let Job { settings, keys } = job.clone();
        let names: Vec<N> = names.into_iter().collect();
        if names.len() as u64 != task.units() {
            return Err(MessageError::Names { names: names.len() as u64, units: task.units() });
        }
        let units = BucketUnits::by_name(names, keys.buckets());
        let left_out = units.left_out();
        let sampler = BucketSampler::new(settings, shape.clone(), keys, units)?;
        Ok(Self { task, shape, sampler, left_out, drawn: None })
    }

    /// How many units were left out, as their buckets are others' or their names not their own: zero where data was divided by
    /// [`bucket`](super::bucket). *Not private.*
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Draws who joins the batch of an order, and asks for the rows that their gradients read; or hands over the part, if
    /// there are none.
    ///
    /// # Errors
    /// If the order is of another run.
    pub fn order(&mut self, order: &[u8]) -> Result<Reply, MessageError> {
        let order = BatchOrder::from_bytes(order)?;
        let batch = self.sampler.batch(&order)?;
        let each = units_of_a_part(batch.count());
        let task = &self.task;
        let draw_part = |part: usize| {
            let mut drawn = UnitDraws::default();
            batch.draw(part * each..(part + 1) * each, |unit, random| {
                let draw = |numbers: &mut Vec<u32>| task.draw(unit, random, numbers);
                drawn.push(draw, |draw, rows| {
                    task.reads(unit, draw, &mut |row| rows.push(row));
                });
            });
            drawn
        };
        let parts = batch.count().div_ceil(each);
        let mut draws: Vec<UnitDraws> = (0..parts).into_par_iter().map(draw_part).collect();
        let mut asked: Vec<u32> =
            draws.iter_mut().flat_map(|part| std::mem::take(&mut part.rows)).collect();
        asked.par_sort_unstable();
        asked.dedup();
        asked.retain(|row| self.shape.row(*row).is_some());
        let widest = task.tables().iter().map(|(_, dimensions)| *dimensions).max();
        let rows = HeldRows::new(self.shape.clone(), widest.unwrap_or(0) as usize);
        self.drawn = Some(Drawn { order, batch, each, draws, rows });
        if asked.is_empty() { Ok(self.sum()) } else { Ok(Reply::Asks(asks(&order, &asked))) }
    }

    /// Takes rows that it asked for, and hands over the part; or asks for others, which gradients read without having said
    /// so.
    ///
    /// # Errors
    /// If the rows are of another step than its last order.
    pub fn rows(&mut self, rows: &[u8]) -> Result<Reply, MessageError> {
        self.rows_of(&[rows])
    }

    /// The same for rows from several places, all that it asked for.
    ///
    /// # Errors
    /// As [`StepWorker::rows`].
    pub fn rows_of(&mut self, places: &[impl AsRef<[u8]>]) -> Result<Reply, MessageError> {
        let drawn = self.drawn.as_mut().ok_or(MessageError::OtherStep)?;
        let held = &mut drawn.rows;
        for rows in places {
            let insert = |row, values: &mut dyn Iterator<Item = f32>| held.insert(row, values);
            read_rows(rows.as_ref(), &drawn.order, &self.shape, insert)?;
        }
        Ok(self.sum())
    }

    fn sum(&mut self) -> Reply {
        let Some(drawn) = &mut self.drawn else { return Reply::Part(Vec::new()) };
        let Drawn { order, batch, each, draws, rows } = drawn;
        let part = batch.sum(*each, |place, unit, gradient| {
            let draw = draws[place / *each].of_unit(place % *each);
            let reader = UnitRows { held: rows, first_missing: Mutex::new(None) };
            self.task.gradient(unit, draw, &reader, gradient);
            reader.note();
        });
        let missing = rows.take_missing();
        if missing.is_empty() {
            self.drawn = None;
            return Reply::Part(part);
        }
        Reply::Asks(asks(order, &missing))
    }
}

/// Without data or keys.
impl<T> std::fmt::Debug for StepWorker<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "StepWorker({:?})", self.sampler)
    }
}

/// Rows that the driver sent for a step.
struct HeldRows {
    shape: Shape,
    starts: HashMap<u32, usize, BuildHasherDefault<RowHasher>>,
    values: Vec<f32>,
    zeros: Vec<f32>,
    missing: Mutex<BTreeSet<u32>>,
}

impl HeldRows {
    fn new(shape: Shape, widest: usize) -> Self {
        let (starts, missing) = (HashMap::default(), Mutex::default());
        Self { shape, starts, values: Vec::new(), zeros: vec![0.0; widest], missing }
    }

    fn insert(&mut self, row: u32, values: &mut dyn Iterator<Item = f32>) {
        self.starts.insert(row, self.values.len());
        self.values.extend(values);
    }

    /// The rows that were read and are not here; from now on others count.
    fn take_missing(&mut self) -> Vec<u32> {
        let missing = self.missing.get_mut().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(missing).into_iter().collect()
    }
}

/// The rows for the gradient of one unit. One that the driver did not send is zero for now, and the first of them is noted: what
/// was computed of it is not used. What a unit reads after zeros may be other rows than it would read otherwise, so these are not
/// asked for: which rows are read, and hence the bits, must not depend on who computes beside whom.
struct UnitRows<'a> {
    held: &'a HeldRows,
    first_missing: Mutex<Option<u32>>,
}

impl UnitRows<'_> {
    fn note(self) {
        let first = self.first_missing.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(row) = first {
            self.held.missing.lock().unwrap_or_else(PoisonError::into_inner).insert(row);
        }
    }
}

impl ReadRows for UnitRows<'_> {
    fn row(&self, row: u32) -> &[f32] {
        let held = self.held;
        let Some((_, length)) = held.shape.row(row) else { return &[] };
        match held.starts.get(&row) {
            Some(start) => &held.values[*start..*start + length],
            None => {
                let mut first = self.first_missing.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(row);
                &held.zeros[..length]
            }
        }
    }
}

/// Spreads consecutive rows: 2^64 over the golden ratio.
#[derive(Default)]
struct RowHasher(u64);

impl Hasher for RowHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, row: u32) {
        self.0 = (self.0.rotate_left(32) ^ u64::from(row)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
