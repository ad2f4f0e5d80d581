//! The page of a run, from its files alone.

use crate::model::MODEL;
use crate::quality::Quality;
use crate::reader::READER;
use crate::settings::{Method, Model, Settings};
use organza_report::chart::{Axis, Chart, Line};
use organza_report::page::{Cell, Figure, Page, Section, Table};
use organza_report::run::{Additions, Baseline, RunFiles, RunFilesError};
use std::path::Path;

/// Why quality is marked.
const QUALITY: &str = "computed from the data, without noise and without a charge";

const FILES: [(&str, &str); 2] = [
    (
        MODEL,
        "`table`: for each bucket its weight and, of a factorisation machine, its vector; `dense`: the intercept and the weights of numbers",
    ),
    (READER, "how new rows are read"),
];

/// The page of the finished run in `path`.
///
/// # Errors
/// If there is no run, it is not finished, or a file is missing or damaged.
pub fn page(path: &Path) -> Result<Page, RunFilesError> {
    let files = RunFiles::<Settings>::read(path)?;
    let read = |part: &str| serde_json::from_value(files.summary.get(part)?.clone()).ok();
    let quality: Option<(&str, Quality)> = match read("test") {
        Some(quality) => Some(("test", quality)),
        None => read("train").map(|quality| ("training", quality)),
    };
    let mut additions = Additions {
        sections: vec![made(&files.settings)],
        files: FILES.to_vec(),
        unused: unused(&files.settings),
        ..Additions::new("Click model", "weights")
    };
    if let Some((part, quality)) = &quality {
        additions.measured.extend(quality.auc.map(|auc| (format!("{part} AUC"), auc)));
        additions.baseline =
            quality.constant_loss.map(|loss| Baseline { name: "a constant", loss });
        additions.sections.insert(0, measured(part, quality));
    }
    Ok(files.page(additions))
}

/// Settings that a method does not look at.
fn unused(settings: &Settings) -> Vec<&'static str> {
    let mut unused = Vec::new();
    if settings.method != Method::Sparse {
        unused.push("selection");
    }
    if settings.method.steps().is_none() {
        unused.push("training");
    }
    if !settings.method.releases_counts() {
        unused.push("rules");
    }
    if settings.model == Model::Logistic {
        unused.push("dimensions");
    }
    unused
}

/// How it was made.
fn made(settings: &Settings) -> Section {
    let how = match settings.method {
        Method::OneShot => {
            "clicks and views of every bucket and second moments of a small design were released once, with noise; the \
             model is what follows from them"
        }
        Method::OneShotDpsgd => {
            "a model from clicks, views and second moments that were released once, then DP-SGD from there with the rest of the \
             budget"
        }
        Method::Dpsgd => "DP-SGD: noise on all parameters in every step",
        Method::Sparse => "private selection: noise in every step on what was selected",
        Method::None => "gradient descent without privacy",
    };
    Section::new("How it was made")
        .text(format!("A {} by method {}: {how}.", settings.model, settings.method))
}

/// What predictions are worth. *Not private.*
fn measured(part: &str, quality: &Quality) -> Section {
    let ideal = quality.calibration.iter().map(|(predicted, _)| (*predicted, *predicted));
    let chart = Chart {
        title: "Expected and observed clicks".to_owned(),
        horizontal: Axis::fitted("expected rate of clicks"),
        vertical: Axis::fitted("observed"),
        lines: vec![
            Line::new("model", quality.calibration.clone()),
            Line::new("as it should be", ideal),
        ],
        mark: None,
    };
    let figure = Figure::new("calibration", chart).not_private(QUALITY).caption(format!(
        "The {part} rows in ten parts, by what is predicted of them. Where the curve is below the line, predictions \
         are too high."
    ));
    let cell = |value: Option<f64>| match value {
        Some(value) => Cell::number(value, format!("{value:.4}")).not_private(QUALITY),
        None => Cell::from("-").not_private(QUALITY),
    };
    let table = Table::new("quality", [format!("{part} rows"), "value".to_owned()])
        .row(["AUC".into(), cell(quality.auc)])
        .row(["log loss".into(), cell(quality.log_loss)])
        .row(["log loss of the best constant".into(), cell(quality.constant_loss)])
        .row(["expected over observed clicks".into(), cell(quality.expected_over_observed)])
        .row(["rows".into(), Cell::from(quality.rows.to_string()).not_private(QUALITY)]);
    Section::new("How good predictions are").figure(figure).table(table)
}
