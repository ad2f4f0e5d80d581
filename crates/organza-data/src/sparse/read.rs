//! Reads rows from a table.

use super::encode::Encoder;
use super::{Columns, LabelKind, SparseRows, UnreleasedRows};
use crate::table::{Table, TableForm};
use crate::{DataError, Shard};
use std::path::Path;

/// Reads the table at a path, of this form or of that which its name says, row by row. Rows that make no sense are
/// left out ([`SparseRows::left_out`]).
///
/// # Errors
/// When it cannot be read, lacks a column, or categories are still to be released.
pub fn read_table(
    path: &Path,
    form: Option<TableForm>,
    columns: &Columns,
    labels: LabelKind,
) -> Result<SparseRows, DataError> {
    if let Some(name) = columns.first_private() {
        let problem = format!("the categories of `{name}` are not released yet");
        return Err(DataError::table(path, problem));
    }
    Ok(read_unreleased(path, form, columns, labels)?.with_columns(columns))
}

/// The same for a table some of whose categories may be secret.
///
/// # Errors
/// As [`read_table`].
pub fn read_unreleased(
    path: &Path,
    form: Option<TableForm>,
    columns: &Columns,
    labels: LabelKind,
) -> Result<UnreleasedRows, DataError> {
    rows_of(&Table::open(path, form)?, columns, labels, None)
}

/// The rows of a table, some of whose categories may be secret; of the groups of one shard alone, if one is named.
///
/// # Errors
/// As [`read_table`], and if a row is of another shard, where that is refused.
pub fn rows_of(
    table: &Table,
    columns: &Columns,
    labels: LabelKind,
    shard: Option<Shard>,
) -> Result<UnreleasedRows, DataError> {
    let encoder = Encoder::new(columns, labels);
    let mut encoder = encoder.map_err(|problem| DataError::table(table.path(), problem))?;
    let mut rows = encoder.empty_rows();
    let names = encoder.names();
    table.each_row(&names, &mut |row| {
        if let Some(shard) = shard {
            let fields = row.fields.as_ref().ok();
            if !shard.takes(fields.and_then(|fields| encoder.group(fields)), row.place)? {
                return Ok(());
            }
        }
        let outcome = row.fields.and_then(|fields| Ok(encoder.add(&fields, &mut rows)?));
        rows.take(outcome, row.place);
        Ok(())
    })?;
    Ok(encoder.finish(rows))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::{Categories, Classes, Column};
    use super::*;
    use crate::table::Missing;

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
            ..Columns::default()
        }
    }

    /// The rows, or what is wrong with the first that is left out.
    fn read_with(text: &str, columns: &Columns) -> Result<SparseRows, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        std::fs::write(&path, text).unwrap();
        let shown = path.display().to_string();
        let rows = read_table(&path, None, columns, LabelKind::Binary);
        rows.and_then(|rows| rows.left_out().refuse().map(|()| rows))
            .map_err(|error| error.to_string().replace(&shown, "rows.csv"))
    }

    fn read(text: &str) -> Result<SparseRows, String> {
        read_with(text, &columns())
    }

    #[test]
    fn columns_become_features() {
        let text =
            "user,age,sex,city,clicked\nann,75,f,\"Ulm, Donau\",1\nbob,,x,,0\nann,NA,m,Ulm,no\n";
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
            ("ann,1,f,Ulm,N/A", "the label is missing"),
            (
                "ann,1,f,Ulm,maybe",
                "the label `maybe` is not a number: if it is the name of a class",
            ),
            (",1,f,Ulm,1", "the group is empty"),
            ("NULL,1,f,Ulm,1", "the group is empty"),
        ] {
            let error = read(&format!("{header}{line}\n")).unwrap_err();
            assert!(error.starts_with(&format!("`rows.csv` line 3: {said}")), "{line}: {error}");
        }
        assert!(read("user,age\nann,1\n").unwrap_err().contains("there is no column `clicked`"));
        assert!(read("user,age,sex,city,clicked\n").unwrap().is_empty());
    }

    #[test]
    fn classes_dates_and_missing_values_are_what_was_declared() {
        let columns = Columns {
            label: Some("income".into()),
            features: vec![Column::Numeric { name: "since".into(), range: Some((0.0, 20.0)) }],
            classes: Classes::Listed(vec!["<=50K".into(), ">50K".into(), "None".into()]),
            missing: Missing(vec!["?".into()]),
            ..Columns::default()
        };
        let text = "since,income\n1970-01-16,>50K\n?, <=50K\n1970-01-01,None\n";
        let rows = read_with(text, &columns).unwrap();
        let found: Vec<_> = rows.iter().map(|row| (row.label, row.values.to_vec())).collect();
        assert_eq!(found, [(1.0, vec![0.5]), (0.0, vec![]), (2.0, vec![-1.0])]);
        let error = read_with("since,income\n?,50K\n", &columns).unwrap_err();
        assert!(error.ends_with("the label `50K` is none of the declared classes"), "{error}");
    }

    #[test]
    fn amounts_are_logarithms_between_zero_and_one() {
        let columns = Columns {
            label: Some("clicked".into()),
            features: vec![Column::Logarithmic { name: "seen".into(), most: 99.0 }],
            ..Columns::default()
        };
        let rows = read_with("seen,clicked\n9,1\n-2,0\n,0\n1e9,1\n", &columns).unwrap();
        let found: Vec<_> = rows.iter().map(|row| row.values.to_vec()).collect();
        assert_eq!(found, [vec![0.5], vec![], vec![], vec![1.0]]);
        let wrong = vec![Column::Logarithmic { name: "seen".into(), most: 0.0 }];
        let error =
            read_with("seen,clicked\n", &Columns { features: wrong, ..columns }).unwrap_err();
        assert!(error.ends_with("`seen` is to become 1 at 0: give a number above 0"), "{error}");
    }

    #[test]
    fn a_table_without_a_header_has_the_names_that_it_is_given() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.tsv");
        std::fs::write(&path, "1\t75\tx\n0\t\tf\n").unwrap();
        let names = ["clicked", "age", "sex"].map(str::to_owned).to_vec();
        let table = Table::open(&path, None).unwrap().with_header(names);
        let mut columns = columns();
        (columns.group, columns.features) = (None, columns.features[..2].to_vec());
        let rows =
            rows_of(&table, &columns, LabelKind::Binary, None).unwrap().with_columns(&columns);
        let found: Vec<_> = rows.iter().map(|row| (row.label, row.columns.to_vec())).collect();
        assert_eq!(found, [(1.0, vec![0, 3]), (0.0, vec![1])], "the first line is a row");
    }

    #[test]
    fn classes_are_numbers_once_they_are_released() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        std::fs::write(&path, "age,kind\n1,cat\n2,dog\n3,cat\n4,emu\n").unwrap();
        let columns = Columns {
            label: Some("kind".into()),
            features: vec![Column::Numeric { name: "age".into(), range: None }],
            classes: Classes::Private,
            ..Columns::default()
        };
        assert!(read_table(&path, None, &columns, LabelKind::Binary).is_err(), "not released yet");
        let table = read_unreleased(&path, None, &columns, LabelKind::Binary).unwrap();
        let all = table.raw_categories();
        assert_eq!(
            all,
            [
                (super::super::CLASSES, "cat"),
                (super::super::CLASSES, "dog"),
                (super::super::CLASSES, "emu")
            ]
        );
        let released = columns.with_categories(all[..2].iter().copied());
        let rows = table.with_columns(&released);
        let labels: Vec<f64> = rows.iter().map(|row| row.label).collect();
        assert_eq!(labels, [0.0, 1.0, 0.0, 0.0], "an unreleased class counts with the first");
        assert_eq!(rows.declared_features(), Some(1));
    }
}
