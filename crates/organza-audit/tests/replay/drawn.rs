//! Batches, releases and texts: the doors to the mechanisms, in one place.

use organza_data::split::{Shares, Sides, Split};
use organza_data::{FromFile, Objective, Samples, TokenisedText, VocabularySource};
use organza_ledger::Unit;
pub(crate) use organza_ledger::testing::paid;
use organza_mechanism::{Batch, Plan, RandomSource};
use organza_words::read_text;
use organza_words::settings::{Method, Settings};
use std::fs;
use std::path::Path;

/// The one key of all runs.
pub(crate) const SEED: u64 = 13;

pub(crate) fn source() -> RandomSource {
    RandomSource::from_seed(SEED)
}

/// The batch of a step over so many units.
pub(crate) fn batch(plan: &Plan, units: u64, step: u64) -> Batch {
    let sampler = plan.sampler("training", units, &source());
    sampler.batch(step, &paid(sampler.charge(step..step + 1))).unwrap()
}

/// How many words there are.
pub(crate) const WORDS: usize = 40;

pub(crate) fn word(number: usize) -> String {
    format!("w{:03}", number % WORDS)
}

/// Lines that all neighbours share, of the first words.
pub(crate) fn shared_lines(lines: usize) -> String {
    let said = |line: usize| {
        let word = |place: usize| word((line * 11 + place * 7 + place * place) % 30);
        (0..6).map(word).collect::<Vec<_>>().join(" ") + "\n"
    };
    (0..lines).map(said).collect()
}

/// A line of rare words: another one for each number.
pub(crate) fn rare_line(number: usize) -> String {
    let words = (30 + number..35 + number).map(word);
    words.collect::<Vec<_>>().join(" ") + "\n"
}

/// Reads a text.
pub(crate) fn read(text: &str, folder: &Path) -> TokenisedText {
    let path = folder.join("text.txt");
    fs::write(&path, text).unwrap();
    let mut settings = Settings::standard().suited_to(Method::Dpsgd);
    settings.data.path = Some(path);
    let source = settings.data.source(settings.privacy.unit).unwrap();
    read_text(&settings, source.as_ref()).unwrap()
}

/// The samples of a text in a public list of words, all of which train.
pub(crate) fn samples(
    text: &str,
    unit: Unit,
    objective: Objective,
    window: u32,
) -> (Samples, Split) {
    let folder = tempfile::tempdir().unwrap();
    let text = read(text, folder.path());
    let list = folder.path().join("words.txt");
    fs::write(&list, (0..WORDS).map(|it| word(it) + "\n").collect::<String>()).unwrap();
    let words = FromFile::new(&list).vocabulary(&text).unwrap().vocabulary;
    let shares = Shares { validation: 0.0, test: 0.0 };
    let sides = Sides::by_unit(&text, unit, shares, 1).unwrap();
    let samples = Samples::new(text.into_corpus(&words), objective, window).unwrap();
    let split = sides.split(&samples).unwrap();
    (samples, split)
}
