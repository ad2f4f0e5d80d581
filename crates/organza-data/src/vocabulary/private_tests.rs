//! Private vocabularies of small texts.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::text::tests::read;
use crate::{DataError, Layout, TokenisedText};
use organza_ledger::testing::paid;
use organza_ledger::{Event, Neighbouring, Unit};
use organza_mechanism::{ItemRule, RandomSource};

/// Noise that is zero but with probability e^-30 (e^-15 where a unit has two words).
fn settings(unit: Unit, words_per_unit: u64) -> PrivateVocabularySettings {
    PrivateVocabularySettings {
        unit,
        window: 1,
        neighbouring: Neighbouring::AddRemove,
        size: None,
        words_per_unit,
        rule: ItemRule::Laplace { epsilon: 30.0 * words_per_unit as f64, delta: 1e-9 },
    }
}

fn release(
    text: &TokenisedText,
    settings: PrivateVocabularySettings,
    seed: u64,
) -> Result<(Vec<String>, Vec<f64>), DataError> {
    on_top(&[], text, settings, seed)
}

fn on_top(
    public: &[Box<str>],
    text: &TokenisedText,
    settings: PrivateVocabularySettings,
    seed: u64,
) -> Result<(Vec<String>, Vec<f64>), DataError> {
    let plan = PrivateVocabularyPlan::new(settings).unwrap();
    let release = plan.release(&RandomSource::from_seed(seed));
    let charged = paid(release.charge());
    let PrivateWords { vocabulary, counts } = plan.paid(release, charged).words(text, public)?;
    Ok((vocabulary.words().iter().map(|word| word.to_string()).collect(), counts))
}

fn words(
    text: &TokenisedText,
    settings: PrivateVocabularySettings,
) -> Result<Vec<String>, DataError> {
    Ok(release(text, settings, 1)?.0)
}

#[test]
fn words_of_many_lines_are_released_by_count_and_alphabet() {
    let lines = ["b a a a a", "c b a", "c b secret", "e b", "e c"];
    let text = read(&lines, Layout::Lines).unwrap();
    let (found, counts) = release(&text, settings(Unit::Line, 9), 1).unwrap();
    // Lines count, not tokens; with such noise a word of two lines is safe.
    assert_eq!(found, ["b", "c", "a", "e"]);
    assert_eq!(counts, [4.0, 3.0, 2.0, 2.0]);
    let top = PrivateVocabularySettings { size: Some(2), ..settings(Unit::Line, 9) };
    assert_eq!(words(&text, top).unwrap(), ["b", "c"]);
    let none = read(&["a", "b"], Layout::Lines).unwrap();
    let error = words(&none, settings(Unit::Line, 9)).unwrap_err();
    assert!(matches!(error, DataError::HiddenWords { found: 0 }));
}

/// Public words are in whether or not they occur, and take nothing from the others: a unit that may count two words counts
/// two that are not public.
#[test]
fn private_words_come_on_top_of_public_ones() {
    let text =
        read(&["the cat and dog", "the cat and cow", "the dog and cat"], Layout::Lines).unwrap();
    let public = ["the", "and", "zebra"].map(Box::from);
    let (found, counts) = on_top(&public, &text, settings(Unit::Line, 2), 1).unwrap();
    assert_eq!(
        (&found[..], &counts[..]),
        (&["the", "and", "zebra", "cat", "dog"].map(String::from)[..], &[3.0, 2.0][..])
    );
    let short = PrivateVocabularySettings { size: Some(4), ..settings(Unit::Line, 2) };
    assert_eq!(on_top(&public, &text, short, 1).unwrap().0, ["the", "and", "zebra", "cat"]);
    // The pairs of neighbours that remain count as before: a public word in between stays where it is.
    let (found, counts) = on_top(&public, &text, settings(Unit::Pair, 2), 1).unwrap();
    assert_eq!(
        (&found[3..], &counts[..]),
        (&["cat", "dog", "cow"].map(String::from)[..], &[10.0, 6.0, 2.0][..])
    );
    let none = read(&["a", "b"], Layout::Lines).unwrap();
    assert_eq!(on_top(&public, &none, settings(Unit::Line, 2), 1).unwrap().0.len(), 3);
}

#[test]
fn a_user_counts_once_in_all_lines() {
    let lines = ["ann\tx y", "bob\tx z", "ann\tz x", "ann\ty y", "bob\tx"];
    let text = read(&lines, Layout::Users).unwrap();
    assert_eq!(words(&text, settings(Unit::User, 9)).unwrap(), ["x", "z"]);
    let plain = read(&["x y"], Layout::Lines).unwrap();
    assert!(matches!(words(&plain, settings(Unit::User, 9)), Err(DataError::NoUsers)));
}

#[test]
fn pairs_count_both_of_their_words() {
    // Ordered pairs at distance 1: of "a b a" there are four, of "c c" two of one word.
    let text = read(&["a b a", "c c"], Layout::Lines).unwrap();
    let (found, counts) = release(&text, settings(Unit::Pair, 2), 1).unwrap();
    assert_eq!(found, ["a", "b", "c"]);
    assert_eq!(counts, [4.0, 4.0, 2.0]);
    assert!(PrivateVocabularyPlan::new(settings(Unit::Pair, 3)).is_err());
    let no_window = PrivateVocabularySettings { window: 0, ..settings(Unit::Pair, 2) };
    assert!(matches!(PrivateVocabularyPlan::new(no_window), Err(DataError::NoWindow)));
}

/// Of the many words of a line at most so many count, another choice in each line that is not the same.
#[test]
fn long_lines_are_cut_without_favour() {
    // The same words in as many orders.
    let line = |number: usize| {
        let (mut words, mut number) = (vec!["a", "b", "c", "d", "e", "f", "g", "h"], number);
        let mut next = || {
            let place = number % words.len();
            number /= words.len();
            words.remove(place)
        };
        (0..8).map(|_| next()).collect::<Vec<_>>().join(" ")
    };
    let lines: Vec<String> = (0..400).map(line).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let text = read(&lines, Layout::Lines).unwrap();
    let (found, counts) = release(&text, settings(Unit::Line, 2), 3).unwrap();
    assert_eq!(found.len(), 8);
    assert_eq!(counts.iter().sum::<f64>(), 800.0);
    // Each word is chosen with probability 1/4: 100 times, give or take 8.7; six deviations.
    assert!(counts.iter().all(|count| (count - 100.0).abs() < 52.0), "{counts:?}");
}

#[test]
fn gaussian_noise_releases_common_words() {
    let mut lines = ["the cat", "the dog", "the cow"].repeat(200);
    lines.push("secret");
    let text = read(&lines, Layout::Lines).unwrap();
    let rule = ItemRule::AdaptiveGaussian { multiplier: 1.0, delta: 1e-6 };
    let settings = PrivateVocabularySettings { rule, size: Some(4), ..settings(Unit::Line, 2) };
    let mut found = words(&text, settings).unwrap();
    assert_eq!(found.remove(0), "the");
    found.sort();
    assert_eq!(found, ["cat", "cow", "dog"]);
}

#[test]
fn a_vocabulary_is_paid_for() {
    let text = read(&["a b", "a b", "b a"], Layout::Lines).unwrap();
    let plan = PrivateVocabularyPlan::new(settings(Unit::Line, 2)).unwrap();
    let event = Event::Compose(vec![
        Event::DiscreteLaplace { noise_multiplier: 1.0 / 60.0 },
        Event::Approximate { epsilon: 0.0, delta: 1e-9 },
    ]);
    assert_eq!(plan.event(), event);
    assert_eq!(words(&text, settings(Unit::Line, 2)).unwrap().len(), 2);
    let release = plan.release(&RandomSource::from_seed(1));
    let other = plan.release(&RandomSource::from_seed(2));
    let unpaid = plan.paid(release, paid(other.charge())).words(&text, &[]);
    assert!(matches!(unpaid, Err(DataError::NotPaid(_))));
}
