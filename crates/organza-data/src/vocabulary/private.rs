//! A vocabulary that is released by a mechanism.

use super::Vocabulary;
use crate::split::write_line;
use crate::{DataError, SENTENCE_END, TokenisedText};
use organza_ledger::{Charged, Event, Neighbouring, Unit};
use organza_mechanism::{
    ItemCounts, ItemRule, ItemSettings, ItemsPlan, PlanError, RandomSource, Release,
};
use std::collections::HashSet;

/// The words of a training pair.
const WORDS_OF_PAIR: u64 = 2;

/// Settings of a private vocabulary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrivateVocabularySettings {
    /// What is protected as one: a training pair, a line or a user.
    pub unit: Unit,
    /// How far the words of a training pair stand apart at the most; for the unit `pair` alone.
    pub window: u32,
    /// The relation for which the event is stated.
    pub neighbouring: Neighbouring,
    /// How many words the vocabulary has at the most: public ones, then those of the largest noisy counts.
    pub size: Option<usize>,
    /// How many distinct words of a unit count; a pair has 2.
    pub words_per_unit: u64,
    /// Noise and threshold.
    pub rule: ItemRule,
}

/// A checked plan for a private vocabulary.
///
/// # Privacy
/// The words themselves may be secret, so only words that many units have are released: see
/// [`ItemsPlan`] for the mechanism and its proof. What is counted:
///
/// - Units `line` and `user`: each distinct word of the unit once, at most `words_per_unit` of
///   them, chosen uniformly by randomness of the unit's own: a keyed function of the line, or of the user's name.
/// - Unit `pair`: the two words of each ordered pair of places within the window, in the text as it
///   stands. Here a record of the data is a pair with the words between its ends; whether it becomes a
///   training pair (if few enough of the words between are in the vocabulary) depends on the record and on the
///   released vocabulary alone, so vocabulary and training speak about the same units.
#[derive(Clone, Debug, PartialEq)]
pub struct PrivateVocabularyPlan {
    settings: PrivateVocabularySettings,
    items: ItemsPlan,
}

impl PrivateVocabularyPlan {
    /// Checks settings.
    ///
    /// # Errors
    /// Names the first setting with which there can be no such release.
    pub fn new(settings: PrivateVocabularySettings) -> Result<Self, DataError> {
        match settings.unit {
            Unit::Line | Unit::User | Unit::Document => {}
            Unit::Pair if settings.words_per_unit != WORDS_OF_PAIR => {
                return Err(DataError::Counts(PlanError {
                    setting: "words per unit",
                    value: settings.words_per_unit.to_string(),
                    reason: "a training pair has 2 words".into(),
                    remedy: "give 2".into(),
                }));
            }
            Unit::Pair if settings.window == 0 => return Err(DataError::NoWindow),
            Unit::Pair => {}
            unit => return Err(DataError::NoSuchUnit(unit)),
        }
        let PrivateVocabularySettings { words_per_unit, neighbouring, rule, .. } = settings;
        let items =
            ItemsPlan::new(ItemSettings { items_per_unit: words_per_unit, neighbouring, rule })?;
        Ok(Self { settings, items })
    }

    /// The same at the price that lets later events depend on the words: see [`ItemsPlan::deciding`].
    pub fn deciding(self) -> Self {
        Self { items: self.items.deciding(), ..self }
    }

    /// What the release costs.
    pub fn event(&self) -> Event {
        self.items.event()
    }

    /// The release, under the purpose `vocabulary`: charge it, then hand in the proof.
    pub fn release(&self, source: &RandomSource) -> Release {
        self.items.release("vocabulary", source)
    }

    /// The vocabulary, now that it is paid for.
    pub fn paid(self, release: Release, paid: Charged) -> PrivateVocabulary {
        PrivateVocabulary { plan: self, release, paid }
    }
}

/// A private vocabulary, paid for: it can be released once.
#[derive(Debug)]
pub struct PrivateVocabulary {
    plan: PrivateVocabularyPlan,
    release: Release,
    paid: Charged,
}

/// A released vocabulary with what the release tells beside the words.
#[derive(Clone, Debug)]
pub struct PrivateWords {
    /// The words: those that were public before, then those that were released, the largest noisy counts first.
    pub vocabulary: Vocabulary,
    /// The noisy count of each word that was released, the last ones of the vocabulary: of units, weighted where the
    /// rule weights them.
    pub counts: Vec<f64>,
}

impl PrivateVocabulary {
    /// Releases the words of a text with their noisy counts, on top of `public` ones, which are in the vocabulary whatever
    /// the text.
    ///
    /// # Privacy
    /// Public words are not counted: to take them out of every unit depends on the unit alone.
    ///
    /// # Errors
    /// If the charge was not for this release, if the text has no such units, or if fewer than two words reached the
    /// threshold.
    pub fn words(
        self,
        text: &TokenisedText,
        public: &[Box<str>],
    ) -> Result<PrivateWords, DataError> {
        let Self { plan: PrivateVocabularyPlan { settings, items }, release, paid } = self;
        if matches!(settings.unit, Unit::User | Unit::Document)
            && text.lines().user_count().is_none()
        {
            return Err(DataError::NoUsers);
        }
        // Words are counted by their place in the alphabet: what decides among equals is then the
        // word itself, and not where it first stood.
        let mut alphabet: Vec<u32> = (0..text.words().len() as u32).collect();
        alphabet.sort_unstable_by_key(|number| &text.words()[*number as usize]);
        let public_words = public.iter().map(|word| &**word);
        let known: HashSet<&str> = public_words.chain([SENTENCE_END]).collect();
        let mut rank = vec![None; alphabet.len()];
        for (place, number) in (0_u32..).zip(&alphabet) {
            let is_known = known.contains(&*text.words()[*number as usize]);
            rank[*number as usize] = (!is_known).then_some(place);
        }
        let mut counts = items.counts(release);
        if counts.looks_at_units() {
            add_units(text, &settings, &rank, &mut counts);
        }
        // Some words of a release may stand in no text here, where the sums were made elsewhere.
        let name = |place: &u32| &*text.words()[alphabet[*place as usize] as usize];
        let noisy = counts.noise_by_name(paid, name)?;

        let most = settings.size.map_or(usize::MAX, |size| size.saturating_sub(public.len()));
        let (words, counts): (Vec<Box<str>>, Vec<f64>) =
            noisy.items().iter().take(most).cloned().unzip();
        let all: Vec<Box<str>> = public.iter().cloned().chain(words).collect();
        let found = all.len();
        let vocabulary = Vocabulary::new(all).map_err(|_| DataError::HiddenWords { found })?;
        Ok(PrivateWords { vocabulary, counts })
    }
}

/// Adds every unit of the text.
fn add_units(
    text: &TokenisedText,
    settings: &PrivateVocabularySettings,
    rank: &[Option<u32>],
    counts: &mut ItemCounts<u32>,
) {
    let lines = text.lines();
    let words = |line: u64| lines.line(line).iter().map(|number| rank[*number as usize]);
    match settings.unit {
        Unit::Pair => {
            let window = settings.window as usize;
            for line in 0..lines.line_count() {
                let tokens: Vec<Option<u32>> = words(line).collect();
                for (place, &word) in tokens.iter().enumerate() {
                    for &other in tokens[place + 1..].iter().take(window) {
                        // One unit in each direction.
                        counts.add([word, other].into_iter().flatten());
                        counts.add([other, word].into_iter().flatten());
                    }
                }
            }
        }
        Unit::User | Unit::Document => {
            let mut order: Vec<u64> = (0..lines.line_count()).collect();
            order.sort_by_key(|line| lines.user_of_line(*line));
            let same =
                |one: &u64, other: &u64| lines.user_of_line(*one) == lines.user_of_line(*other);
            let users: Vec<&[u64]> = order.chunk_by(same).collect();
            let of_user = |user: u64| users[user as usize].iter();
            let name = |user: u64| {
                let user = users[user as usize].first();
                let user = user.and_then(|line| lines.user_name(lines.user_of_line(*line)?));
                user.unwrap_or_default().as_bytes().to_vec()
            };
            let items = |user: u64| of_user(user).flat_map(|line| words(*line)).flatten();
            counts.add_units(users.len() as u64, name, items);
        }
        _ => {
            let name = |line: u64| {
                let mut bytes = Vec::new();
                write_line(text, line, &mut bytes);
                bytes
            };
            counts.add_units(lines.line_count(), name, |line| words(line).flatten());
        }
    }
}
