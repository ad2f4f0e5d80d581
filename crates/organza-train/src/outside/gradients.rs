//! Gradients of examples as they are handed over: rows that a table looked up, and the dense part.

use organza_mechanism::UnitGradient;
use std::ops::Range;

/// How rows are put together where they are read: each so many are one bag, of which the sum or the mean is given. A row below
/// zero or beyond the last is none, and counts for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// How many rows make a bag.
    pub rows: usize,
    /// Whether the mean is given.
    pub mean: bool,
}

impl Pool {
    /// By what each row of a bag of so many that are there is multiplied.
    pub(super) fn factor(self, there: usize) -> f32 {
        if self.mean { 1.0 / there.max(1) as f32 } else { 1.0 }
    }
}

/// What one reading of a table gave each example, and the gradient of its loss by it.
#[derive(Clone, Copy, Debug)]
pub struct Lookups<'a> {
    /// Which table.
    pub table: usize,
    /// How many rows each example read.
    pub per_example: usize,
    /// The rows, example by example; below zero, or beyond the last, for none.
    pub rows: &'a [i64],
    /// The gradient at each of them, or at each bag, as many numbers as the table has dimensions.
    pub values: &'a [f32],
    /// How they were put together, if they were.
    pub pool: Option<Pool>,
}

impl Lookups<'_> {
    /// How many rows share a gradient.
    fn bag(&self) -> usize {
        self.pool.map_or(1, |pool| pool.rows.max(1))
    }
}

/// The gradients of the examples of a part, in their order.
#[derive(Clone, Copy, Debug)]
pub struct Gradients<'a> {
    /// What tables were read for.
    pub lookups: &'a [Lookups<'a>],
    /// The gradient by each tensor of the dense part, example by example.
    pub dense: &'a [&'a [f32]],
}

/// Where the tables of a network stand in its shape.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// The first row and the dimensions of each table.
    pub(super) tables: Vec<(u32, usize)>,
    /// The rows of each table.
    pub(super) rows: Vec<u64>,
    /// The row that holds all dense parameters, one tensor after another.
    pub(super) dense: Option<u32>,
    /// How many parameters each tensor of the dense part has.
    pub(super) tensors: Vec<usize>,
}

impl Places {
    /// The row of the model that is `row` of `table`; none below zero and beyond the last.
    pub(super) fn row(&self, table: usize, row: i64) -> Option<u32> {
        let row = u64::try_from(row).ok().filter(|row| *row < self.rows[table])?;
        Some(self.tables[table].0 + row as u32)
    }

    /// How many rows of a table are in `rows` that it does not have: they are beyond its last.
    ///
    /// # Privacy
    /// Such a number is somebody's. It counts as none, and stops nothing: whether a run ends is seen without noise.
    pub(super) fn beyond(&self, table: usize, rows: &[i64]) -> u64 {
        let all = self.rows[table];
        rows.iter().filter(|row| u64::try_from(**row).is_ok_and(|row| row >= all)).count() as u64
    }

    /// What does not fit in gradients of `examples` examples, if anything.
    pub(super) fn misfit(&self, gradients: &Gradients<'_>, examples: usize) -> Option<String> {
        for lookups in gradients.lookups {
            let Lookups { table, per_example, rows, values, .. } = lookups;
            let Some((_, dimensions)) = self.tables.get(*table) else {
                return Some(format!("there is no table {table}"));
            };
            let bag = lookups.bag();
            let fits = rows.len() == per_example * examples
                && per_example.is_multiple_of(bag)
                && values.len() == rows.len() / bag * dimensions;
            if !fits {
                return Some(format!(
                    "table {table} was read for {} rows and has a gradient of {} numbers, but {examples} examples with \
                     {per_example} rows of {dimensions} are expected",
                    rows.len(),
                    values.len()
                ));
            }
        }
        let found: Vec<usize> = gradients.dense.iter().map(|values| values.len()).collect();
        let wanted: Vec<usize> = self.tensors.iter().map(|size| size * examples).collect();
        (found != wanted).then(|| {
            format!(
                "the tensors of the dense part have gradients of {found:?} numbers, not {wanted:?}"
            )
        })
    }

    /// Adds the gradients of `examples`, all of one unit, to that of the unit.
    pub(super) fn add(
        &self,
        gradients: &Gradients<'_>,
        examples: Range<usize>,
        unit: &mut UnitGradient,
    ) {
        for lookups in gradients.lookups {
            let Lookups { table, per_example, rows, values, pool } = *lookups;
            let (dimensions, bag) = (self.tables[table].1, lookups.bag());
            let own = examples.start * per_example..examples.end * per_example;
            let values =
                values[own.start / bag * dimensions..own.end / bag * dimensions].chunks(dimensions);
            for (bag, values) in rows[own].chunks(bag).zip(values) {
                let there = || bag.iter().filter_map(|row| self.row(table, *row));
                let factor = pool.map_or(1.0, |pool| pool.factor(there().count()));
                there().for_each(|row| unit.add(row, factor, [values]));
            }
        }
        if let Some(row) = self.dense {
            for example in examples {
                let tensors = gradients.dense.iter().zip(&self.tensors);
                unit.add(
                    row,
                    1.0,
                    tensors.map(|(values, size)| &values[example * size..][..*size]),
                );
            }
        }
    }
}
