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
