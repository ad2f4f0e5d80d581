//! Poisson sampling of a mechanism of which only the Renyi curve is known.

use super::curve::Curve;
use super::integral::log_excess;
use super::sampled::{binomial_excess, mixture_log_ratio};
use super::{Direction, logarithms};

/// The largest integer order of the binomial rule; beyond it, [`Sampled`] uses the rule that holds
/// at any order.
const LARGEST: u32 = 1024;

/// A mechanism on a Poisson batch, priced from its Renyi curve D before sampling, which bounds both
/// directions. All bounds hold for every pair (P, Q) = (with, without) of the mechanism, and by joint
/// convexity for the mixture over the other members of the batch.
///
/// * *Seen*: whoever learns as well whether the unit joined has, in either direction, the moment
///   1 - q + q e^((a-1) D_a). Real orders; it never exceeds the unsampled one, and is weak.
/// * *Remove*, integer orders: E_Q\[(1-q+q r)^a\] expands by the binomial theorem into moments
///   E_Q r^l <= e^((l-1) D_l). No factor stands before the terms from l = 3 on: it is needed only where
///   the curve is used for central moments.
/// * *Add*: E_Q phi(x) with phi(x) = (1+x)^(1-a), x = q (r-1) >= -q, E x = 0 and E x^2 <= q^2 v, where
///   v = e^(D_2) - 1. The quadratic that meets phi at -q and touches it at q v differs from phi by
///   phi'''/6 (x + q)(x - q v)^2 <= 0, as phi''' < 0, so it lies above phi, and its expectation is that of
///   phi when r is 0 or 1 + v with mean 1: the worst case is (v phi(-q) + phi(q v)) / (1 + v). It is at
///   most 1 + a (a-1)/2 (1-q)^(-a-1) q^2 v, which Taylor's theorem gives. Any real order.
/// * Between integers the log moment is convex in the order and 0 at 1: it lies below the chord.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sampled {
    rate: f64,
    /// The probability of an exceptional outcome before sampling.
    lost: f64,
    before: Box<Curve>,
    /// The log moments before sampling at the orders 0, 1, 2, ...
    moments: Vec<f64>,
}

impl Sampled {
    pub(super) fn new(rate: f64, lost: f64, before: Curve) -> Self {
        let moments = (0..=LARGEST)
            .map(|order| if order < 2 { 0.0 } else { before.log_moment(f64::from(order)) })
            .collect();
        Self { rate, lost, before: Box::new(before), moments }
    }

    pub(super) fn log_moment(&self, order: f64) -> f64 {
        let seen = logarithms::mixed(self.rate, self.before.log_moment(order));
        if self.rate >= 1.0 || order > f64::from(LARGEST) {
            return seen;
        }
        let add = with_exception(self.rate, self.lost, order, self.add(order).min(seen));
        seen.min(self.remove(order).max(add))
    }

    fn remove(&self, order: f64) -> f64 {
        let below = order.floor();
        let share = order - below;
        let low = self.remove_at(below as u32);
        if share == 0.0 {
            return low;
        }
        (1.0 - share) * low + share * self.remove_at(below as u32 + 1)
    }

    fn remove_at(&self, order: u32) -> f64 {
        logarithms::one_more(binomial_excess(order, self.rate, |power| {
            self.moments[power as usize]
        }))
    }

    fn add(&self, order: f64) -> f64 {
        add_log_moment(order, self.rate, self.moments[2])
    }
}

/// A bound on ln E_Q\[(1+x)^(1-a)\] for x >= -`rate` of mean 0 and second moment at most
/// `rate`^2 (e^`second` - 1): the worst case of [`Sampled`]'s direction *add*.
pub(super) fn add_log_moment(order: f64, rate: f64, second: f64) -> f64 {
    let excess = |log_ratio| log_excess(order, Direction::Add, log_ratio);
    let log_excess = logarithms::add(
        logarithms::one_less(second) + excess(libm::log1p(-rate)),
        excess(mixture_log_ratio(rate, second)),
    ) - second;
    logarithms::one_more(log_excess)
}

/// The log moment of the direction *add* when the mechanism behaves only outside an exceptional event
/// of probability `lost` on each side, given the one without exceptions.
///
/// Let P = (1-d) P' + d P'' and Q = (1-d) Q' + d Q'', where (P', Q') is the pair without exceptions.
/// Remove: of (1-q) Q + q P leave out only q d P''; the rest, (1-d) ((1-q) Q' + q P') + (1-q) d Q'', has
/// a ratio to Q of at most 1 - q on the second part, so its moment is no larger than without
/// exceptions. Add: leave out nothing. (1-q) Q + q P is at least (1-q) d Q'' on the second part, so
/// the moment is at most (1-d) times the one without exceptions plus d (1-q)^(1-a).
pub(super) fn with_exception(rate: f64, lost: f64, order: f64, log_moment: f64) -> f64 {
    if lost == 0.0 || rate >= 1.0 {
        return log_moment;
    }
    logarithms::add(
        libm::log1p(-lost) + log_moment,
        libm::log(lost) - (order - 1.0) * libm::log1p(-rate),
    )
    .max(log_moment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// ln E\[(1 - q + q r)^power\] for ratios r with these masses.
    fn exact(ratios: &[(f64, f64)], rate: f64, power: f64) -> f64 {
        ratios
            .iter()
            .map(|(mass, ratio)| mass * libm::pow(1.0 - rate + rate * ratio, power))
            .sum::<f64>()
            .ln()
    }

    #[test]
    fn the_worst_case_of_the_add_direction_is_attained() {
        // The ratio is 0 or 1 + v: its moment is the bound, which Taylor's theorem exceeds.
        for (variance, rate, order) in [(0.3, 0.1, 5.0), (4.0, 0.5, 2.5), (50.0, 1e-4, 3.0)] {
            let high = 1.0 + variance;
            let ratios = [(1.0 - 1.0 / high, 0.0), (1.0 / high, high)];
            let bound = add_log_moment(order, rate, libm::log(high));
            let moment = exact(&ratios, rate, 1.0 - order);
            assert!((bound / moment - 1.0).abs() < 1e-7, "{bound} {moment}");
            let taylor: f64 = 0.5 * order * (order - 1.0) * rate * rate * variance
                / libm::pow(1.0 - rate, order + 1.0);
            assert!(bound <= taylor.ln_1p());
        }
    }

    #[test]
    fn both_directions_are_in_the_account() {
        // At order 2 and a high rate the bound of the add direction is the larger one.
        let sampled = Sampled::new(0.3, 0.0, Curve::Concentrated { rho: 0.05 });
        let (remove, add) = (sampled.remove(2.0), sampled.add(2.0));
        assert!(add > 1.01 * remove && sampled.log_moment(2.0) == add, "{remove} {add}");
        // And at a high order the other.
        assert!(sampled.log_moment(60.0) >= sampled.remove(60.0).min(60.0 * 59.0 * 0.05));
        assert_eq!(sampled.log_moment(2000.0), logarithms::mixed(0.3, 2000.0 * 1999.0 * 0.05));
    }

    #[test]
    fn exceptional_outcomes_are_in_the_add_direction() {
        // A randomised response but for a mass on either side that gives everything away.
        let (epsilon, lost, rate) = (0.9_f64, 0.01, 0.6);
        let truth = 1.0 / (1.0 + (-epsilon).exp());
        for order in [1.5, 2.0, 6.0] {
            let add = |with: f64, without: f64| {
                without.powf(order) * ((1.0 - rate) * without + rate * with).powf(1.0 - order)
            };
            let clean = (add(truth, 1.0 - truth) + add(1.0 - truth, truth)).ln();
            let kept = 1.0 - lost;
            let real = (add(kept * truth, kept * (1.0 - truth))
                + add(kept * (1.0 - truth), kept * truth)
                + add(0.0, lost))
            .ln();
            let bound = with_exception(rate, lost, order, clean);
            assert!(clean < 0.97 * real, "the exception shows: {clean} {real}");
            assert!((bound / real - 1.0).abs() < 1e-9, "{bound} {real}");
        }
        assert_eq!(with_exception(1.0, lost, 2.0, 0.3), 0.3);
        // It reaches the account where it is neither hidden by `remove` nor capped by *seen*.
        let curve = || Curve::Concentrated { rho: 0.05 };
        let (with, without) = (Sampled::new(0.3, 1e-3, curve()), Sampled::new(0.3, 0.0, curve()));
        assert!(with.log_moment(2.0) > without.log_moment(2.0) * 1.001);
    }

    proptest! {
        #[test]
        fn no_mechanism_exceeds_the_add_bound(
            weights in proptest::collection::vec((0.01_f64..1.0, 0.0_f64..5.0), 2..6),
            rate in 0.01_f64..0.99,
            order in 1.05_f64..20.0,
        ) {
            let mass: f64 = weights.iter().map(|(mass, _)| mass).sum();
            let mean: f64 = weights.iter().map(|(mass, ratio)| mass * ratio).sum::<f64>() / mass;
            prop_assume!(mean > 0.1);
            let ratios: Vec<(f64, f64)> =
                weights.iter().map(|(weight, ratio)| (weight / mass, ratio / mean)).collect();
            let second: f64 = ratios.iter().map(|(mass, ratio)| mass * ratio * ratio).sum();
            let moment = exact(&ratios, rate, 1.0 - order);
            let bound = add_log_moment(order, rate, second.ln().max(0.0));
            prop_assert!(moment <= bound * (1.0 + 1e-9) + 1e-12, "{} {}", moment, bound);
        }
    }
}
