//! The page of a fit, from its files alone.

use crate::application::{MODEL, READER};
use crate::loss::Loss;
use crate::model::LinearModel;
use crate::reader::Reader;
use crate::score::Scores;
use crate::settings::{Method, Settings};
use organza_report::chart::{Axis, Chart, Line, NamedBars};
use organza_report::page::{Cell, Figure, Page, Section, Table};
use organza_report::run::{Additions, Baseline, RunFiles, RunFilesError};
use organza_train::Failure;
use serde_json::Value;
use std::path::Path;

/// How many coefficients are shown, and how many as a picture.
const SHOWN: usize = 20;
const DRAWN: usize = 10;
/// Why scores are marked.
const SCORES: &str = "computed from the data, without noise and without a charge";

const FILES: [(&str, &str); 3] = [
    ("coefficients.csv", "the coefficients by the names of their features"),
    (MODEL, "the same, for programs"),
    (READER, "how new rows are read"),
];

/// The page of the finished fit in `path`.
///
/// # Errors
/// If there is no fit, it is not finished, or a file is missing or damaged.
pub fn page(path: &Path) -> Result<Page, RunFilesError> {
    let files = RunFiles::<Settings>::read(path)?;
    let model = LinearModel::read(&path.join(MODEL)).map_err(Failure::from)?;
    // Rows that were handed over by a program have no reader, and no names.
    let reader = std::fs::read(path.join(READER)).ok();
    let reader = reader.and_then(|text| serde_json::from_slice::<Reader>(&text).ok());
    let read = |part: &str| serde_json::from_value(files.summary.get(part)?.clone()).ok();
    let scores: Option<(&str, Scores)> = match read("test") {
        Some(scores) => Some(("test", scores)),
        None => read("train").map(|scores| ("training", scores)),
    };
    let mut additions = Additions {
        sections: vec![coefficients(&model, reader.as_ref())],
        files: FILES.to_vec(),
        unused: unused(&files.settings),
        ..Additions::new(&format!("{} model", model.loss), "coefficients")
    };
    if let Some((part, scores)) = &scores {
        let named = scores.named().into_iter();
        let named = named.filter_map(|(name, value)| Some((format!("{part} {name}"), value?)));
        additions.measured.extend(named);
        let sparsity = files.summary.pointer("/group_sparsity/most").and_then(Value::as_f64);
        additions.measured.extend(sparsity.map(|most| ("group sparsity".to_owned(), most)));
        additions.baseline = Some(Baseline { name: "a constant", loss: scores.constant_loss });
        additions.sections.insert(0, predictions(&model, part, scores));
    }
    Ok(files.page(additions))
}

/// Settings that a method does not look at.
fn unused(settings: &Settings) -> Vec<&'static str> {
    let mut unused = match settings.method {
        Method::Sparse => vec!["hits", "threshold"],
        Method::Corrected | Method::PoissonGroups | Method::Printed => vec!["selection", "draws"],
        _ => vec!["selection", "draws", "share", "hits", "threshold"],
    };
    if settings.method == Method::None {
        unused.extend(["epsilon", "delta"]);
    }
    if matches!(settings.model, Loss::Logistic | Loss::Sigmoid) {
        unused.push("label_bound");
    }
    unused
}

/// What predictions are worth. *Not private.*
fn predictions(model: &LinearModel, part: &str, scores: &Scores) -> Section {
    let ideal = scores.calibration.iter().map(|(predicted, _)| (*predicted, *predicted));
    let chart = Chart {
        title: "What came true of predictions".to_owned(),
        horizontal: Axis::fitted("mean prediction"),
        vertical: Axis::fitted("mean label"),
        lines: vec![
            Line::new("model", scores.calibration.clone()),
            Line::new("as it should be", ideal),
        ],
        mark: None,
    };
    let figure = Figure::new("calibration", chart).not_private(SCORES).caption(format!(
        "The {part} rows in ten parts, by what is predicted of them. Where the curve is below the line, \
         predictions are too high."
    ));
    let section = Section::new("How good predictions are").figure(figure);
    let Some(confusion) = &scores.confusion else { return section };
    let names: Vec<String> = (0..confusion.len()).map(|class| model.class_name(class)).collect();
    let taken = names.iter().map(|name| format!("taken for {name}"));
    let table = Table::new("confusion", std::iter::once("class".to_owned()).chain(taken));
    let cell = |count: &u64| Cell::from(*count).not_private(SCORES);
    let table = names.iter().zip(confusion).fold(table, |table, (name, counts)| {
        table.row(std::iter::once(name.as_str().into()).chain(counts.iter().map(cell)))
    });
    section.table(
        table.caption(format!("The {part} rows of each class by the one that is likeliest.")),
    )
}

/// The largest coefficients.
///
/// # Privacy
/// They are released.
fn coefficients(model: &LinearModel, reader: Option<&Reader>) -> Section {
    let mut all: Vec<(usize, f64)> = model.weights.iter().copied().enumerate().collect();
    let by_size = |one: &(usize, f64), other: &(usize, f64)| {
        other.1.abs().total_cmp(&one.1.abs()).then(one.0.cmp(&other.0))
    };
    let shown = SHOWN.min(all.len());
    if shown > 0 && shown < all.len() {
        all.select_nth_unstable_by(shown - 1, by_size);
    }
    all.truncate(shown);
    all.sort_unstable_by(by_size);
    let named = |index: usize| {
        let (feature, class) = (index / model.models(), index % model.models());
        let name = reader.and_then(|reader| reader.feature_name(feature as u64));
        let name = name.unwrap_or_else(|| format!("feature {}", feature + 1));
        match model.models() {
            1 => name,
            _ => format!("{name} ({})", model.class_name(class)),
        }
    };
    let bars = NamedBars {
        title: "The largest coefficients".to_owned(),
        measure: "coefficient".to_owned(),
        values: all.iter().take(DRAWN).map(|(index, weight)| (named(*index), *weight)).collect(),
    };
    let mut table = Table::new("coefficients", ["feature", "coefficient"]);
    for (index, weight) in &all {
        table = table.row([named(*index).into(), Cell::number(*weight, format!("{weight:.4}"))]);
    }
    Section::new("The largest coefficients")
        .figure(Figure::new("coefficients", bars).caption(format!(
            "Of {} features, those that move a prediction most. They were released, so looking costs \
             nothing.",
            model.features()
        )))
        .table(table)
}
