//! Batches, releases and texts: the doors to the mechanisms, in one place.

use organza_data::split::{Shares, Split, by_unit};
use organza_data::{FromFile, Objective, Samples, TokenisedText, VocabularySource};
use organza_erm::{Descent, Weights};
use organza_ledger::{
    Account, AccountError, Budget, Charge, Charged, Event, Header, Ledger, Neighbouring, Unit,
};
use organza_mechanism::{Batch, Plan, RandomSource};
use organza_train::read_text;
use organza_train::settings::{Method, Settings};
use std::fs;
use std::path::Path;

/// The one key of all runs.
pub(crate) const SEED: u64 = 13;

pub(crate) fn source() -> RandomSource {
    RandomSource::from_seed(SEED)
}

/// The batch of a step over so many units.
pub(crate) fn batch(plan: &Plan, units: u64, step: u64) -> Batch {
    plan.sampler("training", units, &source()).batch(step)
}

/// A step of a linear model.
pub(crate) fn descend(descent: &Descent<'_>, step: u64, weights: &mut Weights) {
    descent.step(step, &source(), weights);
}

struct Free(Neighbouring);

impl Account for Free {
    fn neighbouring(&self) -> Neighbouring {
        self.0
    }

    fn epsilon(&self, _: &[Event], _: f64) -> Result<f64, AccountError> {
        Ok(0.0)
    }
}

/// The proof of a charge, on a ledger of its own.
pub(crate) fn charged(charge: Charge) -> Charged {
    let folder = tempfile::tempdir().unwrap();
    let relation = charge.neighbouring.unwrap();
    let header = Header::new(relation, Unit::Line, 1e-6);
    let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl"), header).unwrap();
    let budget = Budget::new(1.0, 1e-6, relation).unwrap();
    budget.charge(&mut ledger, &Free(relation), charge).unwrap()
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
    read_text(&settings).unwrap()
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
    let samples = Samples::new(text.into_corpus(&words), objective, window).unwrap();
    let split = by_unit(&samples, unit, Shares { validation: 0.0, test: 0.0 }, 1).unwrap();
    (samples, split)
}
