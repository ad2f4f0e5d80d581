//! The scores that selection compares: how large each candidate is.

use crate::noise::squares;
use crate::shape::Shape;
use crate::sum::ClippedSum;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::sync::Arc;

/// What a selection chooses among.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// Single coordinates, scored by their absolute value.
    Coordinate,
    /// Whole rows, scored by their L2 norm.
    Row,
}

impl Display for By {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Coordinate => "coordinate",
            Self::Row => "row",
        })
    }
}

/// What a selection looks at: a sum, or the sizes of rows, joined from several places.
#[derive(Clone, Copy)]
pub(crate) enum Candidates<'a> {
    OfSum(&'a ClippedSum),
    OfRows(&'a JoinedRows),
}

/// The sizes of all touched rows that may be selected, from wherever these rows are, in ascending order.
pub(crate) struct JoinedRows {
    pub(crate) shape: Arc<Shape>,
    pub(crate) sizes: Vec<RowSize>,
}

/// How large a row is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RowSize {
    pub(crate) row: u32,
    /// Its score without a cap, in grid steps.
    pub(crate) score: f64,
    /// The squares of its values, where the second clip needs them.
    pub(crate) squares: u128,
    /// The units that count at it, where units count.
    pub(crate) count: u64,
}

impl<'a> Candidates<'a> {
    pub(crate) fn shape(self) -> &'a Shape {
        match self {
            Self::OfSum(sum) => sum.shape(),
            Self::OfRows(joined) => &joined.shape,
        }
    }

    /// Puts the rows that some unit counted at into `counted`, with their counts, in no order.
    pub(crate) fn counted_rows(self, counted: &mut Vec<(u32, u64)>) {
        match self {
            Self::OfSum(sum) => sum.counted_rows(counted),
            Self::OfRows(joined) => {
                counted.clear();
                let sizes = joined.sizes.iter().filter(|size| size.count > 0);
                counted.extend(sizes.map(|size| (size.row, size.count)));
            }
        }
    }
}

impl JoinedRows {
    /// The size of a row, if it was touched.
    pub(crate) fn get(&self, row: u64) -> Option<&RowSize> {
        let place = self.sizes.binary_search_by_key(&row, |size| u64::from(size.row));
        place.ok().map(|place| &self.sizes[place])
    }
}

/// The sizes of all touched rows that may be selected, in ascending order; with squares if asked for.
pub(crate) fn row_sizes(sum: &ClippedSum, with_squares: bool) -> Vec<RowSize> {
    let mut rows = Vec::new();
    selectable_rows(sum, &mut rows);
    let size = |row: u32| {
        let (values, count) = sum.row_with_count(row);
        let squares = if with_squares { squares(values.iter().copied()) } else { 0 };
        RowSize { row, score: norm(values), squares, count: count.unwrap_or(0) }
    };
    rows.into_iter().map(size).collect()
}

/// A view of candidates 0..n with scores in grid steps, capped at S0.
///
/// # Privacy
/// Both scores are 1-Lipschitz in what they score (|a| in a coordinate; the norm of a row, by the
/// reverse triangle inequality), and so is the cap. A unit that moves the sum by at most C in L2
/// moves the vector of scores by at most C in L2, and each score by at most min(S0, C).
/// Candidates of untouched rows all score zero: they are exchangeable and never visited one by one.
pub(crate) struct Scores<'a> {
    of: Candidates<'a>,
    by: By,
    cap: f64,
}

/// A run of consecutive candidates, all of touched rows or all of untouched ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) first: u64,
    pub(crate) length: u64,
    pub(crate) touched: bool,
}

impl<'a> Scores<'a> {
    pub(crate) fn new(of: Candidates<'a>, by: By, cap: f64) -> Self {
        Self { of, by, cap }
    }

    pub(crate) fn candidates(&self) -> u64 {
        self.of.shape().candidates(self.by)
    }

    /// The score of any candidate.
    pub(crate) fn score(&self, candidate: u64) -> f64 {
        let score = match (self.of, self.by) {
            (Candidates::OfRows(joined), _) => joined.get(candidate).map_or(0.0, |size| size.score),
            (Candidates::OfSum(sum), By::Coordinate) => sum.value(candidate).unsigned_abs() as f64,
            (Candidates::OfSum(sum), By::Row) => sum.row(candidate as u32).map_or(0.0, norm),
        };
        score.min(self.cap)
    }

    /// Puts the candidates of touched rows into `touched`, in ascending order, with their scores.
    pub(crate) fn touched(&self, rows: &mut Vec<u32>, touched: &mut Vec<(u64, f64)>) {
        touched.clear();
        let sum = match self.of {
            Candidates::OfSum(sum) => sum,
            Candidates::OfRows(joined) => {
                let capped = |size: &RowSize| (u64::from(size.row), size.score.min(self.cap));
                touched.extend(joined.sizes.iter().map(capped));
                return;
            }
        };
        selectable_rows(sum, rows);
        for &row in &*rows {
            let Some(values) = sum.row(row) else { continue };
            match self.by {
                By::Row => touched.push((u64::from(row), norm(values).min(self.cap))),
                By::Coordinate => {
                    let first = sum.shape().row(row).map_or(0, |(first, _)| first);
                    touched.extend((first..).zip(values).map(|(candidate, value)| {
                        (candidate, (value.unsigned_abs() as f64).min(self.cap))
                    }));
                }
            }
        }
    }

    /// The highest score of a touched candidate; zero if there is none.
    pub(crate) fn highest(&self) -> f64 {
        let highest = match (self.of, self.by) {
            (Candidates::OfRows(joined), _) => {
                joined.sizes.iter().map(|size| size.score).fold(0.0, f64::max)
            }
            (Candidates::OfSum(sum), by) => {
                let of_row = |values: &[i64]| match by {
                    By::Coordinate => {
                        values.iter().map(|value| value.unsigned_abs()).max().unwrap_or(0) as f64
                    }
                    By::Row => norm(values),
                };
                let rows = sum.rows().iter().filter(|row| sum.shape().is_selectable(**row));
                rows.filter_map(|row| sum.row(*row)).map(of_row).fold(0.0, f64::max)
            }
        };
        highest.min(self.cap)
    }

    /// Puts all candidates into `runs`, in ascending order.
    pub(crate) fn runs(&self, rows: &mut Vec<u32>, runs: &mut Vec<Run>) {
        runs.clear();
        let mut push = |first: u64, end: u64, touched: bool| match runs.last_mut() {
            _ if first == end => {}
            Some(last) if last.touched == touched => last.length += end - first,
            _ => runs.push(Run { first, length: end - first, touched }),
        };
        let mut next = 0;
        let mut touch = |first: u64, end: u64| {
            push(next, first, false);
            push(first, end, true);
            next = end;
        };
        match self.of {
            Candidates::OfRows(joined) => {
                let rows = joined.sizes.iter().map(|size| u64::from(size.row));
                rows.for_each(|row| touch(row, row + 1));
            }
            Candidates::OfSum(sum) => {
                selectable_rows(sum, rows);
                for &row in &*rows {
                    match self.by {
                        By::Row => touch(u64::from(row), u64::from(row) + 1),
                        By::Coordinate => {
                            let (first, length) = sum.shape().row(row).unwrap_or((0, 0));
                            touch(first, first + length as u64);
                        }
                    }
                }
            }
        }
        push(next, self.candidates(), false);
    }

    /// How many candidates touched rows have.
    pub(crate) fn touched_count(&self) -> u64 {
        let sum = match self.of {
            Candidates::OfRows(joined) => return joined.sizes.len() as u64,
            Candidates::OfSum(sum) => sum,
        };
        let dense = sum.shape().dense(By::Row).filter_map(|row| sum.row(row as u32));
        let of_dense = |row: &[i64]| match self.by {
            By::Coordinate => row.len() as u64,
            By::Row => 1,
        };
        sum.touched(self.by) - dense.map(of_dense).sum::<u64>()
    }
}

/// Puts the touched rows that hold candidates into `rows`, in ascending order.
pub(crate) fn selectable_rows(sum: &ClippedSum, rows: &mut Vec<u32>) {
    sum.sorted_rows(rows);
    rows.truncate(rows.partition_point(|row| sum.shape().is_selectable(*row)));
}

/// Adds the candidates with the given ascending ranks among those of untouched rows.
pub(crate) fn add_untouched(runs: &[Run], ranks: &[u64], candidates: &mut Vec<u64>) {
    let mut runs = runs.iter().filter(|run| !run.touched);
    let mut run = runs.next();
    let mut passed = 0;
    for &rank in ranks {
        while let Some(current) = run {
            if rank < passed + current.length {
                candidates.push(current.first + rank - passed);
                break;
            }
            passed += current.length;
            run = runs.next();
        }
    }
}

fn norm(values: &[i64]) -> f64 {
    values.iter().map(|value| (*value as f64) * (*value as f64)).sum::<f64>().sqrt()
}
