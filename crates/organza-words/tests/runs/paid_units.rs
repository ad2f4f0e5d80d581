//! The number of units, by which steps are planned, is paid for before it is drawn.
#![allow(missing_docs, clippy::unwrap_used)]

use organza_ledger::Replay;
use organza_words::settings::{Method, Settings};
use organza_words::{Ended, Session};
use std::path::Path;

fn settings(method: Method) -> Settings {
    let mut settings = Settings::standard().suited_to(method);
    settings.seed = Some(3);
    settings.privacy.epsilon = Some(3.0);
    settings.training.steps = Some(4);
    settings
}

/// What is charged, in the order of the ledger.
fn purposes(folder: &Path) -> Vec<String> {
    let charges = Replay::read(&folder.join("ledger.jsonl")).unwrap().charges;
    charges.into_iter().map(|charge| charge.purpose).collect()
}

#[test]
fn a_session_has_charged_the_number_of_units_when_it_has_a_plan() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run");
    drop(Session::begin(settings(Method::Dpsgd), &folder).unwrap());
    assert_eq!(purposes(&folder), ["units"]);
    let session = Session::resume(&folder).unwrap();
    assert_eq!(purposes(&folder), ["units"], "the same number again costs nothing");
    let ended = session.train(false, &mut ()).unwrap();
    assert!(matches!(ended, Ended::Finished(finished) if finished.steps == 4));
    let all = purposes(&folder);
    assert_eq!((all[0].as_str(), all.last().unwrap().as_str()), ("units", "training"));
    assert_eq!(all.iter().filter(|purpose| *purpose == "units").count(), 1);
}

#[test]
fn settings_that_make_no_sense_cost_nothing() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run");
    let mut settings = settings(Method::Sparse);
    settings.selection.draws = Some(u64::MAX);
    assert!(Session::begin(settings, &folder).is_err());
    assert!(!folder.exists());
}
