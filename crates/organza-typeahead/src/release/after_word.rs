//! What follows a word.

use super::after_ending::AfterEnding;
use super::stage::{Cells, Released, STAGES, Stages};
use super::words::WordCounts;
use crate::bayes::{Observed, Posterior};
use crate::level::{Context, Level};
use organza_data::Writing;
use organza_ledger::{Charge, Charged};
use organza_mechanism::{NotPaid, PlanError};
use rayon::prelude::*;

/// At most so many cells, of which most is expected, are released whatever their counts; the others above a bar.
const MOST_DENSE: u64 = 3_000_000;
/// The bar is the lowest that at most so many empty cells reach by their noise, in expectation.
const FALSE_CELLS: f64 = 200_000.0;
/// The least and the largest logarithm of what is expected that are told apart, in deviations, and the parts of each interval in which cells are
/// summed.
const FIRST: f32 = -17.0;
const LAST: f32 = 7.0;
const PARTS: usize = 4;
/// How much follows a word is taken from words that are about as frequent, in bands of so many of the most frequent and of more of others;
/// its own count says more if it is further from that than by this part.
const BAND: usize = 8;
const WIDER: f64 = 1.5;
const SPREAD: f64 = 0.5;
/// Halvings of an interval, after which it is as good as a point.
const HALVINGS: usize = 40;
/// No symbol is followed by less than this, in deviations.
const LEAST_MASS: f32 = 0.01;
/// Words whose probability differs less than this from what their ending says are not worth their place in the model.
const LEAST_PART: f32 = 3e-4;

/// How words after words are numbered: first, for each word, those that are expected most after it; then all pairs.
struct Pairs<'a> {
    after_ending: &'a AfterEnding,
    words: usize,
    /// For each ending the words after it, the most probable first, with the logarithms of their probabilities.
    ranked: Vec<(Vec<u32>, Vec<f32>)>,
    /// For each ending the place of each word there.
    ranks: Vec<Vec<u32>>,
    /// The logarithm of how much is expected of all that follows a symbol.
    logs: Vec<f32>,
    /// Where the first cells of each symbol begin, and at last where they end.
    starts: Vec<u64>,
}

/// What follows each word: counts without noise, as far as they can be told from it.
#[derive(Debug)]
pub(crate) struct AfterWord {
    /// By symbol: words and their mean counts, in the order of words.
    pub(crate) following: Vec<Vec<(u32, f32)>>,
    /// By symbol: the sum of the mean counts of all words, also of those that are not listed.
    totals: Vec<f32>,
}

impl<'a> Pairs<'a> {
    /// With at most so many first cells.
    fn new(counts: &WordCounts, after_ending: &'a AfterEnding, most: u64) -> Self {
        let symbols = counts.frequencies.len();
        let words = symbols - Writing::FIRST_WORD as usize;
        let ranked: Vec<(Vec<u32>, Vec<f32>)> = (0..after_ending.endings.number as u32)
            .into_par_iter()
            .map(|ending| {
                let row = after_ending.of_ending(ending);
                let mut order: Vec<u32> = (0..words as u32).collect();
                order.sort_by(|one, other| row[*other as usize].total_cmp(&row[*one as usize]));
                let logs = order.iter().map(|word| row[*word as usize].max(1e-12).log2()).collect();
                (order, logs)
            })
            .collect();
        let rank = |order: &[u32]| {
            let mut ranks = vec![0; words];
            (0_u32..).zip(order).for_each(|(rank, word)| ranks[*word as usize] = rank);
            ranks
        };
        let ranks = ranked.iter().map(|(order, _)| rank(order)).collect();
        let log =
            |symbol: u32| (counts.frequencies[symbol as usize] * counts.weight(symbol)).log2();
        let logs = (0..symbols as u32).map(log).collect();
        let mut pairs =
            Self { after_ending, words, ranked, ranks, logs, starts: vec![0; symbols + 1] };
        let (mut low, mut high) = (-80.0, 80.0);
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            match pairs.dense_from(middle) > most {
                true => low = middle,
                false => high = middle,
            }
        }
        pairs.dense_from(high);
        pairs
    }

    /// Lets what is expected at least this much be the first cells; how many these are.
    fn dense_from(&mut self, least: f32) -> u64 {
        let mut total = 0;
        for symbol in 0..self.logs.len() {
            self.starts[symbol] = total;
            total += self.up_to(symbol as u32, least) as u64;
        }
        self.starts[self.logs.len()] = total;
        total
    }

    fn ending(&self, symbol: u32) -> usize {
        self.after_ending.endings.of_symbol[symbol as usize] as usize
    }

    /// How many words after a symbol are expected at least this much.
    fn up_to(&self, symbol: u32, least: f32) -> usize {
        let (_, logs) = &self.ranked[self.ending(symbol)];
        logs.partition_point(|log| log + self.logs[symbol as usize] >= least)
    }

    /// The logarithm of how much is expected of a pair.
    fn expected(&self, symbol: u32, word: u32) -> f32 {
        let ending = self.ending(symbol);
        let rank = self.ranks[ending][(word - Writing::FIRST_WORD) as usize];
        self.logs[symbol as usize] + self.ranked[ending].1[rank as usize]
    }

    fn dense(&self) -> u64 {
        self.starts.last().copied().unwrap_or_default()
    }

    fn cells(&self) -> u64 {
        self.dense() + (self.logs.len() * self.words) as u64
    }

    fn cell(&self, symbol: u32, word: u32) -> u64 {
        let word = word - Writing::FIRST_WORD;
        let rank = u64::from(self.ranks[self.ending(symbol)][word as usize]);
        let place = self.starts[symbol as usize] + rank;
        match place < self.starts[symbol as usize + 1] {
            true => place,
            false => self.dense() + u64::from(symbol) * self.words as u64 + u64::from(word),
        }
    }

    /// The symbol and the word of a cell; none for a cell that stands for no pair, because another one does.
    fn of_cell(&self, cell: u64) -> Option<(u32, u32)> {
        let first = Writing::FIRST_WORD;
        if cell < self.dense() {
            let symbol = self.starts.partition_point(|start| *start <= cell) - 1;
            let rank = (cell - self.starts[symbol]) as usize;
            let (order, _) = &self.ranked[self.ending(symbol as u32)];
            return Some((symbol as u32, order[rank] + first));
        }
        let pair = cell - self.dense();
        let (symbol, word) = ((pair / self.words as u64) as u32, (pair % self.words as u64) as u32);
        let is_pair = self.cell(symbol, word + first) == cell;
        is_pair.then_some((symbol, word + first))
    }

    /// The pairs of a symbol that are not among the first cells, by how much is expected of them: (logarithm, how many).
    fn rest(&self, symbol: u32) -> impl Iterator<Item = (f32, f64)> {
        let begin = (self.starts[symbol as usize + 1] - self.starts[symbol as usize]) as usize;
        let (_, logs) = &self.ranked[self.ending(symbol)];
        let shift = self.logs[symbol as usize];
        let width = 1.0 / PARTS as f32;
        let mut from = begin;
        std::iter::from_fn(move || {
            let top = logs.get(from)? + shift;
            let low = (top / width).floor() * width;
            let to = from + logs[from..].partition_point(|log| log + shift >= low).max(1);
            let number = (to - from) as f64;
            from = to;
            Some((low + width / 2.0, number))
        })
    }
}

impl AfterWord {
    pub(super) fn release<E: From<PlanError> + From<NotPaid>>(
        stages: &mut Stages<'_, impl FnMut(Charge) -> Result<Charged, E>>,
        counts: &WordCounts,
        after_ending: &AfterEnding,
    ) -> Result<(Self, Released), E> {
        let first = Writing::FIRST_WORD;
        let mut pairs = Pairs::new(counts, after_ending, MOST_DENSE);
        let symbols = counts.frequencies.len() as u32;
        let weights: Vec<f32> = (0..symbols).map(|symbol| counts.weight(symbol)).collect();
        let bar = bar(pairs.cells() - pairs.dense());
        let cells = Cells { number: pairs.cells(), dense: pairs.dense(), bar: Some(bar) };
        let noisy = stages.release(2, cells, |row, cells| {
            let found = row.windows(2).filter(|pair| pair[1] >= first);
            cells.extend(
                found.map(|pair| (pairs.cell(pair[0], pair[1]), weights[pair[0] as usize])),
            );
        })?;
        let deviation = noisy.deviation as f32;
        let dense = pairs.dense();
        let released: Vec<(u64, u32, u32, f32)> = noisy
            .cells
            .iter()
            .filter_map(|(cell, count)| {
                let (symbol, word) = pairs.of_cell(*cell)?;
                Some((*cell, symbol, word, *count))
            })
            .collect();
        let observed = released.iter().filter(|it| it.0 < dense);
        let observed = observed.map(|(_, symbol, word, count)| (*symbol, *word, count / deviation));
        let masses = masses(&pairs, counts, &weights, observed);
        let in_deviations = masses.iter().zip(&weights).map(|(mass, weight)| mass * weight);
        pairs.logs = in_deviations.map(f32::log2).collect();
        let posterior = posterior(&pairs, &released, deviation, bar);
        let mut following: Vec<Vec<(u32, f32)>> = vec![Vec::new(); symbols as usize];
        // In deviations of the noise, and of cells as they weigh.
        let mut totals = vec![0.0; symbols as usize];
        for symbol in 0..symbols {
            let below = pairs.rest(symbol);
            let sum = below.map(|(log, number)| number * f64::from(posterior.mean_below(log)));
            totals[symbol as usize] = sum.sum::<f64>() as f32;
        }
        for (cell, symbol, word, count) in &released {
            let expected = pairs.expected(*symbol, *word);
            let mean = posterior.mean(expected, count / deviation);
            following[*symbol as usize].push((*word, mean));
            let below = if *cell < dense { 0.0 } else { posterior.mean_below(expected) };
            totals[*symbol as usize] += mean - below;
        }
        for symbol in 0..symbols {
            let scale = deviation / weights[symbol as usize];
            let list = &mut following[symbol as usize];
            list.iter_mut().for_each(|(_, mean)| *mean *= scale);
            list.sort_unstable_by_key(|(word, _)| *word);
            totals[symbol as usize] *= scale;
        }
        let released = Released {
            name: STAGES[2].to_owned(),
            length: 2,
            symbols: released.iter().flat_map(|(_, symbol, word, _)| [*symbol, *word]).collect(),
            counts: released.iter().map(|(.., count)| *count).collect(),
            deviation,
        };
        Ok((Self { following, totals }, released))
    }

    /// The probability of a word after a symbol, of those that are listed there.
    pub(crate) fn probability(&self, symbol: u32, mean: f32) -> f32 {
        mean / self.totals[symbol as usize].max(f32::MIN_POSITIVE)
    }

    /// How much follows a symbol.
    pub(crate) fn total(&self, symbol: u32) -> f32 {
        self.totals[symbol as usize]
    }

    /// As a part of the model.
    pub(crate) fn level(&self, after_ending: &AfterEnding) -> Level {
        let mut level = Level::new(Context::Symbols(1));
        for (symbol, list) in self.following.iter().enumerate() {
            let others = after_ending.row(symbol as u32);
            let likely = |(word, mean): &(u32, f32)| {
                let probability = self.probability(symbol as u32, *mean);
                let usual = others[(word - Writing::FIRST_WORD) as usize];
                ((probability - usual).abs() > LEAST_PART).then_some((*word, probability))
            };
            let list: Vec<(u32, f32)> = list.iter().filter_map(likely).collect();
            level.push_listed(symbol as u64, &list, others);
        }
        level
    }
}

/// What the counts of all pairs look like, by how much was expected of them.
fn posterior(
    pairs: &Pairs<'_>,
    released: &[(u64, u32, u32, f32)],
    deviation: f32,
    bar: f64,
) -> Posterior {
    let mut observed = Observed::new(FIRST, LAST, 1.0, bar);
    for symbol in 0..pairs.logs.len() as u32 {
        pairs.rest(symbol).for_each(|(log, number)| observed.add_below(log, number));
    }
    for (cell, symbol, word, count) in released {
        let expected = pairs.expected(*symbol, *word);
        observed.add(expected, count / deviation);
        if *cell >= pairs.dense() {
            observed.add_below(expected, -1.0);
        }
    }
    observed.posterior()
}

/// How much follows each symbol, in deviations of the noise and before it is weighed: by the sum of its first cells over the part of the
/// probability that they are expected to have, and by what words have that are about as frequent.
fn masses(
    pairs: &Pairs<'_>,
    counts: &WordCounts,
    weights: &[f32],
    observed: impl Iterator<Item = (u32, u32, f32)>,
) -> Vec<f32> {
    let symbols = pairs.logs.len();
    let (mut sums, mut parts) = (vec![0.0; symbols], vec![0.0; symbols]);
    for (symbol, word, count) in observed {
        let part = pairs.after_ending.row(symbol)[(word - Writing::FIRST_WORD) as usize];
        sums[symbol as usize] += f64::from(count);
        parts[symbol as usize] += f64::from(part);
    }
    let frequency = |symbol: usize| f64::from(counts.frequencies[symbol]);
    let own = |symbol: usize| {
        let cells = (pairs.starts[symbol + 1] - pairs.starts[symbol]) as f64;
        let scale = 1.0 / (parts[symbol] * f64::from(weights[symbol]));
        (cells > 0.0).then(|| (sums[symbol] * scale, cells.sqrt() * scale))
    };
    let mut order: Vec<usize> = (Writing::FIRST_WORD as usize..symbols).collect();
    order.sort_by(|one, other| frequency(*other).total_cmp(&frequency(*one)));
    let mut masses = vec![0.0; symbols];
    let (mut rest, mut width, mut ratio) = (&order[..], BAND, 0.0);
    while !rest.is_empty() {
        let (band, after) = rest.split_at(width.min(rest.len()));
        let mut fit = (0.0, 0.0);
        for symbol in band {
            if let Some((mass, deviation)) = own(*symbol) {
                let weight = frequency(*symbol) / (deviation * deviation);
                fit = (fit.0 + weight * mass, fit.1 + weight * frequency(*symbol));
            }
        }
        if fit.1 > 0.0 && fit.0 > 0.0 {
            ratio = fit.0 / fit.1;
        }
        for symbol in band {
            let usual = ratio * frequency(*symbol);
            let variance = (SPREAD * usual).powi(2);
            masses[*symbol] = own(*symbol).map_or(usual, |(mass, deviation)| {
                let noise = deviation * deviation;
                (mass * variance + usual * noise) / (variance + noise).max(f64::MIN_POSITIVE)
            });
        }
        (rest, width) = (after, (width as f64 * WIDER) as usize);
    }
    // The end of a sentence and the word outside are like no word.
    for (symbol, mass) in masses.iter_mut().enumerate().take(Writing::FIRST_WORD as usize) {
        *mass = own(symbol).map_or(0.0, |(mass, _)| mass);
    }
    masses.into_iter().map(|mass| (mass as f32).max(LEAST_MASS)).collect()
}

/// The bar of so many cells, in deviations.
fn bar(cells: u64) -> f64 {
    let most = FALSE_CELLS / cells.max(1) as f64;
    let (mut low, mut high) = (0.0, 8.0);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        match crate::bayes::normal(-middle) > most {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::endings::Endings;
    use std::collections::HashSet;

    /// Every pair has a cell of its own, and every other cell stands for none, however many cells come first.
    #[test]
    fn pairs_are_numbered() {
        let words: Vec<String> = (0..70).map(|it| format!("{it}{}", ["ed", "s"][it % 2])).collect();
        let endings = Endings::new(&words);
        let frequencies: Vec<f32> = (0..72).map(|it| 900.0 / (it + 1) as f32).collect();
        let row = |ending: usize| (0..70).map(move |it| 1.0 / (1 + (it * 7 + ending) % 70) as f32);
        let probabilities: Vec<f32> = (0..endings.number).flat_map(row).collect();
        let after_ending = AfterEnding::of(endings, probabilities);
        let counts = WordCounts { frequencies };
        for most in [0, 1, 500, 1 << 20] {
            let pairs = Pairs::new(&counts, &after_ending, most);
            assert!(pairs.dense() <= most);
            let mut cells = HashSet::new();
            for symbol in 0..72 {
                for word in 2..72 {
                    let cell = pairs.cell(symbol, word);
                    assert_eq!(pairs.of_cell(cell), Some((symbol, word)), "{most}");
                    assert!(cell < pairs.cells() && cells.insert(cell));
                }
                // What is not among the first cells is counted by how much is expected of it.
                let first = pairs.starts[symbol as usize + 1] - pairs.starts[symbol as usize];
                let rest: f64 = pairs.rest(symbol).map(|(_, number)| number).sum();
                assert_eq!(first as f64 + rest, 70.0);
            }
            let others = (0..pairs.cells()).filter(|cell| !cells.contains(cell));
            assert!(others.into_iter().all(|cell| pairs.of_cell(cell).is_none()));
            // More is expected of every first cell than of any other.
            let expected = |is_first: bool| {
                let of = |cell: &&u64| (**cell < pairs.dense()) == is_first;
                let all = cells.iter().filter(of).map(|cell| pairs.of_cell(*cell).unwrap());
                all.map(|(symbol, word)| pairs.expected(symbol, word)).collect::<Vec<f32>>()
            };
            let least = expected(true).into_iter().fold(f32::MAX, f32::min);
            assert!(expected(false).into_iter().all(|it| it <= least));
        }
    }
}
