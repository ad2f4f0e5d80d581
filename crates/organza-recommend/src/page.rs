//! The page of a run, from its files alone.

use crate::picker;
use crate::quality::Quality;
use crate::saved::{SavedError, SavedRecommender};
use crate::settings::Settings;
use organza_report::chart::{Axis, Chart, Line};
use organza_report::page::{Cell, Fact, Figure, Page, PageError, Section, Table};
use organza_report::run::{RunFiles, RunFilesError, certified, promised, released};
use std::path::Path;
use thiserror::Error;

/// Why quality is marked.
const QUALITY: &str = "computed from the data, without noise and without a charge";
/// The items whose likes are listed, and how many of them.
const SHOWN: usize = 8;
const ALIKE: usize = 5;

const FILES: [(&str, &str); 7] = [
    (
        "model.safetensors",
        "the item vectors, and the item-item model: by `asking` an item asks for others, by `found` it is found",
    ),
    ("items.txt", "the items, in the order of the rows"),
    ("certificate.json", "what is promised, and what it was spent on"),
    ("ledger.jsonl", "every charge, written before what it pays for"),
    ("settings.json", "what was asked for"),
    ("summary.json", "the outcome for programs (not private)"),
    ("tables", "each table of this page as CSV"),
];

/// Why there is no page.
#[derive(Debug, Error)]
pub enum NoPage {
    /// The files of the run.
    #[error(transparent)]
    Files(#[from] RunFilesError),
    /// The model.
    #[error(transparent)]
    Saved(#[from] SavedError),
    /// Writing.
    #[error(transparent)]
    Page(#[from] PageError),
    /// Writing.
    #[error("cannot write {path}: {source}")]
    Write {
        /// Where.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Writes `report.html` of the finished run in `path`; tells whether all of it is private.
///
/// # Errors
/// If a file of the run is missing or damaged, or the page cannot be written.
pub fn write(path: &Path) -> Result<bool, NoPage> {
    let files = RunFiles::<Settings>::read(path)?;
    let saved = SavedRecommender::read(path)?;
    let page = page(&files, &saved);
    page.write(path, "report.html")?;
    let file = path.join("report.html");
    let html = picker::with_picker(&page.html(), &saved);
    std::fs::write(&file, html)
        .map_err(|source| NoPage::Write { path: file.display().to_string(), source })?;
    Ok(files.certificate.private && !page.has_marks())
}

fn page(files: &RunFiles<Settings>, saved: &SavedRecommender) -> Page {
    let RunFiles { certificate, settings, summary, .. } = files;
    let (seeded, what) = (settings.seed.is_some(), "recommendations");
    let mut page = certified(certificate, "A recommender".to_owned(), what, seeded)
        .fact(Fact::new("items", saved.names.len().to_string()).note("by noisy counts"))
        .fact(
            Fact::new("directions of taste", saved.choice.eigenvalues.len().to_string())
                .note("above the edge of the noise"),
        );
    let remarks = summary.get("remarks").and_then(|remarks| remarks.as_array());
    for remark in remarks.into_iter().flatten().filter_map(|remark| remark.as_str()) {
        page = page.warning(format!("Not private, from the data without noise: {remark}."));
    }
    let quality = summary.get("quality").cloned();
    let quality = quality.and_then(|quality| serde_json::from_value(quality).ok());
    page.section(promised(certificate, what, seeded))
        .section(alike(saved))
        .section(spectrum(saved))
        .section(quality.as_ref().map_or_else(|| Section::new("Quality"), measured))
        .section(released(certificate))
        .section(Section::new("Files").links(FILES))
}

/// Items that are most alike, of the most frequent ones.
fn alike(saved: &SavedRecommender) -> Section {
    let mut table = Table::new("alike", ["item", "most alike, with their cosine"]);
    for item in 0..saved.names.len().min(SHOWN) as u32 {
        let near = saved.model.similar_items(item, ALIKE);
        let near: Vec<String> =
            near.iter().map(|it| format!("{} {:.2}", saved.title(it.item), it.score)).collect();
        table = table.row([saved.title(item).into(), near.join(", ").into()]);
    }
    Section::new("Items that are alike")
        .text("From the released model alone, so that looking costs nothing. `organza similar` shows any other.")
        .table(table)
}

/// The eigenvalues, and where noise ends.
fn spectrum(saved: &SavedRecommender) -> Section {
    let choice = &saved.choice;
    let places = (1..).map(f64::from);
    let values: Vec<(f64, f64)> = places.zip(choice.eigenvalues.iter().copied()).collect();
    let end = values.len().max(2) as f64;
    let chart = Chart {
        title: "Eigenvalues of the released table".to_owned(),
        horizontal: Axis::linear("number"),
        vertical: Axis::fitted("eigenvalue"),
        lines: vec![
            Line::new("what stands out", values),
            Line::new("edge of the noise", [(1.0, choice.edge), (end, choice.edge)]),
        ],
        mark: None,
    };
    let score = match choice.score {
        crate::Score::LowRank => "the leading eigenvectors",
        crate::Score::Regression => "regression on all other items",
    };
    Section::new("What stands out of the noise")
        .figure(Figure::new("spectrum", chart).caption(
            "What is below the edge could as well be noise, and is not used. All of it was released.",
        ))
        .text(format!(
            "Items are scored by {score}, with a ridge of {} times half the edge, over the {} most frequent items; the others \
             by their popularity. All of this was chosen by the release itself: two copies of it with independent noise, one \
             to fit and one to judge.",
            choice.ridge, choice.block
        ))
}

fn measured(quality: &Quality) -> Section {
    let cell = |value: f64| Cell::number(value, format!("{value:.3}")).not_private(QUALITY);
    let table = Table::new("quality", ["a fifth of the items of a person hidden", "value"])
        .row(["Recall@20".into(), cell(quality.recall)])
        .row(["Recall@20 by popularity alone".into(), cell(quality.popular_recall)])
        .row(["NDCG@100".into(), cell(quality.ndcg)])
        .row(["persons".into(), Cell::from(quality.persons.to_string()).not_private(QUALITY)]);
    Section::new("Quality")
        .text("On persons of the data itself, which the model has seen through noise.")
        .table(table)
}
