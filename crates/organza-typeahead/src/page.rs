//! The page of a run, from its files alone.

use crate::quality::Quality;
use crate::release::Released;
use crate::settings::Settings;
use crate::typeahead::Typeahead;
use crate::{box_to_type, saved};
use organza_report::chart::{Axis, Chart, Line};
use organza_report::page::{Cell, Figure, Page, Section, Table};
use organza_report::run::{Additions, RunFiles, RunFilesError};
use organza_train::Failure;
use std::path::Path;

/// Why quality is marked.
const QUALITY: &str = "computed from the data, without noise and without a charge";
/// So many n-grams of an order are shown.
const SHOWN: usize = 12;
/// Counts below so many deviations are not drawn.
const LEAST_SHOWN: f64 = 0.5;

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
    let section = Section::new("What stands out of the noise")
        .text("Noisy counts of writers, each writer with a weight of 1 over all they wrote; `^` is the beginning of a sentence. From these alone everything is completed, so that looking costs nothing.");
    match stages.is_empty() {
        true => section,
        false => section.table(table).figure(
            Figure::new("counts", chart(stages))
                .caption("Counts up to a few deviations could as well be noise: they say little alone, and much together."),
        ),
    }
}

/// How far the counts of each stage stand out of their noise.
fn chart(stages: &[Released]) -> Chart {
    let line = |stage: &Released| {
        let mut counts: Vec<f32> = stage.counts.clone();
        counts.sort_unstable_by(|one, other| other.total_cmp(one));
        let ranks = std::iter::successors(Some(1_usize), |rank| Some(rank * 3 / 2 + 1));
        let ranks = ranks.take_while(|rank| *rank <= counts.len());
        let points = ranks.map(|rank| {
            let count = counts[rank - 1] / stage.deviation.max(f32::MIN_POSITIVE);
            (rank as f64, f64::from(count))
        });
        Line::new(&stage.name, points.filter(|(_, count)| *count > LEAST_SHOWN).collect::<Vec<_>>())
    };
    Chart {
        title: "Counts, in deviations of their noise".to_owned(),
        horizontal: Axis::logarithmic("number, from the largest count"),
        vertical: Axis::logarithmic("deviations"),
        lines: stages.iter().map(line).collect(),
        mark: None,
    }
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
