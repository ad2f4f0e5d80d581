//! How frequent words are.

use super::stage::{Cells, Released, STAGES, Stages};
use organza_data::Writing;
use organza_ledger::{Charge, Charged};
use organza_mechanism::{NotPaid, PlanError};

/// Words that are counted less often than so many deviations of the noise are taken for as frequent as that: which of them are is noise.
const LEAST: f32 = 0.5;
/// Contexts weigh the less the more frequent they are, by this power: what follows frequent ones stands out of the noise anyway.
const POWER: f32 = 0.3;

/// The noisy counts of words, from which all that comes later begins.
#[derive(Clone, Debug)]
pub(crate) struct WordCounts {
    /// By symbol; those that are no words are as frequent as the most frequent word.
    pub(crate) frequencies: Vec<f32>,
}

impl WordCounts {
    pub(super) fn release<E: From<PlanError> + From<NotPaid>>(
        stages: &mut Stages<'_, impl FnMut(Charge) -> Result<Charged, E>>,
    ) -> Result<(Self, Released), E> {
        let symbols = stages.symbols();
        let first = Writing::FIRST_WORD;
        let noisy = stages.release(0, Cells::dense((symbols - first).into()), |row, cells| {
            let words = row.iter().filter(|symbol| **symbol >= first);
            cells.extend(words.map(|word| (u64::from(word - first), 1.0)));
        })?;
        let least = LEAST * noisy.deviation as f32;
        let counts: Vec<f32> = noisy.cells.iter().map(|(_, count)| *count).collect();
        let most = counts.iter().copied().fold(least, f32::max);
        let frequencies = [most; Writing::FIRST_WORD as usize].into_iter();
        let frequencies = frequencies.chain(counts.iter().map(|count| count.max(least))).collect();
        let released = Released {
            name: STAGES[0].to_owned(),
            length: 1,
            symbols: (first..symbols).collect(),
            counts,
            deviation: noisy.deviation as f32,
        };
        Ok((Self { frequencies }, released))
    }

    /// How much what follows a symbol weighs: 1 for the most frequent, more for others.
    pub(crate) fn weight(&self, symbol: u32) -> f32 {
        let most = self.frequencies[Writing::END as usize];
        (most / self.frequencies[symbol as usize]).powf(POWER)
    }

    /// The probability of each word without a context, from the first word.
    pub(crate) fn probabilities(&self) -> Vec<f32> {
        let words = &self.frequencies[Writing::FIRST_WORD as usize..];
        let total: f64 = words.iter().map(|count| f64::from(*count)).sum();
        words.iter().map(|count| (f64::from(*count) / total) as f32).collect()
    }
}
