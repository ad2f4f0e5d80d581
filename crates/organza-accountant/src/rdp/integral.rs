//! Expectations over a standard normal of a convex function of a likelihood ratio.

use super::Direction;
use super::logarithms::{self, LogSum};

/// The positive nodes of the Gauss-Legendre rule with 16 points, and their weights.
const NODES: [(f64, f64); 8] = [
    (0.095_012_509_837_637_44, 0.189_450_610_455_068_5),
    (0.281_603_550_779_258_9, 0.182_603_415_044_923_59),
    (0.458_016_777_657_227_39, 0.169_156_519_395_002_54),
    (0.617_876_244_402_643_8, 0.149_595_988_816_576_73),
    (0.755_404_408_355_003, 0.124_628_971_255_533_87),
    (0.865_631_202_387_831_8, 0.095_158_511_682_492_79),
    (0.944_575_023_073_232_6, 0.062_253_523_938_647_893),
    (0.989_400_934_991_649_9, 0.027_152_459_411_754_095),
];

/// ln sqrt(2 pi).
const LOG_NORMALISER: f64 = 0.918_938_533_204_672_7;

/// What lies this far (in logarithms) below the largest value seen is left out. A few thousand
/// intervals at the most are, which changes the result by less than 1e-17 of itself.
const NEGLIGIBLE: f64 = 50.0;

/// The logarithm of what a ratio R = e^`log_ratio` adds to a moment beyond its linear part.
///
/// With the deviation x = R - 1 and b = a - 1, `Remove` is (1+x)^a - 1 - a x and `Add` is
/// (1+x)^(1-a) - 1 - (1-a) x. As E R = 1, the expectation of either is the moment minus 1, and, with
/// L = ln R and s(t) = e^t - 1 - t, they are sums of terms that are never negative,
/// e^L (s(bL) + b s(-L)) and s(-bL) + b s(L), so that nothing cancels even where the moment is
/// 1 + 1e-12.
pub(super) fn log_excess(order: f64, direction: Direction, log_ratio: f64) -> f64 {
    let above_one = order - 1.0;
    let (first, second, factor) = match direction {
        Direction::Remove => (above_one * log_ratio, -log_ratio, log_ratio),
        Direction::Add => (-above_one * log_ratio, log_ratio, 0.0),
    };
    if first < 600.0 && second < 600.0 {
        let sum =
            logarithms::second_remainder(first) + above_one * logarithms::second_remainder(second);
        return factor + libm::log(sum);
    }
    factor
        + logarithms::add(
            logarithms::log_second_remainder(first),
            libm::log(above_one) + logarithms::log_second_remainder(second),
        )
}

/// Accumulates ln of the sum, over the parts of a mixture, of
/// mass x E\[ excess(L(z)) \] for a standard normal z.
pub(super) struct Excess {
    order: f64,
    direction: Direction,
    /// The largest integrand seen so far, over all parts.
    peak: f64,
    sum: LogSum,
}

impl Excess {
    pub(super) fn new(order: f64, direction: Direction) -> Self {
        Self { order, direction, peak: f64::NEG_INFINITY, sum: LogSum::new() }
    }

    pub(super) fn ln(&self) -> f64 {
        self.sum.ln()
    }

    /// Adds one part: `log_ratio` is L as a function of z, which must rise with z by at most
    /// `slope` a unit; `scale` is the distance within which L may be taken as smooth.
    ///
    /// The excess is convex in the ratio and the ratio rises with z, so on an interval it is largest
    /// at one of the ends; that bounds the integrand, and intervals without weight are left out
    /// unvisited. The rest is integrated on panels shorter than the distance to the nearest complex
    /// zero of the ratio, on which the rule converges like 6^-32.
    pub(super) fn add_part(
        &mut self,
        log_mass: f64,
        slope: f64,
        scale: f64,
        log_ratio: impl Fn(f64) -> f64,
    ) {
        // Beyond 39 the normal density is below the smallest float; the power of the ratio moves the
        // weight by at most order x slope.
        let (low, high) = match self.direction {
            Direction::Remove => (-39.0, 39.0 + self.order * slope),
            Direction::Add => (-39.0 - self.order * slope, 39.0),
        };
        let width = (1.5 * scale).min(1.0);
        if !(low.is_finite() && high.is_finite() && width > 0.0) {
            self.sum.add(f64::NAN);
            return;
        }
        let log_mass = log_mass - LOG_NORMALISER;
        let (order, direction) = (self.order, self.direction);
        let excess = |z: f64| log_mass + log_excess(order, direction, log_ratio(z));
        let mut pending = vec![(low, high, excess(low), excess(high))];
        while let Some((left, right, at_left, at_right)) = pending.pop() {
            let nearest = if left > 0.0 {
                left
            } else if right < 0.0 {
                right
            } else {
                0.0
            };
            let length = right - left;
            let bound = at_left.max(at_right) - 0.5 * nearest * nearest;
            if bound + libm::log(length.max(1.0)) < self.peak - NEGLIGIBLE {
                continue;
            }
            let middle = 0.5 * (left + right);
            if length <= width || middle <= left || middle >= right {
                self.add_panel(middle, 0.5 * length, &excess);
                continue;
            }
            let at_middle = excess(middle);
            self.peak = self.peak.max(at_middle - 0.5 * middle * middle);
            pending.push((left, middle, at_left, at_middle));
            pending.push((middle, right, at_middle, at_right));
        }
    }

    fn add_panel(&mut self, middle: f64, half: f64, excess: &impl Fn(f64) -> f64) {
        for (node, weight) in NODES {
            let log_weight = libm::log(weight * half);
            for z in [middle - half * node, middle + half * node] {
                let value = excess(z) - 0.5 * z * z;
                self.peak = self.peak.max(value);
                self.sum.add(value + log_weight);
            }
        }
    }
}
