//! Phrases that are put into the training data of a typeahead, to be audited for.
#![allow(clippy::unwrap_used, missing_docs)]

use organza_data::settings::{DataSettings, VocabularyOrigin};
use organza_data::{Canaries, CanarySettings, Writing};
use organza_ledger::{Neighbouring, Unit};
use organza_train::{Ended, RunFolder};
use organza_typeahead::{FittedTypeahead, Method, Session, Settings};

const ASKED: CanarySettings = CanarySettings { repeated: 20, repeats: 40, tossed: 100 };

fn settings(canaries: Option<CanarySettings>) -> Settings {
    let data = DataSettings {
        vocabulary: VocabularyOrigin::DeclaredPublic,
        synthetic_lines: Some(2_000),
        ..DataSettings::default()
    };
    let mut settings = Settings { canaries, ..Settings::new(data, 1.0, 1e-6) };
    settings.method = Method::None;
    settings.privacy.unit = Unit::Line;
    settings.seed = Some(4);
    settings
}

fn trained(settings: Settings) -> (FittedTypeahead, Option<Canaries>, String) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let session = Session::begin(settings, &path).unwrap();
    let Ended::Finished(finished) = session.train(false, &mut ()).unwrap() else {
        panic!("interrupted");
    };
    let public = serde_json::to_string(&finished.certificate.public).unwrap();
    (finished.model, RunFolder::open(&path).unwrap().canaries().unwrap(), public)
}

#[test]
fn canaries_are_learned_as_the_text_of_writers_of_their_own() {
    let (plain, none, _) = trained(settings(None));
    assert!(none.is_none());
    let (model, canaries, _) = trained(settings(Some(ASKED)));
    let canaries = canaries.unwrap();
    // Forty lines of their own are more than what two thousand others say of any two words.
    let after = |model: &FittedTypeahead, [first, second, third]: [u32; 3]| {
        let row = [Writing::END, first + Writing::FIRST_WORD, second + Writing::FIRST_WORD];
        model.typeahead.model().probability(&row, third + Writing::FIRST_WORD)
    };
    for phrase in &canaries.repeated {
        assert!(after(&model, *phrase) > 0.5, "{}", after(&model, *phrase));
        assert!(after(&plain, *phrase) < 0.5, "{}", after(&plain, *phrase));
    }
    // A coin decides whether a phrase is learned; some share two words with one that is.
    let learned = |inserted: bool| {
        let tossed = canaries.tossed.iter().filter(|it| it.inserted == inserted);
        let more = |it: &[u32; 3]| after(&model, *it) > 2.0 * after(&plain, *it);
        let found: Vec<bool> = tossed.map(|it| more(&it.phrase)).collect();
        found.iter().filter(|more| **more).count() as f64 / found.len() as f64
    };
    assert!(learned(true) > 0.9 && learned(false) < 0.4, "{} {}", learned(true), learned(false));
    // Whoever was held out stays so.
    assert_eq!(model.quality.unwrap().words, plain.quality.unwrap().words);
}

#[test]
fn the_certificate_speaks_of_canaries() {
    let private =
        |canaries| trained(Settings { method: Method::Ngrams, seed: None, ..settings(canaries) }).2;
    assert!(!private(None).contains("canaries"));
    let public = private(Some(ASKED));
    assert!(public.contains("20 random phrases were inserted 40 times each"), "{public}");
    assert!(public.contains("each insertion is a line of its own"), "{public}");
}

#[test]
fn tossed_canaries_go_with_every_unit_under_add_remove() {
    for unit in [Unit::User, Unit::Document, Unit::Line] {
        let mut settings = settings(Some(ASKED));
        settings.privacy.unit = unit;
        assert!(settings.check().is_ok(), "{unit}");
        settings.privacy.neighbouring = Neighbouring::ReplaceOne;
        assert_eq!(settings.check().unwrap_err().setting, "--neighbouring");
        settings.canaries = Some(CanarySettings { tossed: 0, ..ASKED });
        assert!(settings.check().is_ok(), "{unit}");
    }
}

/// Settings of runs without canaries are read and written as before.
#[test]
fn settings_without_canaries_do_not_speak_of_them() {
    let text = serde_json::to_string(&settings(None)).unwrap();
    assert!(!text.contains("canaries"));
    assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), settings(None));
    let asked = serde_json::to_string(&settings(Some(ASKED))).unwrap();
    assert_eq!(serde_json::from_str::<Settings>(&asked).unwrap().canaries, Some(ASKED));
}
