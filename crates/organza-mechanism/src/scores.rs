//! The scores that selection compares: how large each candidate is.

use crate::sum::ClippedSum;
use serde::{Deserialize, Serialize};
use std::fmt::Display;

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

/// A view of a sum as candidates 0..n with scores in grid steps, capped at S0.
///
/// # Privacy
/// Both scores are 1-Lipschitz in what they score (|a| in a coordinate; the norm of a row, by the
/// reverse triangle inequality), and so is the cap. A unit that moves the sum by at most C in L2
/// moves the vector of scores by at most C in L2, and each score by at most min(S0, C).
/// Candidates of untouched rows all score zero: they are exchangeable and never visited one by one.
pub(crate) struct Scores<'a> {
    sum: &'a ClippedSum,
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
    pub(crate) fn new(sum: &'a ClippedSum, by: By, cap: f64) -> Self {
        Self { sum, by, cap }
    }

    pub(crate) fn candidates(&self) -> u64 {
        self.sum.shape().candidates(self.by)
    }

    /// The score of any candidate.
    pub(crate) fn score(&self, candidate: u64) -> f64 {
        let score = match self.by {
            By::Coordinate => self.sum.value(candidate).unsigned_abs() as f64,
            By::Row => self.sum.row(candidate as u32).map_or(0.0, norm),
        };
        score.min(self.cap)
    }

    /// Puts the candidates of touched rows into `touched`, in ascending order, with their scores.
    pub(crate) fn touched(&self, rows: &mut Vec<u32>, touched: &mut Vec<(u64, f64)>) {
        self.sorted_rows(rows);
        touched.clear();
        for &row in &*rows {
            let Some(values) = self.sum.row(row) else { continue };
            match self.by {
                By::Row => touched.push((u64::from(row), norm(values).min(self.cap))),
                By::Coordinate => {
                    let first = self.first(row);
                    touched.extend((first..).zip(values).map(|(candidate, value)| {
                        (candidate, (value.unsigned_abs() as f64).min(self.cap))
                    }));
                }
            }
        }
    }

    /// The highest score of a touched candidate; zero if there is none.
    pub(crate) fn highest(&self) -> f64 {
        let highest = match self.by {
            By::Coordinate => {
                self.sum.all_values().map(i64::unsigned_abs).max().unwrap_or(0) as f64
            }
            By::Row => self.sum.all_rows().map(norm).fold(0.0, f64::max),
        };
        highest.min(self.cap)
    }

    /// Puts all candidates into `runs`, in ascending order.
    pub(crate) fn runs(&self, rows: &mut Vec<u32>, runs: &mut Vec<Run>) {
        self.sorted_rows(rows);
        runs.clear();
        let mut push = |first: u64, end: u64, touched: bool| match runs.last_mut() {
            _ if first == end => {}
            Some(last) if last.touched == touched => last.length += end - first,
            _ => runs.push(Run { first, length: end - first, touched }),
        };
        let mut next = 0;
        for &row in &*rows {
            let (first, end) = match self.by {
                By::Row => (u64::from(row), u64::from(row) + 1),
                By::Coordinate => {
                    let length = self.sum.row(row).map_or(0, <[i64]>::len) as u64;
                    (self.first(row), self.first(row) + length)
                }
            };
            push(next, first, false);
            push(first, end, true);
            next = end;
        }
        push(next, self.candidates(), false);
    }

    /// How many candidates touched rows have.
    pub(crate) fn touched_count(&self) -> u64 {
        let shape = self.sum.shape();
        let dense = shape.dense(By::Row).filter_map(|row| self.sum.row(row as u32));
        let of_dense = |row: &[i64]| match self.by {
            By::Coordinate => row.len() as u64,
            By::Row => 1,
        };
        self.sum.touched(self.by) - dense.map(of_dense).sum::<u64>()
    }

    /// Puts the touched rows that hold candidates into `rows`, in ascending order.
    fn sorted_rows(&self, rows: &mut Vec<u32>) {
        self.sum.sorted_rows(rows);
        rows.truncate(rows.partition_point(|row| self.sum.shape().is_selectable(*row)));
    }

    fn first(&self, row: u32) -> u64 {
        self.sum.shape().row(row).map_or(0, |(first, _)| first)
    }
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
