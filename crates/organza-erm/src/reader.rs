//! Rows from whatever file they are in.

use crate::data::FitError;
use organza_data::sparse::{Columns, LabelKind, SparseRows, UnreleasedRows};
use organza_data::sparse::{Grouped, read_libsvm, read_separated, read_unreleased};
#[cfg(feature = "parquet")]
use organza_data::sparse::{read_parquet, read_unreleased_parquet};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// label index:value ...
    Libsvm,
    /// Fields parted by commas, with a header
    Csv,
    /// Fields parted by tabs, with a header
    Tsv,
    /// A flat Parquet table
    Parquet,
}

impl Format {
    /// What the name of a file says: libsvm if nothing else.
    pub fn of(path: &Path) -> Self {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase());
        let name = name.unwrap_or_default();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        match name.rsplit_once('.').map(|(_, end)| end) {
            Some("csv") => Self::Csv,
            Some("tsv") => Self::Tsv,
            Some("parquet") => Self::Parquet,
            _ => Self::Libsvm,
        }
    }
}

/// How rows are read, declared in full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reader {
    /// The form of the file.
    pub format: Format,
    /// The number of features of a libsvm file, if it was declared.
    pub features: Option<u64>,
    /// The columns of a table.
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
        Ok(match (self.format, &self.columns) {
            (Format::Libsvm, _) => {
                let named = self.grouped && labels != LabelKind::Ignored;
                let grouped = if named { Grouped::ByName } else { Grouped::No };
                read_libsvm(path, self.features, labels, grouped)?
            }
            (Format::Csv, Some(columns)) => read_separated(path, b',', columns, labels)?,
            (Format::Tsv, Some(columns)) => read_separated(path, b'\t', columns, labels)?,
            #[cfg(feature = "parquet")]
            (Format::Parquet, Some(columns)) => read_parquet(path, columns, labels)?,
            #[cfg(not(feature = "parquet"))]
            (Format::Parquet, Some(_)) => return Err(FitError::NoParquet),
            (_, None) => return Err(FitError::NoColumns),
        })
    }

    /// Reads the rows of a table some of whose categories are still to be released; none if no column has such.
    pub(crate) fn read_unreleased(
        &self,
        path: &Path,
        labels: LabelKind,
    ) -> Result<Option<UnreleasedRows>, FitError> {
        let columns = self.columns.as_ref().filter(|columns| columns.first_private().is_some());
        let Some(columns) = columns else { return Ok(None) };
        Ok(Some(match self.format {
            Format::Tsv => read_unreleased(path, b'\t', columns, labels)?,
            #[cfg(feature = "parquet")]
            Format::Parquet => read_unreleased_parquet(path, columns, labels)?,
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => return Err(FitError::NoParquet),
            Format::Csv | Format::Libsvm => read_unreleased(path, b',', columns, labels)?,
        }))
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
