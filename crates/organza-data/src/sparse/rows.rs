//! Rows in memory: one list of entries, and where each row begins in it.

use super::{MOST_FEATURES, RowProblem};
use crate::dictionary::{self, Dictionary};
use crate::{LeftOut, LineProblem, Place};
use serde::Serialize;

/// Sparse rows with their labels and groups: 8 bytes an entry, 16 bytes a row and 4 more with groups.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SparseRows {
    features: Option<u64>,
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f32>,
    labels: Vec<f64>,
    groups: Vec<u32>,
    #[serde(skip)]
    names: Dictionary,
    #[serde(skip)]
    left_out: LeftOut,
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The columns that are not zero, counted from 0, each once.
    pub columns: &'a [u32],
    /// Their values.
    pub values: &'a [f32],
    /// The label.
    pub label: f64,
}

impl<'a> Row<'a> {
    /// The entries, one after another.
    pub fn entries(self) -> impl Iterator<Item = (u32, f32)> + use<'a> {
        self.columns.iter().copied().zip(self.values.iter().copied())
    }

    /// The L2 norm.
    pub fn norm(&self) -> f64 {
        self.values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt()
    }
}

impl SparseRows {
    /// No rows yet, of so many declared features; without, [`SparseRows::largest_column`] tells.
    pub fn new(features: Option<u64>) -> Self {
        Self { features, ..Self::default() }
    }

    /// How many features were declared.
    pub fn declared_features(&self) -> Option<u64> {
        self.features
    }

    /// The number of columns up to the last that is not zero in any row. *Not private*: it comes from the data.
    pub fn largest_column(&self) -> u64 {
        self.columns.iter().max().map_or(0, |column| u64::from(*column) + 1)
    }

    /// The number of rows. *Not private* unless declared public.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Row `index`; panics beyond the last, as a slice does.
    pub fn row(&self, index: usize) -> Row<'_> {
        let start = self.starts[index];
        let end = self.starts.get(index + 1).copied().unwrap_or(self.columns.len());
        let (columns, values) = (&self.columns[start..end], &self.values[start..end]);
        Row { columns, values, label: self.labels[index] }
    }

    /// All rows, in order.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.len()).map(|index| self.row(index))
    }

    /// The group of each row, numbered in order of appearance; none if rows have no groups.
    pub fn groups(&self) -> Option<&[u32]> {
        (!self.groups.is_empty()).then_some(&self.groups)
    }

    /// The names of the groups, in the order of their numbers. *Not private.*
    pub fn group_names(&self) -> Vec<&str> {
        self.names.strings()
    }

    /// The rows of the file that could not be used. *Not private.*
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// Takes a row whose reading went wrong for one that is left out.
    pub(super) fn take(&mut self, outcome: Result<(), LineProblem>, place: &Place) {
        if let Err(problem) = outcome {
            self.left_out.add(place, problem);
        }
    }

    /// Gives every label the number that `number` makes of it.
    pub(super) fn relabel(&mut self, number: impl Fn(f64) -> f64) {
        self.labels.iter_mut().for_each(|label| *label = number(*label));
    }

    /// Gives every column the number that `number` makes of it, which must differ within a row, among so many
    /// features.
    pub(super) fn renumber(&mut self, features: u64, number: impl Fn(u32) -> u32) {
        self.features = Some(features);
        self.columns.iter_mut().for_each(|column| *column = number(*column));
        for index in 0..self.len() {
            let start = self.starts[index];
            let end = self.starts.get(index + 1).copied().unwrap_or(self.columns.len());
            if self.columns[start..end].is_sorted() {
                continue;
            }
            let entries = self.columns[start..end].iter().zip(&self.values[start..end]);
            let mut entries: Vec<(u32, f32)> = entries.map(|(it, value)| (*it, *value)).collect();
            entries.sort_unstable_by_key(|(column, _)| *column);
            for (place, (column, value)) in (start..end).zip(entries) {
                (self.columns[place], self.values[place]) = (column, value);
            }
        }
    }

    /// Adds a row. Entries of value zero are left out. Any label is taken: readers check theirs by [`super::LabelKind`], and a
    /// private fit brings them within what it was promised.
    ///
    /// # Errors
    /// If a column is beyond the declared ones or stands twice, a value is not finite, or the group
    /// has no name or is missing where other rows have one; nothing is added then.
    pub fn push(
        &mut self,
        label: f64,
        entries: &mut [(u32, f32)],
        group: Option<&str>,
    ) -> Result<(), RowProblem> {
        let features = self.features.unwrap_or(MOST_FEATURES);
        entries.sort_unstable_by_key(|(column, _)| *column);
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(RowProblem::Doubled(u64::from(pair[0].0) + 1));
        }
        if let Some((column, _)) =
            entries.last().filter(|(column, _)| u64::from(*column) >= features)
        {
            return Err(RowProblem::Beyond { index: u64::from(*column) + 1, features });
        }
        if let Some((column, value)) = entries.iter().find(|(_, value)| !value.is_finite()) {
            return Err(RowProblem::Value(format!("{}:{value}", u64::from(*column) + 1)));
        }
        if group.is_none() != self.groups.is_empty() && !self.is_empty() {
            return Err(RowProblem::NoGroup);
        }
        if let Some(name) = group {
            if name.is_empty() {
                return Err(RowProblem::EmptyGroup);
            }
            let number =
                self.names.number(name).ok_or(RowProblem::TooManyGroups(dictionary::LARGEST))?;
            self.groups.push(number);
        }
        self.starts.push(self.columns.len());
        for (column, value) in entries.iter().filter(|(_, value)| *value != 0.0) {
            self.columns.push(*column);
            self.values.push(*value);
        }
        self.labels.push(label);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn rows_come_back_as_they_went_in() {
        let mut rows = SparseRows::new(Some(10));
        rows.push(1.0, &mut [(7, 2.0), (3, -1.0), (5, 0.0)], Some("a")).unwrap();
        rows.push(0.0, &mut [], Some("b")).unwrap();
        rows.push(2.5, &mut [(9, 3.0)], Some("a")).unwrap();
        let first = rows.row(0);
        assert_eq!(
            (first.columns, first.values, first.label),
            (&[3, 7][..], &[-1.0, 2.0][..], 1.0)
        );
        assert!(rows.row(1).columns.is_empty() && (rows.row(2).norm() - 3.0).abs() < 1e-12);
        assert_eq!(rows.groups(), Some(&[0, 1, 0][..]));
        assert_eq!((rows.len(), rows.values.len(), rows.largest_column()), (3, 3, 10));
    }

    #[test]
    fn what_does_not_fit_is_refused_and_leaves_no_trace() {
        let mut rows = SparseRows::new(Some(10));
        let mut refused = |entries: &mut [(u32, f32)]| rows.push(1.0, entries, None).unwrap_err();
        assert_eq!(refused(&mut [(10, 1.0)]), RowProblem::Beyond { index: 11, features: 10 });
        assert_eq!(refused(&mut [(4, 1.0), (2, 0.0), (4, 1.0)]), RowProblem::Doubled(5));
        assert_eq!(refused(&mut [(1, f32::NAN)]), RowProblem::Value("2:NaN".into()));
        assert!(rows.is_empty());
        rows.push(1.0, &mut [], None).unwrap();
        assert_eq!(rows.push(1.0, &mut [], Some("a")), Err(RowProblem::NoGroup));
        let mut grouped = SparseRows::new(None);
        assert_eq!(grouped.push(1.0, &mut [], Some("")), Err(RowProblem::EmptyGroup));
        grouped.push(1.0, &mut [], Some("a")).unwrap();
        assert_eq!(grouped.push(1.0, &mut [], None), Err(RowProblem::NoGroup));
    }
}
