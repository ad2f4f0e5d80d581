//! More than two classes: each is told from all others.
#![allow(clippy::unwrap_used)]

use organza_accountant::Accountant;
use organza_data::sparse::{Classes, Column, Columns, LabelKind, read_unreleased};
use organza_erm::{Loss, Method, Settings, fit_table};
use std::fmt::Write;
use std::path::Path;

const ROWS: u32 = 30_000;

/// Three kinds, each with a feature of its own; one row is of a kind that nobody else is of.
fn write_table(path: &Path) {
    let mut text = "kind,a,b,c\n".to_owned();
    for row in 0..ROWS {
        let kind = if row == 17 { "unicorn" } else { ["cat", "dog", "emu"][row as usize % 3] };
        let (a, b, c) = (u8::from(row % 3 == 0), u8::from(row % 3 == 1), u8::from(row % 3 == 2));
        writeln!(text, "{kind},{a},{b},{c}").unwrap();
    }
    std::fs::write(path, text).unwrap();
}

fn columns() -> Columns {
    let numeric = |name: &str| Column::Numeric { name: name.to_owned(), range: None };
    Columns {
        label: Some("kind".into()),
        features: ["a", "b", "c"].map(numeric).to_vec(),
        classes: Classes::Private,
        ..Columns::default()
    }
}

#[test]
fn every_method_tells_them_apart_within_its_budget() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    write_table(&path);
    for method in [Method::None, Method::Objective, Method::Dpsgd, Method::Sparse] {
        let mut settings = Settings::new(Loss::Logistic);
        (settings.method, settings.epsilon, settings.delta) = (method, 2.0, 1e-5);
        settings.seed = Some(7);
        let table = read_unreleased(&path, None, &columns(), LabelKind::Binary).unwrap();
        let fit = fit_table(&settings, table).unwrap();
        let mut classes = fit.model.classes.clone();
        classes.sort();
        let is_private = method != Method::None;
        let known =
            if is_private { &["cat", "dog", "emu"][..] } else { &["cat", "dog", "emu", "unicorn"] };
        assert_eq!(classes, known, "{method}");
        assert_eq!(fit.model.models(), known.len(), "{method}");
        let rows = read_unreleased(&path, None, fit.columns.as_ref().unwrap(), LabelKind::Binary);
        let rows = rows.unwrap().with_columns(fit.columns.as_ref().unwrap());
        let right = rows
            .iter()
            .filter(|row| fit.model.class(&fit.model.predict(row)) == Some(row.label as usize));
        let right = right.count() as f64 / rows.len() as f64;
        assert!(right > 0.99, "{method}: {right}");
        if is_private {
            let mut account = Accountant::new(method.neighbouring());
            for event in &fit.certificate.events {
                account = account.compose(event).unwrap();
            }
            let spent = account.epsilon(1e-5).unwrap().epsilon;
            assert!((1.9..=2.0).contains(&spent), "{method}: {spent}");
        }
    }
}
