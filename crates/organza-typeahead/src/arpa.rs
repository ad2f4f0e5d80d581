//! The model in the ARPA format of back-off models, which KenLM, SRILM and others read.

use crate::model::Model;
use organza_data::Writing;
use std::io::{self, Write};

/// The logarithm of what never happens.
const NEVER: f64 = -99.0;

/// Writes a model. Its probabilities are those of the model: what a context adds to a word and leaves to shorter ones is a
/// back-off model. `words` are the names of the words, from the first.
///
/// # Errors
/// If writing fails.
pub(crate) fn write(model: &Model, words: &[String], to: &mut dyn Write) -> io::Result<()> {
    let orders = model.grams().orders();
    let name = |symbol: u32| match symbol {
        Writing::END => "<s>",
        symbol => words
            .get((symbol.saturating_sub(Writing::FIRST_WORD)) as usize)
            .map_or("<unk>", String::as_str),
    };
    let log = |probability: f32| match probability > 0.0 {
        true => f64::from(probability).log10(),
        false => NEVER,
    };
    writeln!(to, "\\data\\\nngram 1={}", words.len() + 3)?;
    for (order, length) in orders.iter().zip(2..) {
        writeln!(to, "ngram {length}={}", order.len())?;
    }
    // What a context leaves to shorter ones, if there are longer n-grams.
    let left = |order: usize, context: u32| match order < orders.len() {
        true => format!("\t{:.6}", log(model.left(order, context))),
        false => String::new(),
    };
    writeln!(to, "\n\\1-grams:\n{NEVER}\t<unk>\n{NEVER}\t<s>{}", left(0, Writing::END))?;
    writeln!(to, "{NEVER}\t</s>")?;
    for word in Writing::FIRST_WORD..model.grams().symbols() {
        let alone = log(model.alone()[word as usize]);
        writeln!(to, "{alone:.6}\t{}{}", name(word), left(0, word))?;
    }
    // The symbols of each n-gram of the order before.
    let mut contexts: Vec<Vec<u32>> = (0..model.grams().symbols()).map(|it| vec![it]).collect();
    for (place, order) in orders.iter().enumerate() {
        writeln!(to, "\n\\{}-grams:", place + 2)?;
        let mut grams = Vec::with_capacity(order.len());
        for (context, row) in (0_u32..).zip(&contexts) {
            for at in order.places(context) {
                let word = order.words()[at];
                let text: Vec<&str> = row.iter().chain([&word]).map(|it| name(*it)).collect();
                let probability = log(model.probability(row, word));
                let left = left(place + 1, at as u32);
                writeln!(to, "{probability:.6}\t{}{left}", text.join(" "))?;
                grams.push(row.iter().copied().chain([word]).collect());
            }
        }
        contexts = grams;
    }
    writeln!(to, "\n\\end\\")
}
