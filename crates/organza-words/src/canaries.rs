//! The canaries of a run in its training data.

use crate::settings::Settings;
use organza_data::split::Split;
use organza_data::{Canaries, CanarySettings, DataError, Objective, Samples, insert_phrases};
use organza_ledger::{PublicFact, Unit};
use organza_mechanism::RandomSource;

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
        units_of_line(self.privacy.unit, self.model.architecture, self.model.window)
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
    let counted = format!(
        "the rate and the number of steps count them as {} more units ({}), a number that does not depend on the data",
        public_units(settings),
        settings.privacy.unit
    );
    Some(settings.canaries?.fact(&counted))
}

/// Puts canaries into the training data.
pub(crate) fn plant(
    canaries: Canaries,
    samples: Samples,
    split: Split,
    source: &RandomSource,
) -> Result<(Samples, Split, Planted), DataError> {
    let lines = canaries.inserted();
    let of_line = units_of_line(split.train.unit(), samples.objective(), samples.window());
    let planted = Planted { units: of_line * lines.len() as u64, canaries };
    let (samples, split) = insert_phrases(samples, split, &lines, &mut Canaries::places(source))?;
    Ok((samples, split, planted))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const ASKED: CanarySettings = CanarySettings { repeated: 40, repeats: 3, tossed: 2_000 };

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
            let (_, split, planted) = plant(canaries, samples, split, &source).unwrap();
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
