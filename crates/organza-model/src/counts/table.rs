//! From a released table to cells: public numbers of words, trust, and the size of the noise.

use super::cells::{Cells, Entry, Word, mirrors};
use super::noise::Correction;
use super::{CountedPair, CountsError, CountsSettings, NoiseLaw, NoisyCounts, frequency_bias};
use crate::{ModelError, WordVectors};
use rayon::prelude::*;

/// Groups of words of like frequency, for the operator norm of the noise, so that its cost does not
/// grow with the square of the vocabulary.
const GROUPS: usize = 256;
/// Products that find the largest eigenvalue of a positive matrix, far more than it takes.
const PRODUCTS: usize = 60;
/// The variance of the sum of ordered pairs in a cell, over its mean: each co-occurrence adds (a, b) and
/// (b, a), so counts come in twos.
const DISPERSION: f64 = 2.0;

/// What is known before any cell is looked at.
pub(super) struct Table {
    words: Vec<Word>,
    total: f64,
    cell: CellLaw,
}

/// What is public about every cell.
#[derive(Clone, Copy)]
struct CellLaw {
    noise: NoiseLaw,
    bar: Option<f64>,
    pairs_per_count: f64,
}

impl CellLaw {
    /// The correction of a cell for which word counts let expect `mean` ordered pairs.
    fn correction(&self, mean: f64) -> Correction {
        let likely = mean.max(DISPERSION) / self.pairs_per_count;
        Correction::new(&self.noise, self.bar, likely)
    }

    /// The share of a cell's variance that is not noise. What a bar does differs between empty cells
    /// and others, so both count by how many there are.
    fn trust(&self, mean: f64) -> f64 {
        let correction = self.correction(mean);
        let filled = (mean / DISPERSION).min(1.0);
        let variance =
            (1.0 - filled) * correction.variance + filled * correction.variance_of_likely;
        let variance = variance * self.pairs_per_count.powi(2);
        DISPERSION * mean / (DISPERSION * mean + variance)
    }
}

impl Table {
    pub(super) fn new(
        model: &WordVectors,
        counts: &NoisyCounts<'_>,
        settings: &CountsSettings<'_>,
    ) -> Result<Self, CountsError> {
        counts.noise.check()?;
        let number = |what, value: f64, good: bool| {
            if value.is_finite() && good { Ok(()) } else { Err(CountsError::Number { what }) }
        };
        let (scale, deviation) = (counts.pairs_per_count, counts.word_deviation);
        number("pairs per count must be positive and", scale, scale > 0.0)?;
        number(
            "the deviation of word counts must not be negative and",
            deviation,
            deviation >= 0.0,
        )?;
        number("the bar", counts.bar.unwrap_or_default(), true)?;
        if counts.word_counts.len() != model.words() as usize {
            let (found, words) = (counts.word_counts.len(), model.words());
            return Err(ModelError::Length { what: "the word counts", found, words }.into());
        }
        for (value, what) in counts
            .word_counts
            .iter()
            .map(|count| (*count, "word counts"))
            .chain(counts.pairs.iter().map(|pair| (pair.count, "counts")))
        {
            number(what, value, true)?;
        }
        let NoisyCounts { noise, bar, pairs_per_count, .. } = *counts;
        let cell = CellLaw { noise, bar, pairs_per_count };

        // A word whose noisy count is lost in the noise is taken to be as frequent as the noise allows.
        let floor = counts.word_deviation.max(1.0);
        let mut words: Vec<f64> = counts.word_counts.iter().map(|count| count.max(floor)).collect();
        let mut total: f64 = words.iter().sum();
        if counts.clipped {
            let scale = table_total(counts, &cell.correction(0.0), words.len()) / total;
            if scale <= 0.0 {
                return Err(CountsError::NoTotal);
            }
            words.iter_mut().for_each(|count| *count *= scale);
            total *= scale;
        }
        let bias = frequency_bias(&words, settings.negative_weights, settings.negatives)?;
        let weights: f64 = settings.negative_weights.iter().sum();
        let mean = total / words.len() as f64;
        let words = words.iter().zip(bias).zip(settings.negative_weights).map(
            |((&count, bias), weight)| {
                let bias = f64::from(bias);
                let own = cell.trust(2.0 * count * count / total);
                Word {
                    count,
                    bias,
                    unlikely: 1.0 / (1.0 + bias.exp()),
                    negatives: f64::from(settings.negatives) * weight / weights,
                    whitening: (mean / count).sqrt(),
                    background: (own / (1.0 + bias.exp())).sqrt(),
                }
            },
        );
        Ok(Self { words: words.collect(), total, cell })
    }

    /// About the operator norm of the whitened gradient at 0 if there is no signal: 2 sqrt(rho(S)).
    ///
    /// Off the diagonal, with E = n_a n_b / N ordered pairs expected, trust c = 4 E / (4 E + v) and mean
    /// slope s = mean of 1 - sigmoid(bias) of both words, an entry of the gradient is d_a d_b c s
    /// (t - E), and t has variance (4 E + v) / 4: the entry's is d_a^2 d_b^2 s^2 c E = (N / V^2) s^2 c.
    /// Words of like frequency have like rows, so rho is found on one word for each group.
    pub(super) fn norm_of_noise(&self) -> f64 {
        let mut order: Vec<usize> = (0..self.words.len()).collect();
        order.sort_by(|left, right| self.words[*left].count.total_cmp(&self.words[*right].count));
        let groups: Vec<(&Word, f64)> = order
            .chunks(order.len().div_ceil(GROUPS))
            .map(|group| (&self.words[group[group.len() / 2]], group.len() as f64))
            .collect();
        let variance = |left: &Word, right: &Word| {
            let trust = self.cell.trust(2.0 * left.count * right.count / self.total);
            let slope = (left.unlikely + right.unlikely) / 2.0;
            trust * slope * slope
        };
        let variances: Vec<Vec<f64>> = groups
            .par_iter()
            .map(|(left, _)| {
                groups.iter().map(|(right, size)| variance(left, right) * size).collect()
            })
            .collect();
        let mut vector = vec![1.0; groups.len()];
        let mut largest = 0.0;
        for _ in 0..PRODUCTS {
            let product: Vec<f64> = variances
                .iter()
                .map(|row| row.iter().zip(&vector).map(|(entry, value)| entry * value).sum())
                .collect();
            largest = product.iter().copied().fold(0.0, f64::max);
            vector = product.iter().map(|value| value / largest).collect();
        }
        2.0 * (self.total * largest).sqrt() / self.words.len() as f64
    }

    /// All cells, or if not `dense` those that were released and the diagonal.
    pub(super) fn into_cells(
        self,
        counts: &NoisyCounts<'_>,
        dense: bool,
    ) -> Result<Cells, CountsError> {
        let words = self.words.len();
        let expected = words as u64 * (words as u64 + 1) / 2;
        let found = counts.pairs.len() as u64;
        if counts.bar.is_none() && counts.noise != NoiseLaw::None && found != expected {
            return Err(CountsError::Missing { found, expected });
        }
        let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); words];
        for CountedPair { first, second, count } in counts.pairs {
            for word in [*first, *second] {
                if word as usize >= words {
                    return Err(ModelError::Word { word, words: words as u32 }.into());
                }
            }
            rows[*first.min(second) as usize].push((*first.max(second), *count));
        }
        let rows: Vec<Vec<Entry>> = rows
            .into_par_iter()
            .enumerate()
            .map(|(row, mut released)| {
                released.sort_by_key(|(column, _)| *column);
                if let Some(pair) = released.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                    return Err(CountsError::Twice { first: row as u32, second: pair[0].0 });
                }
                let mut given = released.iter().peekable();
                let mut entries = Vec::new();
                // The diagonal always has an entry of its own: it counts once and not twice.
                let columns: Vec<u32> = if dense {
                    (row as u32..words as u32).collect()
                } else {
                    let own = row as u32;
                    let mut columns: Vec<u32> =
                        released.iter().map(|(column, _)| *column).collect();
                    if let Err(place) = columns.binary_search(&own) {
                        columns.insert(place, own);
                    }
                    columns
                };
                for column in columns {
                    let released = given.next_if(|(next, _)| *next == column);
                    entries.push(self.entry(row, column, released.map(|(_, count)| *count)));
                }
                Ok(entries)
            })
            .collect::<Result<_, _>>()?;
        let mut starts = vec![0];
        for row in &rows {
            starts.push(starts[starts.len() - 1] + row.len());
        }
        let entries: Vec<Entry> = rows.concat();
        let mirrors = mirrors(&entries, &starts).ok_or(CountsError::TooMany)?;
        // Where no cell is likely to hold anything, all are corrected alike.
        let missing = self.cell.correction(0.0).missing * counts.pairs_per_count;
        let missing = if dense || found == expected { None } else { Some(-missing / 2.0) };
        Ok(Cells { words: self.words, entries, starts, mirrors, total: self.total, missing })
    }

    fn entry(&self, row: usize, column: u32, released: Option<f64>) -> Entry {
        let diagonal = row == column as usize;
        let mean = self.words[row].count * self.words[column as usize].count / self.total;
        let in_cell = if diagonal { mean } else { 2.0 * mean };
        let correction = self.cell.correction(in_cell);
        let count = released.map_or(correction.missing, |count| count + correction.offset);
        let pairs = count * self.cell.pairs_per_count;
        Entry {
            column,
            count: if diagonal { pairs } else { pairs / 2.0 } as f32,
            trust: self.cell.trust(in_cell) as f32,
        }
    }
}

/// The number of ordered pairs in the table, corrected for the bar.
fn table_total(counts: &NoisyCounts<'_>, correction: &Correction, words: usize) -> f64 {
    let cells = words as f64 * (words as f64 + 1.0) / 2.0;
    let released: f64 = counts.pairs.iter().map(|pair| pair.count + correction.offset).sum();
    let missing = (cells - counts.pairs.len() as f64) * correction.missing;
    (released + missing) * counts.pairs_per_count
}
