//! A typeahead, ready for use: from what was typed to what may come.

use crate::model::{Likely, Model};
use crate::network::Network;
use organza_data::{Tokeniser, Writing};
use std::collections::HashMap;

/// Of what was typed, so many bytes at the end are looked at.
const LAST_LETTERS: usize = 256;

/// A model with its words.
///
/// # Privacy
/// It is a function of what was released. What is typed is not protected by it: it should not leave the machine of who types.
#[derive(Clone, Debug)]
pub struct Typeahead {
    model: Model,
    words: Vec<String>,
    tokeniser: Tokeniser,
    numbers: HashMap<String, u32>,
    /// Words in the order of their letters.
    alphabet: Vec<u32>,
    /// The place of each word in it.
    ranks: Vec<u32>,
    /// The sums of probabilities without a context, up to each place.
    sums: Vec<f32>,
}

/// A word that may come, with its probability by what was typed.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion<'a> {
    /// The word.
    pub word: &'a str,
    /// How probable it is after the words before it, if it begins as what was typed of it.
    pub probability: f32,
}

/// A continuation of several words.
#[derive(Clone, Debug, PartialEq)]
pub struct Phrase {
    /// The words.
    pub text: String,
    /// How probable they are together after what was typed.
    pub probability: f32,
}

impl Typeahead {
    pub(crate) fn new(model: Model, words: Vec<String>, tokeniser: Tokeniser) -> Self {
        let numbers = words.iter().cloned().zip(Writing::FIRST_WORD..).collect();
        let mut alphabet: Vec<u32> = (0..words.len() as u32).collect();
        alphabet.sort_unstable_by_key(|word| &words[*word as usize]);
        let mut ranks = vec![0; words.len()];
        let mut sums = Vec::with_capacity(words.len() + 1);
        sums.push(0.0);
        let mut sum = 0.0;
        for (rank, word) in (0_u32..).zip(&alphabet) {
            ranks[*word as usize] = rank;
            sum += f64::from(model.alone()[(*word + Writing::FIRST_WORD) as usize]);
            sums.push(sum as f32);
        }
        let tokeniser = Tokeniser { sentences: true, ..tokeniser };
        Self { model, words, tokeniser, numbers, alphabet, ranks, sums }
    }

    /// The same words, with a network that predicts them.
    pub(crate) fn with_network(self, network: Network) -> Self {
        Self { model: self.model.with_network(network), ..self }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The words of the vocabulary.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Whether capitals make no difference.
    pub(crate) fn lower_case(&self) -> bool {
        self.tokeniser.lower_case
    }

    /// The symbols of a text, from the last sentence that ended before it.
    pub fn symbols(&self, text: &str) -> Vec<u32> {
        let mut row = vec![Writing::END];
        // A word more, so that the end of the last sentence shows only where it has ended.
        self.tokeniser.each(&format!("{text} a"), |token| {
            let known = || self.numbers.get(token).copied().unwrap_or(Writing::OTHER);
            row.push(if token.is_empty() { Writing::END } else { known() });
        });
        row.truncate(row.len().saturating_sub(2).max(1));
        row
    }

    /// The most probable words after what was typed, at most so many: where it ends within a word, the words that begin like
    /// it, and otherwise the next ones.
    pub fn complete(&self, typed: &str, number: usize) -> Vec<Completion<'_>> {
        let is_letter = |letter: char| letter.is_alphanumeric() || matches!(letter, '\'' | '’');
        let begun = match typed.ends_with(is_letter) {
            true => typed.rsplit(char::is_whitespace).next().unwrap_or_default(),
            false => "",
        };
        let before = &typed[..typed.len() - begun.len()];
        let row = self.symbols(&before[last_from(before)..]);
        let begun = match self.tokeniser.lower_case {
            true => begun.to_lowercase(),
            false => begun.to_owned(),
        };
        let begun = begun.trim_start_matches(|letter| !is_letter(letter));
        let word = |place: &u32| self.words[*place as usize].as_str();
        let from = self.alphabet.partition_point(|place| word(place) < begun);
        let after = &self.alphabet[from..];
        let to = from + after.partition_point(|place| word(place).starts_with(begun));
        let range = from as u32..to as u32;
        let allowed = |symbol: u32| {
            begun.is_empty() || range.contains(&self.ranks[(symbol - Writing::FIRST_WORD) as usize])
        };
        let alone = self.sums[to] - self.sums[from];
        let (found, all) = self.model.next_among(&row, number, alone, allowed);
        let completion = |it: Likely| Completion {
            word: &self.words[(it.word - Writing::FIRST_WORD) as usize],
            probability: (it.probability / all.max(f32::MIN_POSITIVE)).min(1.0),
        };
        found.into_iter().map(completion).collect()
    }

    /// The most probable words after what was typed, each continued by the words that are most probable after it, up to so many
    /// words in all.
    pub fn phrases(&self, typed: &str, number: usize, words: usize) -> Vec<Phrase> {
        let begun = typed.trim_end_matches(|letter: char| !letter.is_whitespace()).len();
        let before =
            &typed[..if typed.ends_with(char::is_whitespace) { typed.len() } else { begun }];
        let continued = |first: Completion<'_>| {
            let mut phrase = Phrase { text: first.word.to_owned(), probability: first.probability };
            for _ in 1..words {
                let text = format!("{before}{} ", phrase.text);
                let Some(next) = self.complete(&text, 1).pop() else { break };
                phrase.text += " ";
                phrase.text += next.word;
                phrase.probability *= next.probability;
            }
            phrase
        };
        self.complete(typed, number).into_iter().map(continued).collect()
    }

    /// The words of an n-gram; the end of a sentence is a caret.
    pub(crate) fn text_of(&self, symbols: &[u32]) -> String {
        let name = |symbol: &u32| match symbol.checked_sub(Writing::FIRST_WORD) {
            Some(word) => self.words.get(word as usize).map_or("?", String::as_str),
            None => "^",
        };
        symbols.iter().map(name).collect::<Vec<_>>().join(" ")
    }
}

/// Where the last letters of a text begin, which hold more words than any context.
fn last_from(text: &str) -> usize {
    let from = text.len().saturating_sub(LAST_LETTERS);
    (from..=text.len()).find(|place| text.is_char_boundary(*place)).unwrap_or_default()
}
