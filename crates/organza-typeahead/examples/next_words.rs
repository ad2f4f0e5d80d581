//! Measures typeahead on writers that it has not seen. NOT PRIVATE: figures come from the data without noise.
//!
//! ```text
//! cargo run --release -p organza-typeahead --example next_words -- --epsilon 1 --epsilon 3 --epsilon 8 --seeds 3 \
//!     --text-column text --user-column writer --vocabulary-file words.txt train.jsonl test.jsonl
//! ```
//!
//! For every budget, and without privacy (`--method none`): how often the next word of the vocabulary is the first offered, and
//! how often among three. Without `--vocabulary-file` the words are private; then `--targets FILE` lists the words that have to be predicted, of which those
//! outside the vocabulary count as missed. `--order N` changes the longest n-grams, `--tokens REGEX` what a word is.
#![allow(clippy::print_stdout)]

use organza_data::settings::{DataSettings, Tokens, VocabularyOrigin};
use organza_data::source::TextColumns;
use organza_data::{Tokeniser, Writing};
use organza_typeahead::{Method, Settings, Typeahead, back_off, fit, quality};
use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::time::Instant;

/// Of a writer so many symbols are looked at, as the library does.
const MOST_OF_WRITER: usize = 1_500;
/// What ARPA loses is measured on about so many words.
const BACK_OFF_WORDS: usize = 100_000;

type Failed = Box<dyn Error + Send + Sync>;

/// What each writer of the test wrote.
fn texts(path: &str, columns: &TextColumns) -> Result<BTreeMap<String, Vec<String>>, Failed> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in BufReader::new(std::fs::File::open(path)?).lines() {
        let row: serde_json::Value = serde_json::from_str(&line?)?;
        let column = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let user = columns.user.as_deref().map(column).unwrap_or_default();
        texts.entry(user).or_default().push(column(&columns.text));
    }
    Ok(texts)
}

/// The same in the symbols of a model.
fn writing(texts: &BTreeMap<String, Vec<String>>, typeahead: &Typeahead) -> Writing {
    let rows = texts
        .values()
        .map(|texts| texts.iter().flat_map(|text| typeahead.symbols(text)).collect::<Vec<_>>());
    Writing::of_rows(typeahead.model().symbols(), rows)
}

/// How many words of the test are among those that have to be predicted, as far as a writer is looked at.
fn targets(
    texts: &BTreeMap<String, Vec<String>>,
    settings: &Settings,
    words: &str,
) -> Result<usize, Failed> {
    let words: HashSet<&str> = words.lines().collect();
    let tokeniser = Tokeniser { sentences: true, ..settings.data.tokeniser()? };
    let mut number = 0;
    for texts in texts.values() {
        let mut left = MOST_OF_WRITER;
        for text in texts {
            // A text begins like a sentence.
            left = left.saturating_sub(1);
            tokeniser.each(text, |token| {
                number += usize::from(left > 0 && words.contains(token));
                left = left.saturating_sub(1);
            });
        }
    }
    Ok(number)
}

fn main() -> Result<(), Failed> {
    let mut columns = TextColumns { text: "text".into(), user: Some("user".into()), format: None };
    let (mut budgets, mut seeds, mut files, mut methods) =
        (Vec::new(), 1_u64, Vec::new(), Vec::new());
    let mut listed = None;
    let mut usual = Settings::new(DataSettings::default(), 1.0, 1e-6);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let Some(flag) = word.strip_prefix("--") else {
            files.push(word);
            continue;
        };
        let value = words.next().ok_or("a flag needs a value")?;
        match flag {
            "epsilon" => budgets.push(value.parse::<f64>()?),
            "delta" => usual.privacy.delta = value.parse()?,
            "seeds" => seeds = value.parse()?,
            "order" => usual.rules.order = value.parse()?,
            "vocabulary-share" => usual.rules.vocabulary_share = value.parse()?,
            "text-column" => columns.text = value,
            "user-column" => columns.user = Some(value),
            "vocabulary-file" => {
                usual.data.vocabulary = VocabularyOrigin::File(PathBuf::from(value))
            }
            "targets" => listed = Some(std::fs::read_to_string(value)?),
            "tokens" => usual.data.tokens = Tokens::Pattern(value),
            "method" => methods.push(serde_json::from_value::<Method>(value.into())?),
            _ => return Err(format!("there is no --{flag}").into()),
        }
    }
    let [train, test] =
        <[String; 2]>::try_from(files).map_err(|_| "give two files: to learn from, and to test")?;
    let texts = texts(&test, &columns)?;
    usual.data.path = Some(PathBuf::from(train));
    usual.data.columns = Some(columns);
    usual.data.split = organza_data::settings::SplitSettings::Units { validation: 0.0, test: 0.0 };
    let methods = if methods.is_empty() { vec![Method::Ngrams, Method::None] } else { methods };
    for method in methods {
        let budgets = if method.is_private() { budgets.clone() } else { vec![f64::INFINITY] };
        for epsilon in budgets {
            let seeds = if method.is_private() { seeds } else { 1 };
            let (mut first, mut three) = (0.0, 0.0);
            let mut about = String::new();
            let mut loss = [0.0; 2];
            for seed in 1..=seeds {
                let mut settings = Settings { method, seed: Some(seed), ..usual.clone() };
                settings.privacy.epsilon = method.is_private().then_some(epsilon).or(Some(1.0));
                let begun = Instant::now();
                let (fitted, _) = fit(settings)?;
                let seconds = begun.elapsed().as_secs_f64();
                let typeahead = &fitted.typeahead;
                let found = quality(&writing(&texts, typeahead), typeahead.model(), usize::MAX);
                let part = match &listed {
                    None => 1.0,
                    Some(words) => found.words as f64 / targets(&texts, &usual, words)? as f64,
                };
                first += part * found.first / seeds as f64;
                three += part * found.three / seeds as f64;
                let plain = back_off(typeahead.model());
                let plain = quality(&writing(&texts, typeahead), &plain, BACK_OFF_WORDS);
                let same = quality(&writing(&texts, typeahead), typeahead.model(), BACK_OFF_WORDS);
                loss = [same.first - plain.first, same.three - plain.three];
                let sizes: Vec<usize> = fitted.released.iter().map(|it| it.counts.len()).collect();
                about = format!(
                    "{} words, {sizes:?} released, {seconds:.1} s",
                    typeahead.words().len()
                );
            }
            println!(
                "{method} epsilon {epsilon}: {first:.4} / {three:.4}   ({about}; by ARPA {:.4} / {:.4} less)",
                loss[0], loss[1]
            );
        }
    }
    Ok(())
}
