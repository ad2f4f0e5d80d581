//! `report.html`: the page of a fit.

use super::summary::Summary;
use organza_erm::{Fitted, LinearModel, Scores};
use organza_report::chart::{Axis, Bar, Bars, Chart, Line};
use organza_report::page::{Cell, Figure, Page, Section, Table};
use organza_report::run::{certified, promised, released};
use organza_train::Finished;

/// How many coefficients are shown, and how many as a picture.
const SHOWN: usize = 20;
const DRAWN: usize = 10;
/// Why scores are marked.
const SCORES: &str = "computed from the data, without noise and without a charge";

const FILES: [(&str, &str); 8] = [
    ("model.safetensors", "the coefficients, for programs"),
    ("coefficients.csv", "the coefficients by the names of their features"),
    ("settings.json", "everything that determines the fit beside the data"),
    ("reader.json", "how new rows are read"),
    ("certificate.json", "what is promised, and what it was spent on"),
    ("ledger.jsonl", "every charge, written before what it pays for"),
    ("figures", "each figure of this page as SVG"),
    ("tables", "each table of this page as CSV"),
];

/// The page of a fit.
pub(super) fn page(fit: &Finished<Fitted>, summary: &Summary, seeded: bool) -> Page {
    let certificate = &fit.certificate;
    let model = certificate.model.as_deref().unwrap_or("linear");
    let title = format!("A {model} model by {}", certificate.method);
    let mut page = certified(certificate, title, "coefficients", seeded);
    if let Some(doubts) = summary.doubts() {
        page = page.warning(doubts);
    }
    let mut outcome = Table::new("outcome", ["at the end", "value"]);
    for (name, value, is_private) in summary.rows() {
        let value = Cell::from(value);
        let value = if is_private { value } else { value.not_private(SCORES) };
        outcome = outcome.row([name.into(), value]);
    }
    let scores = fit.model.test.as_ref().unwrap_or(&fit.model.train);
    let learned = Section::new("What was learned").table(outcome);
    let learned = match &scores.confusion {
        Some(confusion) => learned.table(confusion_table(&fit.model.model, confusion)),
        None => learned,
    };
    page.section(promised(certificate, "coefficients", seeded))
        .section(
            learned.figure(Figure::new("calibration", calibration(scores)).not_private(SCORES)),
        )
        .section(coefficients(&fit.model))
        .section(released(certificate))
        .section(Section::new("Files").links(FILES))
}

/// Classes by what they are taken for.
fn confusion_table(model: &LinearModel, confusion: &[Vec<u64>]) -> Table {
    let cell = |count: &u64| Cell::from(count.to_string()).not_private(SCORES);
    let names: Vec<String> = (0..confusion.len()).map(|it| model.class_name(it)).collect();
    let taken = names.iter().map(|name| format!("taken for {name}"));
    let table = Table::new("confusion", std::iter::once("class".to_owned()).chain(taken));
    names.iter().zip(confusion).fold(table, |table, (name, counts)| {
        table.row(std::iter::once(name.clone().into()).chain(counts.iter().map(cell)))
    })
}

/// What came true of what was predicted.
fn calibration(scores: &Scores) -> Chart {
    let ideal = scores.calibration.iter().map(|(predicted, _)| (*predicted, *predicted));
    Chart {
        title: "What came true of what was predicted, by tenths".to_owned(),
        horizontal: Axis::fitted("mean prediction"),
        vertical: Axis::fitted("mean label"),
        lines: vec![
            Line::new("model", scores.calibration.clone()),
            Line::new("as it should be", ideal),
        ],
        mark: None,
    }
}

/// The largest coefficients.
fn coefficients(fit: &Fitted) -> Section {
    let mut all: Vec<(usize, f64)> = fit.model.weights.iter().copied().enumerate().collect();
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
        let (feature, class) = (index / fit.model.models(), index % fit.model.models());
        let name = fit.reader.as_ref().and_then(|reader| reader.feature_name(feature as u64));
        let name = name.unwrap_or_else(|| format!("feature {}", feature + 1));
        match fit.model.models() {
            1 => name,
            _ => format!("{name} ({})", fit.model.class_name(class)),
        }
    };
    let bar = |(index, weight): &(usize, f64)| {
        let sign = if *weight < 0.0 { "-" } else { "+" };
        Bar { label: format!("{sign}{}", named(*index)), value: weight.abs() }
    };
    let bars = Bars {
        title: "The largest coefficients".to_owned(),
        horizontal: "feature, with the sign of its coefficient".to_owned(),
        vertical: "size".to_owned(),
        bars: all.iter().take(DRAWN).map(bar).collect(),
        reference: None,
    };
    let mut table = Table::new("coefficients", ["feature", "coefficient"]);
    for (index, weight) in &all {
        let cell = Cell::number(*weight, format!("{weight:.4}"));
        table = table.row([named(*index).into(), cell]);
    }
    Section::new("The largest coefficients").figure(Figure::new("coefficients", bars)).table(table)
}
