//! Rows from whatever file they are in.

use anyhow::bail;
use clap::ValueEnum;
use organza_data::sparse::{Columns, LabelKind, SparseRows, UnreleasedRows};
use organza_data::sparse::{
    Grouped, read_libsvm, read_parquet, read_separated, read_unreleased, read_unreleased_parquet,
};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
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
    pub(super) fn of(path: &Path) -> Self {
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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Reader {
    pub(super) format: Format,
    pub(super) features: Option<u64>,
    pub(super) columns: Option<Columns>,
    /// Whether rows of a libsvm file name their groups.
    #[serde(default)]
    pub(super) grouped: bool,
}

impl Reader {
    /// Reads the rows of a file, all of which have to make sense.
    pub(crate) fn read_all(&self, path: &Path, labels: LabelKind) -> anyhow::Result<SparseRows> {
        let rows = self.read(path, labels)?;
        rows.left_out().refuse()?;
        Ok(rows)
    }

    /// Reads the rows of a file; those that make no sense are left out.
    pub(super) fn read(&self, path: &Path, labels: LabelKind) -> anyhow::Result<SparseRows> {
        Ok(match (self.format, &self.columns) {
            (Format::Libsvm, _) => {
                let named = self.grouped && labels != LabelKind::Ignored;
                let grouped = if named { Grouped::ByName } else { Grouped::No };
                read_libsvm(path, self.features, labels, grouped)?
            }
            (Format::Csv, Some(columns)) => read_separated(path, b',', columns, labels)?,
            (Format::Tsv, Some(columns)) => read_separated(path, b'\t', columns, labels)?,
            (Format::Parquet, Some(columns)) => read_parquet(path, columns, labels)?,
            (_, None) => bail!("a table needs --numeric or --categorical columns"),
        })
    }

    /// Reads the rows of a table some of whose categories are still to be released; none if no column has such.
    pub(super) fn read_unreleased(
        &self,
        path: &Path,
        labels: LabelKind,
    ) -> anyhow::Result<Option<UnreleasedRows>> {
        let columns = self.columns.as_ref().filter(|columns| columns.first_private().is_some());
        let Some(columns) = columns else { return Ok(None) };
        Ok(Some(match self.format {
            Format::Tsv => read_unreleased(path, b'\t', columns, labels)?,
            Format::Parquet => read_unreleased_parquet(path, columns, labels)?,
            Format::Csv | Format::Libsvm => read_unreleased(path, b',', columns, labels)?,
        }))
    }

    /// The same, with these columns.
    pub(super) fn with_columns(mut self, columns: Columns) -> Self {
        self.columns = Some(columns);
        self
    }

    /// The same, with the number of features known.
    pub(crate) fn with_features(mut self, features: u64) -> Self {
        self.features = Some(features);
        self
    }

    /// The name of a feature, where columns have names.
    pub(super) fn feature_name(&self, feature: u64) -> Option<String> {
        self.columns.as_ref()?.feature_name(feature)
    }
}
