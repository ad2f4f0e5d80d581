//! The model in the ARPA format of back-off models, which KenLM, SRILM and others read.

use crate::level::{Context, Level};
use crate::model::Model;
use organza_data::Writing;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// The logarithm of what never happens.
const NEVER: f64 = -99.0;

/// The model as far as ARPA can hold it, without contexts of classes: words that are listed after a context of symbols keep their
/// probabilities, and the others share what is left as they do after the next shorter one.
/// A network cannot be held at all: only the frequencies of words are left of it.
pub fn back_off(model: &Model) -> Model {
    let symbols = model.symbols();
    let mut plain = Model::new(model.alone().to_vec(), Vec::new());
    for level in model.levels() {
        let Context::Symbols(length) = level.context else { continue };
        let mut own = Level::new(Context::Symbols(length));
        for (place, key) in level.keys.iter().enumerate() {
            let row = row(symbols, length, *key);
            let listed = level.following(place);
            let listed = listed.map(|(word, _)| (word, model.probability(&row, word).max(0.0)));
            own.push_among(*key, &listed.collect::<Vec<_>>(), |word| plain.probability(&row, word));
        }
        plain = plain.with(own);
    }
    plain
}

/// The symbols of a context, by its number.
fn row(symbols: u32, length: usize, mut key: u64) -> Vec<u32> {
    let mut row = vec![0; length];
    for place in row.iter_mut().rev() {
        *place = (key % u64::from(symbols)) as u32;
        key /= u64::from(symbols);
    }
    row
}

/// Writes a model. Its probabilities are those of [`back_off`]: what a context gives to a word and leaves to shorter ones is a
/// back-off model. `words` are the names of the words, from the first.
///
/// # Errors
/// If writing fails.
pub(crate) fn write(model: &Model, words: &[String], to: &mut dyn Write) -> io::Result<()> {
    let model = back_off(model);
    let symbols = model.symbols();
    let name = |symbol: u32| match symbol {
        Writing::END => "<s>",
        Writing::OTHER => "<unk>",
        symbol => {
            let word = words.get((symbol - Writing::FIRST_WORD) as usize);
            word.map_or("<unk>", String::as_str)
        }
    };
    let log = |probability: f32| match probability > 0.0 {
        true => f64::from(probability).log10().max(NEVER),
        false => NEVER,
    };
    // The n-grams that are listed, by length: those that end in a word with a part of the probability, and the contexts of longer ones.
    let mut listed: Vec<BTreeSet<Vec<u32>>> = vec![BTreeSet::new(); model.levels().len()];
    for level in model.levels() {
        let length = level.length();
        for (place, key) in level.keys.iter().enumerate() {
            let context = row(symbols, length, *key);
            // A sentence begins once.
            if context[1..].contains(&Writing::END) {
                continue;
            }
            for (word, _) in level.following(place) {
                listed[length - 1].insert(context.iter().copied().chain([word]).collect());
            }
            // A context is an n-gram of its own, and so are those that it begins with.
            for shorter in 2..=length {
                listed[shorter - 2].insert(context[..shorter].to_vec());
            }
        }
    }
    writeln!(to, "\\data\\\nngram 1={}", words.len() + 3)?;
    for (grams, length) in listed.iter().zip(2..) {
        writeln!(to, "ngram {length}={}", grams.len())?;
    }
    // What a context leaves to shorter ones, if there are longer n-grams.
    let left = |row: &[u32]| {
        let level = model.levels().iter().find(|level| level.length() == row.len())?;
        let place = level.place(row, symbols);
        Some(format!("\t{:.7}", log(place.map_or(1.0, |place| level.left[place]))))
    };
    let left = |row: &[u32]| left(row).unwrap_or_default();
    writeln!(to, "\n\\1-grams:\n{NEVER}\t<unk>{}", left(&[Writing::OTHER]))?;
    writeln!(to, "{NEVER}\t<s>{}", left(&[Writing::END]))?;
    writeln!(to, "{NEVER}\t</s>")?;
    for word in Writing::FIRST_WORD..symbols {
        let alone = log(model.alone()[word as usize]);
        writeln!(to, "{alone:.7}\t{}{}", name(word), left(&[word]))?;
    }
    for (grams, length) in listed.iter().zip(2..) {
        writeln!(to, "\n\\{length}-grams:")?;
        for gram in grams {
            let text: Vec<&str> = gram.iter().map(|it| name(*it)).collect();
            let (word, context) = gram.split_last().map_or((0, &[][..]), |(it, rest)| (*it, rest));
            let probability = log(model.probability(context, word));
            writeln!(to, "{probability:.7}\t{}{}", text.join(" "), left(gram))?;
        }
    }
    writeln!(to, "\n\\end\\")
}
