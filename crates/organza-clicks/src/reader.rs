//! How rows of clicks are read: which column is what, all of it declared.

use organza_data::Shard;
use organza_data::sparse::{Categories, Column, Columns, LabelKind, SparseRows, rows_of};
use organza_data::table::{Table, TableForm};
use organza_train::Failure;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The file that says how new rows are read.
pub const READER: &str = "reader.json";
/// A number of this size or above counts as 1, unless something else is declared.
pub const LARGEST_NUMBER: f64 = 10_000.0;
/// The numbers and categories of a row in Criteo's format.
const CRITEO: (u32, u32) = (13, 26);

/// How rows are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClickReader {
    /// The form of the table, if the name of its file does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TableForm>,
    /// What the columns are called, where the first line of a file does not say it but is a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<Vec<String>>,
    /// What they are: numbers first, then categories.
    pub columns: Columns,
}

impl ClickReader {
    /// Criteo's format: a label, 13 numbers and 26 categories with tabs between and no header, here called `label`, `I1` to
    /// `I13` and `C1` to `C26`. It does not say whose a row is.
    pub fn criteo(buckets: u64) -> Self {
        let numbers = (1..=CRITEO.0).map(|number| format!("I{number}"));
        let categories = (1..=CRITEO.1).map(|number| format!("C{number}"));
        let label = "label".to_owned();
        let header = [label.clone()].into_iter().chain(numbers.clone()).chain(categories.clone());
        Self {
            format: Some(TableForm::Tabs),
            header: Some(header.collect()),
            columns: Columns {
                label: Some(label),
                features: features(numbers.map(|name| (name, LARGEST_NUMBER)), categories, buckets),
                ..Columns::default()
            },
        }
    }

    /// That of the run in a folder, for rows to predict: neither their labels nor their users are looked at.
    ///
    /// # Errors
    /// If the file is missing or damaged.
    pub fn of_run(folder: &Path) -> Result<Self, Failure> {
        let file = folder.join(READER);
        let bad = |problem: &dyn std::fmt::Display| -> Failure {
            format!(
                "cannot read {}: {problem}; is this the folder of `organza clicks` with --data?",
                file.display()
            )
            .into()
        };
        let text = std::fs::read(&file).map_err(|error| bad(&error))?;
        let mut reader: Self = serde_json::from_slice(&text).map_err(|error| bad(&error))?;
        reader.columns.group = None;
        Ok(reader)
    }

    /// Reads rows; those that make no sense are left out.
    ///
    /// # Errors
    /// If there is no such table, or it lacks a column.
    pub fn read(&self, path: &Path, labels: LabelKind) -> Result<SparseRows, Failure> {
        self.rows(&self.open(path)?, labels, None)
    }

    /// The table at a path.
    pub(crate) fn open(&self, path: &Path) -> Result<Table, Failure> {
        let table = Table::open(path, self.format)?;
        Ok(match &self.header {
            Some(names) => table.with_header(names.clone()),
            None => table,
        })
    }

    /// The rows of a table to predict.
    ///
    /// # Errors
    /// If it lacks a column, or has a row that makes no sense.
    pub fn to_predict(&self, table: &Table) -> Result<SparseRows, Failure> {
        let rows = self.rows(table, LabelKind::Ignored, None)?;
        rows.left_out().refuse()?;
        Ok(rows)
    }

    /// The rows of a table; of the users of one shard alone, if one is named.
    pub(crate) fn rows(
        &self,
        table: &Table,
        labels: LabelKind,
        shard: Option<Shard>,
    ) -> Result<SparseRows, Failure> {
        Ok(rows_of(table, &self.columns, labels, shard)?.with_columns(&self.columns))
    }
}

/// Numbers with what counts as 1, then hashed categories.
pub fn features(
    numbers: impl IntoIterator<Item = (String, f64)>,
    categories: impl IntoIterator<Item = String>,
    buckets: u64,
) -> Vec<Column> {
    let number = |(name, most)| Column::Logarithmic { name, most };
    let category = |name| Column::Categorical { name, categories: Categories::Hashed(buckets) };
    let numbers = numbers.into_iter().map(number);
    numbers.chain(categories.into_iter().map(category)).collect()
}
