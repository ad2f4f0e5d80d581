//! Writes a table in any form that is read.

use super::TableForm;
#[cfg(not(feature = "parquet"))]
use super::unreadable_form;
use crate::DataError;
#[cfg(feature = "parquet")]
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use serde_json::{Map, Value};
use std::io::{self, Write};
use std::path::Path;

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Texts.
    Texts(Vec<String>),
    /// Numbers.
    Numbers(Vec<f64>),
}

impl Values {
    fn text(&self, row: usize) -> String {
        match self {
            Self::Texts(texts) => texts[row].clone(),
            Self::Numbers(numbers) => numbers[row].to_string(),
        }
    }

    fn json(&self, row: usize) -> Value {
        match self {
            Self::Texts(texts) => texts[row].clone().into(),
            Self::Numbers(numbers) => numbers[row].into(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Numbers(numbers) => numbers.len(),
        }
    }
}

/// Writes columns of equal length with their names to `output`, in the form of a file that is called `path`.
///
/// # Errors
/// If it cannot be written, or this build does not know the form.
pub fn write_table(
    columns: &[(String, Values)],
    form: TableForm,
    path: &Path,
    output: &mut (impl Write + Send),
) -> Result<(), DataError> {
    let rows = columns.iter().map(|(_, values)| values.len()).min().unwrap_or(0);
    let written = match form {
        TableForm::Commas => separated(columns, rows, b',', output),
        TableForm::Tabs => separated(columns, rows, b'\t', output),
        TableForm::JsonLines => (0..rows).try_for_each(|row| {
            let fields = columns.iter().map(|(name, values)| (name.clone(), values.json(row)));
            writeln!(output, "{}", Value::Object(fields.collect::<Map<_, _>>()))
        }),
        #[cfg(feature = "parquet")]
        TableForm::Parquet | TableForm::Arrow => batch(columns, form, output),
        #[cfg(not(feature = "parquet"))]
        TableForm::Parquet | TableForm::Arrow => return Err(unreadable_form(path)),
    };
    written.map_err(|source| DataError::Write { path: path.to_owned(), source })
}

fn separated(
    columns: &[(String, Values)],
    rows: usize,
    separator: u8,
    output: &mut impl Write,
) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new().delimiter(separator).from_writer(output);
    writer.write_record(columns.iter().map(|(name, _)| name))?;
    for row in 0..rows {
        writer.write_record(columns.iter().map(|(_, values)| values.text(row)))?;
    }
    writer.flush()
}

#[cfg(feature = "parquet")]
fn batch(
    columns: &[(String, Values)],
    form: TableForm,
    output: &mut (impl Write + Send),
) -> io::Result<()> {
    let arrays = columns.iter().map(|(name, values)| {
        let array: ArrayRef = match values {
            Values::Texts(texts) => std::sync::Arc::new(StringArray::from_iter_values(texts)),
            Values::Numbers(numbers) => {
                std::sync::Arc::new(Float64Array::from_iter_values(numbers.iter().copied()))
            }
        };
        (name, array)
    });
    let batch = RecordBatch::try_from_iter(arrays).map_err(io::Error::other)?;
    if form == TableForm::Parquet {
        let mut writer = parquet::arrow::ArrowWriter::try_new(output, batch.schema(), None)?;
        writer.write(&batch)?;
        writer.close()?;
        return Ok(());
    }
    let writer = arrow_ipc::writer::FileWriter::try_new(output, &batch.schema());
    let mut writer = writer.map_err(io::Error::other)?;
    writer.write(&batch).and_then(|()| writer.finish()).map_err(io::Error::other)
}
