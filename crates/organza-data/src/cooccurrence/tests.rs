//! Counts agree with counting, and keep their bounds.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::corpus::Users;
use crate::samples::tests::corpus;
use crate::{DataError, Objective, Samples, Units};
use organza_ledger::testing::paid;
use organza_ledger::{Event, Neighbouring, Unit};
use organza_mechanism::{CountNoise, RandomSource};
use proptest::prelude::*;
use std::collections::BTreeMap;

const WORDS: u32 = 8;
const WINDOW: u32 = 2;

type Lines = Vec<(u32, Vec<u32>)>;

/// Lines of users as samples with a vocabulary of eight words.
fn samples(lines: &Lines) -> Option<Samples> {
    let tokens: Vec<_> = lines.iter().map(|(_, line)| line.clone()).collect();
    let mut corpus = corpus(&tokens);
    corpus.vocabulary_size = WORDS as usize;
    let names = (0..4).map(|user| user.to_string().into()).collect();
    corpus.users = Some(Users { of_line: lines.iter().map(|(user, _)| *user).collect(), names });
    Samples::new(corpus, Objective::SkipGram, WINDOW).ok()
}

fn units(samples: &Samples, unit: Unit) -> Units {
    Units::of_lines(samples, unit, (0..samples.corpus().line_count()).collect()).unwrap()
}

/// Noise so small that it is zero, or one step of the grid.
fn settings(unit: Unit, clip: f64) -> CooccurrenceSettings {
    let (noise, clip) = match unit {
        Unit::Pair => (CountNoise::DiscreteLaplace { epsilon: 30.0 }, None),
        _ => (CountNoise::RoundedGaussian { multiplier: 1e-6 }, Some(clip)),
    };
    CooccurrenceSettings {
        unit,
        words: WORDS,
        neighbouring: Neighbouring::AddRemove,
        noise,
        clip,
        bar: None,
    }
}

fn pairs(samples: &Samples, settings: CooccurrenceSettings) -> Result<NoisyPairs, DataError> {
    let units = units(samples, settings.unit);
    let counts = PairCounts::new(settings)?;
    let release = counts.release(&RandomSource::from_seed(1));
    let charged = paid(release.charge());
    counts.count(samples, &units, &release, charged)
}

fn words(samples: &Samples, settings: CooccurrenceSettings) -> Result<NoisyWords, DataError> {
    let units = units(samples, settings.unit);
    let counts = WordCounts::new(settings)?;
    let release = counts.release(&RandomSource::from_seed(1));
    let charged = paid(release.charge());
    counts.count(samples, &units, &release, charged)
}

/// Cells of a unit by counting any two places.
fn naive(lines: &[&Vec<u32>]) -> BTreeMap<(u32, u32), f64> {
    let mut cells = BTreeMap::new();
    for line in lines {
        for one in 0..line.len() {
            for other in one + 1..line.len() {
                if other - one <= WINDOW as usize {
                    let pair = (line[one].max(line[other]), line[one].min(line[other]));
                    *cells.entry(pair).or_default() += 1.0;
                }
            }
        }
    }
    cells
}

/// The lines of each unit.
fn by_unit(lines: &Lines, unit: Unit) -> Vec<Vec<&Vec<u32>>> {
    match unit {
        Unit::Line => lines.iter().map(|(_, line)| vec![line]).collect(),
        _ => (0..4)
            .map(|user| lines.iter().filter(|(of, _)| *of == user).map(|(_, line)| line).collect())
            .collect(),
    }
}

fn sum_of(units: impl IntoIterator<Item = BTreeMap<(u32, u32), f64>>) -> BTreeMap<(u32, u32), f64> {
    let mut sum = BTreeMap::new();
    for (cell, count) in units.into_iter().flatten() {
        *sum.entry(cell).or_default() += count;
    }
    sum
}

fn agrees(noisy: &NoisyPairs, expected: &BTreeMap<(u32, u32), f64>, tolerance: f64) -> bool {
    noisy.pairs().len() == (WORDS * (WORDS + 1) / 2) as usize
        && noisy.pairs().iter().all(|pair| {
            let expected = expected.get(&(pair.larger, pair.smaller)).copied().unwrap_or_default();
            (pair.count - expected).abs() <= tolerance
        })
}

fn some_lines() -> impl Strategy<Value = Lines> {
    let line = proptest::collection::vec(0..WORDS, 0..7);
    proptest::collection::vec((0_u32..4, line), 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn counts_agree_with_counting(lines in some_lines()) {
        if let Some(samples) = samples(&lines) {
            let all: Vec<_> = lines.iter().map(|(_, line)| line).collect();
            let once = naive(&all);
            // Each of two places is a training pair in both directions.
            let twice = once.iter().map(|(cell, count)| (*cell, 2.0 * count)).collect();
            let noisy = pairs(&samples, settings(Unit::Pair, 0.0)).unwrap();
            prop_assert!(agrees(&noisy, &twice, 0.0));
            prop_assert_eq!(noisy.pairs_per_count(), 1.0);
            let outputs = units(&samples, Unit::Pair).output_counts(&samples);
            for unit in [Unit::Line, Unit::User] {
                let noisy = pairs(&samples, settings(unit, 1e3)).unwrap();
                prop_assert!(agrees(&noisy, &once, 0.1));
                prop_assert_eq!(noisy.pairs_per_count(), 2.0);
            }
            for unit in [Unit::Pair, Unit::Line, Unit::User] {
                let noisy = words(&samples, settings(unit, 1e3)).unwrap();
                let close = |(noisy, count): (&f64, &u64)| (noisy - *count as f64).abs() < 0.1;
                prop_assert!(noisy.counts().iter().zip(&outputs).all(close));
            }
        }
    }

    /// A clip acts on one unit at a time.
    #[test]
    fn clips_act_unit_by_unit(lines in some_lines(), clip in 0.5_f64..4.0) {
        if let Some(samples) = samples(&lines) {
            for unit in [Unit::Line, Unit::User] {
                let expected = sum_of(by_unit(&lines, unit).into_iter().map(|lines| {
                    let mut cells = naive(&lines);
                    let norm = cells.values().map(|count| count * count).sum::<f64>().sqrt();
                    let scale = (clip / norm).min(1.0);
                    cells.values_mut().for_each(|count| *count *= scale);
                    cells
                }));
                let noisy = pairs(&samples, settings(unit, clip)).unwrap();
                prop_assert!(agrees(&noisy, &expected, 0.02));
            }
        }
    }

    /// Neighbouring texts have neighbouring tables: one line or one user moves them by the clip at the
    /// most. Without the clip (a very large one) they are further apart, which shows that this can fail.
    #[test]
    fn a_unit_moves_the_table_by_its_clip(lines in some_lines(), gone in 0_u32..4) {
        let rest: Lines = lines.iter().filter(|(user, _)| *user != gone).cloned().collect();
        if let (Some(with), Some(without)) = (samples(&lines), samples(&rest)) {
            let distance = |clip: f64| {
                let [one, other] = [&with, &without].map(|samples| pairs(samples, settings(Unit::User, clip)).unwrap());
                let square: f64 = one.pairs().iter().zip(other.pairs()).map(|(one, other)| (one.count - other.count).powi(2)).sum();
                square.sqrt()
            };
            prop_assert!(distance(0.5) <= 0.5 + 1e-4);
            let own = lines.iter().filter(|(user, line)| *user == gone && line.len() > 1).count();
            prop_assert_eq!(distance(1e3) > 0.5 + 1e-4, own > 0);
        }
    }
}

#[test]
fn wide_vocabularies_cost_what_occurs() {
    let mut corpus = corpus(&[vec![0, 99_999, 5], vec![7, 8]]);
    corpus.vocabulary_size = 100_000;
    let samples = Samples::new(corpus, Objective::SkipGram, 1).unwrap();
    let mut settings = settings(Unit::Pair, 0.0);
    settings.words = 100_000;
    settings.noise = CountNoise::DiscreteLaplace { epsilon: 1.0 };
    // Of five thousand million cells a few hundred have so much noise.
    settings.bar = Some(16.0);
    let noisy = pairs(&samples, settings).unwrap();
    let expected =
        PairTable::new(100_000).cells() as f64 * noisy.histogram_plan().chance_above(0.0);
    let deviations = (noisy.pairs().len() as f64 - expected) / expected.sqrt();
    assert!(expected > 300.0 && deviations.abs() < 5.0, "{expected} {deviations}");
    assert!(noisy.pairs().iter().all(|pair| pair.count >= 16.0 && pair.larger < 100_000));
    assert!(noisy.pairs().is_sorted_by_key(|pair| (pair.larger, pair.smaller)));
    assert_eq!(noisy.histogram_plan().bar(), Some(16.0));
}

#[test]
fn what_cannot_be_counted_is_refused() {
    let good = || samples(&vec![(0, vec![0, 1, 2]), (1, vec![3, 4])]).unwrap();
    let refused = |settings| pairs(&good(), settings).unwrap_err().to_string();
    let mut no_clip = settings(Unit::Line, 1.0);
    no_clip.clip = None;
    assert!(refused(no_clip).contains("`clip` is missing"));
    let mut clipped = settings(Unit::Pair, 1.0);
    clipped.clip = Some(1.0);
    assert!(refused(clipped).contains("a training pair is one count"));
    let mut other_noise = settings(Unit::Line, 1.0);
    other_noise.noise = CountNoise::DiscreteLaplace { epsilon: 1.0 };
    assert!(refused(other_noise).contains("does not suit"));
    let mut narrow = settings(Unit::Line, 1.0);
    narrow.words = 5;
    assert!(refused(narrow).contains("a vocabulary of 8 words"));
    let no_unit = PairCounts::new(settings(Unit::Record, 1.0));
    assert!(matches!(no_unit, Err(DataError::NoSuchUnit(_))));
    let mut barred = settings(Unit::Pair, 1.0);
    barred.bar = Some(2.0);
    assert!(words(&good(), barred).is_err());

    // A plan for other units than the data has, and a charge for another release.
    let samples = good();
    let counts = PairCounts::new(settings(Unit::Line, 1.0)).unwrap();
    let source = RandomSource::from_seed(1);
    let release = counts.release(&source);
    let by_user = units(&samples, Unit::User);
    assert!(counts.count(&samples, &by_user, &release, paid(release.charge())).is_err());
    let other = WordCounts::new(settings(Unit::Line, 1.0)).unwrap().release(&source);
    let by_line = units(&samples, Unit::Line);
    let unpaid = counts.count(&samples, &by_line, &release, paid(other.charge()));
    assert!(matches!(unpaid, Err(DataError::NotPaid(_))));
    let stranger = counts.release(&RandomSource::from_seed(2));
    let unpaid = counts.count(&samples, &by_line, &release, paid(stranger.charge()));
    assert!(matches!(unpaid, Err(DataError::NotPaid(_))));
    assert!(counts.count(&samples, &by_line, &release, paid(release.charge())).is_ok());
    assert_eq!(counts.event(), Event::RoundedGaussian { noise_multiplier: 1e-6 });
}

/// Parts of the units, one a thread, are summed as whole numbers.
#[test]
fn counts_do_not_depend_on_threads() {
    let lines: Lines = (0..200_u32)
        .map(|line| {
            (line % 4, (0..line % 13).map(|place| (line * 5 + place * place) % WORDS).collect())
        })
        .collect();
    let samples = samples(&lines).unwrap();
    for unit in [Unit::Pair, Unit::Line, Unit::User] {
        let counted = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let pairs = pairs(&samples, settings(unit, 2.5)).unwrap();
                let words = words(&samples, settings(unit, 2.5)).unwrap();
                let sizes = UnitSizes::new(Neighbouring::AddRemove, 1.0).unwrap();
                let release = sizes.release(&RandomSource::from_seed(1));
                let charged = paid(release.charge());
                let sizes =
                    sizes.count(&samples, &units(&samples, unit), &release, charged).unwrap();
                (pairs.pairs().to_vec(), words.counts().to_vec(), sizes)
            })
        };
        let one = counted(1);
        assert!([2, 3, 9].into_iter().all(|threads| counted(threads) == one), "{unit}");
    }
}
