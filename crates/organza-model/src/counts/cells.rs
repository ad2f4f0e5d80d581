//! The loss of counted cells, and what is assumed of those that were not released.

use super::low_rank::{Block, LowRank};
use crate::kernels::{add_scaled, dot};
use rayon::prelude::*;
use std::ops::Range;

/// A cell {a, b} with a <= b, in the row of a.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) column: u32,
    /// The corrected count of ordered pairs (a, b): half of the cell, or all of it on the diagonal.
    pub(super) count: f32,
    /// How much of the cell's information is signal: 2 m / (2 m + noise variance), m its mean.
    pub(super) trust: f32,
}

/// The other place of a cell in the symmetric table, in the row of b.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mirror {
    /// a.
    pub(super) column: u32,
    /// Where the cell stands among all.
    pub(super) place: u32,
}

/// Public numbers of a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    /// How often it stands on each side of a pair.
    pub(super) count: f64,
    /// ln(p / (k q)): its logit by frequency alone.
    pub(super) bias: f64,
    /// 1 - sigmoid(bias).
    pub(super) unlikely: f64,
    /// k q: its expected number among the negatives of one pair.
    pub(super) negatives: f64,
    /// The square root of (mean count / count): cells divided by both words' have noise of one size.
    pub(super) whitening: f64,
    /// The share of a cell's information that is signal, as far as this word decides it, times the
    /// slope of the loss: used for cells that were not released.
    pub(super) background: f64,
}

/// The table: cells with their own loss, and the background.
#[derive(Debug)]
pub(super) struct Cells {
    pub(super) words: Vec<Word>,
    /// By rows, each cell once.
    pub(super) entries: Vec<Entry>,
    /// Where the entries of each word begin, and at last their number.
    pub(super) starts: Vec<usize>,
    /// What is below the diagonal, by rows.
    pub(super) mirrors: Vec<Vec<Mirror>>,
    /// The total of the words' counts.
    pub(super) total: f64,
    /// What a cell that was not released counts less than nothing, in ordered pairs, to make up for
    /// empty cells that were; `None` when every cell has an entry.
    pub(super) missing: Option<f64>,
}

/// In how many places of the table a cell stands.
fn times(row: usize, column: usize) -> f64 {
    if row == column { 1.0 } else { 2.0 }
}

/// What is below the diagonal of a table whose entries are these; none if there are more cells than numbers.
pub(super) fn mirrors(entries: &[Entry], starts: &[usize]) -> Option<Vec<Vec<Mirror>>> {
    u32::try_from(entries.len()).ok()?;
    let mut mirrors = vec![Vec::new(); starts.len() - 1];
    for (row, places) in starts.windows(2).enumerate() {
        for (place, entry) in (places[0]..).zip(&entries[places[0]..places[1]]) {
            let column = entry.column as usize;
            if column != row {
                mirrors[column].push(Mirror { column: row as u32, place: place as u32 });
            }
        }
    }
    Some(mirrors)
}

/// Loss and derivative at one logit.
struct Term {
    value: f64,
    slope: f64,
}

impl Cells {
    /// The weighted loss of the two ordered pairs of a cell, and its derivative, at z beyond the bias.
    ///
    /// For the ordered pair (a, b) with count t, logit x = bias_b + z and expected negatives
    /// g = n_a k q_b:
    ///
    /// ```text
    /// t softplus(-x) + g softplus(x)                       t >= 0
    /// |t| (1 - sigmoid(bias_b)) z + g softplus(x)          t < 0
    /// ```
    ///
    /// Both have slope g sigmoid(x) - t (1 - sigmoid(x)) at z = 0, so that the noise of counts, which
    /// makes some negative, leaves it unbiased there; and both are convex, which t softplus(-x) is not
    /// for t < 0.
    fn term(&self, row: usize, entry: &Entry, z: f64) -> Term {
        let column = entry.column as usize;
        let count = f64::from(entry.count);
        let mut term = Term { value: 0.0, slope: 0.0 };
        for (input, output) in [(row, column), (column, row)] {
            let (input, output) = (&self.words[input], &self.words[output]);
            let logit = output.bias + z;
            let tail = (-logit.abs()).exp();
            // To 1e-16, which is enough beside the other terms, and in half the time of `ln_1p`.
            let logarithm = (1.0 + tail).ln();
            let sigmoid = if logit > 0.0 { 1.0 } else { tail } / (1.0 + tail);
            let negatives = input.count * output.negatives;
            term.value += negatives * (logit.max(0.0) + logarithm);
            term.slope += negatives * sigmoid;
            if count >= 0.0 {
                term.value += count * ((-logit).max(0.0) + logarithm);
                term.slope -= count * (1.0 - sigmoid);
            } else {
                let slope = -count * output.unlikely;
                term.value += slope * z;
                term.slope += slope;
            }
        }
        let weight = f64::from(entry.trust) / 2.0;
        Term { value: weight * term.value, slope: weight * term.slope }
    }

    /// The loss of a cell as if it were not released: quadratic, so that all of them together cost no
    /// more than the rank. With w the background weights of both words, E = n_a n_b / N and m the
    /// magnitude of a missing count: w_a w_b ((E + m) z + E z^2 / 2), to second order in z what
    /// [`Self::term`] is.
    fn background(&self, row: usize, column: usize, z: f64) -> Term {
        let Some(missing) = self.missing else { return Term { value: 0.0, slope: 0.0 } };
        let (left, right) = (&self.words[row], &self.words[column]);
        let weight = left.background * right.background;
        let mean = left.count * right.count / self.total;
        Term {
            value: weight * ((mean + missing) * z + mean * z * z / 2.0),
            slope: weight * (mean + missing + mean * z),
        }
    }

    /// The entries' z under a matrix of low rank in whitened coordinates.
    pub(super) fn evaluate(&self, matrix: &LowRank, values: &mut [f32]) {
        self.each_row(values, |row, values| {
            let mut scaled = Vec::new();
            if !matrix.values.is_empty() {
                matrix.scaled_row(row, &mut scaled);
            }
            for (entry, value) in self.row(row).iter().zip(values) {
                let column = entry.column as usize;
                let whitening = self.words[row].whitening * self.words[column].whitening;
                let other: &[f32] = if scaled.is_empty() { &[] } else { matrix.basis.row(column) };
                *value = (f64::from(dot(&scaled, other)) * whitening) as f32;
            }
            0.0
        });
    }

    /// The sum of the entries' losses beyond the background, and minus their derivatives by the
    /// whitened matrix.
    pub(super) fn descent(&self, values: &[f32], descent: &mut [f32]) -> f64 {
        self.each_row(descent, |row, descent| {
            let values = &values[self.places(row)];
            let mut sum = 0.0;
            for ((entry, z), descent) in self.row(row).iter().zip(values).zip(descent) {
                let own = self.beyond_background(row, entry, f64::from(*z));
                let column = entry.column as usize;
                sum += times(row, column) * own.value;
                let whitening = self.words[row].whitening * self.words[column].whitening;
                *descent = (-own.slope * whitening) as f32;
            }
            sum
        })
    }

    /// The entries' loss at `to`, and how far it bends on the way there: that loss, minus what the
    /// tangent at `from` says, where it is `loss` and falls by `descent`.
    pub(super) fn bend(&self, from: &[f32], to: &[f32], descent: &[f32], loss: f64) -> (f64, f64) {
        let rows = (0..self.words.len()).into_par_iter().map(|row| {
            let places = self.places(row);
            let (mut sum, mut tangents) = (0.0, 0.0);
            for (place, entry) in places.clone().zip(self.row(row)) {
                let (from, to) = (f64::from(from[place]), f64::from(to[place]));
                let column = entry.column as usize;
                let whitening = self.words[row].whitening * self.words[column].whitening;
                let times = times(row, column);
                tangents -= times * f64::from(descent[place]) * (to - from) / whitening;
                sum += times * self.beyond_background(row, entry, to).value;
            }
            (sum, tangents)
        });
        let rows: Vec<(f64, f64)> = rows.collect();
        let value: f64 = rows.iter().map(|(value, _)| value).sum();
        let bend: f64 = rows.iter().map(|(value, tangents)| value - tangents).sum();
        (value, bend - loss)
    }

    fn beyond_background(&self, row: usize, entry: &Entry, z: f64) -> Term {
        let own = self.term(row, entry, z);
        let background = self.background(row, entry.column as usize, z);
        Term { value: own.value - background.value, slope: own.slope - background.slope }
    }

    fn places(&self, row: usize) -> Range<usize> {
        self.starts[row]..self.starts[row + 1]
    }

    fn row(&self, row: usize) -> &[Entry] {
        &self.entries[self.places(row)]
    }

    /// Works through all rows, each with the values of its entries; the sum of the results, added in
    /// the order of rows, so that its bits do not depend on the number of threads.
    fn each_row(&self, values: &mut [f32], work: impl Fn(usize, &mut [f32]) -> f64 + Sync) -> f64 {
        let mut rows = Vec::with_capacity(self.words.len());
        let mut rest = values;
        for row in 0..self.words.len() {
            let (head, tail) = rest.split_at_mut(self.places(row).len());
            rows.push(head);
            rest = tail;
        }
        let sums: Vec<f64> =
            rows.into_par_iter().enumerate().map(|(row, values)| work(row, values)).collect();
        sums.iter().sum()
    }

    /// Adds `scale` times minus the gradient times a block: that of the entries, which is `descent`, and
    /// the slope of the background at zero. Its curvature is left to the caller.
    pub(super) fn apply_descent(
        &self,
        descent: &[f32],
        block: &Block,
        scale: f64,
        result: &mut Block,
    ) {
        let columns = block.columns;
        let slopes: Vec<(Block, Vec<f32>)> = self
            .slopes()
            .into_iter()
            .map(|(vector, factor)| {
                let product = vector.product(block, |_| 1.0);
                let product = product.iter().map(|value| (-scale * factor * value) as f32);
                let product = product.collect();
                (vector, product)
            })
            .collect();
        result.values.par_chunks_mut(columns).enumerate().for_each(|(row, result)| {
            for (entry, descent) in self.row(row).iter().zip(&descent[self.places(row)]) {
                let factor = (f64::from(*descent) * scale) as f32;
                add_scaled(result, factor, block.row(entry.column as usize));
            }
            for Mirror { column, place } in &self.mirrors[row] {
                let factor = (f64::from(descent[*place as usize]) * scale) as f32;
                add_scaled(result, factor, block.row(*column as usize));
            }
            for (vector, product) in &slopes {
                add_scaled(result, vector.values[row], product);
            }
        });
    }

    /// The slope of the background at zero, two matrices of rank one: vectors and their factors.
    fn slopes(&self) -> Vec<(Block, f64)> {
        let Some(missing) = self.missing else { return Vec::new() };
        let weight = |row: usize| self.words[row].background * self.words[row].whitening;
        vec![
            (self.vector(|row| weight(row) * self.words[row].count), 1.0 / self.total),
            (self.vector(weight), missing),
        ]
    }

    /// What the background's slope at zero says of its loss at a matrix.
    pub(super) fn background_at(&self, matrix: &LowRank) -> f64 {
        let slopes = self.slopes();
        let terms = slopes.iter().map(|(vector, factor)| {
            let product = vector.product(&matrix.basis, |_| 1.0);
            let squares =
                product.iter().zip(&matrix.values).map(|(entry, value)| value * entry * entry);
            factor * squares.sum::<f64>()
        });
        terms.sum()
    }

    /// A first guess at how stiff the loss is: the largest curvature of a whitened entry at z = 0.
    pub(super) fn first_stiffness(&self) -> f64 {
        // trust, slope and sigmoid are at most 1, and E d_a^2 d_b^2 = N / V^2.
        let most = self.total / (self.words.len() as f64).powi(2);
        let trust = self.entries.iter().map(|entry| entry.trust).fold(0.0, f32::max);
        let background = (0..self.words.len()).map(|row| self.curvature(row)).fold(0.0, f64::max);
        (most * f64::from(trust)).max(background * background)
    }

    /// The background's curvature at an entry is the product of this for both words.
    pub(super) fn curvature(&self, row: usize) -> f64 {
        let word = &self.words[row];
        match self.missing {
            None => 0.0,
            Some(_) => {
                word.background * word.whitening * word.whitening * word.count / self.total.sqrt()
            }
        }
    }

    fn vector(&self, value: impl Fn(usize) -> f64) -> Block {
        let values = (0..self.words.len()).map(|row| value(row) as f32).collect();
        Block { columns: 1, values }
    }
}
