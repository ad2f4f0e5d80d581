//! What one record can do to one draw: the numbers every bound of the joint account is made of.

use super::FAINTEST;
use organza_ledger::AccountError;

/// Each number is rounded up by this factor, far beyond the error of the few operations behind it.
const UP: f64 = 1.0 + 1e-13;

/// The facts F1 to F4 about a draw with probabilities proportional to exp(weight x score), for
/// scores in \[0, cap\] that a record moves by at most `l2` in L2, coordinate by coordinate at most
/// as far as the vector itself (`docs/concepts/joint-account.md` has the proofs).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Facts {
    /// The number of draws, k.
    pub(super) draws: u64,
    /// The bounded range of one draw, eta = weight x min(2 cap, sqrt2 l2).
    pub(super) range: f64,
    /// weight x l2: the L2 change of the log-weights.
    pub(super) reach: f64,
    /// weight x min(cap, l2): the largest change of one log-weight.
    pub(super) jump: f64,
    /// w: no candidate is ever drawn with a larger probability (F1).
    pub(super) likeliest: f64,
    /// zeta: the logarithm of the normaliser moves by at most this (F2).
    pub(super) drift: f64,
    /// v: the variance of the probability ratio of one draw (F4).
    pub(super) variance: f64,
    /// The sum over the draws of the largest probability at that draw: at most k w. It bounds the
    /// expected share of the record's squared norm that the mask lets through.
    pub(super) hits: f64,
}

impl Facts {
    /// The facts for `draws` draws without replacement from `candidates`, of bounded range `range`
    /// each, with scores in \[0, `cap`\] and a record that moves them by `l2`.
    pub(super) fn new(
        range: f64,
        draws: u64,
        candidates: u64,
        cap: f64,
        l2: f64,
    ) -> Result<Self, AccountError> {
        check("epsilon", range, range >= 0.0)?;
        check("cap", cap, cap > 0.0)?;
        check("l2", l2, l2 > 0.0)?;
        if draws > candidates {
            return Err(AccountError::OutOfRange(format!(
                "{draws} draws without replacement from {candidates} candidates"
            )));
        }
        let range = if range > 0.0 { range.max(FAINTEST) } else { range };
        // weight = range / min(2 cap, sqrt2 l2), kept as ratios so that nothing overflows early.
        let sqrt2 = std::f64::consts::SQRT_2;
        let height = if range == 0.0 { 0.0 } else { range / (2.0f64).min(sqrt2 * (l2 / cap)) };
        let reach = if range == 0.0 { 0.0 } else { range / (2.0 * (cap / l2)).min(sqrt2) };
        let jump = height.min(reach) * UP;
        let fewest_others = candidates.saturating_sub(draws.max(1)) as f64;
        let shrink = libm::exp(-height);
        let likeliest = (UP / (1.0 + fewest_others * shrink)).min(1.0);
        let drift = (likeliest.sqrt() * reach).min(jump) * UP;
        let stretch = if jump < 1e-9 { 1.0 + jump } else { libm::expm1(jump) / jump };
        let moved = stretch * drift * libm::exp(drift);
        let each = draws as f64 * likeliest;
        // The largest probability rises from draw to draw: its sum is below the last plus an integral.
        let past = draws.saturating_sub(1) as f64 * shrink / (1.0 + fewest_others * shrink);
        let summed = likeliest + libm::exp(height) * libm::log1p(past) * UP;
        Ok(Self {
            draws,
            range,
            reach,
            jump,
            likeliest,
            drift,
            variance: moved * moved * UP,
            hits: each.min(summed) * UP,
        })
    }

    /// B: the largest |log ratio| of a draw's probabilities (F3).
    pub(super) fn largest_loss(&self) -> f64 {
        (self.jump + self.drift) * UP
    }
}

/// Refuses a number that is not finite or fails its condition.
pub(super) fn check(field: &'static str, value: f64, holds: bool) -> Result<(), AccountError> {
    if value.is_finite() && holds {
        return Ok(());
    }
    Err(AccountError::OutOfRange(format!("`{field}` of a selection or mask is {value}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_published_run() {
        let facts = Facts::new(0.28379, 100, 100_000, 0.1, 0.75).unwrap();
        let weight = 0.28379 / 0.2;
        assert!((facts.jump - weight * 0.1).abs() < 1e-12);
        assert!((facts.reach - weight * 0.75).abs() < 1e-12);
        let likeliest = 1.0 / (1.0 + 99_900.0 * (-weight * 0.1f64).exp());
        assert!((facts.likeliest / likeliest - 1.0).abs() < 1e-12);
        assert!(facts.hits < 100.0 * likeliest && facts.hits > 99.9 * likeliest);
    }

    #[test]
    fn the_sum_of_the_largest_probabilities_is_covered() {
        for (range, draws, candidates, cap) in
            [(0.0, 5, 6, 0.1), (1.0, 6, 6, 0.1), (3.0, 50, 60, 2.0), (0.3, 1, 9, 0.5)]
        {
            let facts = Facts::new(range, draws, candidates, cap, 1.0).unwrap();
            let height = range / (2.0f64 * cap).min(2.0f64.sqrt()) * cap;
            let exact: f64 = (1..=draws)
                .map(|draw| 1.0 / (1.0 + (candidates - draw) as f64 * (-height).exp()))
                .sum();
            assert!(facts.hits >= exact, "{} {exact}", facts.hits);
        }
    }

    #[test]
    fn extremes_stay_numbers() {
        for cap in [1e-300, 1e-3, 1.0, 1e300] {
            for (draws, candidates) in [(0, 1), (1, 1), (1_000_000, 1_000_000_000_000)] {
                for range in [0.0, 1e-9, 1.0, 500.0] {
                    let facts = Facts::new(range, draws, candidates, cap, 1.0).unwrap();
                    for value in [facts.jump, facts.likeliest, facts.drift, facts.hits] {
                        assert!(value.is_finite() && value >= 0.0, "{facts:?}");
                    }
                    assert!(!facts.variance.is_nan(), "{facts:?}");
                }
            }
        }
        assert!(Facts::new(0.1, 3, 2, 1.0, 1.0).is_err());
        assert!(Facts::new(f64::NAN, 1, 2, 1.0, 1.0).is_err());
    }
}
