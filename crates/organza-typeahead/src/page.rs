//! The page of a run, from its files alone.

use crate::quality::Quality;
use crate::release::Released;
use crate::settings::Settings;
use crate::typeahead::Typeahead;
use crate::{box_to_type, saved};
use organza_report::page::{Cell, Page, Section, Table};
use organza_report::run::{Additions, RunFiles, RunFilesError};
use organza_train::Failure;
use std::path::Path;

/// Why quality is marked.
const QUALITY: &str = "computed from the data, without noise and without a charge";
/// So many n-grams of an order are shown.
const SHOWN: usize = 12;

const FILES: [(&str, &str); 4] = [
    (
        saved::ARPA,
        "the model in the ARPA format, for KenLM and others; of a network, the frequencies of words alone",
    ),
    (saved::MODEL, "the model, all of it"),
    (saved::NGRAMS, "the released n-grams with their noisy counts, as a tree"),
    (saved::WORDS, "the words, in the order of their numbers"),
];

/// The page of the finished run in `path`.
///
/// # Errors
/// If there is no run, it is not finished, or a file is missing or damaged.
pub fn page(path: &Path) -> Result<Page, RunFilesError> {
    let files = RunFiles::<Settings>::read(path)?;
    let typeahead = Typeahead::open(path).map_err(Failure::from)?;
    let stages = Released::open(path).map_err(Failure::from)?;
    let quality = files.summary.get("quality").cloned();
    let quality: Option<Quality> = quality.and_then(|it| serde_json::from_value(it).ok());
    let sections =
        [released(&typeahead, &stages)].into_iter().chain(quality.as_ref().map(measured));
    Ok(files.page(Additions {
        // The box knows contexts, not networks.
        first: typeahead.model().network().is_none().then(|| box_to_type::section(&typeahead)),
        sections: sections.collect(),
        files: FILES.to_vec(),
        ..Additions::new("Typeahead", "completions")
    }))
}

/// What was released per stage.
fn released(typeahead: &Typeahead, stages: &[Released]) -> Section {
    let mut table = Table::new(
        "stages",
        ["stage", "released", "deviation of the noise of a count", "with the largest counts"],
    );
    for stage in stages {
        let mut largest: Vec<usize> = (0..stage.counts.len()).collect();
        let by_count = |one: &usize, other: &usize| {
            stage.counts[*other].total_cmp(&stage.counts[*one]).then(one.cmp(other))
        };
        largest.sort_unstable_by(by_count);
        let text = |place: &usize| {
            let symbols = &stage.symbols[place * stage.length..][..stage.length];
            typeahead.text_of(symbols)
        };
        // Endings are numbers, not words.
        let shown: Vec<String> = match stage.name.contains("endings") {
            true => Vec::new(),
            false => largest.iter().take(SHOWN).map(text).collect(),
        };
        let number = stage.counts.len();
        let deviation = f64::from(stage.deviation);
        table = table.row([
            stage.name.as_str().into(),
            Cell::number(number as f64, number.to_string()),
            Cell::number(deviation, format!("{deviation:.2}")),
            shown.join(", ").into(),
        ]);
    }
    Section::new("What was released")
        .text("Noisy counts of writers, each writer with a weight of 1 over all they wrote; `^` is the beginning of a sentence. From these alone everything is completed, so that looking costs nothing.")
        .table(table)
}

fn measured(quality: &Quality) -> Section {
    let cell = |value: f64| Cell::number(value, format!("{value:.3}")).not_private(QUALITY);
    let table = Table::new("quality", ["the next word is", "this model", "by frequency alone"])
        .row(["the first offered".into(), cell(quality.first), cell(quality.first_alone)])
        .row(["among three offered".into(), cell(quality.three), cell(quality.three_alone)]);
    let words = Cell::from(quality.words.to_string()).not_private(QUALITY);
    Section::new("Quality")
        .text("On writers that were held out: words of the vocabulary, each by those before it.")
        .table(table)
        .table(Table::new("predicted", ["words that had to be predicted"]).row([words]))
}
