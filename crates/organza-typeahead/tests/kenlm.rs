//! The real KenLM reads our ARPA file and gives the same probabilities.
//!
//! Uses the kenlm of `python3`, or builds one in a virtual environment under `target/`, which takes a C++ compiler and a minute. Where there is
//! no Python, no pip, no compiler or no network it fails, unless `ORGANZA_WITHOUT_KENLM` says that this is known.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr)]

#[path = "../../organza-model/tests/python/mod.rs"]
mod python;

use organza_data::settings::DataSettings;
use organza_ledger::Unit;
use organza_train::Ended;
use organza_typeahead::{ARPA, Session, Settings, Typeahead, back_off};
use python::{python_with, run};
use std::process::Command;

/// Scores every word of each line after those before it, as logarithms to base 10.
const SCRIPT: &str = r#"
import json, sys, kenlm
model = kenlm.Model(sys.argv[1])
for line in sys.argv[2:]:
    print(json.dumps([score for score, _, _ in model.full_scores(line, bos=True, eos=False)]))
"#;

#[test]
fn kenlm_gives_the_same_probabilities() {
    let python = match python_with("kenlm", "kenlm==0.3.0") {
        Ok(python) => python,
        Err(why) => {
            assert!(std::env::var_os("ORGANZA_WITHOUT_KENLM").is_some(), "{why}");
            eprintln!("not compared with KenLM: {why}");
            return;
        }
    };
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run");
    let mut settings = Settings::new(DataSettings::default(), 8.0, 1e-6);
    settings.privacy.unit = Unit::Line;
    settings.seed = Some(1);
    let session = Session::begin(settings, &folder).unwrap();
    let Ended::Finished(_) = session.train(false, &mut ()).unwrap() else { panic!() };
    let typeahead = Typeahead::open(&folder).unwrap();
    let model = back_off(typeahead.model());
    // Sentences of words that follow each other often, seldom and never.
    let word = |symbol: u32| typeahead.words()[symbol as usize - 2].clone();
    let likely = |length: usize, place: usize| {
        let mut row = vec![0];
        (0..length).for_each(|_| {
            let next = model.next(&row, place + 1)[place].word;
            row.push(next);
        });
        row
    };
    let rows: Vec<Vec<u32>> =
        (0..40).map(|place| likely(6, place)).chain([vec![0, 200, 7, 150, 201, 9]]).collect();
    let lines = rows
        .iter()
        .map(|row| row[1..].iter().map(|symbol| word(*symbol)).collect::<Vec<_>>().join(" "));
    let output =
        run(Command::new(python).args(["-c", SCRIPT]).arg(folder.join(ARPA)).args(lines)).unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let theirs: Vec<Vec<f64>> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(theirs.len(), rows.len());
    for (row, scores) in rows.iter().zip(theirs) {
        for (place, score) in (1..).zip(scores) {
            let ours = f64::from(model.probability(&row[..place], row[place])).log10();
            assert!((ours - score).abs() < 1e-4, "{row:?} at {place}: {ours} and {score}");
        }
    }
}
