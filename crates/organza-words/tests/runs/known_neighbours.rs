//! On the built-in corpus the true neighbours of a word are known: the other words of its topic.
#![allow(missing_docs, clippy::unwrap_used)]

use organza_data::Synthetic;
use organza_model::vectors::Vectors;
use organza_words::settings::{Method, Settings};
use organza_words::{Ended, Finished, Session};

/// Trains, and returns the share of the five nearest words that are true neighbours, over all words
/// that have a topic, and what chance would give.
fn precision(settings: Settings) -> (f64, f64, Finished) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run");
    let session = Session::begin(settings, &folder).unwrap();
    let Ended::Finished(finished) = session.train(false, &mut ()).unwrap() else {
        panic!("nobody interrupts");
    };
    let vectors = Vectors::read_text(&folder.join("vectors.txt")).unwrap();
    let words: Vec<&String> =
        vectors.words().iter().filter(|word| Synthetic::topic(word).is_some()).collect();
    assert_eq!(words.len(), 256);
    let right = |word: &&String| {
        let nearest = vectors.nearest(word, 5).unwrap();
        let true_ones = Synthetic::neighbours(word);
        nearest.iter().filter(|near| true_ones.contains(&near.word.as_str())).count()
    };
    let found: usize = words.iter().map(right).sum();
    let chance = 15.0 / (vectors.words().len() - 1) as f64;
    (found as f64 / (5 * words.len()) as f64, chance, *finished)
}

#[test]
fn they_are_found_without_privacy() {
    let mut settings = Settings::standard().suited_to(Method::None);
    settings.seed = Some(1);
    settings.training.epochs = 10.0;
    let (precision, _, finished) = precision(settings);
    assert!(precision >= 0.95, "{precision}");
    assert!(finished.curve.last().unwrap().losses.test < finished.model.frequency_loss - 0.5);
    assert!(!finished.certificate.private && finished.certificate.epsilon.is_none());
}

/// One in twenty by chance; at epsilon 8 at least eight in ten, with whole lines protected.
#[test]
fn they_are_found_at_epsilon_8() {
    for method in [Method::Counts, Method::Dpsgd] {
        let mut settings = Settings::standard().suited_to(method);
        settings.privacy.epsilon = Some(8.0);
        settings.seed = Some(1);
        settings.training.epochs = 10.0;
        let (precision, chance, finished) = precision(settings);
        assert!(chance < 0.051 && precision >= 0.8, "{method}: {precision}, by chance {chance}");
        let epsilon = finished.certificate.epsilon.unwrap();
        assert!(epsilon <= 8.0 && epsilon > 7.5, "{method}: {epsilon}");
    }
}

/// With so much noise that nothing is learned, precision is what chance gives: what the tests above
/// find comes from training and not from the way they look.
#[test]
fn noise_alone_finds_nothing() {
    for method in [Method::Counts, Method::Dpsgd] {
        let mut settings = Settings::standard().suited_to(method);
        settings.privacy.epsilon = None;
        settings.privacy.noise_multiplier = Some(500.0);
        settings.privacy.units = Some(18_000);
        settings.seed = Some(1);
        settings.training.epochs = 1.0;
        let (precision, chance, _) = precision(settings);
        assert!(precision < chance + 0.05, "{method}: {precision}, by chance {chance}");
    }
}
