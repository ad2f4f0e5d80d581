//! Rows of tables as they are read: each is brought up to date first, whether or not it was asked for.

use super::{LENT, Tables};
use crate::optimizer::Optimizer;
use organza_mechanism::{ReadRows, Shape};
use rayon::prelude::*;
use std::sync::OnceLock;

/// Lists over which rows that were not asked for are spread.
const LISTS: usize = 1 << 12;
/// Spreads rows over them.
const SPREAD: u32 = 0x9e37_79b1;

/// Rows that are asked for.
#[derive(Clone, Copy)]
pub(crate) enum RowRequest<'a> {
    /// All of them.
    All,
    /// Those of these units, perhaps more than once.
    Of(&'a [UnitDraws]),
}

/// What chance decided of some units, one after another, and the rows that their gradients will read.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnitDraws {
    numbers: Vec<u32>,
    /// Where the numbers of each unit end.
    ends: Vec<usize>,
    pub(crate) rows: Vec<u32>,
}

impl UnitDraws {
    fn clear(&mut self) {
        let Self { numbers, ends, rows } = self;
        numbers.clear();
        ends.clear();
        rows.clear();
    }

    /// Takes what `draw` appends as that of the next unit, and then what `reads` says that it reads.
    pub(crate) fn push(
        &mut self,
        draw: impl FnOnce(&mut Vec<u32>),
        reads: impl FnOnce(&[u32], &mut Vec<u32>),
    ) {
        let start = self.numbers.len();
        draw(&mut self.numbers);
        self.ends.push(self.numbers.len());
        reads(&self.numbers[start..], &mut self.rows);
    }

    /// What was drawn for the unit at `place`; nothing beyond the last.
    pub(crate) fn of_unit(&self, place: usize) -> &[u32] {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.ends.get(place).map_or(&[], |end| &self.numbers[start..*end])
    }

    /// What was drawn for each unit, in their order.
    pub(crate) fn of_units(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| &self.numbers[*start..*end])
    }
}

/// Which rows stand in the table as what they are worth: those that are [`LENT`], and those with a number below
/// `at_rest`.
#[derive(Clone, Copy)]
pub(crate) struct Standing<'a> {
    pub(crate) by_row: &'a [u32],
    pub(crate) at_rest: u32,
}

/// Tables that are open for reading.
///
/// Nothing of them can be seen but rows that are up to date: all at once ([`Reading::all`]), or one by one
/// ([`Reading::rows`]), of which those that were asked for before are at hand, and others are worked out.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    tables: &'a mut Tables,
}

impl<'a> Reading<'a> {
    pub(super) fn new(tables: &'a mut Tables) -> Self {
        Self { tables }
    }

    /// Whether it pays to ask for rows.
    pub(crate) fn asks(&self) -> bool {
        self.tables.wait() || self.tables.are_on_disk()
    }

    /// Brings the rows up to date that `ask` pushes, which is called for each of the numbers below `parts`, on
    /// all threads, with memory of its own.
    pub(crate) fn ask(&mut self, parts: usize, ask: impl Fn(usize, &mut UnitDraws) + Sync) {
        let mut asked = std::mem::take(&mut self.tables.asked);
        asked.resize(parts.max(asked.len()), UnitDraws::default());
        asked.iter_mut().for_each(UnitDraws::clear);
        match &mut asked[..parts] {
            [] => {}
            [list] => ask(0, list),
            lists => lists.par_iter_mut().enumerate().for_each(|(part, list)| ask(part, list)),
        }
        if self.tables.are_on_disk() {
            self.tables.fetch_rows(asked[..parts].iter().flat_map(|units| &units.rows));
        }
        if self.tables.wait() {
            self.lend(RowRequest::Of(&asked[..parts]));
        }
        self.tables.asked = asked;
    }

    /// Brings these rows up to date.
    pub(crate) fn ask_for(&mut self, rows: &[u32]) {
        let asks = self.asks();
        self.ask(1, |_, asked| {
            if asks {
                asked.push(|_| (), |_, wanted| wanted.extend_from_slice(rows));
            }
        });
    }

    /// What part `part` was given when it asked.
    pub(crate) fn draws(&self, part: usize) -> impl Iterator<Item = &[u32]> {
        self.tables.asked.get(part).into_iter().flat_map(UnitDraws::of_units)
    }

    /// All weights, all up to date.
    ///
    /// # Privacy
    /// Only at scheduled steps, or because of what was released: never because of what the data was.
    pub(crate) fn all(&mut self) -> &[f32] {
        if self.tables.wait() {
            self.lend(RowRequest::All);
        }
        &self.tables.weights
    }

    /// The rows, each up to date.
    pub(crate) fn rows(&self) -> SettledRows<'_> {
        let Tables { shape, steps, weights, optimizer, late, .. } = &*self.tables;
        let optimizer = &**optimizer;
        let standing = optimizer.standing(*steps);
        let Standing { by_row, at_rest } = standing.unwrap_or(Standing { by_row: &[], at_rest: 0 });
        SettledRows { shape, steps: *steps, weights, optimizer, by_row, at_rest, late }
    }

    fn lend(&mut self, rows: RowRequest<'_>) {
        let (weights, optimizer) = self.tables.parts();
        optimizer.lend(weights, rows);
    }
}

impl Tables {
    /// Reads rows as they are now, and calls `visit` with the values of each.
    pub(crate) fn visit(&mut self, rows: &[u32], mut visit: impl FnMut(&[f32])) {
        let mut weights = self.read();
        weights.ask_for(rows);
        let settled = weights.rows();
        rows.iter().for_each(|row| visit(settled.row(*row)));
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.tables.give_back();
    }
}

/// The rows of tables, each up to date when it is read.
///
/// # Privacy
/// A row that was not asked for is worked out on the spot, from the same draws as if it had been, and is
/// settled with them when the reading ends. So what is read has one law, whoever forgot to ask: asking is for speed.
pub(crate) struct SettledRows<'a> {
    shape: &'a Shape,
    steps: u64,
    weights: &'a [f32],
    optimizer: &'a dyn Optimizer,
    by_row: &'a [u32],
    at_rest: u32,
    late: &'a Late,
}

impl ReadRows for SettledRows<'_> {
    #[inline]
    fn row(&self, row: u32) -> &[f32] {
        match self.by_row.get(row as usize) {
            Some(mark) if (self.at_rest..LENT).contains(mark) => self.late_row(row),
            _ => self.weights.get(self.shape.range(row)).unwrap_or_default(),
        }
    }
}

impl SettledRows<'_> {
    /// Out of the way of rows that were asked for.
    #[cold]
    #[inline(never)]
    fn late_row(&self, row: u32) -> &[f32] {
        let value = || self.optimizer.value(self.shape, self.steps, self.weights, row);
        self.late.get(row, value)
    }
}

/// Rows that were read without having been asked for, in lists that only grow, so that those who read one may keep
/// it while another thread adds to them.
#[derive(Debug, Default)]
pub(super) struct Late {
    lists: OnceLock<Box<[OnceLock<Box<LateRow>>]>>,
}

#[derive(Debug)]
struct LateRow {
    row: u32,
    values: Vec<f32>,
    next: OnceLock<Box<LateRow>>,
}

impl Late {
    /// The values of `row`, worked out if nobody has yet.
    fn get(&self, row: u32, values: impl Fn() -> Vec<f32>) -> &[f32] {
        let lists = self.lists.get_or_init(|| (0..LISTS).map(|_| OnceLock::new()).collect());
        let mut place = &lists[row.wrapping_mul(SPREAD) as usize % LISTS];
        loop {
            let fresh = || Box::new(LateRow { row, values: values(), next: OnceLock::new() });
            let found = place.get_or_init(fresh);
            if found.row == row {
                return &found.values;
            }
            place = &found.next;
        }
    }

    /// Takes all rows out, in no order.
    pub(super) fn take(&mut self) -> Vec<u32> {
        let mut rows = Vec::new();
        for mut place in self.lists.take().into_iter().flatten() {
            while let Some(late) = place.take() {
                rows.push(late.row);
                place = late.next;
            }
        }
        rows
    }
}
