//! What the targets share: bytes as the file of a reader.

use organza_data::sparse::{Categories, Classes, Column, Columns, LabelKind, read_unreleased};
use organza_data::table::TableForm;
use std::io::Write;

/// Columns of every kind, which the seeds have.
fn columns() -> Columns {
    Columns {
        label: Some("label".into()),
        group: Some("user".into()),
        features: vec![
            Column::Numeric { name: "age".into(), range: Some((0.0, 100.0)) },
            Column::Categorical { name: "city".into(), categories: Categories::Private },
        ],
        classes: Classes::Private,
        ..Columns::default()
    }
}

/// A file with these bytes.
pub fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("room on the disk");
    file
}

/// Reads bytes as a table; there are rows, or an error.
pub fn read_table(bytes: &[u8], form: TableForm) {
    let _ = read_unreleased(file(bytes).path(), Some(form), &columns(), LabelKind::Real);
}
