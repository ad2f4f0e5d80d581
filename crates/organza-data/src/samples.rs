//! What a model learns from: samples, found by their number without listing them.

use crate::window::LineWindow;
use crate::{Corpus, DataError};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Every so many lines, the number of samples before the line is kept.
const BLOCK: u64 = 8;

/// What is predicted from what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// A context word from the target word: a sample for every two words within the window.
    #[default]
    SkipGram,
    /// The target word from all words within the window: a sample for every word that has any.
    #[serde(rename = "cbow")]
    ContinuousBag,
}

impl Objective {
    /// The number of samples in any line of so many tokens.
    pub fn samples_of(self, tokens: usize, window: u32) -> u64 {
        match self {
            Self::SkipGram => LineWindow::new(tokens, window).pairs(),
            Self::ContinuousBag if tokens < 2 => 0,
            Self::ContinuousBag => tokens as u64,
        }
    }
}

/// Two words that stand within a window: the target, and a word of its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pair {
    /// The word in the middle of the window.
    pub target: u32,
    /// The other word.
    pub context: u32,
}

/// One sample: the words on the input side and the word to be predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    /// Input words: those before the target, or in skip-gram the target itself.
    pub before: &'a [u32],
    /// More input words: those after the target; none in skip-gram.
    pub after: &'a [u32],
    /// The word to be predicted: in skip-gram the context word, else the target.
    pub output: u32,
}

impl<'a> Sample<'a> {
    /// All input words, in the order of the text.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        let (before, after) = (self.before, self.after);
        (0..before.len() + after.len()).map(move |index| {
            before.get(index).copied().unwrap_or_else(|| after[index - before.len()])
        })
    }
}

/// All samples of a corpus, numbered line by line, in a line by target, for a target by context.
///
/// Windows lie within a line. Random access costs a binary search through one number in eight lines.
#[derive(Debug)]
pub struct Samples {
    corpus: Corpus,
    objective: Objective,
    window: u32,
    /// The number of samples before lines 0, 8, 16, ... and at last that of all.
    blocks: Vec<u64>,
}

impl Samples {
    /// The samples of a corpus within `window` words to each side.
    ///
    /// # Errors
    /// When the window is 0.
    pub fn new(corpus: Corpus, objective: Objective, window: u32) -> Result<Self, DataError> {
        if window == 0 {
            return Err(DataError::NoWindow);
        }
        let mut samples = Self { corpus, objective, window, blocks: vec![0] };
        let (lines, mut total) = (samples.corpus.line_count(), 0);
        for line in 0..lines {
            total += samples.count_in_line(line);
            if (line + 1) % BLOCK == 0 || line + 1 == lines {
                samples.blocks.push(total);
            }
        }
        Ok(samples)
    }

    /// The corpus they are taken from.
    pub fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// What is predicted from what.
    pub fn objective(&self) -> Objective {
        self.objective
    }

    /// How many words the window reaches to each side.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// The number of samples; none where no line has two words.
    pub fn count(&self) -> u64 {
        self.blocks.last().copied().unwrap_or_default()
    }

    /// The corpus, when the samples are needed no more.
    pub(crate) fn into_corpus(self) -> Corpus {
        self.corpus
    }

    /// The number of samples in a line.
    pub(crate) fn count_in_line(&self, line: u64) -> u64 {
        self.objective.samples_of(self.corpus.line(line).len(), self.window)
    }

    /// The numbers of the samples in a line.
    pub(crate) fn in_line(&self, line: u64) -> Range<u64> {
        let line = line.min(self.corpus.line_count());
        let block = line / BLOCK;
        let before = (block * BLOCK..line).map(|earlier| self.count_in_line(earlier)).sum::<u64>();
        let start = self.blocks[block as usize] + before;
        start..start + self.count_in_line(line)
    }

    /// The sample of a number, if there is one.
    pub(crate) fn sample(&self, sample: u64) -> Option<Sample<'_>> {
        let (line, offset) = self.locate(sample)?;
        self.sample_in_line(line, offset)
    }

    /// The samples of a line, in order.
    pub(crate) fn of_line(&self, line: u64) -> impl Iterator<Item = Sample<'_>> {
        let tokens = self.corpus.line(line);
        let (pairs, bags) = match self.objective {
            Objective::SkipGram => (tokens.len(), 0),
            Objective::ContinuousBag => (0, self.count_in_line(line)),
        };
        let window = self.window as usize;
        let pairs = (0..pairs).flat_map(move |target| {
            let before = tokens[target.saturating_sub(window)..target].iter();
            let contexts = before.chain(tokens[target + 1..].iter().take(window));
            let before = &tokens[target..=target];
            contexts.map(move |&output| Sample { before, after: &[], output })
        });
        pairs.chain((0..bags).filter_map(move |offset| self.sample_in_line(line, offset)))
    }

    /// Adds to the count of each word how often it is the one to be predicted in a line.
    pub(crate) fn count_outputs(&self, line: u64, counts: &mut [u64]) {
        let tokens = self.corpus.line(line);
        let (last, window) = (tokens.len().saturating_sub(1), self.window as usize);
        for (place, &word) in tokens.iter().enumerate() {
            counts[word as usize] += match self.objective {
                Objective::SkipGram => (place.min(window) + (last - place).min(window)) as u64,
                Objective::ContinuousBag => u64::from(last > 0),
            };
        }
    }

    /// The sample of a number as two words, if there is one and the objective is skip-gram.
    pub fn pair(&self, sample: u64) -> Option<Pair> {
        self.pair_of(self.sample(sample)?)
    }

    pub(crate) fn pair_of(&self, sample: Sample<'_>) -> Option<Pair> {
        match (self.objective, sample.before) {
            (Objective::SkipGram, &[target]) => Some(Pair { target, context: sample.output }),
            _ => None,
        }
    }

    /// The line of a sample, and its number among those of the line.
    fn locate(&self, sample: u64) -> Option<(u64, u64)> {
        if sample >= self.count() {
            return None;
        }
        let block = self.blocks.partition_point(|&before| before <= sample) - 1;
        let mut offset = sample - self.blocks[block];
        let mut line = block as u64 * BLOCK;
        loop {
            let count = self.count_in_line(line);
            if offset < count {
                return Some((line, offset));
            }
            offset -= count;
            line += 1;
        }
    }

    /// The sample of a number among those of a line, if there is one.
    pub(crate) fn sample_in_line(&self, line: u64, offset: u64) -> Option<Sample<'_>> {
        if offset >= self.count_in_line(line) {
            return None;
        }
        let tokens = self.corpus.line(line);
        Some(match self.objective {
            Objective::SkipGram => {
                let (target, context) = LineWindow::new(tokens.len(), self.window).pair(offset);
                Sample { before: &tokens[target..=target], after: &[], output: tokens[context] }
            }
            Objective::ContinuousBag => {
                let (target, window) = (offset as usize, self.window as usize);
                let end = target.saturating_add(window).saturating_add(1).min(tokens.len());
                Sample {
                    before: &tokens[target.saturating_sub(window)..target],
                    after: &tokens[target + 1..end],
                    output: tokens[target],
                }
            }
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
