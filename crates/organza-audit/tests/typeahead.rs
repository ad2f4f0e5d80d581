//! Typeahead runs, audited by phrases of writers of their own.
#![allow(clippy::unwrap_used, missing_docs)]

use organza_audit::{Among, AuditOptions, AuditReport, Audited, audit, lower_bound};
use organza_data::CanarySettings;
use organza_data::settings::{DataSettings, VocabularyOrigin};
use organza_ledger::Unit;
use organza_train::Ended;
use organza_typeahead::{Method, Session, Settings};

const EPSILON: f64 = 0.5;
/// Small, so that a bound that is wrong once in a million has something to say.
const DELTA: f64 = 1e-12;
/// A sound run is flagged once in so many.
const FALSE_ALARM: f64 = 1e-6;

fn audited(method: Method) -> AuditReport {
    let data = DataSettings {
        vocabulary: VocabularyOrigin::DeclaredPublic,
        synthetic_lines: Some(4_000),
        ..DataSettings::default()
    };
    let mut settings = Settings::new(data, EPSILON, DELTA);
    settings.method = method;
    settings.privacy.unit = Unit::Line;
    settings.canaries = Some(CanarySettings { repeated: 300, repeats: 5, tossed: 1_000 });
    settings.seed = Some(6);
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let ended = Session::begin(settings, &path).unwrap().train(false, &mut ()).unwrap();
    assert!(matches!(ended, Ended::Finished(_)));
    audit(&path, AuditOptions { among: Among::Sampled(500) }).unwrap()
}

/// The lower bound on epsilon that is wrong once in a million.
fn bound(report: &AuditReport) -> f64 {
    let guessed = report.lower_bound.as_ref().unwrap().guessed;
    lower_bound(guessed.canaries, guessed.guesses, guessed.correct, DELTA, FALSE_ALARM)
}

/// The twin without privacy keeps what one writer wrote, and must be found out: by ranks, and by a bound above the epsilon that the
/// private run keeps to. Phrases that were never inserted are uniform, in all but one of a million runs.
#[test]
fn a_run_without_privacy_is_found_out() {
    let report = audited(Method::None);
    assert_eq!(report.model, Audited::Typeahead);
    assert!(report.gap.is_none());
    let ranks = report.ranks.as_ref().unwrap();
    assert_eq!((ranks.repeats, ranks.units_of_a_phrase), (5, 5));
    assert!(ranks.inserted.uniformity.p_value < FALSE_ALARM, "{ranks:?}");
    assert!(ranks.control.uniformity.p_value > FALSE_ALARM, "{ranks:?}");
    assert!(bound(&report) > EPSILON, "{:?}", report.lower_bound);
    assert_eq!(report.not_private, ["ranks", "lower_bound"]);
}

#[test]
fn a_private_run_keeps_to_its_epsilon() {
    let report = audited(Method::Ngrams);
    assert!(bound(&report) <= EPSILON, "{:?}", report.lower_bound);
    let ranks = report.ranks.as_ref().unwrap();
    assert!(ranks.control.uniformity.p_value > FALSE_ALARM, "{ranks:?}");
}
