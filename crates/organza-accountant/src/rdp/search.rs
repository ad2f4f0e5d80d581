//! The best order.

/// The lowest and the highest order minus one, as powers of ten. A run of 10^9 steps without much
/// noise is best priced near 1 + 1e-6, a single very noisy one beyond 10^6.
const POWERS: (i32, i32) = (-7, 9);

/// The lowest order that is tried.
pub(super) const LOWEST_ORDER: f64 = 1.0 + 1e-7;

/// Points of the grid per power of ten.
const PER_POWER: i32 = 8;

/// The largest integer that is always tried: a curve known at integers has its best order there.
const INTEGERS: u32 = 48;

/// The smallest value of `objective` over orders above 1, and the order. Any order gives a valid
/// bound, so that the search misses the best one costs tightness and never soundness.
pub(super) fn smallest(objective: impl Fn(f64) -> f64) -> (f64, f64) {
    let at = |order: f64| {
        let value = objective(order);
        (if value.is_nan() { f64::INFINITY } else { value }, order)
    };
    let mut best = (f64::INFINITY, 2.0);
    let mut keep = |candidate: (f64, f64)| {
        if candidate.0 < best.0 {
            best = candidate;
        }
        candidate
    };
    let points = (POWERS.1 - POWERS.0) * PER_POWER;
    for point in 0..=points {
        let power = f64::from(POWERS.0) + f64::from(point) / f64::from(PER_POWER);
        keep(at(1.0 + libm::exp10(power)));
    }
    for order in 2..=INTEGERS {
        keep(at(f64::from(order)));
    }
    // Golden section between the neighbours of the best point, in the logarithm of order - 1.
    let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
    let centre = libm::log(best.1 - 1.0);
    let reach = std::f64::consts::LN_10 / f64::from(PER_POWER);
    let order_at = |logarithm: f64| 1.0 + libm::exp(logarithm);
    let (mut low, mut high) = (centre - reach, centre + reach);
    let mut keep = |candidate: (f64, f64)| {
        if candidate.0 < best.0 {
            best = candidate;
        }
        candidate
    };
    let mut left = keep(at(order_at(high - golden * (high - low))));
    let mut right = keep(at(order_at(low + golden * (high - low))));
    for _ in 0..24 {
        if left.0 < right.0 {
            high = libm::log(right.1 - 1.0);
            right = left;
            left = keep(at(order_at(high - golden * (high - low))));
        } else {
            low = libm::log(left.1 - 1.0);
            left = right;
            right = keep(at(order_at(low + golden * (high - low))));
        }
    }
    let order = best.1;
    for integer in [order.floor(), order.ceil()] {
        if integer >= 2.0 {
            let candidate = at(integer);
            if candidate.0 < best.0 {
                best = candidate;
            }
        }
    }
    best
}
