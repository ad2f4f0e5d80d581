//! Rows from whatever file they are in.

use crate::data::FitError;
use organza_data::sparse::{Columns, LabelKind, SparseRows, UnreleasedRows};
use organza_data::sparse::{Grouped, read_libsvm, read_table, read_unreleased};
use organza_data::table::TableForm;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// How rows are read, declared in full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reader {
    /// The form of a table, if the name of its file does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TableForm>,
    /// The number of features of a libsvm file, if it was declared.
    pub features: Option<u64>,
    /// The columns of a table; none for libsvm.
    pub columns: Option<Columns>,
    /// Whether rows of a libsvm file name their groups.
    #[serde(default)]
    pub grouped: bool,
}

impl Reader {
    /// Reads the rows of a file, all of which have to make sense.
    ///
    /// # Errors
    /// If it cannot be read, or a row makes no sense.
    pub fn read_all(&self, path: &Path, labels: LabelKind) -> Result<SparseRows, FitError> {
        let rows = self.read(path, labels)?;
        rows.left_out().refuse()?;
        Ok(rows)
    }

    /// Reads the rows of a file; those that make no sense are left out.
    pub(crate) fn read(&self, path: &Path, labels: LabelKind) -> Result<SparseRows, FitError> {
        Ok(match &self.columns {
            // Without features they only name the classes of a matrix.
            Some(columns) if !columns.features.is_empty() => {
                read_table(path, self.format, columns, labels)?
            }
            _ => {
                let named = self.grouped && labels != LabelKind::Ignored;
                let grouped = if named { Grouped::ByName } else { Grouped::No };
                read_libsvm(path, self.features, labels, grouped)?
            }
        })
    }

    /// Reads the rows of a table some of whose categories are still to be released; none if no column has such.
    pub(crate) fn read_unreleased(
        &self,
        path: &Path,
        labels: LabelKind,
    ) -> Result<Option<UnreleasedRows>, FitError> {
        let columns = self.columns.as_ref().filter(|columns| columns.first_private().is_some());
        let read = |columns| read_unreleased(path, self.format, columns, labels);
        Ok(columns.map(read).transpose()?)
    }

    /// The same, with these columns.
    pub(crate) fn with_columns(mut self, columns: Columns) -> Self {
        self.columns = Some(columns);
        self
    }

    /// The same, with the number of features known.
    pub fn with_features(mut self, features: u64) -> Self {
        self.features = Some(features);
        self
    }

    /// The name of a feature, where columns have names.
    pub fn feature_name(&self, feature: u64) -> Option<String> {
        self.columns.as_ref()?.feature_name(feature)
    }
}
