//! What comes next, by what came before.

use crate::level::Level;
use crate::network::Network;
use organza_data::Writing;

/// A word with its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Likely {
    /// Its symbol.
    pub word: u32,
    /// How probable it is after the context.
    pub probability: f32,
}

/// Probabilities of words by the words before them: each context gives parts of the probability to words, and leaves the rest to the
/// next shorter one; what is left at last goes to all words by how frequent they are.
///
/// ```text
/// p(w | h) = part(h, w) + left(h) p(w | h')
/// ```
///
/// Where there is a network, it says what comes after a row, and leaves nothing.
///
/// # Privacy
/// It is a function of what was released, hence a post-processing.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The probability of each symbol without a context.
    alone: Vec<f32>,
    /// From the shortest contexts to the longest.
    levels: Vec<Level>,
    /// Words, the most probable first.
    by_probability: Vec<u32>,
    network: Option<Network>,
}

impl Model {
    /// Of words with a weight of more than nothing each, by symbol, and levels from the shortest contexts to the longest.
    pub(crate) fn new(mut weights: Vec<f32>, levels: Vec<Level>) -> Self {
        let first = Writing::FIRST_WORD;
        weights.iter_mut().take(first as usize).for_each(|weight| *weight = 0.0);
        let total: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
        let alone: Vec<f32> = weights
            .iter()
            .map(|weight| (f64::from(*weight) / total.max(f64::MIN_POSITIVE)) as f32)
            .collect();
        let mut by_probability: Vec<u32> = (first..alone.len() as u32).collect();
        by_probability.sort_by(|one, other| {
            alone[*other as usize].total_cmp(&alone[*one as usize]).then(one.cmp(other))
        });
        Self { alone, levels, by_probability, network: None }
    }

    /// The same words, with a network that predicts them.
    pub(crate) fn with_network(self, network: Network) -> Self {
        Self { network: Some(network), ..self }
    }

    /// The network, if there is one.
    pub fn network(&self) -> Option<&Network> {
        self.network.as_ref()
    }

    /// With longer contexts.
    pub(crate) fn with(mut self, level: Level) -> Self {
        self.levels.push(level);
        self
    }

    /// The same with at most so many words after contexts: those with the largest parts of the probability.
    pub(crate) fn at_most(&self, number: usize) -> Self {
        let mut parts: Vec<f32> =
            self.levels.iter().flat_map(|level| &level.parts).map(|part| part.abs()).collect();
        if parts.len() <= number {
            return self.clone();
        }
        parts.select_nth_unstable_by(number, |one, other| other.total_cmp(one));
        let least = parts[number];
        let levels = self.levels.iter().map(|level| level.above(least)).collect();
        Self { levels, ..self.clone() }
    }

    /// The number of symbols: words, the end of a sentence and the word outside.
    pub fn symbols(&self) -> u32 {
        self.alone.len() as u32
    }

    /// The probability of each symbol without a context.
    pub fn alone(&self) -> &[f32] {
        &self.alone
    }

    /// What contexts say, from the shortest to the longest.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The contexts that a row ends with, from the longest.
    fn contexts(&self, row: &[u32]) -> impl Iterator<Item = (&Level, usize)> {
        let found = |level: &Level| level.place(row, self.symbols());
        self.levels.iter().rev().filter_map(move |level| Some((level, found(level)?)))
    }

    /// The probability of a word after a row.
    pub fn probability(&self, row: &[u32], word: u32) -> f32 {
        if self.network.is_some() {
            return self.probabilities(row).get(word as usize).copied().unwrap_or_default();
        }
        let (mut probability, mut mass) = (0.0, 1.0);
        for (level, place) in self.contexts(row) {
            probability += mass * level.part(place, word);
            mass *= level.left[place];
        }
        probability + mass * self.alone.get(word as usize).copied().unwrap_or_default()
    }

    /// The probability of every symbol after a row.
    pub fn probabilities(&self, row: &[u32]) -> Vec<f32> {
        let (raised, mass) = self.raised(row);
        let mut all: Vec<f32> = self.alone.iter().map(|alone| mass * alone).collect();
        raised.iter().for_each(|it| all[it.word as usize] += it.probability);
        all
    }

    /// The words that contexts give a part of the probability to, in the order of words; and what is left for all words.
    fn raised(&self, row: &[u32]) -> (Vec<Likely>, f32) {
        if let (Some(network), false) = (&self.network, row.is_empty()) {
            let words = (Writing::FIRST_WORD..).zip(network.probabilities(row, &self.alone));
            return (words.map(|(word, probability)| Likely { word, probability }).collect(), 0.0);
        }
        let mut all: Vec<Likely> = Vec::new();
        let mut mass = 1.0;
        for (level, place) in self.contexts(row) {
            all = merged(&all, level.following(place).map(|(word, part)| (word, mass * part)));
            mass *= level.left[place];
        }
        (all, mass)
    }

    /// The most probable words after a row, at most so many, of those that are `allowed`, which are all or have the probability `alone` without a
    /// context; and how probable all of these are together.
    pub(crate) fn next_among(
        &self,
        row: &[u32],
        number: usize,
        alone: f32,
        allowed: impl Fn(u32) -> bool,
    ) -> (Vec<Likely>, f32) {
        let (raised, mass) = self.raised(row);
        let is_raised =
            |word: u32| raised.binary_search_by_key(&word, |likely| likely.word).is_ok();
        let mut best: Vec<Likely> =
            raised.iter().filter(|likely| allowed(likely.word)).copied().collect();
        let sum = best.iter().map(|likely| likely.probability).sum::<f32>() + mass * alone;
        best.iter_mut().for_each(|it| it.probability += mass * self.alone[it.word as usize]);
        // Nothing is left to look for where all words are raised.
        let number_left = number.min(self.by_probability.len() - raised.len());
        let others = self.by_probability.iter().copied();
        let others = others.filter(|word| allowed(*word) && !is_raised(*word)).take(number_left);
        best.extend(
            others.map(|word| Likely { word, probability: mass * self.alone[word as usize] }),
        );
        let order = |one: &Likely, other: &Likely| {
            other.probability.total_cmp(&one.probability).then(one.word.cmp(&other.word))
        };
        if number < best.len() {
            best.select_nth_unstable_by(number, order);
            best.truncate(number);
        }
        best.sort_unstable_by(order);
        (best, sum)
    }

    /// The most probable words after a row, at most so many.
    pub fn next(&self, row: &[u32], number: usize) -> Vec<Likely> {
        self.next_among(row, number, 1.0, |_| true).0
    }
}

/// Both lists as one, by word.
fn merged(all: &[Likely], own: impl ExactSizeIterator<Item = (u32, f32)>) -> Vec<Likely> {
    let mut before = all.iter().peekable();
    let mut merged = Vec::with_capacity(all.len() + own.len());
    for (word, part) in own {
        merged.extend(std::iter::from_fn(|| before.next_if(|it| it.word < word)));
        let same = before.next_if(|it| it.word == word).map_or(0.0, |it| it.probability);
        merged.push(Likely { word, probability: same + part });
    }
    merged.extend(before);
    merged
}
