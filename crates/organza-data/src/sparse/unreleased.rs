//! Rows of a table some of whose categories may be secret, before these are released.

use super::{Categories, Classes, Column, Columns, SparseRows};
use crate::LeftOut;
use organza_mechanism::ItemCounts;
use serde::Serialize;
use std::collections::HashMap;

/// A category of a column: the place of the column among the features, and the category's name.
pub type Category<'a> = (u32, &'a str);

/// Rows whose columns of [`Categories::Private`] have no features yet.
///
/// # Privacy
/// Which categories there are comes from the data, so there are no rows to be had before a list of them is:
/// count the categories, release what many units have by a mechanism, and hand in the columns that came
/// out. From then on a category that was not released is one of the others, as it is for new rows.
#[derive(Clone, Debug, Serialize)]
pub struct UnreleasedRows {
    columns: Columns,
    /// Rows in which the category `names[i]` is the feature `known + i`.
    rows: SparseRows,
    known: u64,
    names: Vec<(u32, String)>,
    /// The class `classes[i]` is the label i.
    classes: Vec<(u32, String)>,
}

impl UnreleasedRows {
    pub(super) fn new(
        columns: Columns,
        rows: SparseRows,
        names: Vec<(u32, String)>,
        classes: Vec<(u32, String)>,
    ) -> Self {
        Self { known: columns.known_width(), columns, rows, names, classes }
    }

    /// What was declared about the columns.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The number of rows. *Not private* unless declared public.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows of the file that could not be used. *Not private.*
    pub fn left_out(&self) -> &LeftOut {
        self.rows.left_out()
    }

    /// The group of each row, numbered in order of appearance; none if rows have no groups.
    pub fn groups(&self) -> Option<&[u32]> {
        self.rows.groups()
    }

    /// The private categories of a row: one of each private column, its class too if that is one. *Not private.*
    pub(crate) fn categories(&self, row: usize) -> impl Iterator<Item = Category<'_>> {
        let row = self.rows.row(row);
        let features = row.columns.iter().filter_map(move |column| {
            let place = u64::from(*column).checked_sub(self.known)?;
            self.names.get(place as usize)
        });
        let class = self.classes.get(row.label as usize);
        features.chain(class).map(|(column, name)| (*column, name.as_str()))
    }

    /// Adds every row to the counts as a unit of its own.
    pub fn count_records<'a>(&'a self, counts: &mut ItemCounts<Category<'a>>) {
        (0..self.len()).for_each(|row| counts.add(self.categories(row)));
    }

    /// Adds units of several rows each, of which every row is in one, to the counts.
    pub fn count_groups<'a, 'g>(
        &'a self,
        groups: impl IntoIterator<Item = &'g [u32]>,
        counts: &mut ItemCounts<Category<'a>>,
    ) {
        for rows in groups {
            counts.add(rows.iter().flat_map(|row| self.categories(*row as usize)));
        }
    }

    /// All categories as they are, those of the most rows first. *Not private*: for fits without privacy.
    pub fn raw_categories(&self) -> Vec<Category<'_>> {
        let mut counts: HashMap<Category<'_>, u64> = HashMap::new();
        for row in 0..self.len() {
            self.categories(row).for_each(|category| *counts.entry(category).or_default() += 1);
        }
        let mut all: Vec<_> = counts.into_iter().collect();
        all.sort_unstable_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
        all.into_iter().map(|(category, _)| category).collect()
    }

    /// The rows, now that `columns`, which came from these by [`Columns::with_categories`], lists the categories.
    pub fn with_columns(mut self, columns: &Columns) -> SparseRows {
        let mut first = self.known;
        let mut firsts = HashMap::new();
        let mut listed: HashMap<Category<'_>, u64> = HashMap::new();
        for (place, (column, before)) in
            (0_u32..).zip(columns.features.iter().zip(&self.columns.features))
        {
            let (Column::Categorical { categories: Categories::Listed(names), .. }, true) =
                (column, before.is_private())
            else {
                continue;
            };
            listed.extend(names.iter().zip(first..).map(|(name, at)| ((place, name.as_str()), at)));
            firsts.insert(place, first + names.len() as u64);
            first += column.width();
        }
        let features: Vec<u32> = self
            .names
            .iter()
            .map(|(column, name)| {
                let others = firsts.get(column).copied().unwrap_or(self.known);
                *listed.get(&(*column, name.as_str())).unwrap_or(&others) as u32
            })
            .collect();
        if self.columns.classes == Classes::Private {
            let place = |class: &(u32, String)| {
                columns.classes.names().iter().position(|it| *it == class.1)
            };
            let places: Vec<f64> =
                self.classes.iter().map(|it| place(it).unwrap_or(0) as f64).collect();
            self.rows.relabel(|label| places.get(label as usize).copied().unwrap_or(0.0));
        }
        let known = self.known;
        self.rows.renumber(columns.width(), |column| {
            let place = u64::from(column).checked_sub(known);
            place.and_then(|place| features.get(place as usize).copied()).unwrap_or(column)
        });
        self.rows
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::{LabelKind, read_table, read_unreleased};
    use super::*;

    fn columns() -> Columns {
        let private = |name: &str| Column::Categorical {
            name: name.to_owned(),
            categories: Categories::Private,
        };
        Columns {
            label: Some("label".into()),
            features: vec![
                Column::Numeric { name: "age".into(), range: None },
                private("city"),
                private("job"),
            ],
            ..Columns::default()
        }
    }

    #[test]
    fn categories_become_features_once_they_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        let text = "label,age,city,job\n1,2,Ulm,cook\n0,3,Bonn,\n1,4,Ulm,smith\n0,5,Kiel,cook\n";
        std::fs::write(&path, text).unwrap();
        let refused = read_table(&path, None, &columns(), LabelKind::Binary).unwrap_err();
        assert!(refused.to_string().contains("`city` are not released yet"), "{refused}");
        let table = read_unreleased(&path, None, &columns(), LabelKind::Binary).unwrap();
        assert_eq!(table.categories(1).collect::<Vec<_>>(), [(1, "Bonn"), (2, "")]);
        assert_eq!(
            table.raw_categories(),
            [(1, "Ulm"), (2, "cook"), (1, "Bonn"), (1, "Kiel"), (2, ""), (2, "smith")]
        );
        let listed = columns().with_categories([(2, "cook"), (1, "Kiel"), (1, "Ulm"), (2, "")]);
        assert_eq!(listed.width(), 7);
        let rows = table.with_columns(&listed);
        assert_eq!(rows.declared_features(), Some(7));
        let again = read_table(&path, None, &listed, LabelKind::Binary).unwrap();
        for row in 0..4 {
            assert_eq!(rows.row(row).columns, again.row(row).columns, "{row}");
            assert_eq!(rows.row(row).values, again.row(row).values, "{row}");
        }
        assert_eq!(rows.row(1).columns, [0, 3, 5], "Bonn is another, and no job is a category");
        assert_eq!(listed.feature_name(6).unwrap(), "job=(other)");
    }
}
