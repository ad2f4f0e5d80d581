//! Canaries as lines of a text.

use super::Phrase;
use crate::corpus::Users;
use crate::split::Split;
use crate::{Corpus, DataError, Samples};
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::below;

/// Puts `phrases` into the text, each as a line of its own at a random place, and lets all of their
/// samples train; the split of everything else stays as it was. A phrase that is to occur several
/// times stands in the list several times. Where the text has users, each line is that of a new user.
///
/// A line may come to stand before, between and after all others, each place being equally likely. For
/// training by Poisson batches the place is of no account; it is for whoever reads the text in order.
///
/// # Errors
/// When a word of a phrase is not in the vocabulary.
pub fn insert_phrases(
    samples: Samples,
    split: Split,
    phrases: &[Phrase],
    random: &mut PrivateRandom,
) -> Result<(Samples, Split), DataError> {
    let words = samples.corpus().vocabulary_size;
    if let Some(&word) = phrases.iter().flatten().find(|word| **word as usize >= words) {
        return Err(DataError::UnknownWord { word, words });
    }
    let places = samples.corpus().line_count() + 1;
    // Each phrase with the line that it comes to stand before.
    let mut placed: Vec<(u64, Phrase)> =
        phrases.iter().map(|phrase| (below(places, random), *phrase)).collect();
    placed.sort_by_key(|(before, _)| *before);
    let Split { train, validation, test } = split;
    let moves = Moves::new(&samples, &placed);
    let [mut train, validation, test] = [train, validation, test].map(|units| units.moved(&moves));
    let (objective, window) = (samples.objective(), samples.window());
    let corpus = samples.into_corpus().with_lines(&placed);
    let samples = Samples::new(corpus, objective, window)?;
    train.append_lines(&samples, &moves.new_lines());
    Ok((samples, Split { train, validation, test }))
}

/// Where lines and samples come to stand when other lines are put between them.
#[derive(Debug)]
pub(crate) struct Moves {
    /// For each new line the old line that it stands before, ascending.
    before_line: Vec<u64>,
    /// For each new line the old sample that it stands before, ascending.
    before_sample: Vec<u64>,
    /// The samples of each new line; all are of the same length.
    samples_of_line: u64,
}

impl Moves {
    fn new(samples: &Samples, placed: &[(u64, Phrase)]) -> Self {
        let before_line: Vec<u64> = placed.iter().map(|(before, _)| *before).collect();
        let before_sample = before_line.iter().map(|&line| samples.in_line(line).start).collect();
        let samples_of_line = samples
            .objective()
            .samples_of(size_of::<Phrase>() / size_of::<u32>(), samples.window());
        Self { before_line, before_sample, samples_of_line }
    }

    /// The new number of an old line.
    pub(crate) fn line(&self, line: u64) -> u64 {
        line + self.before_line.partition_point(|&before| before <= line) as u64
    }

    /// The new number of an old sample.
    pub(crate) fn sample(&self, sample: u64) -> u64 {
        let earlier = self.before_sample.partition_point(|&before| before <= sample) as u64;
        sample + earlier * self.samples_of_line
    }

    /// The numbers of the new lines.
    fn new_lines(&self) -> Vec<u64> {
        self.before_line.iter().zip(0..).map(|(before, earlier)| before + earlier).collect()
    }
}

impl Corpus {
    /// The same text with phrases as lines of their own, each before the line that stands with it.
    fn with_lines(self, placed: &[(u64, Phrase)]) -> Self {
        let mut longer = Self::empty();
        longer.vocabulary_size = self.vocabulary_size;
        longer.tokens.reserve_exact(self.tokens.len() + 3 * placed.len());
        longer.line_starts.reserve_exact(self.line_starts.len() + placed.len());
        let mut of_line = Vec::new();
        let known = self.users.as_ref().map_or(0, |users| users.names.len() as u32);
        let mut new = placed.iter().zip(known..).peekable();
        let mut texts = self.texts.iter().peekable();
        for line in 0..=self.line_count() {
            // A line before the first one of a text belongs to the text before, if there is one.
            while let Some(((_, phrase), user)) = new.next_if(|((before, _), _)| *before == line) {
                longer.tokens.extend_from_slice(phrase);
                longer.line_starts.push(longer.tokens.len() as u64);
                of_line.push(user);
            }
            while let Some(text) = texts.next_if(|text| text.first_line == line) {
                let mut text = text.clone();
                text.first_line = if longer.texts.is_empty() { 0 } else { longer.line_count() };
                longer.texts.push(text);
            }
            if line < self.line_count() {
                longer.tokens.extend_from_slice(self.line(line));
                longer.line_starts.push(longer.tokens.len() as u64);
                of_line.extend(self.user_of_line(line));
            }
        }
        longer.users = self.users.map(|Users { mut names, .. }| {
            names.extend((0..placed.len()).map(|number| format!("canary {number}").into()));
            Users { of_line, names }
        });
        longer
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::samples::tests::corpus;
    use crate::split::{Shares, Sides, Sizes, in_order, shuffled};
    use crate::text::tests::of_corpus;
    use crate::{Objective, Units};
    use organza_ledger::Unit;
    use organza_mechanism::{Purpose, RandomSource};
    use std::collections::BTreeMap;

    fn stream(seed: u64) -> PrivateRandom {
        RandomSource::from_seed(seed).substream(Purpose::Data, 0, 0)
    }

    /// Lines of old words only; canaries are of the last words only, so that both can be told apart.
    fn samples(users: bool, objective: Objective) -> Samples {
        let lines: Vec<Vec<u32>> = (0..40_u32)
            .map(|line| (0..line % 6).map(|at| (7 * line + at) % 50).collect())
            .collect();
        let mut corpus = corpus(&lines);
        corpus.vocabulary_size = 100;
        corpus.texts.push(crate::TextStart { name: "second".into(), first_line: 13 });
        if users {
            let names = (0..8).map(|user| user.to_string().into()).collect();
            corpus.users = Some(Users { of_line: (0..40).map(|line| line % 8).collect(), names });
        }
        Samples::new(corpus, objective, 2).unwrap()
    }

    fn phrases() -> Vec<Phrase> {
        (0..30).map(|number| [50 + number, 51 + number, 52 + number % 40]).collect()
    }

    fn by_unit(samples: &Samples, unit: Unit, shares: Shares) -> Split {
        let sides = Sides::by_unit(&of_corpus(samples.corpus()), unit, shares, 1).unwrap();
        sides.split(samples).unwrap()
    }

    type Listed = Vec<Vec<(Vec<u32>, u32)>>;

    /// The samples of each unit.
    fn listed(units: &Units, samples: &Samples) -> Listed {
        let of = |unit| {
            (0..units.samples_in(unit))
                .map(|index| units.sample(samples, unit, index).unwrap())
                .map(|sample| (sample.inputs().collect(), sample.output))
                .collect()
        };
        (0..units.len()).map(of).collect()
    }

    #[test]
    fn everything_else_stays_and_all_canaries_train() {
        let shares = Shares { validation: 0.2, test: 0.2 };
        let sizes = Sizes { train: 60, validation: 20, test: 30 };
        type Cut = fn(&Samples, Shares, Sizes) -> Split;
        let cuts: [(bool, Cut); 5] = [
            (false, |samples, shares, _| by_unit(samples, Unit::Line, shares)),
            (false, |samples, shares, _| by_unit(samples, Unit::Pair, shares)),
            (true, |samples, shares, _| by_unit(samples, Unit::User, shares)),
            (false, |samples, _, sizes| in_order(samples, sizes)),
            (false, |samples, _, sizes| shuffled(samples, sizes, &mut stream(4))),
        ];
        for (users, cut) in cuts {
            let old = samples(users, Objective::SkipGram);
            let split = cut(&old, shares, sizes);
            let parts = [&split.train, &split.validation, &split.test];
            let expected = parts.map(|units| listed(units, &old));
            let unit = split.train.unit();
            let (new, split) = insert_phrases(old, split, &phrases(), &mut stream(9)).unwrap();
            let [train, validation, test] = expected;
            assert_eq!(listed(&split.validation, &new), validation);
            assert_eq!(listed(&split.test, &new), test);
            let now = listed(&split.train, &new);
            assert_eq!(now[..train.len()], train);
            // Six pairs of each canary: as one unit, or as six.
            let (each, count) = if unit == Unit::Pair { (1, 180) } else { (6, 30) };
            let canaries = &now[train.len()..];
            assert_eq!(canaries.len(), count);
            assert!(canaries.iter().all(|samples| samples.len() == each));
            let mut pairs: BTreeMap<(u32, u32), i32> = BTreeMap::new();
            for (inputs, output) in canaries.concat() {
                *pairs.entry((inputs[0], output)).or_default() += 1;
            }
            for [first, second, third] in phrases() {
                for (one, other) in [(first, second), (first, third), (second, third)] {
                    *pairs.entry((one, other)).or_default() -= 1;
                    *pairs.entry((other, one)).or_default() -= 1;
                }
            }
            assert!(pairs.values().all(|count| *count == 0), "{pairs:?}");
        }
    }

    #[test]
    fn texts_and_users_keep_their_lines() {
        let old = samples(true, Objective::ContinuousBag);
        let split = by_unit(&old, Unit::User, Shares { validation: 0.0, test: 0.0 });
        let (new, _) = insert_phrases(old, split, &phrases(), &mut stream(9)).unwrap();
        let (old, new) = (samples(true, Objective::ContinuousBag), new.into_corpus());
        let is_canary = |line: &u64| new.line(*line).first().is_some_and(|&word| word >= 50);
        let kept: Vec<u64> = (0..new.line_count()).filter(|line| !is_canary(line)).collect();
        assert_eq!((kept.len(), new.line_count()), (40, 70));
        for (old_line, &new_line) in (0..).zip(&kept) {
            assert_eq!(old.corpus().line(old_line), new.line(new_line));
            assert_eq!(old.corpus().user_of_line(old_line), new.user_of_line(new_line));
        }
        assert_eq!(new.user_count(), Some(38));
        assert_eq!(new.texts[0].first_line, 0);
        assert_eq!(new.texts[1].first_line, kept[13]);
    }

    /// 41 places, 20,500 insertions: each is hit 500 times, give or take 22; six deviations in 41
    /// cells have a false-alarm rate below 1e-6.
    #[test]
    fn all_places_are_equally_likely() {
        let mut hits = [0_u32; 41];
        let mut random = stream(3);
        for _ in 0..20_500 {
            let old = samples(false, Objective::SkipGram);
            let split = in_order(&old, Sizes { train: 1, validation: 0, test: 0 });
            let (new, _) = insert_phrases(old, split, &[[90, 91, 92]], &mut random).unwrap();
            let line = (0..41).find(|line| new.corpus().line(*line) == [90, 91, 92]).unwrap();
            hits[line as usize] += 1;
        }
        assert!(hits.iter().all(|hits| hits.abs_diff(500) < 133), "{hits:?}");
    }

    /// Copies of one phrase stand next to each other in the list, and must not in the text.
    #[test]
    fn places_do_not_follow_the_list() {
        let old = samples(false, Objective::SkipGram);
        let split = in_order(&old, Sizes { train: 1, validation: 0, test: 0 });
        let (new, _) = insert_phrases(old, split, &phrases(), &mut stream(5)).unwrap();
        let firsts: Vec<u32> = (0..new.corpus().line_count())
            .filter_map(|line| new.corpus().line(line).first().copied().filter(|word| *word >= 50))
            .collect();
        assert_eq!(firsts.len(), 30);
        // In a random order each of 29 steps goes up with probability 1/2; in that of the list, all do.
        let ascents = firsts.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((3..27).contains(&ascents), "{firsts:?}");
    }

    #[test]
    fn words_beyond_the_vocabulary_are_refused() {
        let old = samples(false, Objective::SkipGram);
        let split = in_order(&old, Sizes { train: 1, validation: 0, test: 0 });
        let refused = insert_phrases(old, split, &[[1, 2, 100]], &mut stream(1));
        assert!(matches!(refused, Err(DataError::UnknownWord { word: 100, words: 100 })));
    }
}
