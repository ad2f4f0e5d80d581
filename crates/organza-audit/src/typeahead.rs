//! How likely a phrase is under a typeahead.

use crate::phrases::{Continuations, Phrases};
use organza_data::Writing;
use organza_typeahead::Model;

/// The probabilities that a typeahead gives to the words of a phrase that is a sentence of its own, as canaries are: each word after all
/// that stands before it, the beginning of the sentence included.
impl Phrases for Model {
    type Continuations<'a> = Sentences<'a>;

    fn words(&self) -> u32 {
        self.symbols().saturating_sub(Writing::FIRST_WORD)
    }

    fn continuations(&self, first: u32) -> Sentences<'_> {
        let row = [Writing::END, first + Writing::FIRST_WORD];
        Sentences { model: self, first: row[1], seconds: self.probabilities(&row) }
    }
}

/// The sentences that begin with one word.
#[derive(Debug)]
pub(crate) struct Sentences<'a> {
    model: &'a Model,
    first: u32,
    /// The probability of each symbol after it.
    seconds: Vec<f32>,
}

impl Sentences<'_> {
    /// - ln Pr(second | first), and all that stands before the third word.
    fn second(&self, second: u32) -> (f64, [u32; 3]) {
        let second = second + Writing::FIRST_WORD;
        (surprise(self.seconds[second as usize]), [Writing::END, self.first, second])
    }
}

impl Continuations for Sentences<'_> {
    fn log_perplexity(&mut self, second: u32, third: u32) -> f64 {
        let (base, row) = self.second(second);
        base + surprise(self.model.probability(&row, third + Writing::FIRST_WORD))
    }

    fn each_third(&mut self, second: u32, mut visit: impl FnMut(f64)) {
        let (base, row) = self.second(second);
        let thirds = self.model.probabilities(&row);
        thirds[Writing::FIRST_WORD as usize..].iter().for_each(|it| visit(base + surprise(*it)));
    }
}

fn surprise(probability: f32) -> f64 {
    -f64::from(probability).ln()
}
