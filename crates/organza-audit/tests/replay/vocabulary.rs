//! The release of a private vocabulary.

use crate::drawn::{paid, read, shared_lines, source, word};
use crate::{Compared, l1, worst};
use organza_data::{PrivateVocabularyPlan, PrivateVocabularySettings};
use organza_ledger::{Neighbouring, Unit};
use organza_mechanism::ItemRule;
use std::collections::BTreeMap;

/// So many words of a line count.
const MOST: u64 = 3;

/// The noisy counts of all words that many lines have.
fn released(text: &str, most: u64) -> BTreeMap<String, f64> {
    let plan = PrivateVocabularyPlan::new(PrivateVocabularySettings {
        unit: Unit::Line,
        window: 3,
        neighbouring: Neighbouring::AddRemove,
        size: None,
        words_per_unit: most,
        rule: ItemRule::Laplace { epsilon: 6.0, delta: 1e-3 },
    });
    let plan = plan.unwrap();
    let release = plan.release(&source());
    let paid = paid(release.charge());
    let folder = tempfile::tempdir().unwrap();
    let words = plan.paid(release, paid).words(&read(text, folder.path()), &[]).unwrap();
    let names = words.vocabulary.words().iter().map(|word| word.to_string());
    names.zip(words.counts).collect()
}

/// How far the counts of neighbours are apart whose plan keeps `most` words of a line.
fn compared(most: u64) -> Compared {
    let shared = shared_lines(400);
    let last = (0..8).map(|place| word(place * 3)).collect::<Vec<_>>().join(" ") + "\n";
    let [one, other] = [shared.clone(), shared + &last].map(|text| released(&text, most));
    assert!(one.len() > 20 && one.keys().eq(other.keys()), "the same words reach the threshold");
    let values = |it: &BTreeMap<String, f64>| it.values().copied().collect::<Vec<f64>>();
    Compared::new("vocabulary", l1(&values(&one), &values(&other)), MOST as f64)
}

#[test]
fn words_move_by_no_more_than_a_line_may_have() {
    let compared = compared(MOST);
    assert!((compared.found - compared.stated).abs() < 1e-9, "{compared}");
    assert!(!worst([compared]).violates());
}

#[test]
fn more_words_than_stated_are_caught() {
    eprint!("twin: ");
    assert!(worst([compared(2 * MOST)]).violates());
}
