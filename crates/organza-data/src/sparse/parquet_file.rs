//! Parquet: flat tables of numbers and texts, uncompressed or by Snappy.

use super::columns::Field;
use super::{Columns, LabelKind, RowProblem, SparseRows, UnreleasedRows};
use crate::{DataError, Place};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record;
use std::fs::File;
use std::path::Path;

/// Reads a table, row by row. Rows that make no sense are left out ([`SparseRows::left_out`]), and counted from 1.
///
/// # Errors
/// When it cannot be read, lacks a column, or categories are still to be released.
pub fn read_parquet(
    path: &Path,
    columns: &Columns,
    labels: LabelKind,
) -> Result<SparseRows, DataError> {
    columns.need_no_release(path)?;
    Ok(read_unreleased_parquet(path, columns, labels)?.with_columns(columns))
}

/// The same for a table some of whose categories may be secret.
///
/// # Errors
/// As [`read_parquet`].
pub fn read_unreleased_parquet(
    path: &Path,
    columns: &Columns,
    labels: LabelKind,
) -> Result<UnreleasedRows, DataError> {
    let table = |problem: String| DataError::Table { path: path.to_owned(), problem };
    let failed = unreadable_parquet(path);
    let reader = open_parquet(path)?;
    let schema = reader.metadata().file_metadata().schema();
    let header: Vec<String> =
        schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
    let mut resolved = columns.resolve(&header, labels).map_err(table)?;
    let mut rows = resolved.no_rows();
    for (number, row) in reader.get_row_iter(None).map_err(&failed)?.enumerate() {
        let row = row.map_err(&failed)?;
        let fields: Vec<&record::Field> = row.get_column_iter().map(|(_, field)| field).collect();
        let outcome = if fields.len() == header.len() {
            let texts: Vec<String> = fields.iter().map(|field| text(field)).collect();
            resolved.add(|place| field(fields[place], &texts[place]), &mut rows)
        } else {
            Err(RowProblem::Ragged { found: fields.len(), expected: header.len() })
        };
        rows.take(outcome, &Place { file: path.to_owned(), line: number as u64 + 1 });
    }
    Ok(resolved.finish(rows))
}

/// A reader of a file.
pub(crate) fn open_parquet(path: &Path) -> Result<SerializedFileReader<File>, DataError> {
    let file = File::open(path).map_err(DataError::read(path))?;
    SerializedFileReader::new(file).map_err(unreadable_parquet(path))
}

/// What is said of a damaged file.
pub(crate) fn unreadable_parquet(path: &Path) -> impl Fn(ParquetError) -> DataError {
    let path = path.to_owned();
    move |error| {
        let problem = format!("no readable Parquet file: {error}");
        DataError::Table { path: path.clone(), problem }
    }
}

/// A field as text, if there is something in it.
pub(crate) fn parquet_text(field: &record::Field) -> Option<String> {
    (!matches!(field, record::Field::Null)).then(|| text(field))
}

/// The text of a field that is no number.
fn text(field: &record::Field) -> String {
    match field {
        record::Field::Str(text) => text.clone(),
        record::Field::Bytes(bytes) => String::from_utf8_lossy(bytes.data()).into_owned(),
        other => other.to_string(),
    }
}

fn field<'a>(field: &record::Field, text: &'a str) -> Field<'a> {
    match field {
        record::Field::Null => Field::Missing,
        record::Field::Bool(flag) => Field::Number(f64::from(u8::from(*flag))),
        record::Field::Byte(number) => Field::Number(f64::from(*number)),
        record::Field::Short(number) => Field::Number(f64::from(*number)),
        record::Field::Int(number) => Field::Number(f64::from(*number)),
        record::Field::Long(number) => Field::Number(*number as f64),
        record::Field::UByte(number) => Field::Number(f64::from(*number)),
        record::Field::UShort(number) => Field::Number(f64::from(*number)),
        record::Field::UInt(number) => Field::Number(f64::from(*number)),
        record::Field::ULong(number) => Field::Number(*number as f64),
        record::Field::Float(number) => Field::Number(f64::from(*number)),
        record::Field::Double(number) => Field::Number(*number),
        _ => Field::of(text),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::{Categories, Column};
    use super::*;
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::sync::Arc;

    /// Writes (age, city, label) rows; an age may be missing.
    fn write(path: &Path, ages: &[f64], levels: &[i16], cities: &[&str], labels: &[i32]) {
        let message = "message rows { OPTIONAL DOUBLE age; REQUIRED BYTE_ARRAY city (UTF8); \
                       REQUIRED INT32 label; }";
        let schema = Arc::new(parse_message_type(message).unwrap());
        let file = File::create(path).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(ages, Some(levels), None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let cities: Vec<ByteArray> = cities.iter().map(|city| ByteArray::from(*city)).collect();
        column.typed::<ByteArrayType>().write_batch(&cities, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int32Type>().write_batch(labels, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
    }

    fn columns() -> Columns {
        Columns {
            label: Some("label".into()),
            group: None,
            features: vec![
                Column::Numeric { name: "age".into(), range: None },
                Column::Categorical {
                    name: "city".into(),
                    categories: Categories::Listed(vec!["Ulm".into()]),
                },
            ],
        }
    }

    #[test]
    fn rows_come_through() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.parquet");
        write(&path, &[2.5], &[1, 0], &["Ulm", "Bonn"], &[1, 0]);
        let rows = read_parquet(&path, &columns(), LabelKind::Binary).unwrap();
        assert_eq!(rows.row(0).entries().collect::<Vec<_>>(), [(0, 2.5), (1, 1.0)]);
        assert_eq!(rows.row(1).entries().collect::<Vec<_>>(), [(2, 1.0)]);
        assert_eq!([rows.row(0).label, rows.row(1).label], [1.0, 0.0]);
    }

    #[test]
    fn a_bad_row_or_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.parquet");
        write(&path, &[2.5], &[1, 0], &["Ulm", "Bonn"], &[1, 7]);
        let rows = read_parquet(&path, &columns(), LabelKind::Binary).unwrap();
        assert_eq!(rows.len(), 1);
        let error = rows.left_out().refuse().unwrap_err().to_string();
        assert!(error.contains("line 2: the label 7 is out of range"), "{error}");
        std::fs::write(&path, b"PAR1 and no more").unwrap();
        let error = read_parquet(&path, &columns(), LabelKind::Binary).unwrap_err().to_string();
        assert!(error.contains("no readable Parquet file"), "{error}");
    }
}
