//! What comes next, by what was released.

use crate::grams::{Grams, NONE};
use organza_data::Writing;

/// Words that are counted less often than so many deviations of the noise are taken for as frequent as that: which of them are is noise.
const LEAST_WORD: f32 = 0.5;
/// How much what a shorter context says counts beside the counts of a longer one, in deviations of their noise: by order.
const SHORTER: [f32; 3] = [4.0, 10.0, 10.0];
/// The same where there is no noise, in counts.
const SHORTER_PLAIN: [f32; 3] = [1.0, 1.0, 1.0];

/// A word with its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Likely {
    /// Its symbol.
    pub word: u32,
    /// How probable it is after the context.
    pub probability: f32,
}

/// Probabilities of words by the words before them.
///
/// With noisy counts N of what follows a context h, their sum T, and h' the context without its first word,
///
/// ```text
/// p(w | h) = (N(w) + k p(w | h')) / (T + k)
/// ```
///
/// where k is a number of deviations of the noise: counts that stand little above it say little.
///
/// # Privacy
/// It is a function of what was released, hence a post-processing.
#[derive(Clone, Debug)]
pub struct Model {
    grams: Grams,
    /// The probability of each symbol without a context.
    alone: Vec<f32>,
    /// Words, the most probable first.
    by_probability: Vec<u32>,
    /// For each order the sum of the counts of each context.
    totals: Vec<Vec<f32>>,
    /// For each order, k.
    shorter: Vec<f32>,
}

impl Model {
    /// The model of what was released.
    pub fn new(grams: Grams) -> Self {
        let first = Writing::FIRST_WORD as usize;
        let least = (LEAST_WORD * grams.deviation).max(f32::MIN_POSITIVE);
        let mut alone: Vec<f32> = grams.words.iter().map(|count| count.max(least)).collect();
        alone.iter_mut().take(first).for_each(|count| *count = 0.0);
        let total: f64 = alone.iter().map(|count| f64::from(*count)).sum();
        alone.iter_mut().for_each(|count| *count = (f64::from(*count) / total.max(1e-300)) as f32);
        let mut by_probability: Vec<u32> = (first as u32..alone.len() as u32).collect();
        by_probability.sort_by(|one, other| {
            alone[*other as usize].total_cmp(&alone[*one as usize]).then(one.cmp(other))
        });
        let totals = grams.orders.iter().map(|order| {
            let sum = |context: u32| order.following(context).map(|(_, count)| count).sum();
            (0..order.contexts() as u32).map(sum).collect()
        });
        let totals = totals.collect();
        let shorter = grams.orders.iter().enumerate().map(|(place, order)| {
            let place = place.min(SHORTER.len() - 1);
            match order.deviation() > 0.0 {
                true => SHORTER[place] * order.deviation() as f32,
                false => SHORTER_PLAIN[place],
            }
        });
        let shorter = shorter.collect();
        Self { grams, alone, by_probability, totals, shorter }
    }

    /// What was released.
    pub fn grams(&self) -> &Grams {
        &self.grams
    }

    /// The probability of each symbol without a context.
    pub(crate) fn alone(&self) -> &[f32] {
        &self.alone
    }

    /// The contexts that a row ends with, from the longest: the order that has them, and their place.
    fn contexts(&self, row: &[u32]) -> impl Iterator<Item = (usize, u32)> {
        let orders = self.grams.orders();
        let lengths = (1..=orders.len().min(row.len())).rev();
        lengths.filter_map(move |length| {
            let row = &row[row.len() - length..];
            let mut place = row[0];
            for (order, word) in orders.iter().zip(&row[1..]) {
                place = order.place(place, *word);
                if place == NONE {
                    return None;
                }
            }
            (place as usize).lt(&orders[length - 1].contexts()).then_some((length - 1, place))
        })
    }

    /// How much shorter contexts count beside the counts of an order.
    pub(crate) fn shorter(&self, order: usize) -> f32 {
        self.shorter[order]
    }

    /// The part of the probability that is left to shorter contexts.
    pub(crate) fn left(&self, order: usize, context: u32) -> f32 {
        let shorter = self.shorter[order];
        shorter / (self.totals[order][context as usize].max(0.0) + shorter)
    }

    /// What the counts of a context add to the probability of each word after it, in the order of words.
    pub(crate) fn added(&self, order: usize, context: u32) -> impl Iterator<Item = (u32, f32)> {
        let total = self.totals[order][context as usize].max(0.0) + self.shorter[order];
        let following = self.grams.orders[order].following(context);
        following.map(move |(word, count)| (word, count / total))
    }

    /// The probability of a word after a row.
    pub fn probability(&self, row: &[u32], word: u32) -> f32 {
        let (mut probability, mut mass) = (0.0, 1.0);
        for (order, context) in self.contexts(row) {
            let place = self.grams.orders[order].place(context, word);
            if place != NONE {
                let total = self.totals[order][context as usize].max(0.0) + self.shorter[order];
                probability += mass * self.grams.orders[order].counts()[place as usize] / total;
            }
            mass *= self.left(order, context);
        }
        probability + mass * self.alone.get(word as usize).copied().unwrap_or_default()
    }

    /// The words that a row makes more probable than they are by themselves, in the order of words, with what it adds; and what
    /// is left for all words as they are.
    fn raised(&self, row: &[u32]) -> (Vec<Likely>, f32) {
        let mut all: Vec<Likely> = Vec::new();
        let mut mass = 1.0;
        for (order, context) in self.contexts(row) {
            let own = self.added(order, context).map(|(word, part)| (word, mass * part));
            all = merged(&all, own);
            mass *= self.left(order, context);
        }
        (all, mass)
    }

    /// The most probable words after a row, of those that are `allowed`: at most so many.
    pub fn next(&self, row: &[u32], number: usize, allowed: impl Fn(u32) -> bool) -> Vec<Likely> {
        let (raised, mass) = self.raised(row);
        let alone = |word: u32| mass * self.alone[word as usize];
        let mut best: Vec<Likely> = raised
            .iter()
            .filter(|likely| allowed(likely.word))
            .map(|it| Likely { probability: it.probability + alone(it.word), ..*it })
            .collect();
        let is_raised =
            |word: u32| raised.binary_search_by_key(&word, |likely| likely.word).is_ok();
        let others = self.by_probability.iter().copied();
        let others = others.filter(|word| allowed(*word) && !is_raised(*word)).take(number);
        best.extend(others.map(|word| Likely { word, probability: alone(word) }));
        let order = |one: &Likely, other: &Likely| {
            other.probability.total_cmp(&one.probability).then(one.word.cmp(&other.word))
        };
        if number < best.len() {
            best.select_nth_unstable_by(number, order);
            best.truncate(number);
        }
        best.sort_unstable_by(order);
        best
    }

    /// The probability that the word after a row is one of those that are `allowed`; `alone` is what these have without a context.
    pub(crate) fn sum(&self, row: &[u32], alone: f32, allowed: impl Fn(u32) -> bool) -> f32 {
        let (raised, mass) = self.raised(row);
        let raised = raised.iter().filter(|likely| allowed(likely.word));
        raised.map(|likely| likely.probability).sum::<f32>() + mass * alone
    }
}

/// Both lists as one, by word.
fn merged(all: &[Likely], own: impl Iterator<Item = (u32, f32)>) -> Vec<Likely> {
    let mut before = all.iter().peekable();
    let mut merged = Vec::with_capacity(all.len() + own.size_hint().0);
    for (word, part) in own {
        merged.extend(std::iter::from_fn(|| before.next_if(|it| it.word < word)));
        let same = before.next_if(|it| it.word == word).map_or(0.0, |it| it.probability);
        merged.push(Likely { word, probability: same + part });
    }
    merged.extend(before);
    merged
}
