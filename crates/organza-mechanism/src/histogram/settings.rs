//! What a histogram is to be.

use organza_ledger::Neighbouring;

/// How much one unit may contribute to all cells together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Whole counts, whose total is at most this: what is beyond it is left out, cell by cell from the
    /// last. One unit moves the histogram by at most this in L1.
    Total(u64),
    /// Real counts, whose L2 norm is at most this: a longer vector is scaled down. One unit moves the
    /// histogram by at most this in L2.
    Norm(f64),
}

/// The noise on each cell: whole numbers, exact in law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CountNoise {
    /// Two-sided geometric noise of scale sensitivity / `epsilon`, for [`Bound::Total`].
    DiscreteLaplace {
        /// The guarantee: pure epsilon-differential privacy.
        epsilon: f64,
    },
    /// A Gaussian rounded to the grid, for [`Bound::Norm`].
    RoundedGaussian {
        /// Standard deviation over sensitivity.
        multiplier: f64,
    },
}

/// Unchecked settings of a histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramSettings {
    /// The number of cells, empty ones included.
    pub cells: u64,
    /// The relation for which sensitivities are stated.
    pub neighbouring: Neighbouring,
    /// What one unit may contribute.
    pub bound: Bound,
    /// The noise.
    pub noise: CountNoise,
    /// So many cells, the first ones, are released whatever their counts.
    pub dense: u64,
    /// Of the others only those whose *noisy* count is at least this are released; without it, all of them.
    pub bar: Option<f64>,
}
