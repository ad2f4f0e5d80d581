//! Runs of the small network that is trained by DP-SGD.
#![allow(missing_docs, clippy::unwrap_used)]

use organza_data::settings::{DataSettings, VocabularyOrigin};
use organza_train::Ended;
use organza_typeahead::{Method, Session, Settings, Typeahead, fit};
use std::fmt::Write;
use std::path::Path;

const WORDS: [&str; 8] = ["we", "walk", "to", "their", "old", "house", "by", "night"];
const EPSILON: f64 = 30.0;

/// Everybody writes the words in the same order, each from another one on.
fn text(writers: usize) -> String {
    let mut text = String::new();
    for writer in 0..writers {
        let words: Vec<&str> = WORDS.into_iter().cycle().skip(writer % 8).take(20).collect();
        writeln!(text, "writer{writer}\t{}", words.join(" ")).unwrap();
    }
    text
}

fn settings(folder: &Path, text: &str) -> Settings {
    let (data, words) = (folder.join("text.tsv"), folder.join("words.txt"));
    std::fs::write(&data, text).unwrap();
    std::fs::write(&words, WORDS.join("\n")).unwrap();
    let data = DataSettings {
        path: Some(data),
        vocabulary: VocabularyOrigin::File(words),
        ..DataSettings::default()
    };
    Settings { method: Method::Dpsgd, seed: Some(1), ..Settings::new(data, EPSILON, 1e-6) }
}

/// What is completed when nothing, one word and two words were typed.
fn completions(typeahead: &Typeahead) -> Vec<Vec<(String, f32)>> {
    let completed = |typed: &str| {
        let found = typeahead.complete(typed, 8).into_iter();
        found.map(|it| (it.word.to_owned(), it.probability)).collect()
    };
    ["", "walk ", "walk to ", "their old h"].into_iter().map(completed).collect()
}

#[test]
fn it_learns_what_follows_within_its_budget_and_is_the_same_when_it_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path(), &text(600));
    let run = folder.path().join("run");
    let session = Session::begin(settings, &run).unwrap();
    let Ended::Finished(finished) = session.train(false, &mut ()).unwrap() else { panic!() };
    let certificate = finished.certificate;
    assert_eq!(certificate.method, "dpsgd");
    assert!(certificate.epsilon.unwrap() <= EPSILON);
    let quality = finished.model.quality.unwrap();
    assert!(quality.first > 0.9 && quality.first_alone < 0.3, "{quality:?}");
    let found = completions(&finished.model.typeahead);
    assert_eq!((found[2][0].0.as_str(), found[3][0].0.as_str()), ("their", "house"));
    let sum: f32 = found[1].iter().map(|(_, probability)| probability).sum();
    assert!((sum - 1.0).abs() < 1e-5, "{found:?}");
    let read = Typeahead::open(&run).unwrap();
    assert_eq!(read.model(), finished.model.typeahead.model());
    assert_eq!(completions(&read), found);
    assert!(organza_typeahead::page(&run).is_ok());
}

/// Whether a run ends well tells nothing: without writers, or with one, there is a model.
#[test]
fn nobody_and_one_writer_are_no_error() {
    for text in ["", "writer\tsomething else", "writer\twe", "writer\twe walk to"] {
        let folder = tempfile::tempdir().unwrap();
        let (fitted, certificate) = fit(settings(folder.path(), text)).unwrap();
        assert!(certificate.epsilon.unwrap() <= EPSILON);
        assert_eq!(fitted.typeahead.complete("we ", 8).len(), 8, "{text}");
    }
}

/// What steps cost follows a number that is released, so noise cannot be given without a budget.
#[test]
fn a_noise_multiplier_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings(folder.path(), "");
    (settings.privacy.epsilon, settings.privacy.noise_multiplier) = (None, Some(1.0));
    let refused = settings.check().unwrap_err();
    assert!(refused.to_string().contains("--method dpsgd"), "{refused}");
    settings.method = Method::Ngrams;
    assert!(settings.check().is_ok());
}
