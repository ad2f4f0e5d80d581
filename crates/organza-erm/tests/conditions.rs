//! What a caller hands in cannot break what a proof takes for granted.
#![allow(clippy::unwrap_used, missing_docs)]

use organza_accountant::Accountant;
use organza_data::sparse::SparseRows;
use organza_erm::{Fit, FitError, Loss, Method, Settings, fit};
use organza_ledger::{Account, Event, Unit};
use organza_train::SessionError;

const ROWS: usize = 300;

/// Rows of two features with these labels, over and over.
fn rows(labels: &[f64]) -> SparseRows {
    rows_for(Method::None, labels)
}

/// The same, with a name for every ten of them where the unit is a group.
fn rows_for(method: Method, labels: &[f64]) -> SparseRows {
    let mut rows = SparseRows::new(Some(2));
    for place in 0..ROWS {
        let value = (place % 7) as f32 - 3.0;
        let group = (method == Method::PoissonGroups).then(|| (place / 10).to_string());
        let (label, entries) = (labels[place % labels.len()], &mut [(0, value), (1, 0.5)]);
        rows.push(label, entries, group.as_deref()).unwrap();
    }
    rows
}

fn settings(model: Loss, method: Method) -> Settings {
    let mut settings = Settings::new(model);
    (settings.method, settings.seed, settings.label_bound) = (method, Some(3), 2.0);
    settings.steps = (method != Method::Objective).then_some(5);
    settings
}

fn fitted(settings: &Settings, rows: &SparseRows) -> Result<Fit, SessionError> {
    fit(settings, rows, 2)
}

/// Why rows were refused.
fn reason(refused: Result<Fit, SessionError>) -> FitError {
    match refused {
        Err(SessionError::Application(failure)) => *failure.downcast().unwrap(),
        other => panic!("{other:?}"),
    }
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
            let rows = |labels| rows_for(method, labels);
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
    assert_eq!(error.to_string(), "the label of row 42 is NaN: correct it, or leave the row out");
    let far = fitted(&settings(Loss::Linear, Method::None), &rows(&[50.0])).unwrap().model;
    assert!(far.intercepts[0] > 40.0, "labels are as they are: {far:?}");
}

/// Runs of rows would shift where one record is missing, so the unit `group` needs a name for each; and whoever names groups
/// expects that they count.
#[test]
fn groups_are_named_where_they_count_and_nowhere_else() {
    let mut by_group = settings(Loss::Logistic, Method::PoissonGroups);
    assert!(matches!(reason(fitted(&by_group, &rows(&[1.0]))), FitError::NoGroups));
    let named = rows_for(Method::PoissonGroups, &[0.0, 1.0]);
    assert!(fitted(&by_group, &named).is_ok());
    by_group.groups = Some(30);
    let error = fitted(&by_group, &named).unwrap_err().to_string();
    assert!(error.contains("name a column with --user-column"), "{error}");
    for method in [Method::None, Method::Objective, Method::Dpsgd, Method::Sparse] {
        let error = fitted(&settings(Loss::Logistic, method), &named).unwrap_err().to_string();
        assert!(error.starts_with("--user-column is given"), "{error}");
        assert!(error.contains("poisson-groups") && error.contains("corrected"), "{error}");
    }
    assert!(fitted(&settings(Loss::Logistic, Method::Corrected), &named).is_ok());
    for method in [Method::Dpsgd, Method::Sparse, Method::PoissonGroups] {
        let by_group = Settings { unit: Unit::Group, ..settings(Loss::Logistic, method) };
        assert_eq!(fitted(&by_group, &named).unwrap().certificate.unit, Unit::Group);
        assert!(matches!(reason(fitted(&by_group, &rows(&[1.0]))), FitError::NoGroups));
    }
    for method in [Method::None, Method::Objective, Method::Corrected, Method::Printed] {
        let by_group = Settings { unit: Unit::Group, ..settings(Loss::Logistic, method) };
        let error = fitted(&by_group, &named).unwrap_err().to_string();
        assert!(error.starts_with("--unit is group"), "{error}");
    }
}

/// Labels in euros or in millions: the same fit, in other units.
#[test]
fn large_labels_are_fitted_as_small_ones_are() {
    let fit = |size: f64| {
        let mut settings = settings(Loss::Linear, Method::Dpsgd);
        (settings.label_bound, settings.steps) = (size, None);
        fitted(&settings, &rows(&[0.3 * size, -0.1 * size, 0.9 * size])).unwrap().model
    };
    let (small, large) = (fit(1.0), fit(1e6));
    for (small, large) in small.coordinates(0).iter().zip(large.coordinates(0)) {
        assert!((small - large / 1e6).abs() <= 1e-6 * small.abs(), "{small} {large}");
    }
}

/// What is promised is the budget, whatever number of records was released. The broken twin, the price of what came of
/// one number, differs from seed to seed.
#[test]
fn the_promise_does_not_follow_the_released_number() {
    let promises = |twin: bool| -> Vec<f64> {
        let promise = |seed| {
            let mut settings = settings(Loss::Logistic, Method::Dpsgd);
            (settings.seed, settings.steps) = (Some(seed), None);
            let certificate = fitted(&settings, &rows(&[0.0, 1.0])).unwrap().certificate;
            assert!(certificate.events.iter().any(Event::decides));
            let account = Accountant::new(certificate.neighbouring);
            let price = Account::epsilon(&account, &certificate.events, settings.delta).unwrap();
            assert!(price <= settings.epsilon);
            if twin { price } else { certificate.epsilon.unwrap() }
        };
        (0..4).map(promise).collect()
    };
    assert!(promises(false).iter().all(|epsilon| *epsilon == 1.0));
    let twin = promises(true);
    assert!(twin.iter().any(|price| *price != twin[0]), "{twin:?}");
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
        let refused = reason(fitted(&settings(Loss::Logistic, method), &none));
        assert!(matches!(refused, FitError::NoRows), "{method}");
    }
}

/// Else the intercept would be counted to a feature, beside the bound of the row.
#[test]
fn more_features_than_columns_can_be_numbered_are_refused() {
    let refused = fit(&settings(Loss::Logistic, Method::Corrected), &rows(&[1.0]), 1 << 32);
    assert!(matches!(reason(refused), FitError::Setting(_)));
}
