//! What a caller hands in cannot break what a proof takes for granted.
#![allow(clippy::unwrap_used, missing_docs)]

use organza_data::sparse::SparseRows;
use organza_erm::{Fit, FitError, Loss, Method, Settings, fit};

const ROWS: usize = 300;

/// Rows of two features with these labels, over and over.
fn rows(labels: &[f64]) -> SparseRows {
    let mut rows = SparseRows::new(Some(2));
    for place in 0..ROWS {
        let value = (place % 7) as f32 - 3.0;
        rows.push(labels[place % labels.len()], &mut [(0, value), (1, 0.5)], None).unwrap();
    }
    rows
}

fn settings(model: Loss, method: Method) -> Settings {
    let mut settings = Settings::new(model);
    (settings.method, settings.seed, settings.label_bound) = (method, Some(3), 2.0);
    settings.steps = (method != Method::Objective).then_some(5);
    settings
}

fn fitted(settings: &Settings, rows: &SparseRows) -> Result<Fit, FitError> {
    fit(settings, rows, 2, None)
}

#[test]
fn labels_beyond_their_bounds_count_as_those_within() {
    let wild = [f64::NAN, -1.0, 0.4, 0.6, 7.0, f64::INFINITY, -9.0];
    for (model, within) in [
        (Loss::Logistic, [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]),
        (Loss::Sigmoid, [0.0, 0.0, 0.4, 0.6, 1.0, 0.0, 0.0]),
        (Loss::Linear, [0.0, -1.0, 0.4, 0.6, 2.0, 0.0, -2.0]),
        (Loss::Poisson, [0.0, 0.0, 0.4, 0.6, 2.0, 0.0, 0.0]),
    ] {
        for method in [Method::Objective, Method::Dpsgd, Method::Corrected, Method::PoissonGroups] {
            if method == Method::Objective && model != Loss::Logistic {
                continue;
            }
            let settings = settings(model, method);
            let found = fitted(&settings, &rows(&wild)).unwrap().model;
            assert!(found.weights.iter().all(|weight| weight.is_finite()));
            assert_eq!(found, fitted(&settings, &rows(&within)).unwrap().model, "{model} {method}");
        }
    }
}

#[test]
fn without_privacy_a_label_that_is_no_number_is_named() {
    let labels: Vec<f64> = (0..ROWS).map(|row| if row == 41 { f64::NAN } else { 1.0 }).collect();
    let error = fitted(&settings(Loss::Linear, Method::None), &rows(&labels)).unwrap_err();
    assert_eq!(error.to_string(), "the label of row 42 is NaN: mend it, or leave the row out");
    let far = fitted(&settings(Loss::Linear, Method::None), &rows(&[50.0])).unwrap().model;
    assert!(far.intercept > 40.0, "labels are as they are: {far:?}");
}

#[test]
fn groups_that_nothing_names_are_runs_of_rows_and_the_certificate_says_so() {
    let said = |settings: &Settings| {
        let fit = fitted(settings, &rows(&[0.0, 1.0])).unwrap();
        fit.certificate.conditions.iter().any(|it| {
            *it == format!(
                "a group is {} consecutive rows of the data, as they stand",
                settings.group_rows.unwrap_or(10)
            )
        })
    };
    let mut settings = settings(Loss::Logistic, Method::PoissonGroups);
    assert!(said(&settings));
    settings.group_rows = Some(7);
    assert!(said(&settings));
    let mut named = SparseRows::new(Some(2));
    named.push(1.0, &mut [(0, 1.0)], Some("a")).unwrap();
    let error = fitted(&settings, &named).unwrap_err().to_string();
    assert!(error.contains("left away where the rows name their groups"), "{error}");
    settings.group_rows = None;
    let fit = fitted(&settings, &named).unwrap();
    assert!(!fit.certificate.conditions.iter().any(|it| it.contains("consecutive")));
    settings.groups = Some(30);
    let error = fitted(&settings, &rows(&[1.0])).unwrap_err().to_string();
    assert!(error.contains("name a column with --group, or leave --groups away"), "{error}");
}

#[test]
fn no_error_tells_how_many_rows_there_are() {
    let mut settings = settings(Loss::Logistic, Method::Corrected);
    settings.groups = Some(100_000);
    let error = fitted(&settings, &rows(&[1.0])).unwrap_err().to_string();
    assert!(!error.contains(&ROWS.to_string()), "{error}");
}

/// Whether there is any record at all is what one record changes.
#[test]
fn no_rows_are_fitted_like_one() {
    let none = SparseRows::new(Some(2));
    for method in [Method::Objective, Method::Dpsgd, Method::Sparse, Method::PoissonGroups] {
        let fit = fitted(&settings(Loss::Logistic, method), &none).unwrap();
        assert!(fit.model.weights.iter().all(|weight| weight.is_finite()), "{method}");
    }
    for method in [Method::None, Method::Corrected] {
        let refused = fitted(&settings(Loss::Logistic, method), &none);
        assert!(matches!(refused, Err(FitError::NoRows)), "{method}");
    }
}

/// Else the intercept would be counted to a feature, beside the bound of the row.
#[test]
fn more_features_than_columns_can_be_numbered_are_refused() {
    let refused = fit(&settings(Loss::Logistic, Method::Corrected), &rows(&[1.0]), 1 << 32, None);
    assert!(matches!(refused, Err(FitError::Setting(_))));
}
