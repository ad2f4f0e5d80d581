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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use organza_data::settings::{DataSettings, VocabularyOrigin};
    use organza_ledger::Unit;
    use organza_typeahead::{Method, Settings, fit};

    /// A model of 40 words, without privacy.
    fn model() -> Model {
        let data = DataSettings {
            vocabulary: VocabularyOrigin::DeclaredPublic,
            vocabulary_size: Some(40),
            synthetic_lines: Some(500),
            ..DataSettings::default()
        };
        let mut settings = Settings { method: Method::None, ..Settings::new(data, 1.0, 1e-6) };
        settings.privacy.unit = Unit::Line;
        fit(settings).unwrap().0.typeahead.model().clone()
    }

    #[test]
    fn a_phrase_is_scored_by_the_definition_and_one_by_one_as_all_together() {
        let model = model();
        assert_eq!(model.words(), 40);
        let mut distinct = std::collections::BTreeSet::new();
        for first in [0, 7, 39] {
            let mut sentences = model.continuations(first);
            let mut sum = 0.0;
            for second in 0..40 {
                let mut all = Vec::new();
                sentences.each_third(second, |perplexity| all.push(perplexity));
                for (third, perplexity) in (0..40).zip(&all) {
                    assert_eq!(sentences.log_perplexity(second, third), *perplexity);
                    let [one, two, three] = [first, second, third].map(|it| it + 2);
                    let likely = f64::from(model.probability(&[0, one], two))
                        * f64::from(model.probability(&[0, one, two], three));
                    assert!((perplexity + likely.ln()).abs() < 1e-9, "{perplexity} {likely}");
                    distinct.insert(perplexity.to_bits());
                }
                assert_eq!(all.len(), 40);
                sum += all.iter().map(|it| (-it).exp()).sum::<f64>();
            }
            assert!((sum - 1.0).abs() < 1e-4, "{sum}");
        }
        // What came before makes a difference.
        assert!(distinct.len() > 1_600, "{}", distinct.len());
    }
}
