//! What follows two words, where both together are frequent enough to tell.

use super::after_word::AfterWord;
use super::stage::{Cells, Released, STAGES, Stages};
use crate::bayes::{Observed, Posterior};
use crate::level::{Context, Level};
use organza_data::Writing;
use organza_ledger::{Charge, Charged};
use organza_mechanism::{NotPaid, PlanError};

/// So many of the words that are most probable after the second word are counted after both.
const CANDIDATES: usize = 12;
/// Two words are a context if they are counted as often as so many deviations of the noise of this stage.
const CLEAR: f32 = 3.0;
/// Contexts weigh the less the more frequent they are, by this power.
const POWER: f32 = 0.25;
/// So much of what follows a word is the end of a sentence, or a word outside the vocabulary: public numbers, of English blogs.
const ENDS: f32 = 0.085;
const OTHERS: f32 = 0.046;
/// At most so many contexts, the most frequent ones.
const MOST_CONTEXTS: usize = 1 << 20;
/// Kinds of contexts and of cells: how wide they are, and the least and the largest, in logarithms of what is expected, in deviations.
const SIZES: [f32; 3] = [1.0, -9.0, 10.0];
const CELLS: [f32; 3] = [0.5, -8.0, 8.0];

/// The contexts of this stage, and the words that are counted after each.
struct Contexts {
    /// Where those that begin with each symbol begin, and at last where they end.
    starts: Vec<u32>,
    seconds: Vec<u32>,
    /// How often each occurs, by what was released before.
    sizes: Vec<f32>,
    /// By second symbol: the words that are counted, with their probabilities after it.
    candidates: Vec<Vec<(u32, f32)>>,
    /// How many they are.
    width: usize,
}

impl Contexts {
    fn new(after_word: &AfterWord, deviation: f32) -> Self {
        let words = after_word.following.len() - Writing::FIRST_WORD as usize;
        let width = CANDIDATES.min(words);
        let candidates = after_word.following.iter().enumerate().map(|(symbol, list)| {
            let mut best = list.clone();
            best.sort_by(|one, other| other.1.total_cmp(&one.1));
            best.truncate(width);
            let likely = |mean: f32| after_word.probability(symbol as u32, mean);
            best.into_iter().map(|(word, mean)| (word, likely(mean))).collect()
        });
        let candidates: Vec<Vec<(u32, f32)>> = candidates.collect();
        let is_full = |symbol: u32| candidates[symbol as usize].len() == width;
        // What follows each symbol: the end of a sentence, a word outside, and words, in the order of symbols.
        let seconds = |symbol: usize| {
            let total = after_word.total(symbol as u32);
            let others = [(Writing::END, ENDS * total), (Writing::OTHER, OTHERS * total)];
            others.into_iter().chain(after_word.following[symbol].iter().copied())
        };
        let clear = |symbol: usize, bar: f32| {
            seconds(symbol).filter(move |(second, size)| *size > bar && is_full(*second))
        };
        let symbols = 0..after_word.following.len();
        let mut bar = CLEAR * deviation;
        let mut sizes: Vec<f32> =
            symbols.clone().flat_map(|symbol| clear(symbol, bar)).map(|(_, size)| size).collect();
        if sizes.len() > MOST_CONTEXTS {
            sizes.select_nth_unstable_by(MOST_CONTEXTS, |one, other| other.total_cmp(one));
            bar = sizes[MOST_CONTEXTS];
        }
        let mut contexts = Self {
            starts: vec![0],
            seconds: Vec::new(),
            sizes: Vec::new(),
            candidates: Vec::new(),
            width,
        };
        for symbol in symbols {
            for (second, size) in clear(symbol, bar) {
                contexts.seconds.push(second);
                contexts.sizes.push(size);
            }
            contexts.starts.push(contexts.seconds.len() as u32);
        }
        Self { candidates, ..contexts }
    }

    fn number(&self) -> usize {
        self.seconds.len()
    }

    /// The cell of three symbols.
    fn cell(&self, one: u32, other: u32, word: u32) -> Option<u64> {
        let range = self.starts[one as usize] as usize..self.starts[one as usize + 1] as usize;
        let context = range.start + self.seconds[range].binary_search(&other).ok()?;
        let rank = self.candidates[other as usize].iter().position(|(it, _)| *it == word)?;
        Some((context * self.width + rank) as u64)
    }

    /// The words that are counted after a context, with their probabilities after its second word.
    fn after(&self, context: usize) -> &[(u32, f32)] {
        &self.candidates[self.seconds[context] as usize]
    }

    fn first_of(&self, context: usize) -> u32 {
        self.starts.partition_point(|start| *start as usize <= context) as u32 - 1
    }
}

/// Made by [`AfterTwo::release`]: a part of the model.
pub(super) struct AfterTwo;

impl AfterTwo {
    pub(super) fn release<E: From<PlanError> + From<NotPaid>>(
        stages: &mut Stages<'_, impl FnMut(Charge) -> Result<Charged, E>>,
        after_word: &AfterWord,
    ) -> Result<(Level, Released), E> {
        let deviation = stages.plan.deviation(3)? as f32;
        let contexts = Contexts::new(after_word, deviation);
        let most = contexts.sizes.iter().copied().fold(deviation, f32::max);
        let weights: Vec<f32> =
            contexts.sizes.iter().map(|size| (most / size).powf(POWER)).collect();
        let number = contexts.number() * contexts.width;
        let noisy = stages.release(3, Cells::dense(number as u64), |row, cells| {
            for three in row.windows(3).filter(|it| it[2] >= Writing::FIRST_WORD) {
                if let Some(cell) = contexts.cell(three[0], three[1], three[2]) {
                    cells.push((cell, weights[cell as usize / contexts.width]));
                }
            }
        })?;
        let observed: Vec<f32> = noisy.cells.iter().map(|(_, count)| count / deviation).collect();
        let level =
            Estimate { contexts: &contexts, weights: &weights, observed: &observed, deviation }
                .level(after_word.following.len() as u64);
        let symbols = (0..contexts.number()).flat_map(|context| {
            let (one, other) = (contexts.first_of(context), contexts.seconds[context]);
            contexts.after(context).iter().flat_map(move |(word, _)| [one, other, *word])
        });
        let released = Released {
            name: STAGES[3].to_owned(),
            length: 3,
            symbols: symbols.collect(),
            counts: noisy.cells.iter().map(|(_, count)| *count).collect(),
            deviation,
        };
        Ok((level, released))
    }
}

/// From noisy counts to probabilities. All counts are in deviations of the noise.
#[derive(Clone, Copy)]
struct Estimate<'a> {
    contexts: &'a Contexts,
    weights: &'a [f32],
    observed: &'a [f32],
    deviation: f32,
}

impl<'a> Estimate<'a> {
    /// What was observed of a context.
    fn row(self, context: usize) -> &'a [f32] {
        &self.observed[context * self.contexts.width..][..self.contexts.width]
    }

    /// What a context of size 1 is expected to have of each word: as much as the word is probable after the second symbol alone, beside the
    /// others.
    fn shape(self, context: usize) -> impl Iterator<Item = f32> + Clone {
        let after = self.contexts.after(context);
        let total: f32 = after.iter().map(|(_, part)| part).sum();
        after.iter().map(move |(_, part)| part / total.max(f32::MIN_POSITIVE))
    }

    fn norm(self, context: usize) -> f32 {
        self.shape(context).map(|part| part * part).sum::<f32>().sqrt().max(f32::MIN_POSITIVE)
    }

    /// How much is observed along the shape of a context, which has noise of deviation 1; and how much is expected, by the stages before.
    fn along(self, context: usize) -> (f32, f32) {
        let inner = self.shape(context).zip(self.row(context)).map(|(part, it)| part * it);
        let norm = self.norm(context);
        let size = self.contexts.sizes[context] / self.deviation * self.weights[context];
        (inner.sum::<f32>() / norm, size * norm)
    }

    /// The means of the counts of some contexts: first how large contexts are that are expected and observed to be as large as each, then how
    /// much of it each word has, by what is expected and observed of words.
    fn means(self, of: &[usize], means: &mut [Vec<f32>]) {
        let along = || of.iter().map(|context| self.along(*context));
        let sum = |part: fn(f32, f32) -> f32| -> f64 {
            along().map(|(found, expected)| f64::from(part(found, expected))).sum()
        };
        // Writers are scaled on other cells than before, so that all contexts are larger or smaller.
        let found = sum(|found, expected| found * expected);
        let squares = sum(|_, expected| expected * expected);
        let scale = (found / squares.max(f64::MIN_POSITIVE)).max(1e-3) as f32;
        let log = |expected: f32| expected.max(1e-9).log2();
        let sizes = fitted(along().map(|(found, it)| (log(scale * it), found)), SIZES);
        let expected = |context: usize| {
            let (found, it) = self.along(context);
            let size = sizes.mean(log(scale * it), found) / self.norm(context);
            self.shape(context).map(move |part| log(size * part))
        };
        let cells = of.iter().flat_map(|it| expected(*it).zip(self.row(*it).iter().copied()));
        let cells = fitted(cells, CELLS);
        for context in of {
            let row = expected(*context).zip(self.row(*context));
            means[*context] = row.map(|(log, it)| cells.mean(log, *it)).collect();
        }
    }

    /// Probabilities. Contexts that end in a word, and others, are not alike.
    fn level(self, symbols: u64) -> Level {
        let mut means = vec![Vec::new(); self.contexts.number()];
        let is_word = |context: &usize| self.contexts.seconds[*context] >= Writing::FIRST_WORD;
        let (words, others): (Vec<usize>, Vec<usize>) =
            (0..self.contexts.number()).partition(is_word);
        [words, others].iter().for_each(|of| self.means(of, &mut means));
        let mut level = Level::new(Context::Symbols(2));
        for (context, list) in means.into_iter().enumerate() {
            let total: f32 = list.iter().sum();
            let after = self.contexts.after(context);
            // They share what they have after the second word alone; all other words are as they are there.
            let shared: f32 = after.iter().map(|(_, part)| part).sum();
            let part = |((word, part), mean): (&(u32, f32), f32)| {
                (*word, shared * mean / total.max(f32::MIN_POSITIVE) - part)
            };
            let mut parts: Vec<(u32, f32)> = after.iter().zip(list).map(part).collect();
            parts.sort_unstable_by_key(|(word, _)| *word);
            let key = u64::from(self.contexts.first_of(context)) * symbols
                + u64::from(self.contexts.seconds[context]);
            level.push(key, parts);
        }
        level
    }
}

fn fitted(
    observations: impl Iterator<Item = (f32, f32)> + Clone,
    [width, first, last]: [f32; 3],
) -> Posterior {
    let ends = observations
        .clone()
        .fold((last, first), |(least, most), (log, _)| (least.min(log), most.max(log)));
    let mut observed = Observed::new(ends.0.max(first), ends.1.min(last), width, f64::NEG_INFINITY);
    observations.for_each(|(log, it)| observed.add(log, it));
    observed.posterior()
}
