//! The canaries of a run: what was put into its training data on purpose, and what was left out.

use crate::settings::{CanarySettings, Settings};
use organza_data::split::Split;
use organza_data::{DataError, Objective, Phrase, Samples, insert_phrases, random_phrase};
use organza_ledger::{PublicFact, Unit};
use organza_mechanism::{Purpose, RandomSource};
use organza_train::{CANARIES, FolderError, RunFolder};
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
pub struct Tossed {
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
    pub tossed: Vec<Tossed>,
    /// How many guesses are made about them.
    pub guesses: Guesses,
    /// The seed of the audit's own draws, so that auditing twice gives the same figures.
    pub audit_seed: u64,
}

/// Canaries in the training data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planted {
    /// The canaries.
    pub canaries: Canaries,
    /// The units that they truly are, those that coins let in included.
    pub(crate) units: u64,
}

/// By how much canaries make the public number of units larger: all repeated ones, and half of the
/// tossed ones, whatever the coins said.
pub(crate) fn public_units(settings: &Settings) -> u64 {
    settings.canaries.map_or(0, |CanarySettings { repeated, repeats, tossed }| {
        let lines = repeated.saturating_mul(repeats).saturating_add(tossed / 2);
        lines.saturating_mul(settings.units_of_phrase())
    })
}

impl Settings {
    /// How many units a phrase of three words in a line of its own is.
    pub fn units_of_phrase(&self) -> u64 {
        units_of_line(self.privacy.unit, self.objective(), self.model.window)
    }
}

fn units_of_line(unit: Unit, objective: Objective, window: u32) -> u64 {
    match unit {
        Unit::Pair => objective.samples_of(3, window),
        _ => 1,
    }
}

/// What the certificate says about them.
pub(crate) fn fact(settings: &Settings) -> Option<PublicFact> {
    let CanarySettings { repeated, repeats, tossed } = settings.canaries?;
    let mut parts = Vec::new();
    if repeated > 0 {
        parts.push(format!("{repeated} random phrases were inserted {repeats} times each"));
    }
    if tossed > 0 {
        parts.push(format!("{tossed} were inserted once or not, each by a fair coin"));
    }
    let value = format!(
        "{}; the rate and the number of steps count them as {} more units ({}), a number that does not \
         depend on the data",
        parts.join(", "),
        public_units(settings),
        settings.privacy.unit
    );
    Some(PublicFact { name: NAME.to_owned(), value })
}

impl Canaries {
    /// What was put into the training data of the run in `folder`, to be audited for; `None` if nothing was.
    ///
    /// # Errors
    /// If the file is there and cannot be read.
    pub fn read(folder: &RunFolder) -> Result<Option<Self>, FolderError> {
        let path = folder.private(CANARIES);
        let Some(bytes) = folder.read(&path)? else { return Ok(None) };
        let canaries = serde_json::from_slice(&bytes).map_err(std::io::Error::from);
        canaries.map(Some).map_err(FolderError::file("read", &path))
    }

    /// Draws phrases over a vocabulary of `words` words. Words of a phrase are independent and uniform,
    /// and so are the phrases of each set, whether they are inserted or not.
    pub(crate) fn draw(asked: CanarySettings, words: usize, source: &RandomSource) -> Self {
        let source = source.named(NAME);
        let stream = |draw: Draw| source.substream(Purpose::Data, draw as u64, 0);
        let phrases = |count: u64, draw: Draw| -> Vec<Phrase> {
            let mut random = stream(draw);
            (0..count).map(|_| random_phrase(words, &mut random)).collect()
        };
        let repeated = phrases(asked.repeated, Draw::Repeated);
        let mut coins = stream(Draw::Coins);
        let tossed: Vec<Tossed> = phrases(asked.tossed, Draw::Tossed)
            .into_iter()
            .map(|phrase| Tossed { phrase, inserted: coins.word() & 1 == 1 })
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

    /// Puts them into the training data.
    pub(crate) fn plant(
        self,
        samples: Samples,
        split: Split,
        source: &RandomSource,
    ) -> Result<(Samples, Split, Planted), DataError> {
        let repeats = usize::try_from(self.repeats).unwrap_or(usize::MAX);
        let mut lines: Vec<Phrase> =
            self.repeated.iter().flat_map(|phrase| std::iter::repeat_n(*phrase, repeats)).collect();
        lines.extend(self.tossed.iter().filter(|it| it.inserted).map(|it| it.phrase));
        let of_line = units_of_line(split.train.unit(), samples.objective(), samples.window());
        let planted = Planted { units: of_line * lines.len() as u64, canaries: self };
        let mut random = source.named(NAME).substream(Purpose::Data, Draw::Places as u64, 0);
        let (samples, split) = insert_phrases(samples, split, &lines, &mut random)?;
        Ok((samples, split, planted))
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
        let low: Vec<&Tossed> = canaries.tossed.iter().filter(|it| it.phrase[0] < 50).collect();
        let heads = |tossed: &[&Tossed]| tossed.iter().filter(|it| it.inserted).count() as f64;
        for tossed in [canaries.tossed.iter().collect::<Vec<_>>(), low] {
            let count = tossed.len() as f64;
            let away = (heads(&tossed) - count / 2.0) / (count / 4.0).sqrt();
            assert!(away.abs() < 5.0, "{away} deviations in {count}");
        }
    }

    #[test]
    fn the_public_number_does_not_depend_on_the_coins() {
        let planted = |seed| {
            let source = RandomSource::from_seed(seed);
            let text = organza_data::Synthetic::new(1, 200);
            let text = organza_data::TokenisedText::read(
                &text,
                &organza_data::Tokeniser::default(),
                organza_data::Layout::Lines,
            );
            let text = text.unwrap();
            let shares = organza_data::split::Shares { validation: 0.1, test: 0.1 };
            let sides = organza_data::split::Sides::by_unit(&text, Unit::Line, shares, 1).unwrap();
            let words = organza_data::VocabularySource::vocabulary(
                &organza_data::DeclaredPublic { minimum_count: Some(1), size: None },
                &text,
            );
            let words = words.unwrap().vocabulary;
            let objective = Objective::SkipGram;
            let samples = Samples::new(text.into_corpus(&words), objective, 4).unwrap();
            let split = sides.split(&samples).unwrap();
            let before = split.train.len();
            let canaries = Canaries::draw(ASKED, words.len(), &source);
            let heads = canaries.tossed.iter().filter(|it| it.inserted).count() as u64;
            let (_, split, planted) = canaries.plant(samples, split, &source).unwrap();
            assert_eq!(planted.units, 120 + heads);
            assert_eq!(split.train.len(), before + planted.units);
            planted
        };
        let (one, other) = (planted(1), planted(2));
        assert_ne!(one.units, other.units);
        let mut settings = Settings::standard();
        settings.canaries = Some(ASKED);
        assert_eq!(public_units(&settings), 1_120);
        assert!(fact(&settings).unwrap().value.contains("1120 more units (line)"));
        settings.privacy.unit = Unit::Pair;
        assert_eq!(public_units(&settings), 6 * 1_120);
    }
}
