//! CSV and TSV with a header line, plain or gzip.

use super::columns::Field;
use super::{Columns, LabelKind, RowProblem, SparseRows, UnreleasedRows};
use crate::source::unpacked;
use crate::{DataError, LineProblem, Place};
use csv::{ErrorKind, ReaderBuilder, StringRecord};
use std::fs::File;
use std::path::Path;

/// Reads a table whose fields are parted by `delimiter`, a comma or a tab, row by row. Rows that make no sense are
/// left out ([`SparseRows::left_out`]).
///
/// # Errors
/// When it cannot be read, its header lacks a column, or categories are still to be released.
pub fn read_separated(
    path: &Path,
    delimiter: u8,
    columns: &Columns,
    labels: LabelKind,
) -> Result<SparseRows, DataError> {
    columns.need_no_release(path)?;
    Ok(read_unreleased(path, delimiter, columns, labels)?.with_columns(columns))
}

/// The same for a table some of whose categories may be secret.
///
/// # Errors
/// As [`read_separated`].
pub fn read_unreleased(
    path: &Path,
    delimiter: u8,
    columns: &Columns,
    labels: LabelKind,
) -> Result<UnreleasedRows, DataError> {
    let failed = |error: csv::Error| failure(path, error);
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .from_reader(File::open(path).and_then(unpacked).map_err(DataError::read(path))?);
    let header: Vec<String> =
        reader.headers().map_err(failed)?.iter().map(|name| name.trim().to_owned()).collect();
    let table = |problem| DataError::Table { path: path.to_owned(), problem };
    let mut resolved = columns.resolve(&header, labels).map_err(table)?;
    let mut rows = resolved.no_rows();
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(failed)? {
        let line = record.position().map_or(0, csv::Position::line);
        let outcome = if record.len() == header.len() {
            resolved.add(|place| Field::of(record.get(place).unwrap_or_default()), &mut rows)
        } else {
            Err(RowProblem::Ragged { found: record.len(), expected: header.len() })
        };
        rows.take(outcome, &Place { file: path.to_owned(), line });
    }
    Ok(resolved.finish(rows))
}

fn failure(path: &Path, error: csv::Error) -> DataError {
    let place = |line| Place { file: path.to_owned(), line };
    match error.into_kind() {
        ErrorKind::Utf8 { pos, err } => DataError::line(
            &place(pos.map_or(0, |at| at.line())),
            LineProblem::InvalidUtf8 { byte: err.valid_up_to() + 1 },
        ),
        ErrorKind::Io(source) => DataError::Read { path: path.to_owned(), source },
        other => {
            DataError::Table { path: path.to_owned(), problem: format!("not readable: {other:?}") }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::{Categories, Column};
    use super::*;

    fn columns() -> Columns {
        Columns {
            label: Some("clicked".into()),
            group: Some("user".into()),
            features: vec![
                Column::Numeric { name: "age".into(), range: Some((0.0, 100.0)) },
                Column::Categorical {
                    name: "sex".into(),
                    categories: Categories::Listed(vec!["f".into(), "m".into()]),
                },
                Column::Categorical { name: "city".into(), categories: Categories::Hashed(1_000) },
            ],
        }
    }

    /// The rows, or what is wrong with the first that is left out.
    fn read(text: &str) -> Result<SparseRows, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        std::fs::write(&path, text).unwrap();
        let shown = path.display().to_string();
        let rows = read_separated(&path, b',', &columns(), LabelKind::Binary);
        rows.and_then(|rows| rows.left_out().refuse().map(|()| rows))
            .map_err(|error| error.to_string().replace(&shown, "rows.csv"))
    }

    #[test]
    fn columns_become_features() {
        let text =
            "user,age,sex,city,clicked\nann,75,f,\"Ulm, Donau\",1\nbob,,x,,0\nann,NA,m,Ulm,0\n";
        let rows = read(text).unwrap();
        assert_eq!((rows.len(), rows.declared_features()), (3, Some(1_004)));
        assert_eq!((rows.row(0).columns[..2].to_vec(), rows.row(0).values[0]), (vec![0, 1], 0.5));
        assert_eq!(rows.row(1).columns[0], 3, "another category than those listed");
        assert_eq!(rows.row(1).columns.len(), 2, "a missing number is zero");
        assert_ne!(rows.row(1).columns[1], rows.row(2).columns[1], "missing is a category");
        assert_eq!(rows.groups(), Some(&[0, 1, 0][..]));
    }

    #[test]
    fn a_bad_row_is_named_with_file_and_line() {
        let header = "user,age,sex,city,clicked\nann,1,f,Ulm,1\n";
        for (line, said) in [
            ("ann,1,f,Ulm", "4 fields, but the header has 5"),
            ("ann,old,f,Ulm,1", "`old` in column `age` is not a finite number"),
            ("ann,1,f,Ulm,3", "the label 3 is out of range"),
            ("ann,1,f,Ulm,", "the label is missing"),
            ("ann,1,f,Ulm,yes", "the label `yes` is not a number"),
            (",1,f,Ulm,1", "the group is empty"),
        ] {
            let error = read(&format!("{header}{line}\n")).unwrap_err();
            assert!(error.starts_with(&format!("`rows.csv` line 3: {said}")), "{line}: {error}");
        }
        assert!(read("user,age\nann,1\n").unwrap_err().contains("there is no column `clicked`"));
        assert!(read("user,age,sex,city,clicked\n").unwrap().is_empty());
    }
}
