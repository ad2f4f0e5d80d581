//! The page of a run, from its files alone.

use crate::fit::Choice;
use crate::picker;
use crate::quality::Quality;
use crate::saved::SavedRecommender;
use crate::settings::{Method, Settings};
use organza_report::chart::{Axis, Chart, Line};
use organza_report::page::{Cell, Figure, Page, Section, Table};
use organza_report::run::{Additions, RunFiles, RunFilesError};
use organza_train::Failure;
use std::path::Path;

/// Why quality is marked.
const QUALITY: &str = "computed from the data, without noise and without a charge";
/// The items whose likes are listed, and how many of them.
const SHOWN: usize = 8;
const ALIKE: usize = 5;

const FILES: [(&str, &str); 2] = [
    (
        "model.safetensors",
        "the item vectors, and the item-item model: by `asking` an item asks for others, by `found` it is found; `prior`, if there is one, is for least squares",
    ),
    ("items.txt", "the items, in the order of the rows"),
];

/// The page of the finished run in `path`.
///
/// # Errors
/// If there is no run, it is not finished, or a file is missing or damaged.
pub fn page(path: &Path) -> Result<Page, RunFilesError> {
    let files = RunFiles::<Settings>::read(path)?;
    let saved = SavedRecommender::read(path).map_err(Failure::from)?;
    let quality = files.summary.get("quality").cloned();
    let quality: Option<Quality> = quality.and_then(|it| serde_json::from_value(it).ok());
    let alike = (saved.model.likeness() > 0).then(|| alike(&saved));
    let made = saved.choice.as_ref().map_or_else(|| baseline(files.settings.method), spectrum);
    let sections = alike.into_iter().chain([made]);
    Ok(files.page(Additions {
        first: picker::section(&saved),
        sections: sections.chain(quality.as_ref().map(measured)).collect(),
        files: FILES.to_vec(),
        ..Additions::new("Recommender", "recommendations")
    }))
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
fn spectrum(choice: &Choice) -> Section {
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

/// How a model was made that is there to compare with.
fn baseline(method: Method) -> Section {
    let how = match method {
        Method::Spectrum => "what stands out of the noise of a table of pairs",
        Method::Popularity => {
            "what everybody likes, and nothing else: all of the budget is for the counts of items"
        }
        Method::Covariance => {
            "the leading part of a noisy covariance of items (McSherry and Mironov 2009), which was released once"
        }
        Method::Als => {
            "private alternating least squares (Chien et al. 2021): counts of items and the sums of every iteration were released"
        }
        Method::Dpsgd => "matrix factorisation by DP-SGD, after counts of items were released",
        Method::Ease => "regression of each item on all others (Steck 2019), without privacy",
        Method::LowRank => "the leading eigenvectors of the table of pairs, without privacy",
    };
    Section::new("How it was made").text(format!(
        "By method {method}: {how}. It is there to compare with; the usual method is spectrum."
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
