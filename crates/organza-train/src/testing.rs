//! What a task says that it reads is all that it reads: every other row is poisoned with NaN.

use crate::task::Task;
use organza_mechanism::{FlatRows, Purpose, RandomSource, Shape, WriteRows};
use std::collections::{BTreeMap, BTreeSet};

const SEED: u64 = 3;

struct Gradient<'a> {
    shape: &'a Shape,
    rows: BTreeMap<u32, Vec<f32>>,
}

impl WriteRows for Gradient<'_> {
    fn row(&mut self, row: u32) -> &mut [f32] {
        let (_, length) = self.shape.row(row).expect("a row of the tables");
        self.rows.entry(row).or_insert_with(|| vec![0.0; length])
    }
}

/// The gradients of some units, with all rows in place and with all but those of `reads` poisoned.
///
/// A row that is left out is read correctly all the same, but slowly.
pub struct Poisoned<'a> {
    task: &'a dyn Task,
    shape: Shape,
    parameters: Vec<f32>,
}

impl<'a> Poisoned<'a> {
    /// Parameters that are all different.
    pub fn new(task: &'a dyn Task) -> Self {
        let shape = Shape::tables(&task.tables()).expect("a good shape");
        let parameters = (0..shape.coordinates()).map(|it| (it as f32).sin()).collect();
        Self { task, shape, parameters }
    }

    fn gradient(&self, parameters: &[f32], unit: u64) -> BTreeMap<u32, Vec<f32>> {
        let mut rows = Gradient { shape: &self.shape, rows: BTreeMap::new() };
        let weights = FlatRows::new(self.shape.clone(), parameters);
        self.task.gradient(unit, &self.draw(unit), &weights, &mut rows);
        rows.rows
    }

    fn draw(&self, unit: u64) -> Vec<u32> {
        let mut random = RandomSource::from_seed(SEED).substream(Purpose::Negatives, 7, unit);
        let mut draw = Vec::new();
        self.task.draw(unit, &mut random, &mut draw);
        draw
    }

    /// What `unit` tells.
    pub fn reads(&self, unit: u64) -> BTreeSet<u32> {
        let mut rows = BTreeSet::new();
        self.task.reads(unit, &self.draw(unit), &mut |row| {
            rows.insert(row);
        });
        rows
    }

    /// Whether the gradient of `unit` reads and writes nothing outside `rows`.
    pub fn stays_within(&self, unit: u64, rows: &BTreeSet<u32>) -> bool {
        let mut poisoned = vec![f32::NAN; self.parameters.len()];
        for (first, length) in rows.iter().filter_map(|row| self.shape.row(*row)) {
            let range = first as usize..first as usize + length;
            poisoned[range.clone()].copy_from_slice(&self.parameters[range]);
        }
        let (plain, gradient) =
            (self.gradient(&self.parameters, unit), self.gradient(&poisoned, unit));
        assert!(plain.values().flatten().all(|value| value.is_finite()));
        // A NaN equals nothing.
        plain == gradient && gradient.keys().all(|row| rows.contains(row))
    }

    /// Each unit stays within what it tells, and is caught when any one of its rows is left out.
    pub fn check(&self, units: impl Iterator<Item = u64>) {
        for unit in units {
            let rows = self.reads(unit);
            assert!(self.stays_within(unit, &rows), "unit {unit} reads what it does not tell");
            for left_out in &rows {
                let mut short = rows.clone();
                short.remove(left_out);
                assert!(!self.stays_within(unit, &short), "row {left_out} of unit {unit}");
            }
        }
    }
}
