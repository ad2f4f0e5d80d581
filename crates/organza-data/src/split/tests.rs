//! Splits: disjoint, complete, and by the unit alone.

#![allow(clippy::unwrap_used)]
use super::*;
use crate::text::tests::read;
use crate::{DeclaredPublic, Layout, Objective, Vocabulary, VocabularySource};
use organza_mechanism::{Purpose, RandomSource};
use proptest::prelude::*;
use std::collections::HashSet;

fn text(lines: &[String], layout: Layout) -> TokenisedText {
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    read(&lines, layout).unwrap()
}

fn samples(lines: &[String], layout: Layout) -> Samples {
    let text = text(lines, layout);
    let vocabulary = DeclaredPublic { minimum_count: Some(1), ..DeclaredPublic::default() }
        .vocabulary(&text)
        .unwrap()
        .vocabulary;
    Samples::new(text.into_corpus(&vocabulary), Objective::SkipGram, 3).unwrap()
}

fn some_lines(count: usize) -> Vec<String> {
    let line =
        |number: usize| format!("w{} w{} w{} w{}", number % 7, number % 11, number % 13, number);
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
        let asked = train + validation + test;
        let refused = matches!(sizes.check(240), Err(DataError::SplitTooLarge { found: 240, .. }));
        prop_assert_eq!(refused, asked > 240);
        for split in [shuffled(&samples, sizes, &mut stream(seed)), in_order(&samples, sizes)] {
            let parts = parts(&split, &samples);
            let lengths: Vec<_> = parts.iter().map(|part| part.len() as u64).collect();
            prop_assert_eq!(lengths, [train, validation, test.min(240 - train - validation)]);
            let all: HashSet<_> = parts.concat().into_iter().collect();
            prop_assert_eq!(all.len() as u64, asked.min(240));
            prop_assert!(all.iter().all(|&number| number < 240));
        }
    }

    #[test]
    fn parts_by_unit_are_disjoint_and_complete(validation in 0.0_f64..0.5, test in 0.0_f64..0.5, seed: u64) {
        let lines: Vec<_> = some_lines(60).iter().enumerate().map(|(number, line)| format!("u{}\t{line}", number % 9)).collect();
        let samples = samples(&lines, Layout::Users);
        for unit in [Unit::Pair, Unit::Line, Unit::User] {
            let sides = Sides::by_unit(&text(&lines, Layout::Users), unit, Shares { validation, test }, seed);
            let split = sides.unwrap().split(&samples).unwrap();
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
    let draw = |seed| parts(&shuffled(&samples, sizes, &mut stream(seed)), &samples);
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
    let (lines, shares) = (some_lines(10_000), Shares { validation: 0.1, test: 0.2 });
    let (text, samples) = (text(&lines, Layout::Lines), samples(&lines, Layout::Lines));
    let by_unit = |shares, seed| Sides::by_unit(&text, Unit::Line, shares, seed);
    let split = by_unit(shares, 1).unwrap().split(&samples).unwrap();
    assert!(split.validation.len().abs_diff(1000) < 180, "{}", split.validation.len());
    assert!(split.test.len().abs_diff(2000) < 240, "{}", split.test.len());
    let other = by_unit(shares, 2).unwrap().split(&samples).unwrap();
    assert_ne!(parts(&split, &samples), parts(&other, &samples));
    for (validation, test) in [(-0.1, 0.0), (0.5, 0.5), (f64::NAN, 0.1), (0.0, 1.0)] {
        let refused = by_unit(Shares { validation, test }, 1);
        assert!(matches!(refused, Err(DataError::SplitShares { .. })));
    }
    let shorter = Samples::new(crate::Corpus::empty(), Objective::SkipGram, 3).unwrap();
    let refused = by_unit(shares, 1).unwrap().split(&shorter);
    assert!(matches!(refused, Err(DataError::OtherText { sides: 10_000, lines: 0 })));
}

/// The training lines of what `change` makes of the text.
fn training_lines(
    change: impl Fn(&mut Vec<String>),
    side: impl Fn(&TokenisedText, &Samples) -> Vec<u64>,
) -> Vec<Vec<u32>> {
    let mut lines = some_lines(200);
    // Every word also stands elsewhere, so the vocabulary stays as it is.
    lines.extend(some_lines(200));
    change(&mut lines);
    let whole = text(&lines, Layout::Lines);
    let mut words = whole.words().to_vec();
    words.sort();
    let vocabulary = Vocabulary::new(words).unwrap();
    let corpus = text(&lines, Layout::Lines).into_corpus(&vocabulary);
    let samples = Samples::new(corpus, Objective::SkipGram, 3).unwrap();
    let trained = side(&whole, &samples).into_iter();
    trained.map(|line| samples.corpus().line(line).to_vec()).collect()
}

/// How many lines have to be added or removed to make one list the other.
fn distance(one: &[Vec<u32>], other: &[Vec<u32>]) -> i64 {
    let mut counts: HashMap<&Vec<u32>, i64> = HashMap::new();
    one.iter().for_each(|line| *counts.entry(line).or_default() += 1);
    other.iter().for_each(|line| *counts.entry(line).or_default() -= 1);
    counts.values().map(|count| count.abs()).sum()
}

/// The lines of a text whose bytes, as `write` writes them, train.
fn train_by(text: &TokenisedText, write: impl Fn(u64) -> Vec<u8>) -> Vec<u64> {
    let trains = |line: &u64| position(5, &write(*line)) >= 0.4;
    (0..text.lines().line_count()).filter(trains).collect()
}

/// Neighbouring texts must have neighbouring training sets. The broken twins hash the number of the line, which
/// shifts when a line is removed, or the numbers that words have in the order of the text, which shift when a word
/// comes later; both are caught.
#[test]
fn removing_a_line_moves_no_other() {
    let shares = Shares { validation: 0.2, test: 0.2 };
    let by_content = |text: &TokenisedText, samples: &Samples| by_content(text, samples, shares);
    let by_number =
        |text: &TokenisedText, _: &Samples| train_by(text, |line| line.to_le_bytes().to_vec());
    let by_order = |text: &TokenisedText, _: &Samples| {
        train_by(text, |line| {
            text.lines().line(line).iter().flat_map(|it| it.to_le_bytes()).collect()
        })
    };
    let whole = training_lines(|_| {}, by_content);
    let broken = [training_lines(|_| {}, by_number), training_lines(|_| {}, by_order)];
    assert!(whole.len() > 200 && broken[0].len() > 200);
    let mut caught = [0, 0];
    for line in (0..200).step_by(20) {
        let without = |lines: &mut Vec<String>| drop(lines.remove(line));
        assert!(distance(&whole, &training_lines(without, by_content)) <= 1);
        let twins = [training_lines(without, by_number), training_lines(without, by_order)];
        for (caught, (broken, twin)) in caught.iter_mut().zip(broken.iter().zip(&twins)) {
            *caught += usize::from(distance(broken, twin) > 1);
        }
    }
    assert_eq!(caught, [10, 10]);
}

fn by_content(text: &TokenisedText, samples: &Samples, shares: Shares) -> Vec<u64> {
    let split = Sides::by_unit(text, Unit::Line, shares, 5).unwrap().split(samples).unwrap();
    let number = |unit| split.train.sample_number(samples, unit, 0).unwrap() / 12;
    (0..split.train.len()).map(number).collect()
}

/// The number of training lines or users is the same with any vocabulary, so that released words do not move it.
/// The broken twin hashes what the vocabulary leaves of a line, and is caught; and so are pairs, which words make.
#[test]
fn the_number_of_training_units_does_not_follow_the_vocabulary() {
    let lines: Vec<String> =
        (0..300).map(|line| format!("u{}\t{}", line % 40, some_lines(300)[line])).collect();
    let shares = Shares { validation: 0.2, test: 0.2 };
    let samples = |words: usize| {
        let vocabulary = (0..words).map(|word| format!("w{word}").into()).collect();
        let vocabulary = Vocabulary::new(vocabulary).unwrap();
        let corpus = text(&lines, Layout::Users).into_corpus(&vocabulary);
        Samples::new(corpus, Objective::SkipGram, 3).unwrap()
    };
    let numbers = |unit| -> HashSet<u64> {
        let sides = Sides::by_unit(&text(&lines, Layout::Users), unit, shares, 5).unwrap();
        [2, 5, 7, 11, 300].map(|words| sides.split(&samples(words)).unwrap().train.len()).into()
    };
    assert_eq!(numbers(Unit::Line).len(), 1);
    assert_eq!(numbers(Unit::User).len(), 1);
    assert!(numbers(Unit::Pair).len() > 1);
    let twin: HashSet<usize> = [2, 5, 7, 11, 300]
        .map(|words| {
            let samples = samples(words);
            let left =
                |line| samples.corpus().line(line).iter().flat_map(|it| it.to_le_bytes()).collect();
            train_by(&text(&lines, Layout::Users), left).len()
        })
        .into();
    assert!(twin.len() > 1, "{twin:?}");
}

/// A line that is replaced may leave the training data or join it, unless nothing is held out.
#[test]
fn replacing_a_line_may_change_the_number_of_training_lines() {
    for (held_out, expected) in [(0.4, true), (0.0, false)] {
        let shares = Shares { validation: held_out / 2.0, test: held_out / 2.0 };
        let train = |text: &TokenisedText, samples: &Samples| by_content(text, samples, shares);
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
