//! Counts of words and pairs.

use crate::drawn::{WORDS, paid, samples, shared_lines, source, word};
use crate::{Compared, l1, l2, worst};
use organza_data::Objective;
use organza_data::cooccurrence::{CooccurrenceSettings, PairCounts, WordCounts};
use organza_ledger::{Neighbouring, Unit};
use organza_mechanism::CountNoise;

/// The clip of a unit's counts.
const CLIP: f64 = 2.0;

fn settings(unit: Unit, clip: f64) -> CooccurrenceSettings {
    let (noise, clip) = match unit {
        Unit::Pair => (CountNoise::DiscreteLaplace { epsilon: 0.5 }, None),
        _ => (CountNoise::RoundedGaussian { multiplier: 1.0 }, Some(clip)),
    };
    CooccurrenceSettings {
        unit,
        words: WORDS as u32,
        neighbouring: Neighbouring::AddRemove,
        noise,
        clip,
        bar: None,
    }
}

/// The texts of neighbours: a line of two words, which is two pairs, or one of many.
fn texts(unit: Unit) -> [String; 2] {
    let shared = shared_lines(20);
    let last = match unit {
        Unit::Pair => format!("{} {}\n", word(3), word(35)),
        _ => (0..12).map(|place| word(place * 3)).collect::<Vec<_>>().join(" ") + "\n",
    };
    [shared.clone(), shared + &last]
}

/// The noisy counts of words, then of pairs.
fn released(unit: Unit, text: &str, clip: f64) -> [Vec<f64>; 2] {
    let (samples, split) = samples(text, unit, Objective::SkipGram, 3);
    let plan = WordCounts::new(settings(unit, clip)).unwrap();
    let release = plan.release(&source());
    let words = plan.count(&samples, &split.train, &release, paid(release.charge())).unwrap();
    let plan = PairCounts::new(settings(unit, clip)).unwrap();
    let release = plan.release(&source());
    let pairs = plan.count(&samples, &split.train, &release, paid(release.charge())).unwrap();
    [words.counts().to_vec(), pairs.pairs().iter().map(|pair| pair.count).collect()]
}

/// How far words and pairs of neighbours are apart, in the norm of their plan.
fn compared(unit: Unit, clip: f64) -> [Compared; 2] {
    let [one, other] = texts(unit).map(|text| released(unit, &text, clip));
    let names = ["words", "pairs"];
    std::array::from_fn(|place| {
        let (one, other) = (&one[place], &other[place]);
        assert_eq!(one.len(), other.len(), "all cells are released");
        let what = format!("counts of {}, unit {unit}", names[place]);
        match unit {
            // Two pairs, of one count each.
            Unit::Pair => Compared::new(what, l1(one, other), 2.0),
            _ => Compared::new(what, l2(one, other), CLIP),
        }
    })
}

#[test]
fn counts_move_by_no_more_than_their_bound() {
    for unit in [Unit::Line, Unit::Pair] {
        for compared in compared(unit, CLIP) {
            assert!(compared.found > 0.9 * compared.stated, "{compared}");
            assert!(!worst([compared]).violates());
        }
    }
}

#[test]
fn a_clip_that_is_larger_than_stated_is_caught() {
    for compared in compared(Unit::Line, 2.0 * CLIP) {
        eprint!("twin: ");
        assert!(worst([compared]).violates());
    }
}
