//! The page of a run, from its files alone.

use crate::grams::Grams;
use crate::quality::Quality;
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
    (saved::ARPA, "the model in the ARPA format, for KenLM and others"),
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
    let grams = Grams::open(path).map_err(Failure::from)?;
    let quality = files.summary.get("quality").cloned();
    let quality: Option<Quality> = quality.and_then(|it| serde_json::from_value(it).ok());
    let sections = [released(&typeahead, &grams)].into_iter().chain(quality.as_ref().map(measured));
    Ok(files.page(Additions {
        first: Some(box_to_type::section(&typeahead)),
        sections: sections.collect(),
        files: FILES.to_vec(),
        ..Additions::new("Typeahead", "completions")
    }))
}

/// What was released per order.
fn released(typeahead: &Typeahead, grams: &Grams) -> Section {
    let number = |value: f64| Cell::number(value, format!("{value:.2}"));
    let mut table = Table::new(
        "n-grams",
        ["order", "released", "deviation of the noise of a count", "with the largest counts"],
    );
    let words = typeahead.words().len();
    let of_words = typeahead.complete("", SHOWN).iter().map(|it| it.word).collect::<Vec<_>>();
    table = table.row([
        "words".into(),
        Cell::number(words as f64, words.to_string()),
        number(f64::from(grams.deviation)),
        of_words.join(", ").into(),
    ]);
    for (order, length) in grams.orders().iter().zip(2_usize..) {
        let mut largest: Vec<usize> = (0..order.len()).collect();
        let by_count = |one: &usize, other: &usize| {
            order.counts()[*other].total_cmp(&order.counts()[*one]).then(one.cmp(other))
        };
        largest.sort_unstable_by(by_count);
        let shown: Vec<String> = largest
            .iter()
            .take(SHOWN)
            .map(|place| typeahead.text_of(grams, length, *place))
            .collect();
        table = table.row([
            format!("{length} words").into(),
            Cell::number(order.len() as f64, order.len().to_string()),
            number(order.deviation()),
            shown.join(", ").into(),
        ]);
    }
    Section::new("What was released")
        .text("Noisy counts of writers, each writer with a weight of 1 over all they wrote. From these alone everything is completed, so that looking costs nothing.")
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
