//! What word embeddings release before the first step: vocabulary, unit sizes, word counts, pair counts.

use crate::settings::{CountsSettings, Method, Settings, SplitSettings, VocabularyOrigin};
use organza_data::cooccurrence::{
    CooccurrenceSettings, PairCounts, PairTable, UnitSizes, WordCounts,
};
use organza_data::{DataError, PrivateVocabularyPlan, PrivateVocabularySettings};
use organza_ledger::{Event, Unit};
use organza_mechanism::{CountNoise, ItemRule, NoisyCount};
use organza_model::counts::DENSE_WORDS;
use organza_train::Phase;
use organza_train::settings::RunSettings;

/// The part of delta that a private vocabulary may spend: the chance that a word of one unit alone shows.
const VOCABULARY_DELTA: f64 = 0.1;

/// The share of epsilon for the sizes of units, from which clips are chosen: little noise on a histogram
/// of thousands of units.
const SIZE_SHARE: f64 = 0.02;
/// At most so much of what word and pair counts have together, so that something is left for them.
const MOST_OF_COUNTS: f64 = 0.25;

/// Without a bar of its own, a wide table has the lowest one that at most so many empty cells reach by
/// their noise, in expectation: what is released follows what occurs, whatever the law of the noise and
/// however many cells there are. A lower bar loses less of what the noise does not hide.
const FALSE_CELLS: f64 = 1e6;
/// No noise reaches so many deviations in any table, and so many halvings of that are exact enough.
const MOST_DEVIATIONS: f64 = 64.0;
const HALVINGS: u32 = 30;

/// What is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Released {
    pub(crate) vocabulary: bool,
    /// The sizes of units, where clips were not declared.
    pub(crate) sizes: bool,
    pub(crate) words: bool,
    pub(crate) pairs: bool,
    /// The number of units, which sets the rate of steps.
    pub(crate) units: bool,
    pub(crate) steps: bool,
}

impl Released {
    /// The phases of private training; without privacy nothing is released but by steps.
    pub(crate) fn of(settings: &Settings) -> Self {
        let Settings { method, counts, .. } = settings;
        let is_private = *method != Method::None;
        let pairs = *method == Method::Counts;
        let words = is_private && counts.word_share > 0.0;
        let steps = !pairs || counts.fine_tuning_share > 0.0;
        let undeclared = words && counts.word_clip.is_none() || pairs && counts.pair_clip.is_none();
        Self {
            vocabulary: is_private && settings.data.has_own_words(),
            sizes: undeclared && settings.privacy.unit != Unit::Pair,
            words,
            pairs,
            units: is_private && steps && !has_public_units(settings),
            steps,
        }
    }
}

/// Whether the number of training units needs no release: it was declared, or all neighbours have the same.
///
/// Lines and users are held out by what they are, so a unit that is replaced may leave or join the
/// training data. With pairs the guarantee is for the training pairs, after the split; but where the words are
/// released a record is a pair with the words between its ends, and one that is replaced may become a training pair
/// where the other did not.
fn has_public_units(settings: &Settings) -> bool {
    let Settings { data, privacy, .. } = settings;
    let held_out = match data.split {
        SplitSettings::Units { validation, test } => validation > 0.0 || test > 0.0,
        SplitSettings::PaperShuffled | SplitSettings::WholeTexts => true,
    };
    let stays = match privacy.unit {
        Unit::Pair => !settings.data.has_own_words(),
        _ => !held_out,
    };
    privacy.units.is_some() || NoisyCount::is_public(privacy.neighbouring) && stays
}

/// Whether released words decide what later events are, and so are charged as what decides ([`Event::Added`]).
///
/// # Privacy
/// - `sparse`: how much is selected, among how many, follows the number of words. Noise on everything does not, but
///   where it can be left for later: whether it is, and the grid that costs a part of delta, follow the width of the table.
/// - Unit `pair`, where the number of units is released: only words of the vocabulary make pairs, so the law of that
///   number follows the words, and with it rate, steps and noise. The number of lines or users does not: see
///   [`Sides`](organza_data::split::Sides), where the proof stands.
pub(crate) fn words_decide(settings: &Settings) -> bool {
    let Released { vocabulary, units, .. } = Released::of(settings);
    let counted = units && settings.privacy.unit == Unit::Pair;
    let selects = settings.method == Method::Sparse;
    vocabulary && (selects || counted || settings.engine().may_defer())
}

/// The shares of epsilon up to and with each phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shares {
    /// The vocabulary alone.
    pub(crate) vocabulary: f64,
    /// And the word counts.
    pub(crate) words: f64,
    /// And the pair counts.
    pub(crate) pairs: f64,
}

impl Shares {
    pub(crate) fn of(settings: &Settings) -> Self {
        let CountsSettings { vocabulary_share, word_share, fine_tuning_share, .. } =
            settings.counts;
        let vocabulary = if Released::of(settings).vocabulary { vocabulary_share } else { 0.0 };
        Self { vocabulary, words: vocabulary + word_share, pairs: 1.0 - fine_tuning_share }
    }
}

/// The name of the phase that releases the vocabulary.
pub(crate) const VOCABULARY: &str = "vocabulary";
/// The name of the phase that releases unit sizes, word counts and pair counts.
pub(crate) const COUNTS: &str = "counts";

/// The phases, in their order. They cost the same whatever the words and the clips turn out to be.
pub(crate) fn phases(settings: &Settings) -> Vec<Phase<'_>> {
    let shares = Shares::of(settings);
    let Released { vocabulary, sizes, words, pairs, .. } = Released::of(settings);
    let mut phases = Vec::new();
    if vocabulary {
        phases.push(Phase {
            name: VOCABULARY,
            releases: vec!["vocabulary"],
            until: shares.vocabulary,
            events: Box::new(|noise| Ok(vec![vocabulary_plan(settings, noise)?.event()])),
        });
    }
    let counted = [(sizes, "unit sizes"), (words, "word counts"), (pairs, "pair counts")];
    let releases: Vec<&str> =
        counted.into_iter().filter(|(released, _)| *released).map(|(_, name)| name).collect();
    if words || pairs {
        phases.push(Phase {
            name: COUNTS,
            releases,
            until: if pairs { shares.pairs } else { shares.words },
            events: Box::new(|noise| Ok(CountNoises::new(settings, noise).events(settings)?)),
        });
    }
    phases
}

/// How the vocabulary is released. A unit of one pair has Laplace noise on its two words; a larger one divides a
/// weight of 1 among its words in every round.
pub(crate) fn vocabulary_plan(
    settings: &Settings,
    noise: f64,
) -> Result<PrivateVocabularyPlan, DataError> {
    let privacy = &settings.privacy;
    let delta = VOCABULARY_DELTA * privacy.delta;
    let (words_per_unit, rule) = match (privacy.unit, &settings.data.vocabulary) {
        (Unit::Pair, _) => (2, ItemRule::Laplace { epsilon: 1.0 / noise, delta }),
        (_, VocabularyOrigin::Private { words_per_unit, .. }) => {
            (*words_per_unit, ItemRule::AdaptiveGaussian { multiplier: noise, delta })
        }
        (_, VocabularyOrigin::File(_) | VocabularyOrigin::DeclaredPublic) => {
            (1, ItemRule::AdaptiveGaussian { multiplier: noise, delta })
        }
    };
    let plan = PrivateVocabularyPlan::new(PrivateVocabularySettings {
        unit: privacy.unit,
        window: settings.model.window,
        neighbouring: privacy.neighbouring,
        size: settings.data.vocabulary_size,
        words_per_unit,
        rule,
    })?;
    Ok(if words_decide(settings) { plan.deciding() } else { plan })
}

/// The noise of unit sizes, of word counts and of pair counts, if any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CountNoises {
    /// What releasing the sizes of units costs, where clips were not declared.
    pub(crate) sizes: Option<f64>,
    pub(crate) words: Option<CountNoise>,
    pub(crate) pairs: Option<CountNoise>,
}

/// The L2 bounds of a unit's counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Clips {
    pub(crate) words: f64,
    pub(crate) pairs: f64,
}

impl CountNoises {
    /// Words and pairs have one noise together: of what they may spend, words get `word_share` parts and
    /// pairs the rest, as parts of epsilon for Laplace noise and of 1 / deviation^2 for Gaussian noise.
    /// Before them, the sizes of units get [`SIZE_SHARE`] of epsilon, and no more than [`MOST_OF_COUNTS`]
    /// of what there is for counts, unless clips were declared.
    pub(crate) fn new(settings: &Settings, noise: f64) -> Self {
        let shares = Shares::of(settings);
        let Released { sizes, words, pairs, .. } = Released::of(settings);
        let until = if pairs { shares.pairs } else { shares.words };
        let size_share = SIZE_SHARE.min(MOST_OF_COUNTS * (until - shares.vocabulary));
        let part = match (words, pairs) {
            (false, _) => 0.0,
            (true, false) => 1.0,
            (true, true) => settings.counts.word_share / (shares.pairs - shares.vocabulary),
        };
        let kind =
            |part: f64| (part > 0.0).then(|| count_noise(settings.privacy.unit, noise, part));
        Self {
            sizes: sizes.then(|| settings.privacy.epsilon.unwrap_or(1.0) * size_share),
            words: kind(part),
            pairs: if pairs { kind(1.0 - part) } else { None },
        }
    }

    /// What they cost, which depends neither on the number of words nor on the clips.
    pub(crate) fn events(&self, settings: &Settings) -> Result<Vec<Event>, DataError> {
        let (least, clips) = (2, Clips { words: 1.0, pairs: 1.0 });
        let sizes = self.sizes.map(|epsilon| unit_sizes(settings, epsilon)).transpose()?;
        let words = self.words.map(|noise| word_counts(settings, clips, least, noise));
        let pairs = self.pairs.map(|noise| pair_counts(settings, clips, least, noise));
        let sizes = sizes.iter().map(UnitSizes::event);
        let words = words.transpose()?;
        let pairs = pairs.transpose()?;
        let counts = words.iter().map(WordCounts::event).chain(pairs.iter().map(PairCounts::event));
        Ok(sizes.chain(counts).collect())
    }
}

fn count_noise(unit: Unit, noise: f64, part: f64) -> CountNoise {
    match unit {
        Unit::Pair => CountNoise::DiscreteLaplace { epsilon: part / noise },
        _ => CountNoise::RoundedGaussian { multiplier: noise / part.sqrt() },
    }
}

/// The plan of the sizes of units.
pub(crate) fn unit_sizes(settings: &Settings, epsilon: f64) -> Result<UnitSizes, DataError> {
    UnitSizes::new(settings.privacy.neighbouring, epsilon)
}

/// The plan of word counts over `words` words.
pub(crate) fn word_counts(
    settings: &Settings,
    clips: Clips,
    words: u32,
    noise: CountNoise,
) -> Result<WordCounts, DataError> {
    WordCounts::new(shared(settings, words, noise, clips.words, None))
}

/// The plan of pair counts over `words` words.
pub(crate) fn pair_counts(
    settings: &Settings,
    clips: Clips,
    words: u32,
    noise: CountNoise,
) -> Result<PairCounts, DataError> {
    let over = |words, bar| PairCounts::new(shared(settings, words, noise, clips.pairs, bar));
    let plan = |bar| over(words, bar);
    // What noise does to one cell does not depend on the number of words.
    let small = |bar| over(2, bar);
    let deviation = small(None)?.histogram_plan().deviation();
    let bar = match settings.counts.bar {
        Some(deviations) => deviations * deviation,
        None if words <= DENSE_WORDS => return plan(None),
        None => {
            let most = FALSE_CELLS / PairTable::new(words).cells() as f64;
            let (mut low, mut high) = (0.0, MOST_DEVIATIONS * deviation);
            for _ in 0..HALVINGS {
                let middle = (low + high) / 2.0;
                // A bar that noise never reaches is refused by the plan: it is too high as well.
                match small(Some(middle)) {
                    Ok(plan) if plan.histogram_plan().chance_above(0.0) > most => low = middle,
                    _ => high = middle,
                }
            }
            high
        }
    };
    plan(Some(bar))
}

fn shared(
    settings: &Settings,
    words: u32,
    noise: CountNoise,
    clip: f64,
    bar: Option<f64>,
) -> CooccurrenceSettings {
    let unit = settings.privacy.unit;
    CooccurrenceSettings {
        unit,
        words,
        neighbouring: settings.privacy.neighbouring,
        noise,
        clip: (unit != Unit::Pair).then_some(clip),
        bar,
    }
}

#[cfg(test)]
mod tests;
