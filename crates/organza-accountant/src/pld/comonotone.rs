//! Any mechanism on a Poisson batch, for a group of records.

use super::Pair;
use super::binomial::Binomial;
use super::cells::{Cells, Point};
use super::plan::Batch;
use super::prepared::Prepared;
use organza_ledger::AccountError;

/// The most numbers of joined units that are told apart.
const MOST_PAIRS: usize = 48;
/// The most points of all pairs together.
const MOST_POINTS: f64 = 400_000.0;
/// Q-masses below this are not told from zero.
const FAINTEST: f64 = 1e-290;
/// What a ratio may lose to rounding, relative to what was added up.
const RATIO_ERROR: f64 = 1e-13;

/// The pair of a step on a Poisson batch for a group, from the pairs (P_j, Q) of what the step does to
/// a batch that j of the group have joined.
///
/// # Proof
/// As for a Gaussian (see [`super::mixture::Mixture`]), the ratio of a step's outputs with and without
/// the group is R = sum of p_S r_S, where (P_j, Q) dominates r_S for j = |S|; let H_j be its profile.
/// For any a_j with sum of b_j a_j = a, b the Binomial law,
///
///   E(R - a)+ <= sum of b_j H_j(a_j).
///
/// Choose for a_j the quantiles of the ratios dP_j/dQ at one common level: then the right-hand side
/// is the profile at a of the sum of b_j dP_j/dQ when all these ratios rise and fall together, and
/// this is the pair that is computed. In the same way (a - R)+ is bounded for the other direction.
///
/// # Numerics
/// The ratios are laid side by side from the largest down, each as long as its Q-mass, and cut
/// wherever one of them changes. A mass that is used up in pieces is right up to a rounding for each
/// piece, relative to itself; by the first formula with profiles that are as much too low, that
/// makes the profile too low by no more, relative to it.
#[derive(Clone, Debug)]
pub(super) struct Comonotone {
    /// What the batch is used for when this many have joined, and how likely that is.
    joined: Vec<(f64, Prepared)>,
    /// The probability that none has joined.
    absent: f64,
    /// The probability of all other numbers, given to infinity.
    left_out: f64,
    /// The points of the coarsest grids.
    points: f64,
}

impl Comonotone {
    /// For a `rate` above zero and below one; less than `tail` is cut off at either end.
    pub(super) fn new(
        batch: &Batch,
        rate: f64,
        records: u64,
        tail: f64,
    ) -> Result<Self, AccountError> {
        let binomial = Binomial::new(records, rate);
        let least = tail / (records + 1) as f64;
        let (mut joined, mut left_out) = (Vec::new(), 0.0);
        for count in 1..binomial.odds.len() {
            let mass = binomial.mass(count);
            if mass <= least {
                left_out += mass;
                continue;
            }
            if joined.len() == MOST_PAIRS {
                return Err(AccountError::OutOfRange(format!(
                    "more than {MOST_PAIRS} of {records} units may join a batch: too many to tell apart"
                )));
            }
            joined.push((mass, Prepared::new(&batch.of_group(count as u64)?, tail)?));
        }
        let absent = binomial.mass(0);
        let mut found = Self { joined, absent, left_out: left_out * (1.0 + 1e-9), points: 0.0 };
        found.points = found.pairs(1.0).iter().map(|pair| pair.masses.len() as f64).sum();
        Ok(found)
    }

    /// The finest grid no finer than `wanted`, relative to the coarsest.
    pub(super) fn fitting(&self, wanted: f64) -> f64 {
        wanted.clamp((self.points / MOST_POINTS).min(1.0), 1.0)
    }

    /// Whether a finer grid gains nothing.
    pub(super) fn is_exact(&self) -> bool {
        self.joined.iter().all(|(_, prepared)| prepared.is_exact())
    }

    fn pairs(&self, step: f64) -> Vec<Pair> {
        self.joined
            .iter()
            .map(|(_, prepared)| prepared.pair(prepared.fitting(step * prepared.coarse_step())))
            .collect()
    }

    /// The pair on grids `step` times as fine as the coarsest, and what its masses may have lost to
    /// rounding, relative to them.
    pub(super) fn cells(&self, step: f64) -> (Cells, f64) {
        let pairs = self.pairs(step);
        let mut cells = Cells { infinite: self.left_out, ..Cells::default() };
        let mut rounding: f64 = 0.0;
        let mut ratios: Vec<Ratio> = Vec::new();
        for ((mass, prepared), pair) in self.joined.iter().zip(&pairs) {
            let cut = pairs.iter().map(|other| other.masses.len()).sum::<usize>() as f64;
            let lost = prepared.rounding(pair.masses.len()) + f64::EPSILON * (cut + 64.0);
            rounding = rounding.max(lost);
            let (ratio, faint) = Ratio::new(pair, *mass, pair.step / step);
            cells.infinite += mass * (pair.infinite + faint.0);
            cells.only_without += faint.1;
            ratios.push(ratio);
        }
        while ratios.iter().any(|ratio| !ratio.is_over()) {
            let rest = |ratio: &Ratio| if ratio.is_over() { f64::INFINITY } else { ratio.left };
            let without = ratios.iter().map(rest).fold(f64::INFINITY, f64::min);
            cells.points.push(self.point(&ratios, without));
            ratios.iter_mut().for_each(|ratio| ratio.advance(without));
        }
        (cells, rounding)
    }

    /// The point where the ratios are what they are now.
    fn point(&self, ratios: &[Ratio], without: f64) -> Point {
        let (mut change, mut size) = (-self.left_out, self.left_out);
        let (mut value, mut moved) = (self.absent, 0.0);
        for ratio in ratios {
            let part = ratio.share * libm::expm1(ratio.loss());
            let whole = ratio.share * libm::exp(ratio.loss());
            change += part;
            size += part.abs();
            value += whole;
            moved += whole * ratio.width;
        }
        // Next to one the sum of the changes keeps the digits, far below it that of the values.
        let near = change > -0.5;
        Point {
            loss: if near { libm::log1p(change) } else { libm::log(value) },
            error: RATIO_ERROR * if near { size / (1.0 + change) } else { 1.0 },
            with: without * value,
            without,
            width: moved / value,
        }
    }
}

/// The ratio of one pair, from the largest down.
struct Ratio {
    /// The losses and Q-masses.
    parts: Vec<(f64, f64)>,
    share: f64,
    width: f64,
    at: usize,
    /// What is left of the mass at `at`.
    left: f64,
}

impl Ratio {
    /// Also returns the masses under P and under Q that were too faint to keep.
    fn new(pair: &Pair, share: f64, width: f64) -> (Self, (f64, f64)) {
        let mut faint = (0.0, 0.0);
        let mut parts = Vec::with_capacity(pair.masses.len() + 1);
        for (index, mass) in pair.masses.iter().enumerate().rev() {
            let loss = pair.loss(index);
            let without = mass * libm::exp(-loss);
            if without >= FAINTEST {
                parts.push((loss, without));
            } else {
                faint.0 += mass;
                faint.1 += without;
            }
        }
        if pair.only_without > 0.0 {
            parts.push((f64::NEG_INFINITY, pair.only_without));
        }
        let left = parts.first().map_or(0.0, |(_, without)| *without);
        (Self { parts, share, width, at: 0, left }, faint)
    }

    fn is_over(&self) -> bool {
        self.at >= self.parts.len()
    }

    /// The loss now, or the last one where others still go on for want of a rounding.
    fn loss(&self) -> f64 {
        let at = self.at.min(self.parts.len().saturating_sub(1));
        self.parts.get(at).map_or(f64::NEG_INFINITY, |(loss, _)| *loss)
    }

    fn advance(&mut self, without: f64) {
        if self.is_over() {
            return;
        }
        self.left -= without;
        if self.left <= 0.0 {
            self.at += 1;
            self.left = self.parts.get(self.at).map_or(0.0, |(_, without)| *without);
        }
    }
}
