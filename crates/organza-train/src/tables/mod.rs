//! The tables of a model with what their optimizer knows, brought up to date when they are read.
//!
//! ```text
//! Tables ─read()─▶ Reading ─rows()─▶ SettledRows ─row(r)─▶ &[f32]     targets, contexts, negatives
//!                          ─all()──▶ &[f32]                           evaluation, average
//!        ─apply(Noised), pay(TouchedRows)─▶ the next step
//!        ─into_parameters()─▶ Vec<f32>                                export
//! ```

mod adagrad;
mod adam;
mod aligned;
mod lent;
mod owed;
mod parts;
mod powers;
mod projected;
mod reading;
mod regions;
mod resting;
mod series;
mod sgd;
mod state;
mod storage;
#[cfg(test)]
mod tests;
mod upkeep;

pub(crate) use adagrad::AdagradSettings;
pub(crate) use adam::AdamSettings;
pub use projected::{Constraint, Projection};
pub(crate) use reading::Reading;
pub(crate) use reading::{RowRequest, Standing, UnitDraws};
pub(crate) use sgd::Sgd;
pub(crate) use state::{List, SavedTables, TableState, WEIGHTS};
pub use storage::FirstWeights;
pub(crate) use storage::{Storage, largest_of};
pub(crate) use upkeep::Upkeep;
pub(crate) use upkeep::{deferred, defers};

use crate::export::{HEAD, in_room};
use crate::folder::FolderError;
use crate::optimizer::{Optimizer, OptimizerSettings};
use crate::refinement::Refiner;
use aligned::Aligned;
use bytemuck::cast_slice;
use lent::LENT;
use organza_ledger::atomic::{Readers, write};
use organza_mapped::Mapped;
use organza_mechanism::{Noised, OwedNoise, Shape, TouchedRows};
use reading::Late;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use storage::PIECE;
use thiserror::Error;

/// Blocks of a dense release that are worth a thread of their own.
const BLOCKS_OF_A_THREAD: usize = 4;

/// The parameters of all tables, one table after another, and the state of their optimizer: a
/// post-processing of what was released.
///
/// There is no way to a value but through a [`Reading`], which brings it up to date first, and no way to
/// move one but by what was released.
#[derive(Debug)]
pub(crate) struct Tables {
    shape: Shape,
    steps: u64,
    weights: Aligned<f32>,
    optimizer: Box<dyn Optimizer>,
    /// The draws of units that are read together, in memory that is used again.
    asked: Vec<UnitDraws>,
    /// Rows that were read without having been asked for.
    late: Late,
    /// What is made of released gradients.
    refiner: Option<Refiner>,
    /// What is fetched for a step, in memory that is used again.
    runs: Vec<Range<usize>>,
}

/// Why tables cannot be kept on a disk.
#[derive(Debug, Error)]
pub enum OnDiskError {
    /// The file system refuses.
    #[error(transparent)]
    File(#[from] FolderError),
    /// A first weight is not what was said of all.
    #[error("a first weight is {found}, although they are said to be of sizes up to {largest}")]
    TooLarge {
        /// The weight.
        found: f32,
        /// What was said.
        largest: f32,
    },
    /// A step would read and write everything.
    #[error(
        "these settings move every row at every step, which would read and write whole tables on the disk: take plain \
         gradient descent where noise is on everything, or private selection; small tables belong in memory"
    )]
    EveryRow,
    /// Averages are as wide as the tables.
    #[error(
        "an average of the parameters takes twice the memory of the tables: do without it for tables on a disk"
    )]
    Average,
}

/// The weights of tables in a step.
pub(crate) struct Weights<'a> {
    pub(crate) shape: &'a Shape,
    /// The steps that were made before.
    pub(crate) steps: u64,
    pub(crate) values: &'a mut [f32],
}

impl Tables {
    /// Fresh tables of this shape; `None` if the first weights do not fit it. Those that cannot be kept as `upkeep` says
    /// (Adam cannot owe noise; decays that never die out have no resting place) are kept up to date at every step, which
    /// is a function of the settings alone.
    pub(crate) fn new(
        shape: Shape,
        optimizer: OptimizerSettings,
        upkeep: Upkeep,
        initial: Vec<f32>,
    ) -> Option<Self> {
        if initial.len() as u64 != shape.coordinates() {
            return None;
        }
        let mut weights = Aligned::new(initial, 0);
        let mut optimizer = optimizer.rule().start(&shape, upkeep, Storage::Memory).ok()?;
        optimizer.begin(&mut weights);
        Some(Self::of(shape, weights, optimizer))
    }

    /// Fresh tables in files of `folder`, of which memory holds what was touched lately: the same bits as in memory.
    ///
    /// # Errors
    /// If the disk has no room, a first weight is too large, or every step would move every row.
    pub(crate) fn on_disk(
        shape: Shape,
        optimizer: OptimizerSettings,
        upkeep: Upkeep,
        mut first: FirstWeights<'_>,
        folder: &Path,
    ) -> Result<Self, OnDiskError> {
        let refused = |error| FolderError::file("keep tables in", folder)(error);
        let mut optimizer =
            optimizer.rule().start(&shape, upkeep, Storage::Disk(folder)).map_err(refused)?;
        if optimizer.moves_all() {
            return Err(OnDiskError::EveryRow);
        }
        let (mut too_large, largest) = (None, first.largest());
        let weights = Mapped::new(folder, HEAD, shape.coordinates() as usize, PIECE, |piece| {
            first.fill(piece).map_err(|found| {
                too_large = Some(OnDiskError::TooLarge { found, largest });
                io::Error::from(io::ErrorKind::InvalidData)
            })?;
            optimizer.begin(piece);
            Ok(())
        });
        let weights = match too_large {
            Some(too_large) => return Err(too_large),
            None => weights.map_err(refused)?,
        };
        Ok(Self::of(shape, Aligned::on_disk(weights), optimizer))
    }

    fn of(shape: Shape, weights: Aligned<f32>, optimizer: Box<dyn Optimizer>) -> Self {
        Self {
            shape,
            steps: 0,
            weights,
            optimizer,
            asked: Vec::new(),
            late: Late::default(),
            refiner: None,
            runs: Vec::new(),
        }
    }

    /// The steps that were made.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Which tables there are.
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The number of parameters.
    pub(crate) fn coordinates(&self) -> usize {
        self.weights.len()
    }

    /// Whether rows wait until they are read, so that it pays to ask for them.
    pub(crate) fn wait(&self) -> bool {
        self.optimizer.standing(self.steps).is_some()
    }

    /// Whether a disk fetches what is touched, so that it pays to say it before.
    pub(crate) fn are_on_disk(&self) -> bool {
        self.weights.file().is_some()
    }

    /// Has a disk fetch these rows, with all that is kept of them.
    fn fetch_rows<'a>(&mut self, rows: impl Iterator<Item = &'a u32> + Clone) {
        let Self { shape, weights, optimizer, .. } = self;
        let places = rows.map(|row| shape.range(*row));
        weights.fetch(places.clone());
        optimizer.fetch(shape, &mut { places });
    }

    /// The same for coordinates that a step will move: rows may be among them that nobody read.
    fn fetch_runs(&mut self, gradient: &Noised) {
        let Self { shape, weights, optimizer, runs, .. } = self;
        runs.clear();
        gradient.visit(|first, run| runs.push(first as usize..first as usize + run.len()));
        weights.fetch(runs.iter().cloned());
        optimizer.fetch(shape, &mut runs.iter().cloned());
    }

    /// Opens the tables for reading.
    pub(crate) fn read(&mut self) -> Reading<'_> {
        self.give_back();
        Reading::new(self)
    }

    /// The largest weight that there can be, where weights are whole numbers.
    pub(crate) fn farthest(&self) -> Option<f64> {
        self.optimizer.farthest()
    }

    /// What may be left for later, if these tables owe noise.
    pub(crate) fn owed_noise(&self) -> Option<&OwedNoise> {
        self.optimizer.owed_noise()
    }

    /// Whether noise of a row is drawn when it is read now.
    pub(crate) fn owes(&self, row: u32) -> bool {
        let standing = self.owed_noise().and_then(|_| self.optimizer.standing(self.steps));
        let settled = standing.and_then(|standing| standing.by_row.get(row as usize));
        settled.is_some_and(|settled| u64::from(settled & !LENT) < self.steps)
    }

    /// Makes something of every private gradient before it moves the parameters.
    pub(crate) fn refine(&mut self, refiner: Option<Refiner>) {
        self.refiner = refiner;
    }

    /// Whether a run may stop here and go on with the same bits.
    pub(crate) fn may_rest(&self) -> bool {
        self.refiner.as_ref().is_none_or(|refiner| refiner.looks_at(self.steps))
    }

    /// Moves the parameters by one private gradient.
    pub(crate) fn apply(&mut self, gradient: &Noised) {
        if let Some(mut refiner) = self.refiner.take() {
            refiner.apply(gradient, self);
            self.refiner = Some(refiner);
            return;
        }
        if gradient.blocks() > 1 {
            self.make_step(|optimizer, weights| optimizer.step_dense(weights, gradient));
        } else {
            if self.are_on_disk() {
                self.fetch_runs(gradient);
            }
            self.step(|visit| gradient.visit(visit));
        }
    }

    /// Moves the parameters by one private gradient, of which the rows that nobody touched owe the noise.
    pub(crate) fn pay(&mut self, touched: TouchedRows) {
        self.make_step(|optimizer, weights| optimizer.pay(weights, touched));
    }

    /// Whether [`Tables::step`] takes runs in ascending order only.
    pub(crate) fn take_ascending_runs(&self) -> bool {
        self.optimizer.takes_ascending_runs()
    }

    /// Moves the parameters by a gradient given as runs of coordinates, in ascending order where that matters.
    pub(crate) fn step(&mut self, mut runs: impl FnMut(&mut dyn FnMut(u64, &[f32]))) {
        self.make_step(|optimizer, weights| optimizer.step(weights, &mut runs));
    }

    /// The parameters, all up to date.
    pub(crate) fn into_parameters(mut self) -> Vec<f32> {
        self.finish();
        self.weights.into_values()
    }

    /// Brings all rows up to date and leaves them in a file, `path`, behind `header`. Tables on a disk are that file:
    /// they are brought up to date where they stand, in order, on all threads, and no second copy is made.
    ///
    /// # Privacy
    /// All debts are settled before the file has a name: whoever has it sees what is released at the end, and not
    /// which rows were touched lately.
    ///
    /// # Errors
    /// If there is a file of that name, or the disk refuses; nothing is left behind then.
    pub(crate) fn export(mut self, header: &[u8], path: &Path) -> Result<(), FolderError> {
        let refused = |error| FolderError::file("write", path)(error);
        let in_room = in_room(header).map_err(refused)?;
        if let Some(file) = self.weights.file() {
            file.in_order(true);
        }
        self.finish();
        let written = match self.weights.into_file() {
            Ok(file) => file.keep(&in_room, path),
            Err(weights) => write(path, Readers::Owner, |to| {
                to.write_all(header)?;
                to.write_all(cast_slice(&weights))
            }),
        };
        written.map_err(refused)
    }

    fn finish(&mut self) {
        self.give_back();
        let (weights, optimizer) = self.parts();
        optimizer.finish(weights);
    }

    fn make_step(&mut self, step: impl FnOnce(&mut dyn Optimizer, Weights<'_>)) {
        self.give_back();
        let (weights, optimizer) = self.parts();
        step(optimizer, weights);
        self.steps += 1;
    }

    /// Ends a reading: nothing is lent any more, also if whoever read has forgotten to say so.
    fn give_back(&mut self) {
        let late = self.late.take();
        let (weights, optimizer) = self.parts();
        optimizer.give_back(weights, &late);
    }

    fn parts(&mut self) -> (Weights<'_>, &mut dyn Optimizer) {
        let Self { shape, steps, weights, optimizer, .. } = self;
        (Weights { shape, steps: *steps, values: weights }, &mut **optimizer)
    }
}
