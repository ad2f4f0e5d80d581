//! A built-in corpus whose true neighbours are known: the first run needs no data at all.

mod alias;
mod names;
mod words;

use crate::source::Visit;
use crate::{DataError, Line, Place, TextSource};
use alias::AliasTable;
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
///
/// A corpus [`with_words`](Self::with_words) is of the same kind and wider: of V words about 44 in 300
/// are common, and the others make 16 sqrt(V / 300) topics of as many words each, so that topics grow in
/// number and in size. Words that have no name of their own are called by their topic and two numbers
/// in letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synthetic {
    seed: u64,
    lines: u64,
    shape: Shape,
}

impl Synthetic {
    /// The number of distinct words that can occur, unless asked otherwise.
    pub const WORDS: usize = TOPICS.len() * TOPICS[0].1.len() + COMMON.len();

    /// The widest that a corpus can be.
    pub const MOST_WORDS: usize = 10_000_000;

    /// `lines` lines from a seed.
    pub fn new(seed: u64, lines: u64) -> Self {
        Self { seed, lines, shape: Shape::new(Self::WORDS) }
    }

    /// The same with `words` distinct words that can occur: from [`WORDS`](Self::WORDS) to
    /// [`MOST_WORDS`](Self::MOST_WORDS); a number beyond that is taken for the nearest one.
    pub fn with_words(mut self, words: usize) -> Self {
        self.shape = Shape::new(words.clamp(Self::WORDS, Self::MOST_WORDS));
        self
    }

    /// The topic of a word; none for words that go with all topics, and unknown ones.
    pub fn topic(word: &str) -> Option<&str> {
        names::topic(word)
    }

    /// The true neighbours of a word in the corpus of 300 words: the other words of its topic, the most
    /// frequent first. None for words that go with all topics, and unknown ones.
    pub fn neighbours(word: &str) -> Vec<&'static str> {
        let topic = TOPICS.iter().find(|(_, words)| words.contains(&word));
        let others = topic.into_iter().flat_map(|(_, words)| words);
        others.copied().filter(|other| *other != word).collect()
    }
}

/// How many words are common, how many topics there are, and how many words each has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    topics: usize,
    topic_words: usize,
    common: usize,
}

impl Shape {
    fn new(words: usize) -> Self {
        let wider = words as f64 / Synthetic::WORDS as f64;
        let topics = TOPICS.len() * wider.sqrt().round() as usize;
        let common = COMMON.len() * words / Synthetic::WORDS;
        let topic_words = (words - common) / topics;
        // What does not divide evenly is common.
        Self { topics, topic_words, common: words - topics * topic_words }
    }
}

/// The distributions of a line.
struct Law {
    topics: AliasTable,
    topic_words: AliasTable,
    common: AliasTable,
}

impl Law {
    fn new(shape: Shape) -> Self {
        Self {
            topics: zipf(shape.topics, TOPIC_EXPONENT),
            topic_words: zipf(shape.topic_words, 1.0),
            common: zipf(shape.common, 1.0),
        }
    }

    fn write_line(&self, line: &mut String, random: &mut PrivateRandom) {
        line.clear();
        let topic = self.topics.draw(random) as usize;
        let length = SHORTEST_LINE + below(LONGEST_LINE - SHORTEST_LINE + 1, random);
        for place in 0..length {
            if place > 0 {
                line.push(' ');
            }
            if coin(TOPIC_SHARE, random) {
                names::push_of_topic(line, topic, self.topic_words.draw(random) as usize);
            } else {
                names::push_common(line, self.common.draw(random) as usize);
            }
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
        let law = Law::new(self.shape);
        let mut place = Place { file: name.into(), line: 0 };
        let mut text = String::new();
        for line in 0..self.lines {
            place.line = line + 1;
            law.write_line(&mut text, &mut source.substream(Purpose::Data, line, 0));
            visit(Line { tokenised: true, ..Line::of(&text, name, &place) })?;
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
            let line = Line { tokenised: true, ..Line::of(&joined, "x", &place) };
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
    }

    /// Wider corpora have the number of words that was asked for, each with a name of its own that no
    /// tokeniser changes; the words of the small corpus are among them.
    #[test]
    fn wider_corpora_have_the_words_asked_for() {
        let place = Place { file: "x".into(), line: 1 };
        for size in [300, 301, 1_000, 10_000, 100_000] {
            let shape = Synthetic::new(1, 1).with_words(size).shape;
            let mut all = Vec::new();
            for (topic, rank) in (0..shape.topics)
                .flat_map(|topic| (0..shape.topic_words).map(move |rank| (topic, rank)))
            {
                let mut word = String::new();
                names::push_of_topic(&mut word, topic, rank);
                all.push((word, Some(topic)));
            }
            for rank in 0..shape.common {
                let mut word = String::new();
                names::push_common(&mut word, rank);
                all.push((word, None));
            }
            assert_eq!(all.len(), size);
            assert_eq!(all.iter().map(|(word, _)| word).collect::<HashSet<_>>().len(), size);
            let mut found = 0;
            for mut tokeniser in [Tokeniser::default(), Tokeniser::PAPER] {
                tokeniser.stop_words = StopWords::English;
                for (word, _) in &all {
                    let line = Line { tokenised: true, ..Line::of(word, "x", &place) };
                    tokeniser.each_token(line, |token| found += usize::from(token == word));
                }
            }
            assert_eq!(found, 2 * size);
            // Words are of one topic exactly if they were made so.
            let mut names = HashSet::new();
            for (word, topic) in &all {
                let name = Synthetic::topic(word);
                assert_eq!(name.is_some(), topic.is_some(), "{word}");
                names.extend(name.map(|name| (name, topic)));
            }
            assert_eq!(names.len(), shape.topics);
            assert_eq!(
                names.iter().map(|(name, _)| name).collect::<HashSet<_>>().len(),
                shape.topics
            );
        }
        assert_eq!(Synthetic::new(1, 9).with_words(Synthetic::WORDS), Synthetic::new(1, 9));
        assert_eq!(Synthetic::new(1, 9).with_words(2), Synthetic::new(1, 9));
    }

    /// Every run on the built-in corpus rests on its first line, which therefore stays as it is.
    #[test]
    fn the_first_line_never_changes() {
        assert_eq!(
            lines(Synthetic::new(20_210_301, 1)),
            ["ticket people ticket luggage new flight ticket year ticket"]
        );
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
                right += u32::from(neighbours.contains(&&*vocabulary.words()[other]));
                asked += 1;
            }
        }
        assert_eq!(asked, 256 * 15);
        assert!(f64::from(right) / f64::from(asked) > 0.95, "{right} of {asked}");
    }
}
