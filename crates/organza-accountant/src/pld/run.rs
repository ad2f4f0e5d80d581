//! A whole run: how often each loss is incurred, and the exponential moments of their sum.

use super::sample::Atoms;
use crate::normal;

/// The same loss, incurred independently a number of times.
#[derive(Clone, Debug)]
pub(super) struct Use {
    pub(super) times: f64,
    pub(super) atoms: Atoms,
    /// What a mass may have lost to rounding before it got here, relative to it.
    pub(super) rounding: f64,
}

/// All uses of one run in one direction.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) uses: Vec<Use>,
}

/// The logarithm K of the moment E\[exp(theta L); L finite\] of the total loss, and its derivatives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cumulants {
    pub(super) value: f64,
    pub(super) mean: f64,
    pub(super) variance: f64,
}

impl Run {
    pub(super) fn cumulants(&self, theta: f64) -> Cumulants {
        let mut sum = Cumulants { value: 0.0, mean: 0.0, variance: 0.0 };
        for part in &self.uses {
            let one = cumulants(&part.atoms, theta);
            sum.value += part.times * one.value;
            sum.mean += part.times * one.mean;
            sum.variance += part.times * one.variance;
        }
        sum
    }

    /// The largest finite loss of the whole run.
    pub(super) fn largest(&self) -> f64 {
        self.uses.iter().map(|part| part.times * part.atoms.largest()).sum()
    }

    /// The probability that some use has an infinite loss.
    pub(super) fn infinite(&self) -> f64 {
        let survived: f64 =
            self.uses.iter().map(|part| part.times * libm::log1p(-part.atoms.infinite)).sum();
        -libm::expm1(survived)
    }

    /// The logarithm of the factor by which rounding may have lowered a product of all masses.
    pub(super) fn mass_error(&self) -> f64 {
        self.uses.iter().map(|part| part.times * part.rounding).sum()
    }

    /// The logarithm of the tilt at which a loss of the usual size is of order one.
    fn scale(&self) -> f64 {
        let spread = self.cumulants(0.0).variance.sqrt();
        -libm::log(spread.clamp(1e-16, 1e16))
    }

    /// The number of uses.
    pub(super) fn count(&self) -> f64 {
        self.uses.iter().map(|part| part.times).sum()
    }

    /// The tilt at which the moment bound on delta at `epsilon` is smallest, where
    /// K'(theta) = epsilon + log(1 + 1/theta): what makes up delta lies around that mean.
    pub(super) fn tilt_to(&self, epsilon: f64) -> f64 {
        bisect_tilt(1e-3, |theta| {
            theta > 0.0 && self.cumulants(theta).mean - libm::log1p(1.0 / theta) >= epsilon
        })
    }

    /// The smallest tilt s >= `theta` with K(s) - (s - `theta`) K'(s) <= `level`: by Chernoff,
    /// e^{`theta` u} Pr\[L > u\] <= exp(`level`) at u = K'(s).
    pub(super) fn upper_tilt(&self, theta: f64, level: f64) -> f64 {
        theta
            + bisect_tilt(0.01, |more| {
                let at = self.cumulants(theta + more);
                at.value - more * at.mean <= level
            })
    }

    /// A loss l, as large as Chernoff shows, with e^{`theta` l} Pr\[L <= l\] <= exp(`level`).
    pub(super) fn lower_end(&self, theta: f64, level: f64) -> f64 {
        let tilt = bisect_tilt(0.01, |tilt| {
            let at = self.cumulants(-tilt);
            at.value + (tilt + theta) * at.mean <= level
        });
        self.cumulants(-tilt).mean
    }

    /// A guess at epsilon for `delta` by the saddle point, and its tilt; good to a few per cent.
    pub(super) fn guess(&self, delta: f64) -> (f64, f64) {
        let middle = self.cumulants(0.0);
        let spread = middle.variance.sqrt();
        if saddle(&middle, 0.0) <= libm::log(delta) {
            // Epsilon lies below the mean: the plain normal approximation will do.
            let (mut low, mut high) = (0.0, middle.mean.max(0.0));
            for _ in 0..60 {
                let epsilon = 0.5 * (low + high);
                let centre = (middle.mean - epsilon) / spread.max(1e-300);
                let rest = libm::exp((epsilon - middle.mean + 0.5 * spread * spread).min(700.0));
                let guess = normal::below(centre) - rest * normal::below(centre - spread);
                if guess > delta { low = epsilon } else { high = epsilon }
            }
            return (high, 0.0);
        }
        let theta =
            bisect_tilt(1e-4, |theta| saddle(&self.cumulants(theta), theta) <= libm::log(delta));
        (self.cumulants(theta).mean.max(0.0), theta)
    }

    /// The logarithm of delta at `epsilon`, roughly.
    pub(super) fn rough_delta(&self, theta: f64) -> f64 {
        saddle(&self.cumulants(theta), theta)
    }

    /// An upper bound on epsilon at `delta` by moments alone, always valid and often loose.
    ///
    /// (1 - e^{-x})+ <= c exp(theta x) with c = (1/(1+theta)) (theta/(1+theta))^theta, so
    /// epsilon <= (K(theta) + log c - log delta) / theta for every theta > 0.
    pub(super) fn moment_epsilon(&self, delta: f64) -> f64 {
        let left = delta - self.infinite();
        if left <= 0.0 {
            return f64::INFINITY;
        }
        let at = |exponent: f64| {
            let theta = libm::exp(exponent);
            let value = self.cumulants(theta).value + self.mass_error() + 1e-12;
            (value + log_constant(theta) - libm::log(left)) / theta
        };
        smallest(self.scale(), at).max(0.0)
    }

    /// An upper bound on delta at `epsilon` by moments alone.
    pub(super) fn moment_delta(&self, epsilon: f64) -> f64 {
        let at = |exponent: f64| {
            let theta = libm::exp(exponent);
            self.cumulants(theta).value + self.mass_error() + 1e-12 + log_constant(theta)
                - theta * epsilon
        };
        (libm::exp(smallest(self.scale(), at)) + self.infinite()).min(1.0)
    }
}

fn log_constant(theta: f64) -> f64 {
    -theta * libm::log1p(1.0 / theta) - libm::log1p(theta)
}

/// The smallest value that `bound` takes on a net of exponents around `middle`, refined at the best.
fn smallest(middle: f64, bound: impl Fn(f64) -> f64) -> f64 {
    let (mut centre, mut width, mut best) = (middle, 1.0, f64::INFINITY);
    for index in -12..=8 {
        let exponent = middle + index as f64;
        let value = bound(exponent);
        if value < best {
            (best, centre) = (value, exponent);
        }
    }
    for _ in 0..8 {
        width *= 0.5;
        for exponent in [centre - width, centre + width] {
            let value = bound(exponent);
            if value < best {
                (best, centre) = (value, exponent);
            }
        }
    }
    best
}

fn cumulants(atoms: &Atoms, theta: f64) -> Cumulants {
    let largest = atoms.losses.iter().fold(f64::NEG_INFINITY, |top, loss| top.max(theta * loss));
    let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
    for (loss, mass) in atoms.losses.iter().zip(&atoms.masses) {
        let weight = mass * (theta * loss - largest).exp();
        sum += weight;
        first += weight * loss;
        second += weight * loss * loss;
    }
    if sum <= 0.0 {
        return Cumulants { value: f64::NEG_INFINITY, mean: 0.0, variance: 0.0 };
    }
    let mean = first / sum;
    Cumulants {
        value: largest + libm::log(sum),
        mean,
        variance: (second / sum - mean * mean).max(0.0),
    }
}

/// The logarithm of delta at the tilted mean, if the tilted loss were normal.
fn saddle(at: &Cumulants, theta: f64) -> f64 {
    let spread = at.variance.sqrt();
    let gap = scaled_tail(theta * spread) - scaled_tail((theta + 1.0) * spread);
    at.value - theta * at.mean + libm::log(gap.max(1e-300))
}

/// exp(x^2/2) times the normal tail above x >= 0.
fn scaled_tail(x: f64) -> f64 {
    if x < 25.0 {
        return libm::exp(0.5 * x * x) * normal::above(x);
    }
    let inverse = 1.0 / (x * x);
    normal::density(0.0) / x * (1.0 - inverse * (1.0 - 3.0 * inverse))
}

/// The smallest tilt from which on `reached` holds, between 0 and 1e20, to a `relative` accuracy.
fn bisect_tilt(relative: f64, reached: impl Fn(f64) -> bool) -> f64 {
    if reached(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (1e-12, 1.0);
    while !reached(high) {
        low = high;
        high *= 8.0;
        if high > 1e20 {
            return high;
        }
    }
    while high / low > 1.0 + relative {
        let middle = (low * high).sqrt();
        if reached(middle) { high = middle } else { low = middle }
    }
    high
}
