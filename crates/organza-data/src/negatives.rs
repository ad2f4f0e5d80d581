//! Negative words: what a sample is told apart from.

use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::below;

/// A public distribution over the vocabulary, from which negatives are drawn.
///
/// # Privacy
/// Negatives are drawn independently of the data and of the sample, so they may be known without
/// harm. All words are equally likely: word counts of the private text would leak through the model
/// without a charge. A negative may be the very word to be predicted; excluding it would make the
/// draw depend on the data for little gain.
#[derive(Clone, Copy, Debug)]
pub struct Negatives {
    words: u32,
}

impl Negatives {
    /// All words equally likely; nothing when there are none, or more than ids.
    pub fn uniform(words: usize) -> Option<Self> {
        let words = u32::try_from(words).ok().filter(|words| *words > 0)?;
        Some(Self { words })
    }

    /// The number of words.
    #[expect(clippy::len_without_is_empty, reason = "a distribution is never empty")]
    pub fn len(&self) -> usize {
        self.words as usize
    }

    /// The probability of a word; 0 outside the vocabulary.
    pub fn probability(&self, word: u32) -> f64 {
        if word < self.words { 1.0 / f64::from(self.words) } else { 0.0 }
    }

    /// As many words as there is room for, each drawn by itself.
    pub fn fill(&self, words: &mut [u32], random: &mut PrivateRandom) {
        for word in words {
            *word = below(self.words.into(), random) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use organza_mechanism::{Purpose, RandomSource};

    fn counts(negatives: &Negatives, draws: u32) -> Vec<f64> {
        let mut random = RandomSource::from_seed(4).substream(Purpose::Negatives, 0, 0);
        let mut words = vec![0; draws as usize];
        negatives.fill(&mut words, &mut random);
        let mut counts = vec![0.0; negatives.len()];
        words.into_iter().for_each(|word| counts[word as usize] += 1.0);
        counts
    }

    /// Each count is within six standard deviations: a false-alarm rate below 1e-7 for these words.
    #[test]
    fn words_come_as_often_as_they_should() {
        let draws = 1_000_000;
        let negatives = Negatives::uniform(5).unwrap();
        for (word, count) in counts(&negatives, draws).into_iter().enumerate() {
            let share = negatives.probability(word as u32);
            let spread = (f64::from(draws) * share * (1.0 - share)).sqrt();
            assert!((count - f64::from(draws) * share).abs() <= 6.0 * spread, "{word}: {count}");
        }
        let sum: f64 = (0..6).map(|word| negatives.probability(word)).sum();
        assert!((sum - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        assert!(Negatives::uniform(0).is_none());
    }
}
