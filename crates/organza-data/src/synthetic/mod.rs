//! A built-in corpus whose true neighbours are known: the first run needs no data at all.

mod words;

use crate::alias::AliasTable;
use crate::source::Visit;
use crate::{DataError, Line, Place, TextSource};
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{below, coin};
use organza_mechanism::{Purpose, RandomSource};
use words::{COMMON, TOPICS};

/// How many lines the built-in corpus has unless asked otherwise.
pub const DEFAULT_LINES: u64 = 20_000;

/// A line has from 6 to 14 words.
const SHORTEST_LINE: u64 = 6;
const LONGEST_LINE: u64 = 14;
/// How likely a word is one of the line's topic.
const TOPIC_SHARE: f64 = 0.7;
/// The exponent of Zipf's law among topics; among the words of a topic, and the common ones, it is 1.
const TOPIC_EXPONENT: f64 = 0.5;

/// Lines made from a seed: each has a topic, and its words come from the topic or, three times in
/// ten, from words that go with all topics.
///
/// Within a topic the word of rank r comes with weight 1 / r, independently of the other words of the
/// line, so two words are true neighbours exactly if they are of one topic: 16 topics of 16 words
/// each, beside 44 common words, 300 in all. Every line is a function of the seed and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synthetic {
    seed: u64,
    lines: u64,
}

impl Synthetic {
    /// The number of distinct words that can occur.
    pub const WORDS: usize = TOPICS.len() * TOPICS[0].1.len() + COMMON.len();

    /// `lines` lines from a seed.
    pub fn new(seed: u64, lines: u64) -> Self {
        Self { seed, lines }
    }

    /// The topic of a word; none for words that go with all topics, and unknown ones.
    pub fn topic(word: &str) -> Option<&'static str> {
        TOPICS.iter().find(|(_, words)| words.contains(&word)).map(|(name, _)| *name)
    }

    /// The names of all topics, the most frequent first.
    pub fn topics() -> impl Iterator<Item = &'static str> {
        TOPICS.iter().map(|(name, _)| *name)
    }

    /// The true neighbours of a word: the other words of its topic, the most frequent first. None for
    /// words that go with all topics, and unknown ones.
    pub fn neighbours(word: &str) -> Vec<&'static str> {
        let topic = TOPICS.iter().find(|(_, words)| words.contains(&word));
        let others = topic.into_iter().flat_map(|(_, words)| words);
        others.copied().filter(|other| *other != word).collect()
    }
}

/// The distributions of a line.
struct Law {
    topics: AliasTable,
    topic_words: AliasTable,
    common: AliasTable,
}

impl Law {
    fn new() -> Self {
        Self {
            topics: zipf(TOPICS.len(), TOPIC_EXPONENT),
            topic_words: zipf(TOPICS[0].1.len(), 1.0),
            common: zipf(COMMON.len(), 1.0),
        }
    }

    fn write_line(&self, line: &mut String, random: &mut PrivateRandom) {
        line.clear();
        let (_, words) = &TOPICS[self.topics.draw(random) as usize];
        let length = SHORTEST_LINE + below(LONGEST_LINE - SHORTEST_LINE + 1, random);
        for place in 0..length {
            if place > 0 {
                line.push(' ');
            }
            line.push_str(if coin(TOPIC_SHARE, random) {
                words[self.topic_words.draw(random) as usize]
            } else {
                COMMON[self.common.draw(random) as usize]
            });
        }
    }
}

/// Weights r^-exponent for the ranks r = 1, 2, ...
fn zipf(ranks: usize, exponent: f64) -> AliasTable {
    let weights: Vec<f64> = (1..=ranks).map(|rank| (rank as f64).powf(-exponent)).collect();
    AliasTable::new(&weights).expect("powers of positive ranks are positive")
}

impl TextSource for Synthetic {
    fn each_line(&self, visit: &mut Visit<'_>) -> Result<(), DataError> {
        let name = "built-in";
        if self.lines == 0 {
            return Err(DataError::NoText(name.into()));
        }
        let source = RandomSource::from_seed(self.seed);
        let law = Law::new();
        let mut place = Place { file: name.into(), line: 0 };
        let mut text = String::new();
        for line in 0..self.lines {
            place.line = line + 1;
            law.write_line(&mut text, &mut source.substream(Purpose::Data, line, 0));
            visit(Line { text: &text, name, place: &place, tokenised: true })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{
        DeclaredPublic, Layout, Objective, Samples, StopWords, TokenisedText, Tokeniser,
        VocabularySource,
    };
    use std::collections::HashSet;

    fn text(seed: u64, lines: u64) -> TokenisedText {
        TokenisedText::read(&Synthetic::new(seed, lines), &Tokeniser::default(), Layout::Lines)
            .unwrap()
    }

    fn lines(source: Synthetic) -> Vec<String> {
        let mut all = Vec::new();
        source
            .each_line(&mut |line| {
                all.push(line.text.to_owned());
                Ok(())
            })
            .unwrap();
        all
    }

    #[test]
    fn words_are_distinct_and_no_tokeniser_changes_them() {
        let all: Vec<_> =
            TOPICS.iter().flat_map(|(_, words)| words).chain(&COMMON).copied().collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), Synthetic::WORDS);
        assert_eq!(Synthetic::WORDS, 300);
        let place = Place { file: "x".into(), line: 1 };
        let joined = all.join(" ");
        for mut tokeniser in [Tokeniser::default(), Tokeniser::PAPER] {
            tokeniser.stop_words = StopWords::English;
            let mut found = Vec::new();
            let line = Line { text: &joined, name: "x", place: &place, tokenised: true };
            tokeniser.each_token(line, |token| found.push(token.to_owned()));
            assert_eq!(found, all);
        }
    }

    #[test]
    fn a_seed_makes_the_same_lines_and_more_of_them() {
        let some = lines(Synthetic::new(1, 50));
        assert_eq!(some, lines(Synthetic::new(1, 100))[..50]);
        assert_ne!(some, lines(Synthetic::new(2, 50)));
        assert!(Synthetic::new(1, 0).each_line(&mut |_| Ok(())).is_err());
    }

    #[test]
    fn neighbours_are_of_one_topic() {
        assert_eq!(Synthetic::topic("rain"), Some("weather"));
        assert_eq!(Synthetic::neighbours("rain").len(), 15);
        assert!(Synthetic::neighbours("rain").contains(&"snow"));
        assert_eq!(Synthetic::topic("good"), None);
        assert!(Synthetic::neighbours("good").is_empty());
        assert_eq!(Synthetic::topics().count(), 16);
    }

    /// Frequencies follow Zipf's law: over the ranks, log frequency falls by about 1 for each 1 of
    /// log rank, and all words occur.
    #[test]
    fn frequencies_fall_by_rank() {
        let text = text(1, DEFAULT_LINES);
        let mut counts = text.lines().counts();
        assert_eq!(counts.len(), Synthetic::WORDS);
        counts.sort_unstable_by(|one, other| other.cmp(one));
        assert!(counts[299] > 10, "{counts:?}");
        let points: Vec<(f64, f64)> = (1..)
            .zip(&counts)
            .map(|(rank, &count)| (f64::from(rank).ln(), (count as f64).ln()))
            .collect();
        let size = points.len() as f64;
        let (mean_x, mean_y) = (
            points.iter().map(|point| point.0).sum::<f64>() / size,
            points.iter().map(|point| point.1).sum::<f64>() / size,
        );
        let slope = points.iter().map(|point| (point.0 - mean_x) * (point.1 - mean_y)).sum::<f64>()
            / points.iter().map(|point| (point.0 - mean_x).powi(2)).sum::<f64>();
        assert!((-1.3..-0.7).contains(&slope), "{slope}");
    }

    /// The words that stand together more often than by chance are the true neighbours: by pointwise
    /// mutual information the 15 nearest of a topic word are the other 15 of its topic.
    #[test]
    fn the_true_neighbours_show_in_the_pairs() {
        let text = text(1, DEFAULT_LINES);
        let vocabulary =
            DeclaredPublic::most_frequent(Synthetic::WORDS).vocabulary(&text).unwrap().vocabulary;
        let samples = Samples::new(text.into_corpus(&vocabulary), Objective::SkipGram, 4).unwrap();
        let mut together = vec![vec![0.0_f64; Synthetic::WORDS]; Synthetic::WORDS];
        let mut alone = vec![0.0_f64; Synthetic::WORDS];
        for number in 0..samples.count() {
            let pair = samples.pair(number).unwrap();
            together[pair.target as usize][pair.context as usize] += 1.0;
            alone[pair.target as usize] += 1.0;
        }
        let (mut right, mut asked) = (0, 0);
        for (id, word) in vocabulary.words().iter().enumerate() {
            let neighbours = Synthetic::neighbours(word);
            let mut others: Vec<_> = (0..Synthetic::WORDS).filter(|&other| other != id).collect();
            let lift = |other: usize| together[id][other] / alone[other];
            others.sort_by(|&one, &other| lift(other).total_cmp(&lift(one)));
            for &other in others.iter().take(neighbours.len()) {
                right += u32::from(neighbours.contains(&vocabulary.word(other as u32).unwrap()));
                asked += 1;
            }
        }
        assert_eq!(asked, 256 * 15);
        assert!(f64::from(right) / f64::from(asked) > 0.95, "{right} of {asked}");
    }
}
