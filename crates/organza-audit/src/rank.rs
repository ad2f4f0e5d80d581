//! The rank of a phrase among all that might have stood in its place.

use crate::chi_squared::BINS;
use crate::phrases::{Continuations, Phrases};
use organza_data::Phrase;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{below, unit};
use organza_mechanism::{Purpose, RandomSource};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// What a phrase is ranked among: phrases that begin with the same word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Among {
    /// So many, whose other two words are drawn uniformly: the random sampling of the Secret Sharer
    /// (Carlini, Liu, Erlingsson, Kos and Song 2019), and what the paper does.
    Sampled(u64),
    /// All V^2 of them.
    All,
}

/// The rank of a phrase.
///
/// The paper counts the phrases that the model finds at most as likely, so a high rank is a phrase that
/// it favours. It leaves those out whose last two words are equal, one in V; here they count, because a
/// canary may be one of them, and only then is the rank of a phrase that had nothing to do with training
/// exactly uniform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rank {
    /// The others that it was compared with.
    pub others: u64,
    /// How many of them the model finds less likely.
    pub less_likely: u64,
    /// How many of them are exactly as likely.
    pub ties: u64,
    /// Where it stands, from 0 (least favoured) to 1: uniform on this interval if the phrase follows the
    /// law of the others. With U uniform on (0, 1), which breaks ties at random,
    /// (less likely + U (ties + 1)) / (others + 1).
    pub position: f64,
    /// log2 of the number of phrases over the rank from the top: bits that an attacker saves who tries
    /// phrases in the order of the model. 1 / ln 2 = 1.44 in the mean for a phrase that the model knows
    /// nothing of. It cannot exceed log2 of the number of phrases compared, 13.3 bits for 10,000.
    pub exposure: f64,
}

impl Rank {
    fn new(others: u64, less_likely: u64, ties: u64, random: &mut PrivateRandom) -> Self {
        let within = unit(random) * (ties + 1) as f64;
        let all = (others + 1) as f64;
        let position = ((less_likely as f64 + within) / all).min(1.0);
        let from_below = less_likely + (within as u64).min(ties);
        let exposure = (all / (others + 1 - from_below) as f64).log2();
        Self { others, less_likely, ties, position, exposure }
    }

    /// The bin of its position, of ten equal ones.
    pub(crate) fn bin(&self) -> usize {
        ((self.position * BINS as f64) as usize).min(BINS - 1)
    }
}

/// Ranks a phrase, of which each word must be in the vocabulary. Equal log-perplexities are ties, broken
/// at random.
pub(crate) fn rank(
    model: &impl Phrases,
    phrase: Phrase,
    among: Among,
    random: &mut PrivateRandom,
) -> Rank {
    let [first, second, third] = phrase;
    let words = u64::from(model.words());
    let mut continuations = model.continuations(first);
    let own = continuations.log_perplexity(second, third);
    let (mut less_likely, mut ties) = (0, 0);
    let mut count = |other: f64| {
        less_likely += u64::from(other > own);
        ties += u64::from(other == own);
    };
    match among {
        Among::Sampled(others) => {
            for _ in 0..others {
                let (second, third) = (below(words, random) as u32, below(words, random) as u32);
                count(continuations.log_perplexity(second, third));
            }
            Rank::new(others, less_likely, ties, random)
        }
        Among::All => {
            (0..model.words()).for_each(|second| continuations.each_third(second, &mut count));
            // The phrase is one of all, and no tie with itself.
            Rank::new(words * words - 1, less_likely, ties.saturating_sub(1), random)
        }
    }
}

/// Ranks phrases, each with randomness of its own: the same ones on any number of threads.
pub(crate) fn ranks(
    model: &impl Phrases,
    phrases: &[Phrase],
    among: Among,
    source: &RandomSource,
) -> Vec<Rank> {
    let draws = source.step(Purpose::Data, 0);
    phrases
        .par_iter()
        .enumerate()
        .map(|(number, phrase)| rank(model, *phrase, among, &mut draws.shard(number as u64)))
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::chi_squared::uniformity;
    use crate::perplexity::PhraseModel;
    use crate::tests::{model, parameters};
    use organza_data::random_phrase;
    use organza_model::Layout;

    fn phrases(count: usize, words: usize, seed: u64) -> Vec<Phrase> {
        let mut random = RandomSource::from_seed(seed).substream(Purpose::Data, 1, 0);
        (0..count).map(|_| random_phrase(words, &mut random)).collect()
    }

    #[test]
    fn all_phrases_are_ranked_as_by_brute_force() {
        for layout in [Layout::Tied, Layout::TwoTables] {
            let model = model(layout, 24, 6);
            let parameters = parameters(&model, 0.8, 5);
            let scores = PhraseModel::new(&model, &parameters).unwrap();
            for (phrase, found) in phrases(40, 24, 2).into_iter().zip(ranks(
                &scores,
                &phrases(40, 24, 2),
                Among::All,
                &RandomSource::from_seed(1),
            )) {
                let own = scores.log_perplexity(phrase);
                let mut others = Vec::new();
                for second in 0..24 {
                    for third in 0..24 {
                        if [phrase[0], second, third] != phrase {
                            others.push(scores.log_perplexity([phrase[0], second, third]));
                        }
                    }
                }
                let less_likely = others.iter().filter(|other| **other > own).count() as u64;
                let ties = others.iter().filter(|other| **other == own).count() as u64;
                assert_eq!(
                    (found.others, found.less_likely, found.ties),
                    (others.len() as u64, less_likely, ties)
                );
                let low = less_likely as f64 / 576.0;
                assert!((low..=low + (ties + 1) as f64 / 576.0).contains(&found.position));
                let from_top = (576 - less_likely) as f64;
                assert!(found.exposure >= (576.0 / from_top).log2() - 1e-12);
                assert!(ties > 0 || (found.exposure - (576.0 / from_top).log2()).abs() < 1e-12);
            }
        }
    }

    /// The share of less likely phrases in a sample is within six deviations of the share among all:
    /// false alarms below 2e-9 for each of 60 phrases.
    #[test]
    fn sampling_agrees_with_enumeration() {
        let model = model(Layout::TwoTables, 50, 8);
        let parameters = parameters(&model, 0.7, 9);
        let scores = PhraseModel::new(&model, &parameters).unwrap();
        let phrases = phrases(60, 50, 4);
        let source = RandomSource::from_seed(3);
        let exact = ranks(&scores, &phrases, Among::All, &source);
        let sampled = ranks(&scores, &phrases, Among::Sampled(10_000), &source);
        for (exact, sampled) in exact.iter().zip(&sampled) {
            let share = exact.less_likely as f64 / (exact.others + 1) as f64;
            let deviation = (share * (1.0 - share) / 10_000.0).sqrt().max(1e-4);
            let found = sampled.less_likely as f64 / 10_000.0;
            assert!((found - share).abs() < 6.0 * deviation, "{found} {share}");
        }
        // Sampled from half of the words, ranks are others: the broken twin is caught.
        let half = |phrase: &Phrase| {
            let mut random = RandomSource::from_seed(8).substream(Purpose::Data, 0, 0);
            let own = scores.log_perplexity(*phrase);
            let draw = |random: &mut PrivateRandom| below(25, random) as u32;
            let more = (0..10_000).filter(|_| {
                let other = [phrase[0], draw(&mut random), draw(&mut random)];
                scores.log_perplexity(other) > own
            });
            more.count() as f64 / 10_000.0
        };
        let wrong = exact.iter().zip(&phrases).filter(|(exact, phrase)| {
            let share = exact.less_likely as f64 / (exact.others + 1) as f64;
            (half(phrase) - share).abs() > 6.0 * (share * (1.0 - share) / 10_000.0).sqrt().max(1e-4)
        });
        assert!(wrong.count() > 20);
    }

    /// Phrases that the model has never seen are uniform. 20 seeds of 500 phrases each: no p-value is
    /// below 5e-8 (false alarms below 1e-6 in all), and those below 0.05 are as few as they should be:
    /// more than 9 of 20 have a probability below 3e-8.
    #[test]
    fn ranks_of_unseen_phrases_are_uniform() {
        let model = model(Layout::Tied, 100, 10);
        let parameters = parameters(&model, 1.0, 6);
        let scores = PhraseModel::new(&model, &parameters).unwrap();
        let p_value = |seed: u64, law: &dyn Fn(u64) -> Vec<Phrase>| {
            let mut histogram = [0; BINS];
            for rank in
                ranks(&scores, &law(seed), Among::Sampled(500), &RandomSource::from_seed(seed))
            {
                histogram[rank.bin()] += 1;
            }
            uniformity(&histogram).unwrap().p_value
        };
        let fair: Vec<f64> =
            (0..20).map(|seed| p_value(seed, &|seed| phrases(500, 100, 1_000 + seed))).collect();
        assert!(fair.iter().all(|p_value| *p_value > 5e-8), "{fair:?}");
        assert!(fair.iter().filter(|p_value| **p_value < 0.05).count() <= 9, "{fair:?}");
        // Phrases that the model favours, the better of two, are told apart.
        let favoured = |seed: u64| -> Vec<Phrase> {
            let (one, other) = (phrases(500, 100, 2_000 + seed), phrases(500, 100, 3_000 + seed));
            let better = one.into_iter().zip(other).map(|(one, [_, second, third])| {
                let other = [one[0], second, third];
                let is_better = scores.log_perplexity(other) < scores.log_perplexity(one);
                if is_better { other } else { one }
            });
            better.collect()
        };
        assert!((0..3).all(|seed| p_value(seed, &favoured) < 1e-9));
    }

    /// A model that knows nothing ties everything: positions are uniform all the same, and exposure is
    /// not above what chance gives.
    #[test]
    fn ties_are_broken_at_random() {
        let model = model(Layout::Tied, 20, 4);
        let parameters = vec![0.0; model.parameters()];
        let scores = PhraseModel::new(&model, &parameters).unwrap();
        let phrases = phrases(2_000, 20, 1);
        let found = ranks(&scores, &phrases, Among::Sampled(50), &RandomSource::from_seed(2));
        let mut histogram = [0; BINS];
        found.iter().for_each(|rank| histogram[rank.bin()] += 1);
        assert!(found.iter().all(|rank| rank.ties == 50 && rank.less_likely == 0));
        assert!(uniformity(&histogram).unwrap().p_value > 1e-6, "{histogram:?}");
        let exposure = found.iter().map(|rank| rank.exposure).sum::<f64>() / 2_000.0;
        // The mean of log2(51 / k) over k = 1..=51 is 1.373; its deviation here is 0.03.
        assert!((exposure - 1.373).abs() < 0.16, "{exposure}");
    }
}
