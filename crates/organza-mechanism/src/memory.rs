//! The memory of a step, used again by the steps after it.

use crate::candidate_clip::CandidateClip;
use crate::clip::clip;
use crate::gradient::UnitGradient;
use crate::grid::Grid;
use crate::runs::Runs;
use crate::select::Workspace;
use crate::shape::Shape;
use crate::sum::ClippedSum;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};

/// Everything that a step writes on its way from a batch to noised values.
pub(crate) struct Memory {
    /// Which part of a batch it is for: 0 for whole batches, and parts from 1.
    part: usize,
    /// The units that joined.
    pub(crate) units: Vec<u64>,
    /// The clip at each candidate of a selection, before that of the whole gradient.
    candidates: Option<CandidateClip>,
    /// The gradient of one unit after another.
    pub(crate) gradient: UnitGradient,
    pub(crate) sum: ClippedSum,
    pub(crate) workspace: Workspace,
    /// What was selected.
    pub(crate) indices: Vec<u64>,
    pub(crate) release: Runs,
}

impl Memory {
    fn new(pool: &Pool, part: usize) -> Self {
        Self {
            part,
            units: Vec::new(),
            candidates: pool.candidates,
            gradient: UnitGradient::new(pool.shape.clone()),
            sum: ClippedSum::new(pool.shape.clone(), pool.rows_per_unit),
            workspace: Workspace::default(),
            indices: Vec::new(),
            release: Runs::default(),
        }
    }

    /// Clips and sums the gradients of `units` on `grid`; `gradient` writes that of each.
    pub(crate) fn add_units<U>(
        &mut self,
        units: impl IntoIterator<Item = U>,
        grid: &Grid,
        mut gradient: impl FnMut(U, &mut UnitGradient),
    ) {
        for unit in units {
            self.gradient.clear();
            gradient(unit, &mut self.gradient);
            if let Some(candidates) = self.candidates {
                candidates.apply(&mut self.gradient);
            }
            self.sum.add(&clip(&self.gradient, grid));
        }
    }

    fn clear(&mut self) {
        self.units.clear();
        if self.gradient.is_of(self.sum.shared_shape()) {
            self.gradient.clear();
        } else {
            // Swapped for one of another plan, by whoever wrote to it.
            self.gradient = UnitGradient::new(self.sum.shared_shape().clone());
        }
        self.sum.clear();
        self.indices.clear();
        self.release.clear();
    }
}

/// Memory that no step uses at the moment, for sums over tables of one shape.
pub(crate) struct Pool {
    shape: Arc<Shape>,
    /// How many rows a unit counts at, where the selection looks at counts.
    rows_per_unit: usize,
    /// The clip at each candidate of a selection, if there is one.
    candidates: Option<CandidateClip>,
    #[expect(
        clippy::vec_box,
        reason = "it goes from stage to stage, and is not copied on its way"
    )]
    free: Mutex<Vec<Box<Memory>>>,
}

impl Pool {
    pub(crate) fn new(
        shape: Arc<Shape>,
        rows_per_unit: usize,
        candidates: Option<CandidateClip>,
    ) -> Arc<Self> {
        Arc::new(Self { shape, rows_per_unit, candidates, free: Mutex::default() })
    }
}

/// Memory of one step alone, empty at first, which goes back to its pool when it is dropped.
///
/// # Privacy
/// One step at a time has it, and it is emptied before the next, so nothing of a step can be read in
/// another.
pub(crate) struct Lease {
    pool: Arc<Pool>,
    /// None only while it is dropped.
    memory: Option<Box<Memory>>,
}

impl Lease {
    /// The memory of whole batches (0) or of a part of them, from 1: each has its own, because the same parts of
    /// steps that follow each other tend to be on the same threads, which have it in their caches.
    pub(crate) fn new(pool: &Arc<Pool>, part: usize) -> Self {
        let free = pool.free.lock().ok().and_then(|mut free| {
            let place = free.iter().position(|memory| memory.part == part)?;
            Some(free.swap_remove(place))
        });
        let memory = free.unwrap_or_else(|| Box::new(Memory::new(pool, part)));
        Self { pool: pool.clone(), memory: Some(memory) }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(mut memory) = self.memory.take() else { return };
        // First: it may give back memory of its own.
        memory.clear();
        if let Ok(mut free) = self.pool.free.lock() {
            free.push(memory);
        }
    }
}

impl Deref for Lease {
    type Target = Memory;

    fn deref(&self) -> &Memory {
        self.memory.as_ref().expect("it is there until it is dropped")
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Memory {
        self.memory.as_mut().expect("it is there until it is dropped")
    }
}
