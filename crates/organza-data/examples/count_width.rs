//! What a private table of pairs costs as the vocabulary widens: `cargo run --release --example count_width`.
//!
//! 100,000 lines of ten words by Zipf's law, from vocabularies of 1,000, 10,000 and 100,000 words; the
//! bar is where about 100,000 of the empty cells clear it.
#![allow(clippy::print_stdout)]

use organza_data::cooccurrence::{CooccurrenceSettings, PairCounts, PairTable};
use organza_data::source::Visit;
use organza_data::{
    DataError, FromFile, Layout, Line, Objective, Place, Samples, TextSource, TokenisedText,
    Tokeniser, Units, VocabularySource,
};
use organza_ledger::{Account, AccountError, Budget, Event, Header, Ledger, Neighbouring, Unit};
use organza_mechanism::sample::unit;
use organza_mechanism::{CountNoise, Purpose, RandomSource};
use std::time::Instant;

const LINES: u64 = 100_000;
const EPSILON: f64 = 3.0;

struct Zipf {
    words: u32,
}

impl TextSource for Zipf {
    fn each_line(&self, visit: &mut Visit<'_>) -> Result<(), DataError> {
        let mut random = RandomSource::from_seed(1).substream(Purpose::Data, 0, 0);
        for line in 1..=LINES {
            // The rank of a Zipf word is about n^u for uniform u.
            let word = |_| f64::from(self.words).powf(unit(&mut random)) as u32 - 1;
            let text: Vec<String> = (0..10).map(word).map(|word| format!("w{word}")).collect();
            let place = Place { file: "zipf".into(), line };
            let text = text.join(" ");
            visit(Line { tokenised: true, ..Line::of(&text, "zipf", &place) })?;
        }
        Ok(())
    }
}

/// This is about time: the account lets everything pass.
struct Free;

impl Account for Free {
    fn neighbouring(&self) -> Neighbouring {
        Neighbouring::AddRemove
    }

    fn epsilon(&self, _: &[Event], _: f64) -> Result<f64, AccountError> {
        Ok(0.0)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    for words in [1_000, 10_000, 100_000] {
        let list = folder.path().join("words.txt");
        std::fs::write(&list, (0..words).map(|word| format!("w{word}\n")).collect::<String>())?;
        let text = TokenisedText::read(&Zipf { words }, &Tokeniser::default(), Layout::Lines)?;
        let vocabulary = FromFile::new(&list).vocabulary(&text)?.vocabulary;
        let samples = Samples::new(text.into_corpus(&vocabulary), Objective::SkipGram, 4)?;
        let lines = (0..samples.corpus().line_count()).collect();
        let units = Units::of_lines(&samples, Unit::Pair, lines)?;
        let cells = PairTable::new(words).cells();
        // Pr[noise >= bar] is about e^(-epsilon bar).
        let bar = ((cells as f64 / 1e5).ln() / EPSILON).ceil().max(1.0);
        let counts = PairCounts::new(CooccurrenceSettings {
            unit: Unit::Pair,
            words,
            neighbouring: Neighbouring::AddRemove,
            noise: CountNoise::DiscreteLaplace { epsilon: EPSILON },
            clip: None,
            bar: Some(bar),
        })?;
        let release = counts.release(&RandomSource::from_seed(2));
        let header = Header::new(Neighbouring::AddRemove, Unit::Pair, 1e-6);
        let mut ledger = Ledger::in_memory(header)?;
        let budget = Budget::new(1.0, 1e-6, Neighbouring::AddRemove)?;
        let paid = budget.charge(&mut ledger, &Free, release.charge())?;
        let start = Instant::now();
        let noisy = counts.count(&samples, &units, &release, paid)?;
        println!(
            "{words} words, {cells} cells: {} pairs counted, {} cells released from {bar} on, {:.2} s",
            units.sample_count(),
            noisy.pairs().len(),
            start.elapsed().as_secs_f64(),
        );
    }
    Ok(())
}
