//! From text to completions, in memory and through files.
#![allow(missing_docs, clippy::unwrap_used)]

use organza_data::settings::{DataSettings, VocabularyOrigin};
use organza_ledger::Unit;
use organza_train::Ended;
use organza_typeahead::{Method, Session, Settings, Typeahead, back_off, fit};
use std::fs;
use std::path::Path;

/// Many writers say much the same; one says something else, a thousand times.
fn text() -> String {
    let line = |writer: u32| {
        let day = ["monday", "friday", "sunday"][writer as usize % 3];
        format!("u{writer}\tSee you on {day}. I will see you soon! Thank you very much.\n")
    };
    let common = (0..3_000).map(line);
    let own = (0..1_000).map(|_| "zorro\tmy password is swordfish\n".to_owned());
    common.chain(own).collect()
}

fn settings(folder: &Path, epsilon: f64) -> Settings {
    let path = folder.join("messages.txt");
    fs::write(&path, text()).unwrap();
    let data = DataSettings { path: Some(path), ..DataSettings::default() };
    Settings::new(data, epsilon, 1e-6)
}

fn words(typeahead: &Typeahead, typed: &str) -> Vec<String> {
    typeahead.complete(typed, 3).iter().map(|it| it.word.to_owned()).collect()
}

#[test]
fn what_many_write_is_completed_and_what_one_writes_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let (fitted, certificate) = fit(settings(folder.path(), 3.0)).unwrap();
    let typeahead = fitted.typeahead;
    assert!(certificate.epsilon.unwrap() <= 3.0 && certificate.private);
    assert_eq!(certificate.unit, Unit::User);
    assert_eq!(words(&typeahead, "see ")[0], "you");
    assert_eq!(words(&typeahead, "I will see yo")[0], "you");
    assert_eq!(words(&typeahead, "Thank you very ")[0], "much");
    // A new sentence; whether its first word is begun or not.
    let first = words(&typeahead, "Thank you very much. ");
    assert!(["see", "i", "thank"].contains(&first[0].as_str()), "{first:?}");
    assert_eq!(words(&typeahead, "... s")[0], "see");
    for own in ["password", "swordfish"] {
        assert!(!typeahead.words().iter().any(|word| word == own), "{own}");
        assert!(words(&typeahead, own).is_empty());
    }
    let phrases = typeahead.phrases("Thank yo", 1, 3);
    assert_eq!(phrases[0].text, "you very much");
}

#[test]
fn probabilities_are_probabilities() {
    let folder = tempfile::tempdir().unwrap();
    for method in [Method::Ngrams, Method::Unigrams, Method::None] {
        let settings = Settings { method, ..settings(folder.path(), 1.0) };
        let (fitted, certificate) = fit(settings).unwrap();
        assert_eq!(certificate.private, method.is_private());
        let typeahead = fitted.typeahead;
        let model = typeahead.model();
        for typed in ["", "see ", "see you ", "nobody said ", "i will see you "] {
            let row = typeahead.symbols(typed);
            for model in [model, &back_off(model)] {
                let each = (2..model.symbols()).map(|word| model.probability(&row, word));
                let each: Vec<f32> = each.collect();
                let sum: f32 = each.iter().sum();
                assert!((sum - 1.0).abs() < 1e-3, "{method} {typed:?}: {sum}");
                assert!(each.iter().all(|it| *it >= -1e-5), "{method} {typed:?}");
            }
            let listed = model.next(&row, model.symbols() as usize);
            assert_eq!(listed.len(), typeahead.words().len());
            assert!(listed.is_sorted_by(|one, other| one.probability >= other.probability));
            for likely in listed.iter().take(9) {
                let same = model.probability(&row, likely.word);
                assert!((same - likely.probability).abs() < 1e-5, "{method} {typed:?}");
            }
            // Of the words that begin with a letter the probabilities are those given the letter.
            let given: f32 =
                typeahead.complete(&format!("{typed}s"), 99).iter().map(|it| it.probability).sum();
            assert!((given - 1.0).abs() < 1e-3, "{method} {typed:?}: {given}");
        }
    }
}

#[test]
fn a_run_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let session = Session::begin(settings(folder.path(), 2.0), &run).unwrap();
    let Ended::Finished(finished) = session.train(false, &mut ()).unwrap() else { panic!() };
    let typeahead = Typeahead::open(&run).unwrap();
    assert_eq!(typeahead.model(), finished.model.typeahead.model());
    assert_eq!(words(&typeahead, "see "), words(&finished.model.typeahead, "see "));
    let released = organza_typeahead::Released::open(&run).unwrap();
    assert_eq!(released, finished.model.released);
    // A damaged file is told, and not used.
    let file = run.join(organza_typeahead::MODEL);
    let mut bytes = fs::read(&file).unwrap();
    bytes.truncate(bytes.len() - 4);
    fs::write(&file, bytes).unwrap();
    let error = Typeahead::open(&run).unwrap_err().to_string();
    assert!(error.contains("model.safetensors") && error.contains("organza typeahead"), "{error}");
}

/// Whether a run ends well tells nothing: without writers, or with one, there is a model.
#[test]
fn nobody_and_one_writer_are_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("words.txt");
    fs::write(&list, "see\nyou\nsoon\n").unwrap();
    for text in ["", "\n", "u\t\n", "u\tsee you soon\n", "no user here\n"] {
        let mut settings = settings(folder.path(), 1.0);
        fs::write(folder.path().join("messages.txt"), text).unwrap();
        settings.data.vocabulary = VocabularyOrigin::File(list.clone());
        let (fitted, _) = fit(settings).unwrap();
        assert_eq!(fitted.typeahead.complete("see ", 9).len(), 3, "{text:?}");
    }
}

/// Every budget is spent on what the method needs and nothing else.
#[test]
fn only_what_is_used_is_charged() {
    let folder = tempfile::tempdir().unwrap();
    for (method, order, charged) in [
        (Method::Ngrams, 3, 5),
        (Method::Ngrams, 2, 4),
        (Method::Unigrams, 3, 2),
        (Method::None, 3, 0),
    ] {
        let mut settings = Settings { method, ..settings(folder.path(), 1.0) };
        settings.rules.order = order;
        let (_, certificate) = fit(settings).unwrap();
        let events = serde_json::to_string(&certificate.events).unwrap();
        assert_eq!(events.matches("noise_multiplier").count(), charged, "{method}: {events}");
        assert!(certificate.epsilon.is_none_or(|spent| spent <= 1.0 && spent > 0.95));
    }
}
