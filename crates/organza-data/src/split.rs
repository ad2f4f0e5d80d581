//! Splits into training, validation and test data.
//!
//! # Privacy
//! The guarantee of a run is for its *training* units: neighbours are training sets that differ in
//! one of them. Only [`by_unit`], with lines or users as units, carries this over to the whole text,
//! because there the side of a unit depends on nothing but the unit; elsewhere adding a unit may push
//! another over a border. A unit that is *replaced* may change its side: the training sets of texts
//! that differ in one replaced unit differ in one that is replaced, added or removed. What is private
//! for a replacement is so for the other two (a unit less moves no sum further than another in its
//! place may), but their number of training units is not the same.
//! Losses on validation and test data are computed without noise, so they are *not private*.

use crate::{DataError, Samples, Units};
use organza_ledger::Unit;
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::below;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// The three parts. No sample is in two of them.
#[derive(Clone, Debug)]
pub struct Split {
    /// What the model learns from.
    pub train: Units,
    /// What decides when to stop.
    pub validation: Units,
    /// What the result is judged by.
    pub test: Units,
}

/// How many samples each part has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Of training.
    pub train: u64,
    /// Of validation.
    pub validation: u64,
    /// Of test.
    pub test: u64,
}

impl Sizes {
    /// The paper's, and those of the `brown-1k` protocol.
    pub const PAPER: Self = Self { train: 200_000, validation: 100_000, test: 200_000 };

    fn total_within(self, found: u64) -> Result<u64, DataError> {
        let asked = self.train.saturating_add(self.validation).saturating_add(self.test);
        if asked > found { Err(DataError::SplitTooLarge { asked, found }) } else { Ok(asked) }
    }
}

/// What shares of the units validate and test; the others train.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// Of validation.
    pub validation: f64,
    /// Of test.
    pub test: f64,
}

/// Samples drawn at random without replacement, each a unit, as the paper seems to do.
///
/// It leaks: a window looks both ways, so the mirror image of a test pair may stand in training.
///
/// # Errors
/// When there are not as many samples.
pub fn shuffled(
    samples: &Samples,
    sizes: Sizes,
    random: &mut PrivateRandom,
) -> Result<Split, DataError> {
    let count = samples.count();
    let total = sizes.total_within(count)?;
    // A Fisher-Yates shuffle stopped early: only the places that were swapped are remembered.
    let mut moved: HashMap<u64, u64> = HashMap::new();
    let mut draw = |place: u64| {
        let other = place + below(count - place, random);
        let at_place = moved.remove(&place).unwrap_or(place);
        if other == place { at_place } else { moved.insert(other, at_place).unwrap_or(other) }
    };
    let mut drawn: Vec<u64> = (0..total).map(&mut draw).collect();
    let test = drawn.split_off((sizes.train + sizes.validation) as usize);
    let validation = drawn.split_off(sizes.train as usize);
    Ok(Split {
        train: Units::of_list(drawn),
        validation: Units::of_list(validation),
        test: Units::of_list(test),
    })
}

/// The first samples train, those after them validate, the last ones test; each sample is a unit.
///
/// On a corpus [`ordered_by_name_hash`](crate::Corpus::ordered_by_name_hash) this holds out whole
/// texts (but for the ones on the borders, of which each side has some lines), so that a pair and its
/// mirror image are on the same side: the `brown-1k` protocol.
///
/// # Errors
/// When there are not as many samples.
pub fn in_order(samples: &Samples, sizes: Sizes) -> Result<Split, DataError> {
    let count = samples.count();
    sizes.total_within(count)?;
    Ok(Split {
        train: Units::of_range(0..sizes.train),
        validation: Units::of_range(sizes.train..sizes.train + sizes.validation),
        test: Units::of_range(count - sizes.test..count),
    })
}

/// Each line, or with users as units each user, goes to a side by a hash of itself and a seed.
///
/// The hash is SHA-256 of the words of the line that are in the vocabulary, or of the user's name.
/// So equal lines are on the same side and nothing that was trained on is tested on; the shares come
/// out about as asked, by chance.
///
/// # Privacy
/// A unit's side depends on the unit, the seed and the vocabulary, and not on the other units: adding
/// or removing one leaves all others where they are. That is why the number of a line takes no part.
/// A unit in the place of another may be on another side, so the number of training units may change by
/// one where a unit is replaced, too: it is public only where nothing is held out.
/// With pairs as units whole lines are held out, and the guarantee is for the training pairs.
///
/// # Errors
/// When the shares are no shares, or the text has no such unit.
pub fn by_unit(
    samples: &Samples,
    unit: Unit,
    shares: Shares,
    seed: u64,
) -> Result<Split, DataError> {
    let Shares { validation, test } = shares;
    if !(validation >= 0.0 && test >= 0.0 && validation + test < 1.0) {
        return Err(DataError::SplitShares { validation, test });
    }
    let corpus = samples.corpus();
    let of_users: Option<Vec<f64>> = match (unit, corpus.user_count()) {
        (Unit::User, None) => return Err(DataError::NoUsers),
        (Unit::User, Some(users)) => Some(
            (0..users as u32)
                .map(|user| position(seed, corpus.user_name(user).unwrap_or_default().as_bytes()))
                .collect(),
        ),
        _ => None,
    };
    let mut sides = [Vec::new(), Vec::new(), Vec::new()];
    let mut bytes = Vec::new();
    for line in 0..corpus.line_count() {
        let position = match (&of_users, corpus.user_of_line(line)) {
            (Some(positions), Some(user)) => positions[user as usize],
            _ => {
                bytes.clear();
                bytes.extend(corpus.line(line).iter().flat_map(|token| token.to_le_bytes()));
                position(seed, &bytes)
            }
        };
        let side = if position < test {
            2
        } else if position < test + validation {
            1
        } else {
            0
        };
        sides[side].push(line);
    }
    let [train, validation, test] = sides.map(|lines| Units::of_lines(samples, unit, lines));
    Ok(Split { train: train?, validation: validation?, test: test? })
}

/// A number in [0, 1) that stands for the bytes.
fn position(seed: u64, bytes: &[u8]) -> f64 {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    hash.update(bytes);
    let [a, b, c, d, e, f, ..]: [u8; 32] = hash.finalize().into();
    let whole = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
    whole as f64 / (1_u64 << 48) as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::text::tests::read;
    use crate::{DeclaredPublic, Layout, Objective, VocabularySource};
    use organza_mechanism::{Purpose, RandomSource};
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn samples(lines: &[String], layout: Layout) -> Samples {
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let text = read(&lines, layout).unwrap();
        let vocabulary = DeclaredPublic::at_least(1).vocabulary(&text).unwrap().vocabulary;
        Samples::new(text.into_corpus(&vocabulary), Objective::SkipGram, 3).unwrap()
    }

    fn some_lines(count: usize) -> Vec<String> {
        let line = |number: usize| {
            format!("w{} w{} w{} w{}", number % 7, number % 11, number % 13, number)
        };
        (0..count).map(line).collect()
    }

    fn numbers(units: &Units, samples: &Samples) -> Vec<u64> {
        (0..units.len())
            .flat_map(|unit| (0..units.samples_in(unit)).map(move |index| (unit, index)))
            .map(|(unit, index)| units.sample_number(samples, unit, index).unwrap())
            .collect()
    }

    fn parts(split: &Split, samples: &Samples) -> [Vec<u64>; 3] {
        [&split.train, &split.validation, &split.test].map(|units| numbers(units, samples))
    }

    fn stream(seed: u64) -> PrivateRandom {
        RandomSource::from_seed(seed).substream(Purpose::Data, 0, 0)
    }

    proptest! {
        #[test]
        fn parts_by_samples_are_disjoint_and_of_the_sizes(train in 0_u64..100, validation in 0_u64..100, test in 0_u64..100, seed: u64) {
            let samples = samples(&some_lines(20), Layout::Lines);
            let sizes = Sizes { train, validation, test };
            prop_assert_eq!(samples.count(), 240);
            for split in [shuffled(&samples, sizes, &mut stream(seed)), in_order(&samples, sizes)] {
                if train + validation + test > 240 {
                    let refused = matches!(split, Err(DataError::SplitTooLarge { found: 240, .. }));
                    prop_assert!(refused);
                    continue;
                }
                let parts = parts(&split.unwrap(), &samples);
                let lengths: Vec<_> = parts.iter().map(|part| part.len() as u64).collect();
                prop_assert_eq!(lengths, [train, validation, test]);
                let all: HashSet<_> = parts.concat().into_iter().collect();
                prop_assert_eq!(all.len() as u64, train + validation + test);
                prop_assert!(all.iter().all(|&number| number < 240));
            }
        }

        #[test]
        fn parts_by_unit_are_disjoint_and_complete(validation in 0.0_f64..0.5, test in 0.0_f64..0.5, seed: u64) {
            let lines: Vec<_> = some_lines(60).iter().enumerate().map(|(number, line)| format!("u{}\t{line}", number % 9)).collect();
            let samples = samples(&lines, Layout::Users);
            for unit in [Unit::Pair, Unit::Line, Unit::User] {
                let split = by_unit(&samples, unit, Shares { validation, test }, seed).unwrap();
                let mut all = parts(&split, &samples).concat();
                all.sort_unstable();
                prop_assert_eq!(all, (0..samples.count()).collect::<Vec<_>>());
                let units = split.train.len() + split.validation.len() + split.test.len();
                let expected = match unit { Unit::User => 9, Unit::Line => 60, _ => samples.count() };
                prop_assert_eq!(units, expected);
            }
        }
    }

    #[test]
    fn a_shuffle_follows_its_seed_and_is_uniform() {
        let samples = samples(&some_lines(2), Layout::Lines);
        let sizes = Sizes { train: 2, validation: 0, test: 1 };
        let draw = |seed| parts(&shuffled(&samples, sizes, &mut stream(seed)).unwrap(), &samples);
        assert_eq!(draw(3), draw(3));
        // 24 samples, 24,000 shuffles: each place holds each sample 1,000 times, give or take 31;
        // six standard deviations in 72 cells have a false-alarm rate below 2e-7.
        let mut counts = [[0_u32; 24]; 3];
        for seed in 0..24_000 {
            for (place, number) in draw(seed).concat().into_iter().enumerate() {
                counts[place][number as usize] += 1;
            }
        }
        for count in counts.concat() {
            assert!(count.abs_diff(1000) < 186, "{counts:?}");
        }
    }

    #[test]
    fn shares_come_out_as_asked() {
        let samples = samples(&some_lines(10_000), Layout::Lines);
        let shares = Shares { validation: 0.1, test: 0.2 };
        let split = by_unit(&samples, Unit::Line, shares, 1).unwrap();
        assert!(split.validation.len().abs_diff(1000) < 180, "{}", split.validation.len());
        assert!(split.test.len().abs_diff(2000) < 240, "{}", split.test.len());
        let other = by_unit(&samples, Unit::Line, shares, 2).unwrap();
        assert_ne!(parts(&split, &samples), parts(&other, &samples));
        for (validation, test) in [(-0.1, 0.0), (0.5, 0.5), (f64::NAN, 0.1), (0.0, 1.0)] {
            let refused = by_unit(&samples, Unit::Line, Shares { validation, test }, 1);
            assert!(matches!(refused, Err(DataError::SplitShares { .. })));
        }
    }

    /// The training lines of what `change` makes of the text.
    fn training_lines(
        change: impl Fn(&mut Vec<String>),
        side: impl Fn(&Samples) -> Vec<u64>,
    ) -> Vec<Vec<u32>> {
        let mut lines = some_lines(200);
        // Every word also stands elsewhere, so the vocabulary stays as it is.
        lines.extend(some_lines(200));
        change(&mut lines);
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let mut words = read(&lines, Layout::Lines).unwrap().words().to_vec();
        words.sort();
        let vocabulary = crate::Vocabulary::new(words).unwrap();
        let corpus = read(&lines, Layout::Lines).unwrap().into_corpus(&vocabulary);
        let samples = Samples::new(corpus, Objective::SkipGram, 3).unwrap();
        side(&samples).into_iter().map(|line| samples.corpus().line(line).to_vec()).collect()
    }

    /// How many lines have to be added or removed to make one list the other.
    fn distance(one: &[Vec<u32>], other: &[Vec<u32>]) -> i64 {
        let mut counts: HashMap<&Vec<u32>, i64> = HashMap::new();
        one.iter().for_each(|line| *counts.entry(line).or_default() += 1);
        other.iter().for_each(|line| *counts.entry(line).or_default() -= 1);
        counts.values().map(|count| count.abs()).sum()
    }

    /// Neighbouring texts must have neighbouring training sets. The broken twin hashes the number of
    /// the line, which shifts when a line is removed, and is caught.
    #[test]
    fn removing_a_line_moves_no_other() {
        let shares = Shares { validation: 0.2, test: 0.2 };
        let by_content = |samples: &Samples| by_content(samples, shares);
        let by_number = |samples: &Samples| {
            let trains = |line: &u64| position(5, &line.to_le_bytes()) >= 0.4;
            (0..samples.corpus().line_count()).filter(trains).collect()
        };
        let whole = training_lines(|_| {}, by_content);
        let broken = training_lines(|_| {}, by_number);
        assert!(whole.len() > 200 && broken.len() > 200);
        let mut caught = 0;
        for line in (0..200).step_by(20) {
            let without = |lines: &mut Vec<String>| drop(lines.remove(line));
            assert!(distance(&whole, &training_lines(without, by_content)) <= 1);
            caught += usize::from(distance(&broken, &training_lines(without, by_number)) > 1);
        }
        assert_eq!(caught, 10);
    }

    fn by_content(samples: &Samples, shares: Shares) -> Vec<u64> {
        let split = by_unit(samples, Unit::Line, shares, 5).unwrap();
        let number = |unit| split.train.sample_number(samples, unit, 0).unwrap() / 12;
        (0..split.train.len()).map(number).collect()
    }

    /// A line that is replaced may leave the training data or join it, unless nothing is held out.
    #[test]
    fn replacing_a_line_may_change_the_number_of_training_lines() {
        for (held_out, expected) in [(0.4, true), (0.0, false)] {
            let shares = Shares { validation: held_out / 2.0, test: held_out / 2.0 };
            let train = |samples: &Samples| by_content(samples, shares);
            let whole = training_lines(|_| {}, train);
            let sizes: HashSet<i64> = (0..200)
                .step_by(10)
                .map(|line| {
                    let replaced = training_lines(|lines| lines[line] = lines[199].clone(), train);
                    assert!(distance(&whole, &replaced) <= 2);
                    replaced.len() as i64 - whole.len() as i64
                })
                .collect();
            assert!(sizes.iter().all(|change| change.abs() <= 1), "{sizes:?}");
            assert_eq!(sizes.len() > 1, expected, "{sizes:?}");
        }
    }
}
