//! What is promised does not follow what happened to be released.
#![allow(missing_docs, clippy::unwrap_used)]

use organza_accountant::Accountant;
use organza_ledger::{Account, Event, Neighbouring, Unit};
use organza_train::{Certificate, DECIDED};
use organza_words::settings::{Method, Settings, SplitSettings, VocabularyOrigin};
use organza_words::{Ended, Session};
use std::path::Path;

fn small(method: Method, seed: u64) -> Settings {
    let mut settings = Settings::standard().suited_to(method);
    settings.seed = Some(seed);
    settings.privacy.epsilon = Some(1.0);
    settings.data.synthetic_lines = Some(300);
    settings.training.batch = 50.0;
    settings.training.epochs = 1.0;
    settings
}

fn certified(settings: Settings, folder: &Path) -> Certificate {
    let session = Session::begin(settings, folder).unwrap();
    let Ended::Finished(finished) = session.train(false, &mut ()).unwrap() else {
        panic!("nobody interrupts");
    };
    finished.certificate
}

fn price(certificate: &Certificate) -> f64 {
    let account = Accountant::new(certificate.neighbouring);
    Account::epsilon(&account, &certificate.events, certificate.delta.unwrap()).unwrap()
}

/// With a released number of units the promise is the budget. The broken twin, the price of the events that came of the
/// number, is another for each seed; and without such a number it is the price that is promised.
#[test]
fn the_budget_is_promised_where_a_number_decided() {
    let place = tempfile::tempdir().unwrap();
    let mut prices = Vec::new();
    for seed in 0..3 {
        let folder = place.path().join(seed.to_string());
        let certificate = certified(small(Method::Dpsgd, seed), &folder);
        assert_eq!(certificate.epsilon, Some(1.0));
        assert!(certificate.conditions.iter().any(|it| it == DECIDED));
        assert_eq!(
            certificate.promised_events(),
            [Event::Approximate { epsilon: 1.0, delta: 1e-6 }]
        );
        let price = price(&certificate);
        assert!(price <= 1.0, "{price}");
        prices.push(price);
    }
    assert!(prices.iter().any(|price| *price != prices[0]), "{prices:?}");

    let mut declared = small(Method::Dpsgd, 0);
    declared.privacy.units = Some(270);
    let certificate = certified(declared, &place.path().join("declared"));
    assert_eq!(certificate.epsilon, Some(price(&certificate)));
    assert!(!certificate.conditions.iter().any(|it| it == DECIDED));
    assert_eq!(certificate.promised_events(), certificate.events);
}

/// Replacing a record may change the number of training pairs where words are released, so neither number shows: it is
/// charged, after words that are charged as deciding. The rate of the broken twin, which takes the number for public, tells
/// the two texts apart.
#[test]
fn the_number_of_pairs_is_charged_where_a_replaced_record_changes_it() {
    let place = tempfile::tempdir().unwrap();
    let common = "red blue\n".repeat(3_000);
    let texts = [format!("{common}red blue"), format!("{common}red rare")];
    let rates = |words: VocabularyOrigin| {
        texts.clone().map(|text| {
            let path = place.path().join("text");
            std::fs::write(&path, text).unwrap();
            let mut settings = small(Method::Dpsgd, 1);
            settings.data.path = Some(path);
            settings.data.vocabulary = words.clone();
            settings.privacy.unit = Unit::Pair;
            settings.privacy.neighbouring = Neighbouring::ReplaceOne;
            settings.data.split = SplitSettings::Units { validation: 0.0, test: 0.0 };
            settings.training.steps = Some(2);
            let folder = tempfile::tempdir_in(place.path()).unwrap();
            let certificate = certified(settings, &folder.path().join("run"));
            let decides: Vec<bool> = certificate.events.iter().map(Event::decides).collect();
            (format!("{:?}", certificate.events), decides)
        })
    };
    for (_, decides) in rates(VocabularyOrigin::private()) {
        assert_eq!(decides[..2], [true, true], "words, then their number of pairs");
    }
    // Of words that are public, each pair is a record: the number is that of all neighbours, and these texts are none.
    let public = place.path().join("words");
    std::fs::write(&public, "red\nblue\n").unwrap();
    let [one, other] = rates(VocabularyOrigin::File(public));
    assert!(!one.1.contains(&true));
    assert_ne!(one.0, other.0, "the twin has to be seen");
}
