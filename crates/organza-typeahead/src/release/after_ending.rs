//! What follows words of an ending, for words that are too rare to tell by themselves.

use super::stage::{Cells, Released, STAGES, Stages};
use super::words::WordCounts;
use crate::bayes::Observed;
use crate::endings::Endings;
use crate::level::{Context, Level};
use organza_data::Writing;
use organza_ledger::{Charge, Charged};
use organza_mechanism::{NotPaid, PlanError};
use rayon::prelude::*;

/// The most frequent words speak for themselves, and would drown the others: so many are not counted, and of few words one of so many.
const HEAD: usize = 300;
const HEAD_OF: usize = 10;
/// The least and the largest logarithm of what is expected that are told apart, in deviations.
const FIRST: f32 = -14.0;
const LAST: f32 = 8.0;
/// So much of the probability is left to how frequent words are.
const ALONE: f32 = 0.02;
/// Parts of a probability below this are not worth their place in the model.
const LEAST_PART: f32 = 5e-5;

/// The probability of each word after words of each ending.
#[derive(Clone, Debug)]
pub(crate) struct AfterEnding {
    pub(crate) endings: Endings,
    /// By ending and word, from the first word.
    probabilities: Vec<f32>,
    words: usize,
}

impl AfterEnding {
    pub(super) fn release<E: From<PlanError> + From<NotPaid>>(
        stages: &mut Stages<'_, impl FnMut(Charge) -> Result<Charged, E>>,
        counts: &WordCounts,
        endings: Endings,
    ) -> Result<(Self, Released), E> {
        let first = Writing::FIRST_WORD;
        let words = (stages.symbols() - first) as usize;
        let mut common: Vec<u32> = (first..stages.symbols()).collect();
        common.sort_by(|one, other| {
            counts.frequencies[*other as usize].total_cmp(&counts.frequencies[*one as usize])
        });
        let mut counted = vec![true; words + first as usize];
        counted[Writing::END as usize] = false;
        common
            .iter()
            .take(HEAD.min(words / HEAD_OF))
            .for_each(|word| counted[*word as usize] = false);
        let number = (endings.number * words) as u64;
        let of_symbol = &endings.of_symbol;
        let noisy = stages.release(1, Cells::dense(number), |row, cells| {
            let pairs = row.windows(2).filter(|pair| counted[pair[0] as usize] && pair[1] >= first);
            cells.extend(pairs.map(|pair| {
                let ending = of_symbol[pair[0] as usize] as u64;
                (ending * words as u64 + u64::from(pair[1] - first), 1.0)
            }));
        })?;
        let deviation = noisy.deviation as f32;
        let mut sizes = vec![1.0; endings.number];
        for (symbol, ending) in endings.of_symbol.iter().enumerate().filter(|it| counted[it.0]) {
            sizes[*ending as usize] += counts.frequencies[symbol];
        }
        let logs = |values: &[f32]| values.iter().map(|it| it.log2()).collect::<Vec<f32>>();
        let (sizes, frequencies) = (logs(&sizes), logs(&counts.frequencies[first as usize..]));
        // Scaled so that as much is expected as was observed, in deviations.
        let total = |logs: &[f32]| logs.iter().map(|log| f64::from(log.exp2())).sum::<f64>();
        let found: f64 = noisy.cells.iter().map(|(_, count)| f64::from(count / deviation)).sum();
        let scale = found.max(1.0) / (total(&sizes) * total(&frequencies));
        let scale = scale.log2() as f32;
        let expected = |cell: usize| sizes[cell / words] + frequencies[cell % words] + scale;
        let mut observed = Observed::new(FIRST, LAST, 1.0, f64::NEG_INFINITY);
        for (cell, count) in &noisy.cells {
            observed.add(expected(*cell as usize), count / deviation);
        }
        let posterior = observed.posterior();
        let alone = counts.probabilities();
        let rows = noisy.cells.par_chunks(words).enumerate().map(|(ending, row)| {
            // Nobody was counted for the end of a sentence.
            if ending as u32 == Writing::END {
                return alone.clone();
            }
            let means = row
                .iter()
                .map(|(cell, count)| posterior.mean(expected(*cell as usize), count / deviation));
            let means: Vec<f32> = means.collect();
            let total = means.iter().map(|mean| f64::from(*mean)).sum::<f64>() as f32;
            let mixed =
                |(mean, alone): (&f32, &f32)| (mean / total + ALONE * alone) / (1.0 + ALONE);
            means.iter().zip(&alone).map(mixed).collect()
        });
        let probabilities = rows.collect::<Vec<Vec<f32>>>().concat();
        let (cells, counts): (Vec<u64>, Vec<f32>) = noisy.cells.into_iter().unzip();
        let symbols = cells.iter().flat_map(|cell| {
            let (ending, word) = (cell / words as u64, cell % words as u64);
            [ending as u32, word as u32 + first]
        });
        let released = Released {
            name: STAGES[1].to_owned(),
            length: 2,
            symbols: symbols.collect(),
            counts,
            deviation,
        };
        Ok((Self { endings, probabilities, words }, released))
    }

    /// With these probabilities, by ending and word.
    #[cfg(test)]
    pub(super) fn of(endings: Endings, probabilities: Vec<f32>) -> Self {
        let words = probabilities.len() / endings.number;
        Self { endings, probabilities, words }
    }

    /// The probabilities of words after words that end like this one, from the first word.
    pub(crate) fn row(&self, symbol: u32) -> &[f32] {
        self.of_ending(self.endings.of_symbol[symbol as usize])
    }

    /// The probabilities of words after an ending, from the first word.
    pub(crate) fn of_ending(&self, ending: u32) -> &[f32] {
        &self.probabilities[ending as usize * self.words..][..self.words]
    }

    /// As a part of the model.
    pub(crate) fn level(&self, counts: &WordCounts) -> Level {
        let alone = counts.probabilities();
        let mut level =
            Level::new(Context::Class { of_symbol: self.endings.of_symbol.clone(), length: 1 });
        for ending in Writing::OTHER..self.endings.number as u32 {
            level.push_over(ending.into(), self.of_ending(ending), &alone, LEAST_PART);
        }
        level
    }
}
