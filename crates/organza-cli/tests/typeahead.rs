//! Whole runs of `organza typeahead` and `complete`.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use support::{Run, done, organza_in};
use tempfile::tempdir;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A table of messages: many writers say much the same.
fn messages(folder: &Path) {
    let line = |writer: u32| {
        let day = ["Monday", "Friday"][writer as usize % 2];
        format!("w{writer},\"See you on {day}. Thank you very much!\"\n")
    };
    let rows: String = (0..3_000).map(line).collect();
    fs::write(folder.join("messages.csv"), format!("who,message\n{rows}")).unwrap();
}

#[test]
fn the_built_in_corpus_is_completed() {
    let place = tempdir().unwrap();
    let made = done(place.path(), "typeahead --out run");
    for said in
        ["epsilon 2.99", "next word", "by frequency", "not private", "Next: organza complete run"]
    {
        assert!(made.stdout.contains(said), "{said}: {}", made.stdout);
    }
    let run = place.path().join("run");
    for file in [
        "model.safetensors",
        "ngrams.safetensors",
        "model.arpa",
        "vocabulary.txt",
        "certificate.json",
        "report.html",
    ] {
        assert!(run.join(file).exists(), "{file}");
    }
    assert!(!run.join("private").exists());
    let again = done(place.path(), "report run");
    assert!(again.stdout.contains("report.html"), "{}", again.stdout);
    let arpa = fs::read_to_string(run.join("model.arpa")).unwrap();
    assert!(arpa.starts_with("\\data\\\nngram 1=303\n") && arpa.ends_with("\\end\\\n"));
}

#[test]
fn a_table_of_messages_completes_what_is_typed() {
    let place = tempdir().unwrap();
    messages(place.path());
    let line = "typeahead --data messages.csv --text-column message --user-column who --epsilon 2 --out run --json";
    let made = json(&done(place.path(), line).stdout);
    assert!(made["epsilon"].as_f64().unwrap() <= 2.0, "{made}");
    let certificate = json(&fs::read_to_string(place.path().join("run/certificate.json")).unwrap());
    assert_eq!(certificate["unit"].as_str(), Some("user"));
    let shown = done(place.path(), "complete run see --top 1");
    assert!(shown.stdout.contains("see"), "{}", shown.stdout);
    let answers = Run::new("complete run --top 2 --json")
        .in_folder(place.path())
        .input(b"see \nthank you ver\nzzz\n")
        .run();
    let answers: Vec<Value> = answers.stdout.lines().map(json).collect();
    assert_eq!(answers.len(), 3);
    assert_eq!(answers[0][0][0], "you");
    assert!(answers[0][0][1].as_f64().unwrap() > 0.5, "{answers:?}");
    assert_eq!(answers[1][0][0], "very");
    assert_eq!(answers[2], Value::Array(Vec::new()));
    let phrase = json(&done(place.path(), "complete run thank --words 4 --top 1 --json").stdout);
    assert_eq!(phrase[0][0], "thank you very much");
}

#[test]
fn what_makes_no_sense_is_said_before_anything_is_read() {
    let place = tempdir().unwrap();
    messages(place.path());
    for (line, said) in [
        ("typeahead --method none --epsilon 1 --out run", "--method none"),
        ("typeahead --order 9 --out run", "from 1 to 3"),
        ("typeahead --data messages.csv --text-column message --out run", "--user-column"),
        ("typeahead --test-share 2 --out run", "below 1"),
        ("typeahead --epsilon -1 --out run", "epsilon"),
    ] {
        let outcome = organza_in(place.path(), line);
        assert_eq!(outcome.code, Some(2), "{line}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(said), "{line}: {}", outcome.stderr);
        assert!(!place.path().join("run").exists(), "{line}");
    }
    let outcome = organza_in(place.path(), "complete nothing text");
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("organza typeahead"), "{}", outcome.stderr);
}

#[test]
fn without_privacy_everything_says_so() {
    let place = tempdir().unwrap();
    let made = done(place.path(), "typeahead --method none --out run");
    assert!(made.stderr.contains("NOT private"), "{}", made.stderr);
    let certificate = json(&fs::read_to_string(place.path().join("run/certificate.json")).unwrap());
    assert_eq!(certificate["private"].as_bool(), Some(false));
    assert_eq!(done(place.path(), "complete run good").code, Some(0));
}
