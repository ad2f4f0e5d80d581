//! The best order.

/// The lowest order that is tried. A run of 10^9 steps without much noise is best priced near it.
pub(super) const LOWEST_ORDER: f64 = 1.0 + 1e-7;

/// Orders minus one run over so many powers of ten; a single very noisy step is best priced beyond
/// 10^6.
const POWERS: i32 = 16;

/// Points of the grid per power of ten.
const PER_POWER: i32 = 8;

/// The largest integer that is always tried: a curve known at integers has its best order there.
const INTEGERS: u32 = 48;

/// Steps of the golden section, each of which shortens the interval by a factor 0.618.
const SECTIONS: u32 = 20;

/// Looks for the order that makes `convert(order, divergence(order))` smallest.
///
/// Any order gives a valid bound, so missing the best one costs tightness and never soundness.
/// Divergences rise with the order and `convert` with the divergence, so an order can be passed over
/// once a lower one's divergence shows that it does not help.
struct Search<Divergence, Convert> {
    divergence: Divergence,
    convert: Convert,
    /// (order, divergence) seen so far, by rising order.
    seen: Vec<(f64, f64)>,
    /// (value, order)
    best: (f64, f64),
}

impl<Divergence: Fn(f64) -> f64, Convert: Fn(f64, f64) -> f64> Search<Divergence, Convert> {
    /// Tries an order, unless it cannot be better than the best.
    fn try_order(&mut self, order: f64) {
        let position = self.seen.partition_point(|(other, _)| *other <= order);
        let below = if position == 0 { 0.0 } else { self.seen[position - 1].1 };
        if (self.convert)(order, below) < self.best.0 {
            let divergence = (self.divergence)(order);
            if !divergence.is_nan() {
                self.seen.insert(position, (order, divergence));
                self.value(order, divergence);
            }
        }
    }

    fn value(&mut self, order: f64, divergence: f64) -> f64 {
        let value = (self.convert)(order, divergence);
        if value < self.best.0 {
            self.best = (value, order);
        }
        value
    }
}

/// The smallest `convert(order, divergence(order))` over orders above 1, and that order.
pub(super) fn smallest(
    divergence: impl Fn(f64) -> f64,
    convert: impl Fn(f64, f64) -> f64,
) -> (f64, f64) {
    let best = (f64::INFINITY, 2.0);
    let mut search = Search { divergence, convert, seen: Vec::new(), best };
    let at_power = |power: f64| 1.0 + (LOWEST_ORDER - 1.0) * libm::exp10(power);
    // Whole powers first: they bracket the best order and let most others be passed over.
    for power in 0..=POWERS {
        search.try_order(at_power(f64::from(power)));
    }
    for order in 2..=INTEGERS {
        search.try_order(f64::from(order));
    }
    for point in 0..=POWERS * PER_POWER {
        search.try_order(at_power(f64::from(point) / f64::from(PER_POWER)));
    }
    let centre = libm::log(search.best.1 - 1.0);
    let reach = std::f64::consts::LN_10 / f64::from(PER_POWER);
    refine(&mut search, (centre - reach).max(libm::log(LOWEST_ORDER - 1.0)), centre + reach);
    let order = search.best.1;
    search.try_order(order.floor().max(2.0));
    search.try_order(order.ceil());
    search.best
}

/// Golden section between two values of ln(order - 1).
fn refine<Divergence: Fn(f64) -> f64, Convert: Fn(f64, f64) -> f64>(
    search: &mut Search<Divergence, Convert>,
    mut low: f64,
    mut high: f64,
) {
    let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
    let mut try_at = |logarithm: f64| {
        let order = 1.0 + libm::exp(logarithm);
        let divergence = (search.divergence)(order);
        (logarithm, search.value(order, divergence))
    };
    let mut left = try_at(high - golden * (high - low));
    let mut right = try_at(low + golden * (high - low));
    for _ in 0..SECTIONS {
        if left.1 < right.1 {
            high = right.0;
            right = left;
            left = try_at(high - golden * (high - low));
        } else {
            low = left.0;
            left = right;
            right = try_at(low + golden * (high - low));
        }
    }
}
