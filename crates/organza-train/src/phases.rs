//! What is released before the first step, and how one budget pays for all of it.

use crate::calibration::CalibrationError;
use crate::session::SessionError;
use crate::settings::{CountsSettings, Method, Settings, SplitSettings, VocabularyOrigin};
use organza_accountant::calibrate::{Target, scale};
use organza_data::cooccurrence::{
    CooccurrenceSettings, PairCounts, PairTable, PairWeights, UnitSizes, WordCounts,
};
use organza_data::{DataError, PrivateVocabularyPlan, PrivateVocabularySettings, VocabularyRule};
use organza_ledger::{Event, Unit};
use organza_mechanism::{CountNoise, NoisyCount};
use organza_model::counts::DENSE_WORDS;

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

/// The least noise at which `before` and what `event` makes of it cost at most `share` of epsilon; or
/// the noise that was asked for.
///
/// # Privacy
/// It depends on settings alone. The account composes all events of `before` with the new one, so what
/// one phase leaves over is spent by the next.
pub(crate) fn noise(
    settings: &Settings,
    before: &[Event],
    share: f64,
    event: impl Fn(f64) -> Option<Event>,
) -> Result<f64, CalibrationError> {
    let privacy = &settings.privacy;
    match (privacy.noise_multiplier, privacy.epsilon) {
        (Some(multiplier), _) => Ok(multiplier),
        (None, Some(epsilon)) => {
            let target = Target::new(share * epsilon, privacy.delta);
            let target = Target { neighbouring: privacy.neighbouring, ..target };
            let all = |noise| {
                let before = before.iter().cloned();
                Some(Event::Compose(before.chain([event(noise)?]).collect()))
            };
            Ok(scale(&target, all)?.0)
        }
        (None, None) => Err(CalibrationError::NoBudget),
    }
}

/// Which phases there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Releases {
    pub(crate) vocabulary: bool,
    /// The sizes of units, where clips were not declared.
    pub(crate) sizes: bool,
    pub(crate) words: bool,
    pub(crate) pairs: bool,
    /// The number of units, which sets the rate of steps.
    pub(crate) units: bool,
    pub(crate) steps: bool,
}

impl Releases {
    /// The phases of private training; without privacy nothing is released but by steps.
    pub(crate) fn of(settings: &Settings) -> Self {
        let Settings { data, method, counts, .. } = settings;
        let is_private = *method != Method::None;
        let own_words = matches!(data.vocabulary, VocabularyOrigin::Private { .. });
        let pairs = *method == Method::Counts;
        let words = is_private && counts.word_share > 0.0;
        let steps = !pairs || counts.fine_tuning_share > 0.0;
        let undeclared = words && counts.word_clip.is_none() || pairs && counts.pair_clip.is_none();
        Self {
            vocabulary: is_private && own_words && data.path.is_some(),
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
/// training data. With pairs the guarantee is for the training pairs, after the split.
fn has_public_units(settings: &Settings) -> bool {
    let Settings { data, privacy, .. } = settings;
    let held_out = match data.split {
        SplitSettings::Units { validation, test } => validation > 0.0 || test > 0.0,
        SplitSettings::PaperShuffled | SplitSettings::WholeTexts => true,
    };
    let same =
        NoisyCount::is_public(privacy.neighbouring) && (!held_out || privacy.unit == Unit::Pair);
    privacy.units.is_some() || same
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
        let vocabulary = if Releases::of(settings).vocabulary { vocabulary_share } else { 0.0 };
        Self { vocabulary, words: vocabulary + word_share, pairs: 1.0 - fine_tuning_share }
    }
}

/// How the vocabulary is released. A unit of one pair has Laplace noise on its two words; a larger one has
/// Gaussian noise on counts of 1 / sqrt(its words), so that units with few words count more for each.
pub(crate) fn vocabulary(
    settings: &Settings,
    words_per_unit: u64,
) -> Result<PrivateVocabularyPlan, SessionError> {
    let privacy = &settings.privacy;
    let delta = VOCABULARY_DELTA * privacy.delta;
    // How much is selected, among how many, follows the number of words; noise on everything does not.
    let decides = settings.method == Method::Sparse;
    let at = |noise: f64| {
        let (words_per_unit, rule) = match privacy.unit {
            Unit::Pair => (2, VocabularyRule::Laplace { epsilon: 1.0 / noise, delta }),
            _ => (words_per_unit, VocabularyRule::WeightedGaussian { multiplier: noise, delta }),
        };
        let plan = PrivateVocabularyPlan::new(PrivateVocabularySettings {
            unit: privacy.unit,
            window: settings.model.window,
            neighbouring: privacy.neighbouring,
            size: settings.data.vocabulary_size,
            words_per_unit,
            rule,
        })?;
        Ok::<_, DataError>(if decides { plan.deciding() } else { plan })
    };
    // A first look, so that settings that make no sense are named as such.
    at(1.0)?;
    let share = Shares::of(settings).vocabulary;
    Ok(at(noise(settings, &[], share, |noise| at(noise).ok().map(|plan| plan.event()))?)?)
}

/// The noise of unit sizes, of word counts and of pair counts, if any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CountPhases {
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

impl CountPhases {
    /// Calibrates words and pairs together: of what they may spend, words get `word_share` parts and
    /// pairs the rest, as parts of epsilon for Laplace noise and of 1 / deviation^2 for Gaussian noise.
    /// Before them, the sizes of units get [`SIZE_SHARE`] of epsilon, and no more than [`MOST_OF_COUNTS`]
    /// of what there is for counts, unless clips were declared.
    pub(crate) fn new(settings: &Settings, before: &[Event]) -> Result<Self, SessionError> {
        let shares = Shares::of(settings);
        let Releases { sizes, words, pairs, .. } = Releases::of(settings);
        if !words && !pairs {
            return Ok(Self { sizes: None, words: None, pairs: None });
        }
        let until = if pairs { shares.pairs } else { shares.words };
        let size_share = SIZE_SHARE.min(MOST_OF_COUNTS * (until - shares.vocabulary));
        let sizes = sizes.then(|| settings.privacy.epsilon.unwrap_or(1.0) * size_share);
        let part = if pairs {
            settings.counts.word_share / (shares.pairs - shares.vocabulary)
        } else {
            1.0
        };
        let at = |noise: f64| {
            let kind =
                |part: f64| (part > 0.0).then(|| count_noise(settings.privacy.unit, noise, part));
            Self { sizes, words: kind(part), pairs: kind(1.0 - part) }
        };
        // A first look, so that settings that make no sense are named as such.
        at(1.0).events(settings)?;
        let event = |noise: f64| at(noise).events(settings).ok().map(Event::Compose);
        Ok(at(noise(settings, before, until, event)?))
    }

    /// What they cost, which depends neither on the number of words nor on the clips.
    pub(crate) fn events(&self, settings: &Settings) -> Result<Vec<Event>, SessionError> {
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
pub(crate) fn unit_sizes(settings: &Settings, epsilon: f64) -> Result<UnitSizes, SessionError> {
    Ok(UnitSizes::new(settings.privacy.neighbouring, epsilon)?)
}

/// The plan of word counts over `words` words.
pub(crate) fn word_counts(
    settings: &Settings,
    clips: Clips,
    words: u32,
    noise: CountNoise,
) -> Result<WordCounts, SessionError> {
    Ok(WordCounts::new(shared(settings, words, noise, clips.words, None))?)
}

/// The plan of pair counts over `words` words.
pub(crate) fn pair_counts(
    settings: &Settings,
    clips: Clips,
    words: u32,
    noise: CountNoise,
) -> Result<PairCounts, SessionError> {
    let over = |words, bar| PairCounts::new(shared(settings, words, noise, clips.pairs, bar));
    let plan = |bar| over(words, bar);
    // What noise does to one cell does not depend on the number of words.
    let small = |bar| over(2, bar);
    let deviation = small(None)?.histogram_plan().deviation();
    let bar = match settings.counts.bar {
        Some(deviations) => deviations * deviation,
        None if words <= DENSE_WORDS => return Ok(plan(None)?),
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
    Ok(plan(Some(bar))?)
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
        weights: PairWeights::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use organza_accountant::Accountant;
    use organza_ledger::{Account, Neighbouring};

    const CLIPS: Clips = Clips { words: 20.0, pairs: 20.0 };

    /// However small the share of counts, the sizes of units leave most of it to them.
    #[test]
    fn unit_sizes_leave_something_for_counts() {
        for word_share in [0.001, 0.01, 0.05, 0.3] {
            let mut settings = Settings::standard().suited_to(Method::Dpsgd);
            settings.privacy.epsilon = Some(3.0);
            settings.data.vocabulary = VocabularyOrigin::DeclaredPublic;
            settings.counts.word_share = word_share;
            let phases = CountPhases::new(&settings, &[]).expect("some noise fits");
            let sizes = phases.sizes.expect("clips were not declared");
            assert_eq!(sizes, 3.0 * f64::min(0.02, 0.25 * word_share));
            let account = Accountant::new(settings.privacy.neighbouring);
            let events = phases.events(&settings).expect("good settings");
            let spent = Account::epsilon(&account, &events, settings.privacy.delta);
            let spent = spent.expect("supported");
            assert!(spent <= 3.0 * word_share, "{spent}");
        }
    }

    /// Selection follows the number of words, so words are charged as what decides: what is left for steps is what
    /// is left by plain subtraction. The twin, charged tightly, would leave more.
    #[test]
    fn words_that_decide_are_added_as_they_are() {
        for unit in [Unit::Pair, Unit::Line] {
            let plan = |method| {
                let mut settings = Settings::standard().suited_to(method);
                settings.privacy.epsilon = Some(3.0);
                settings.privacy.unit = unit;
                settings.data.path = Some("text".into());
                settings.data.vocabulary = VocabularyOrigin::Private { words_per_unit: 64 };
                let share = 3.0 * Shares::of(&settings).vocabulary;
                (vocabulary(&settings, 64).expect("good settings").event(), share, settings)
            };
            let left = |method| {
                let (words, share, settings) = plan(method);
                let account = Accountant::new(settings.privacy.neighbouring);
                let epsilon = |events: &[Event]| {
                    Account::epsilon(&account, events, settings.privacy.delta).expect("supported")
                };
                assert!((0.98 * share..=share).contains(&epsilon(std::slice::from_ref(&words))));
                let steps = Event::Gaussian { noise_multiplier: 2.0 };
                epsilon(&[words, steps.clone()]) - epsilon(&[steps])
            };
            let share = plan(Method::Sparse).1;
            assert!(left(Method::Sparse) > 0.95 * share, "{}", left(Method::Sparse));
            assert!(left(Method::Dpsgd) < 0.9 * share, "{}", left(Method::Dpsgd));
        }
    }

    /// What decides never costs less than the same release by tight composition. The twin, which takes the
    /// concentrated rho of Gaussian noise for an epsilon, would.
    #[test]
    fn what_decides_costs_no_less() {
        let (delta, share) = (1e-6, 1e-7);
        let account = Accountant::new(Neighbouring::AddRemove);
        let epsilon =
            |event: Event| Account::epsilon(&account, &[event], delta).expect("supported");
        for noise in [0.5, 2.0, 10.0] {
            for rule in [
                VocabularyRule::Laplace { epsilon: 1.0 / noise, delta: share },
                VocabularyRule::Gaussian { multiplier: noise, delta: share },
                VocabularyRule::WeightedGaussian { multiplier: noise, delta: share },
            ] {
                let plan = PrivateVocabularyPlan::new(PrivateVocabularySettings {
                    unit: Unit::Line,
                    window: 4,
                    neighbouring: Neighbouring::AddRemove,
                    size: None,
                    words_per_unit: 8,
                    rule,
                });
                let plan = plan.expect("good settings");
                let tight = epsilon(plan.event());
                assert!(epsilon(plan.deciding().event()) >= tight, "{rule:?}");
                let twin = Event::Deciding { epsilon: 0.5 / (noise * noise) };
                let is_gaussian = !matches!(rule, VocabularyRule::Laplace { .. });
                assert!(!is_gaussian || epsilon(twin) < tight, "{rule:?}");
            }
        }
    }

    /// Where lines are held out by what they are, a replaced line may leave the training data.
    #[test]
    fn the_number_of_units_is_released_where_neighbours_differ_in_it() {
        let released = |neighbouring, unit, held_out, units| {
            let mut settings = Settings::standard().suited_to(Method::Dpsgd);
            settings.data.split = SplitSettings::Units { validation: held_out, test: 0.0 };
            settings.privacy.neighbouring = neighbouring;
            settings.privacy.unit = unit;
            settings.privacy.units = units;
            Releases::of(&settings).units
        };
        let (added, replaced) = (Neighbouring::AddRemove, Neighbouring::ReplaceOne);
        for unit in [Unit::Line, Unit::User] {
            assert!(released(replaced, unit, 0.1, None));
            assert!(!released(replaced, unit, 0.0, None));
            assert!(!released(replaced, unit, 0.1, Some(1_000)));
        }
        assert!(!released(replaced, Unit::Pair, 0.1, None));
        assert!(released(added, Unit::Pair, 0.0, None) && released(added, Unit::Line, 0.0, None));
        assert!(!released(added, Unit::Line, 0.1, Some(1_000)));
    }

    /// A wide table has as many false cells as it may, for either law of noise: one step lower there
    /// would be too many.
    #[test]
    fn few_empty_cells_reach_the_bar_of_a_wide_table() {
        let laplace = CountNoise::DiscreteLaplace { epsilon: 2.55 };
        let gaussian = CountNoise::RoundedGaussian { multiplier: 1.5 };
        for (unit, noise, step) in [(Unit::Pair, laplace, 1.0), (Unit::Line, gaussian, 0.01)] {
            let mut settings = Settings::standard();
            settings.privacy.unit = unit;
            for words in [10_000, 100_000] {
                let false_cells = |words: u32, asked: Option<f64>| {
                    let mut settings = settings.clone();
                    settings.counts.bar = asked;
                    let plan = pair_counts(&settings, CLIPS, words, noise);
                    let plan = plan.expect("good settings");
                    let plan = plan.histogram_plan();
                    let bar = plan.bar().expect("wide tables have one") / plan.deviation();
                    (plan.chance_above(0.0) * PairTable::new(words).cells() as f64, bar)
                };
                let (few, bar) = false_cells(words, None);
                assert!(few <= FALSE_CELLS, "{few}");
                let lower = pair_counts(&settings, CLIPS, 2, noise);
                let deviation = lower.expect("good settings").histogram_plan().deviation();
                let (more, _) = false_cells(words, Some(bar - step / deviation));
                assert!(more > FALSE_CELLS, "{more}");
            }
            let dense = pair_counts(&settings, CLIPS, DENSE_WORDS, noise);
            assert_eq!(dense.expect("good settings").histogram_plan().bar(), None);
        }
    }
}
