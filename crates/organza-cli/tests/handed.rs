//! Data that a program hands over, and the same bits from a program, the libraries and the command line.
#![allow(clippy::unwrap_used)]

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use organza_cli::{Caller, HandedData, UsageError, run_on};
use organza_data::table::{Batches, HANDED_OVER, Table};
use organza_recommend::{RecommenderRun, SavedRecommender, Session, Settings, fit_data};
use organza_train::{Application, Failure};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Who, what: persons of four tastes.
fn events() -> (Vec<i64>, Vec<String>) {
    let all =
        (0..600_i64).flat_map(|who| (0..3).map(move |it| (who, who % 4 * 5 + (who / 4 + it) % 5)));
    all.map(|(who, what)| (who, format!("item {what}"))).unzip()
}

fn batches() -> Batches {
    let (who, what) = events();
    let part = |range: std::ops::Range<usize>| {
        let who: ArrayRef = Arc::new(Int64Array::from(who[range.clone()].to_vec()));
        let what: ArrayRef = Arc::new(StringArray::from(what[range].to_vec()));
        Ok(RecordBatch::try_from_iter([("who", who), ("what", what)]).unwrap())
    };
    Box::new([part(0..1_000), part(1_000..1_800)].into_iter())
}

fn words(data: &Path, out: &Path) -> Vec<std::ffi::OsString> {
    let flags = ["--user-column", "who", "--item-column", "what", "--epsilon", "5", "--seed", "3"];
    let all = ["organza".as_ref(), "recommender".as_ref(), "--data".as_ref(), data.as_os_str()];
    let out = ["--out".as_ref(), out.as_os_str()];
    let all = all.into_iter().chain(flags.iter().map(|it| it.as_ref())).chain(out);
    all.map(std::ffi::OsStr::to_owned).collect()
}

#[test]
fn a_program_the_library_and_the_command_line_give_the_same_bits() {
    let place = tempfile::tempdir().unwrap();
    let (table, tool, program) =
        (place.path().join("events.csv"), place.path().join("tool"), place.path().join("program"));
    let (who, what) = events();
    let lines: String =
        who.iter().zip(&what).map(|(who, what)| format!("{who},{what}\n")).collect();
    std::fs::write(&table, format!("who,what\n{lines}")).unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_organza")).args(&words(&table, &tool)[1..]).output();
    assert!(ran.unwrap().status.success());
    let caller = Arc::new(Caller::new(None, true));
    let handed = HandedData::Table(Table::handed(batches()));
    run_on(words(Path::new(HANDED_OVER), &program), handed, caller.clone()).unwrap();
    assert!(caller.notes().iter().any(|note| note.contains("NOT private")));
    assert!(caller.result().is_some_and(|result| result["items"] == 20));
    let settings: Settings =
        serde_json::from_slice(&std::fs::read(tool.join("settings.json")).unwrap()).unwrap();
    let data = RecommenderRun::read(&settings).unwrap();
    let (library, _) = fit_data(data, settings).unwrap();
    let (tool, program) =
        (SavedRecommender::read(&tool).unwrap(), SavedRecommender::read(&program).unwrap());
    for other in [&program, &library.saved] {
        assert_eq!(other.names, tool.names);
        assert_eq!(other.model.vectors(), tool.model.vectors());
        assert_eq!(other.model.found(), tool.model.found());
    }
}

#[test]
fn what_makes_no_sense_is_an_error_and_no_end_of_the_program() {
    let place = tempfile::tempdir().unwrap();
    let refused = |words: &[&str], handed: HandedData| {
        let words = words.iter().map(Into::into);
        run_on(words, handed, Arc::new(Caller::default())).unwrap_err()
    };
    let out = place.path().join("run");
    let out = out.to_str().unwrap();
    for flags in [
        &["organza", "train", "--no-such-flag"][..],
        &["organza", "train", "--epsilon", "-1", "--out", out],
        &["organza", "train", "--vocabulary", "private", "--words-per-unit", "0", "--out", out],
        &["organza", "recommender", "--method", "ease", "--epsilon", "1", "--out", out],
    ] {
        let error = refused(flags, HandedData::Nothing);
        assert!(error.is::<UsageError>(), "{error}");
    }
    let columns = ["--data", HANDED_OVER, "--user-column", "nobody", "--item-column", "what"];
    let flags = [&["organza", "recommender", "--out", out][..], &columns].concat();
    let error = refused(&flags, HandedData::Table(Table::handed(batches()))).to_string();
    assert!(error.contains("there is no column `nobody`, but who, what"), "{error}");
    // A file of that name is not looked for, and the message says what to do.
    let error = refused(&flags, HandedData::Nothing).to_string();
    assert!(error.contains("handed over by a program"), "{error}");
    assert!(!Path::new(out).exists());
}

#[test]
fn a_run_that_will_not_go_on_leaves_no_key() {
    let place = tempfile::tempdir().unwrap();
    let mut settings = Settings::new(None, 1.0, 1e-6);
    settings.seed = Some(1);
    let state = |path: &Path| path.join("private/state.json");
    let (once, again) = (place.path().join("once"), place.path().join("again"));
    let read = |settings: &Settings| RecommenderRun::read(settings);
    let _running = Session::once(settings.clone(), &once, read).unwrap();
    assert!(once.join("ledger.jsonl").exists() && !state(&once).exists());
    assert!(!Session::is_unfinished(&settings, &once));
    let running = Session::begin_with(settings.clone(), &again, read).unwrap();
    assert!(state(&again).exists());
    drop(running);
    assert!(Session::is_unfinished(&settings, &again));
    let other = Settings { seed: Some(2), ..settings.clone() };
    assert!(!Session::is_unfinished(&other, &again), "other settings are another run");
    let gone_on: Result<Session, _> = Session::resume_with(&again, None, read);
    assert!(gone_on.is_ok());
    let lost = Session::resume_with(&once, None, |_: &Settings| Err::<_, Failure>("".into()));
    assert!(lost.is_err_and(|error| error.to_string().contains("private part is gone")));
}
