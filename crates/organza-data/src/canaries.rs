//! Canaries: random phrases that are put into a text on purpose, to see later what a model kept of them.
//!
//! # Privacy
//! A canary is nobody's data: its words are drawn uniformly from the vocabulary, by randomness that no
//! data has touched. It joins the training data as units of its own and leaves all other units as they
//! were, so what is promised to them stays as it was.

pub(crate) mod insertion;

use organza_ledger::{Neighbouring, PublicFact};
use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::below;
use organza_mechanism::{Purpose, RandomSource};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// The version of the canaries file that this library reads and writes.
const VERSION: u64 = 1;
/// The name under which a run's key gives canaries, and nothing else.
const NAME: &str = "canaries";
/// How many phrases that were never inserted stand beside those that were.
const LEAST_CONTROLS: u64 = 1_000;
/// Of so many tossed canaries one is guessed to be in, and one to be out.
const CANARIES_OF_A_GUESS: u64 = 10;
/// More than any test of ranks needs, and few enough to be held in memory a thousand times.
const MOST_CANARIES: u64 = 1_000_000;

/// Three words, by their ids.
pub type Phrase = [u32; 3];

/// Three words, each uniform over a vocabulary of `words` words and independent of the others.
pub fn random_phrase(words: usize, random: &mut PrivateRandom) -> Phrase {
    std::array::from_fn(|_| below(words as u64, random) as u32)
}

/// Phrases that are put into the training data, to be audited for: two sets for two kinds of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CanarySettings {
    /// How many phrases are inserted `repeats` times each, for the test of ranks.
    pub repeated: u64,
    /// How often each of them is inserted (n_c).
    pub repeats: u64,
    /// How many phrases are inserted once or not at all, each by its own fair coin, for the lower bound
    /// on epsilon.
    pub tossed: u64,
}

/// The substreams of canaries, each for one use.
enum Draw {
    Repeated,
    Tossed,
    Coins,
    Controls,
    Places,
    Audit,
}

/// A phrase that was inserted once or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TossedPhrase {
    /// The phrase.
    pub phrase: Phrase,
    /// What its own fair coin said.
    pub inserted: bool,
}

/// How many guesses an audit makes about tossed canaries: fixed before training, as the bound asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guesses {
    /// So many of the likeliest are guessed to have been inserted.
    pub inserted: u64,
    /// So many of the least likely are guessed to have been left out.
    pub left_out: u64,
}

/// All phrases that an audit of the run looks at, in the ids of its vocabulary.
///
/// # Privacy
/// They are nobody's data. They stay with the private files because an audit is worth something only
/// while whoever trains cannot choose by them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Canaries {
    /// The version of the format.
    pub version: u64,
    /// Phrases that were inserted `repeats` times each.
    pub repeated: Vec<Phrase>,
    /// How often (n_c).
    pub repeats: u64,
    /// Phrases of the same law that were never inserted.
    pub controls: Vec<Phrase>,
    /// Phrases that were inserted once or not at all.
    pub tossed: Vec<TossedPhrase>,
    /// How many guesses are made about them.
    pub guesses: Guesses,
    /// The seed of the audit's own draws, so that auditing twice gives the same figures.
    pub audit_seed: u64,
}

impl CanarySettings {
    /// The first of them that makes no sense: its flag, what it is, and what it must be. A tossed canary is there or not,
    /// so the promise has to be about data with and without a unit.
    pub fn problem(
        &self,
        neighbouring: Neighbouring,
    ) -> Option<(&'static str, String, &'static str)> {
        let Self { repeated, repeats, tossed } = *self;
        let (few, most) = (repeated <= MOST_CANARIES, "at most 1,000,000");
        let toss = tossed > 0;
        let is_added = neighbouring == Neighbouring::AddRemove;
        let added = "add-remove with --tossed-canaries: each of them is there or not";
        let rules = [
            (few, "--canaries", repeated.to_string(), most),
            (tossed <= MOST_CANARIES, "--tossed-canaries", tossed.to_string(), most),
            (
                (1..=1_000).contains(&repeats),
                "--canary-repeats",
                repeats.to_string(),
                "from 1 to 1,000",
            ),
            (!toss || is_added, "--neighbouring", neighbouring.to_string(), added),
            (!toss || tossed >= 10, "--tossed-canaries", tossed.to_string(), "0, or at least 10"),
        ];
        let broken = rules.into_iter().find(|(holds, ..)| !holds);
        broken.map(|(_, flag, value, expected)| (flag, value, expected))
    }

    /// What the certificate says about them; `counted` tells what they are to the account.
    pub fn fact(&self, counted: &str) -> PublicFact {
        let Self { repeated, repeats, tossed } = self;
        let mut parts = Vec::new();
        if *repeated > 0 {
            parts.push(format!("{repeated} random phrases were inserted {repeats} times each"));
        }
        if *tossed > 0 {
            parts.push(format!("{tossed} were inserted once or not, each by a fair coin"));
        }
        let value = format!("{}; {counted}", parts.join(", "));
        PublicFact::new(NAME, value)
    }
}

impl Canaries {
    /// Draws phrases over a vocabulary of `words` words. Words of a phrase are independent and uniform,
    /// and so are the phrases of each set, whether they are inserted or not.
    pub fn draw(asked: CanarySettings, words: usize, source: &RandomSource) -> Self {
        let source = source.named(NAME);
        let stream = |draw: Draw| source.substream(Purpose::Data, draw as u64, 0);
        let phrases = |count: u64, draw: Draw| -> Vec<Phrase> {
            let mut random = stream(draw);
            (0..count).map(|_| random_phrase(words, &mut random)).collect()
        };
        let repeated = phrases(asked.repeated, Draw::Repeated);
        let mut coins = stream(Draw::Coins);
        let tossed: Vec<TossedPhrase> = phrases(asked.tossed, Draw::Tossed)
            .into_iter()
            .map(|phrase| TossedPhrase { phrase, inserted: coins.word() & 1 == 1 })
            .collect();
        let inserted: HashSet<Phrase> = repeated
            .iter()
            .copied()
            .chain(tossed.iter().filter(|it| it.inserted).map(|it| it.phrase))
            .collect();
        let controls = phrases(asked.repeated.max(LEAST_CONTROLS), Draw::Controls)
            .into_iter()
            .filter(|phrase| !inserted.contains(phrase))
            .collect();
        let guesses = asked.tossed / CANARIES_OF_A_GUESS;
        Self {
            version: VERSION,
            repeated,
            repeats: asked.repeats,
            controls,
            tossed,
            guesses: Guesses { inserted: guesses, left_out: guesses },
            audit_seed: stream(Draw::Audit).word(),
        }
    }

    /// All that was inserted, each phrase as often as it was.
    pub fn inserted(&self) -> Vec<Phrase> {
        let repeats = usize::try_from(self.repeats).unwrap_or(usize::MAX);
        let repeated = self.repeated.iter().flat_map(|it| std::iter::repeat_n(*it, repeats));
        let tossed = self.tossed.iter().filter(|it| it.inserted).map(|it| it.phrase);
        repeated.chain(tossed).collect()
    }

    /// The randomness of the places where they come to stand.
    pub fn places(source: &RandomSource) -> PrivateRandom {
        source.named(NAME).substream(Purpose::Data, Draw::Places as u64, 0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const ASKED: CanarySettings = CanarySettings { repeated: 40, repeats: 3, tossed: 2_000 };

    #[test]
    fn the_same_key_gives_the_same_canaries() {
        let draw = |seed| Canaries::draw(ASKED, 100, &RandomSource::from_seed(seed));
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        let canaries = draw(1);
        assert_eq!((canaries.repeated.len(), canaries.tossed.len()), (40, 2_000));
        assert_eq!(canaries.guesses, Guesses { inserted: 200, left_out: 200 });
        assert!(canaries.controls.len() >= 990);
        assert!(canaries.controls.iter().all(|phrase| !canaries.repeated.contains(phrase)));
        let text = serde_json::to_string(&canaries).unwrap();
        assert_eq!(serde_json::from_str::<Canaries>(&text).unwrap(), canaries);
    }

    /// Coins are fair, and know nothing of the phrase: 2,000 coins in all and those of phrases whose
    /// first word is below the middle, five deviations each (false alarms below 1.2e-6).
    #[test]
    fn coins_are_fair_and_independent_of_the_phrase() {
        let canaries = Canaries::draw(ASKED, 100, &RandomSource::from_seed(7));
        let low: Vec<&TossedPhrase> =
            canaries.tossed.iter().filter(|it| it.phrase[0] < 50).collect();
        let heads =
            |tossed: &[&TossedPhrase]| tossed.iter().filter(|it| it.inserted).count() as f64;
        for tossed in [canaries.tossed.iter().collect::<Vec<_>>(), low] {
            let count = tossed.len() as f64;
            let away = (heads(&tossed) - count / 2.0) / (count / 4.0).sqrt();
            assert!(away.abs() < 5.0, "{away} deviations in {count}");
        }
    }

    #[test]
    fn a_phrase_is_inserted_as_often_as_it_was_asked_for() {
        let canaries = Canaries::draw(ASKED, 100, &RandomSource::from_seed(3));
        let inserted = canaries.inserted();
        let heads = canaries.tossed.iter().filter(|it| it.inserted).count();
        assert_eq!(inserted.len(), 3 * 40 + heads);
        assert_eq!(inserted[..3], [canaries.repeated[0]; 3]);
        assert!(canaries.controls.iter().all(|phrase| !inserted.contains(phrase)));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let problem = |asked: CanarySettings, neighbouring| asked.problem(neighbouring);
        let flag = |asked, neighbouring| problem(asked, neighbouring).map(|(flag, ..)| flag);
        let (add, replace) = (Neighbouring::AddRemove, Neighbouring::ReplaceOne);
        assert_eq!(flag(ASKED, add), None);
        assert_eq!(flag(ASKED, replace), Some("--neighbouring"));
        assert_eq!(flag(CanarySettings { tossed: 0, ..ASKED }, replace), None);
        assert_eq!(flag(CanarySettings { tossed: 9, ..ASKED }, add), Some("--tossed-canaries"));
        assert_eq!(flag(CanarySettings { repeats: 0, ..ASKED }, add), Some("--canary-repeats"));
        assert_eq!(flag(CanarySettings { repeated: 2_000_000, ..ASKED }, add), Some("--canaries"));
    }
}
