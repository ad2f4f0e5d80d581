//! Word vectors from a noisy table of co-occurrence counts, released once: no step here sees the data.
//!
//! # The model
//! A pair (a, b) has the logit bias_b + z_ab. The loss of skip-gram with k negatives drawn from q,
//! summed over all pairs and with negatives in expectation, is a sum over cells,
//!
//! ```text
//! sum over a, b of  t_ab softplus(-x_ab) + n_a k q_b softplus(x_ab),     x_ab = bias_b + z_ab
//! ```
//!
//! with t_ab the count of the pair and n_a that of the word. Its minimum is at
//! x_ab = ln(t_ab / (n_a k q_b)) = ln(p_b / (k q_b)) + ln(t_ab N / (n_a n_b)): a bias that follows the
//! frequency of the word, and the pointwise mutual information, which is *symmetric* when a window looks
//! both ways. So the bias is set from word counts, which are paid for on their own, z is a symmetric
//! matrix, and a cell {a, b} of unordered pairs serves both of its entries.
//!
//! # Noise
//! Counts t have a variance of their own (each co-occurrence adds two ordered pairs) and that of the
//! noise. With m the mean of a cell {a, b} by word counts alone and v the variance of its noise, both in
//! ordered pairs, three things follow:
//!
//! - *trust*: a cell's loss is weighted by 2 m / (2 m + v), the share of its variance that is not noise.
//!   The minimum of each cell's loss stays where it is, so this costs no bias, and cells of rare words,
//!   nearly all of them and nearly all noise, no longer drown the others. It is the weight by which the
//!   variance of a cell's slope becomes proportional to its curvature, as for a likelihood;
//! - *whitening*: z = D M D with D = diag((n mean / n)^(1/2)). The noise of the gradient by M then has
//!   nearly one size in all entries;
//! - *shrinkage*: M minimises the loss plus a penalty times its nuclear norm (the sum of absolute
//!   eigenvalues). Without signal M is 0 exactly when the operator norm of the gradient at 0 is at most
//!   the penalty; for independent entries of variances S this norm is about 2 sqrt(rho(S)), rho the
//!   largest eigenvalue (for equal variances s^2: 2 s sqrt(V), Wigner). The penalty is
//!   `PENALTY_SHARE` of that: it follows from the noise, word counts and the size of the vocabulary.
//!
//! Everything is a function of what was released, so nothing is charged and nothing is tuned on private
//! data; the problem is convex, so training stops when it has settled, without a look at held-out text.
//!
//! # Cost
//! Up to [`DENSE_WORDS`] words every cell is an entry of its own. Beyond that only released cells are;
//! all others together make the *background*, quadratic in z and separable by words, and a pass costs
//! (released cells + words x rank) x rank, in memory for released cells and a few tables of vectors.

mod cells;
mod eigen;
mod fit;
mod low_rank;
mod noise;
mod spectrum;
mod table;
mod tall;

pub use noise::NoiseLaw;

use crate::{Layout, ModelError, WordVectors, frequency_bias};
use thiserror::Error;

/// The penalty as a share of the operator norm that noise alone would have. Chosen on the public
/// validation text of the Brown corpus among 0.8, 0.9 and 1: below it the noise comes through where there
/// is much of it, above it small but real associations are lost.
pub(crate) const PENALTY_SHARE: f64 = 0.9;

/// Up to so many words, cells that were not released are treated one by one.
pub const DENSE_WORDS: u32 = 2048;

/// A cell {first, second} of the table of unordered pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountedPair {
    /// One of the words.
    pub first: u32,
    /// The other, or the same.
    pub second: u32,
    /// The released count.
    pub count: f64,
}

/// A released table, and what is public about it.
#[derive(Clone, Copy, Debug)]
pub struct NoisyCounts<'a> {
    /// The released cells, each at most once.
    pub pairs: &'a [CountedPair],
    /// The noise on each cell, in counts.
    pub noise: NoiseLaw,
    /// The bar that noisy counts had to reach to be released. Without a bar all cells were, unless
    /// there is no noise: then those that are not listed are empty.
    pub bar: Option<f64>,
    /// How many ordered pairs one count stands for: 1 if both (a, b) and (b, a) were counted in {a, b},
    /// 2 if each co-occurrence was counted once.
    pub pairs_per_count: f64,
    /// How many ordered pairs have each word on the output side; with noise, so some may be negative.
    pub word_counts: &'a [f64],
    /// The standard deviation of the noise of word counts.
    pub word_deviation: f64,
    /// Whether units were clipped, so that the table holds fewer pairs than the word counts say: its
    /// total is then taken from the table itself.
    pub clipped: bool,
}

/// What is asked of the fit.
#[derive(Clone, Copy, Debug)]
pub struct CountsSettings<'a> {
    /// Negatives of each pair.
    pub negatives: u32,
    /// Their law: a positive weight for each word.
    pub negative_weights: &'a [f64],
    /// The most passes over the table; tables of a thousand words took 16 to 39.
    pub most_passes: usize,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct CountsFit {
    /// The parameters of the model.
    pub parameters: Vec<f32>,
    /// How many dimensions are in use; the others are zero.
    pub rank: usize,
    /// The penalty.
    pub penalty: f64,
    /// Passes over the table.
    pub passes: usize,
    /// Whether the solution had settled by then.
    pub settled: bool,
}

/// Why nothing can be learned.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CountsError {
    /// The model does not fit.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The noise is none.
    #[error("the scale of the noise must be positive and finite")]
    Noise,
    /// A number is not one.
    #[error("{what} must be finite")]
    Number {
        /// Which.
        what: &'static str,
    },
    /// A cell was given twice.
    #[error("the cell of words {first} and {second} is given twice")]
    Twice {
        /// One of the words.
        first: u32,
        /// The other.
        second: u32,
    },
    /// Cells are missing that must have been released.
    #[error(
        "{found} of {expected} cells are given, but without a bar every noisy cell is released"
    )]
    Missing {
        /// Cells given.
        found: u64,
        /// Cells of the vocabulary.
        expected: u64,
    },
    /// There are more cells than places.
    #[error("more than 2^32 cells were released: raise the bar, or take fewer words")]
    TooMany,
    /// The whole table is below nothing.
    #[error("the noise outweighs the counts: their total is not positive")]
    NoTotal,
}

/// Learns the tables of a model with two tables from released counts.
///
/// With the eigenvalues v_r and eigenvectors u_r of M, word a has the input vector
/// d_a (|v_r|^(1/2) u_ra)_r and the output vector d_a (sign(v_r) |v_r|^(1/2) u_ra)_r, so that their
/// product is z_ab. Runs on the threads of the current `rayon` pool; the result has the same bits
/// whatever their number.
///
/// # Errors
/// When the counts do not fit the model or each other.
pub fn learn_counts(
    model: &WordVectors,
    counts: &NoisyCounts<'_>,
    settings: &CountsSettings<'_>,
) -> Result<CountsFit, CountsError> {
    if model.layout() == Layout::Tied {
        return Err(ModelError::NoBias.into());
    }
    let table = table::Table::new(model, counts, settings)?;
    let penalty = PENALTY_SHARE * table.norm_of_noise();
    let cells = table.into_cells(counts, model.words() <= DENSE_WORDS)?;
    let solution = fit::solve(&cells, penalty, model.dimensions(), settings.most_passes);
    let parameters = parameters(model, &cells, &solution)?;
    let rank = solution.matrix.values.len();
    Ok(CountsFit { parameters, rank, penalty, passes: solution.passes, settled: solution.settled })
}

/// The two tables and the bias that make the solution.
fn parameters(
    model: &WordVectors,
    cells: &cells::Cells,
    solution: &fit::Solution,
) -> Result<Vec<f32>, CountsError> {
    let (dimensions, words) = (model.dimensions(), model.words() as usize);
    let mut parameters = vec![0.0; model.parameters()];
    let (target, rest) = parameters.split_at_mut(words * dimensions);
    let rows = target.chunks_mut(dimensions).zip(rest.chunks_mut(dimensions));
    for (word, (target, context)) in rows.enumerate().take(words) {
        let whitening = cells.words[word].whitening;
        let row = solution.matrix.basis.row(word).iter().zip(&solution.matrix.values);
        for ((entry, value), (target, context)) in row.zip(target.iter_mut().zip(context)) {
            let size = f64::from(*entry) * whitening * value.abs().sqrt();
            *target = size as f32;
            *context = (size * value.signum()) as f32;
        }
    }
    let bias: Vec<f32> = cells.words.iter().map(|word| word.bias as f32).collect();
    model.set_bias(&mut parameters, &bias)?;
    Ok(parameters)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wide_tests;
