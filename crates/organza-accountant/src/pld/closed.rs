//! Runs whose curve is known in closed form: a single use of a single mechanism.

use super::plan::{Part, Phase};
use super::{Direction, bounded_range, laplace, pure};
use crate::normal;

/// What the closed forms may lose to rounding, relative to delta.
const ROUNDING: f64 = 1e-12;

/// One use of one mechanism with a symmetric pair, on a Poisson batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closed {
    mechanism: Mechanism,
    rate: f64,
}

#[derive(Clone, Copy, Debug)]
enum Mechanism {
    Gaussian { shift: f64 },
    Laplace { noise_multiplier: f64 },
    Pure { epsilon: f64 },
    BoundedRange { epsilon: f64 },
}

impl Closed {
    /// The closed form of `phases`, if there is one.
    pub(super) fn of(phases: &[Phase]) -> Option<Self> {
        let [Phase { times: 1, rate, batch }] = phases else { return None };
        let mechanism = match batch.parts.as_slice() {
            [] => Mechanism::Gaussian { shift: batch.shift_square.sqrt() },
            _ if batch.shift_square > 0.0 => return None,
            [(Part::Laplace { noise_multiplier }, 1)] => {
                Mechanism::Laplace { noise_multiplier: *noise_multiplier }
            }
            [(Part::Approximate { epsilon, delta }, 1)] if *delta == 0.0 => {
                Mechanism::Pure { epsilon: *epsilon }
            }
            [(Part::BoundedRange { epsilon, draws: 1, delta }, 1)] if *delta == 0.0 => {
                Mechanism::BoundedRange { epsilon: *epsilon }
            }
            _ => return None,
        };
        Some(Self { mechanism, rate: *rate })
    }

    fn hockey_stick(&self, threshold: f64) -> f64 {
        match self.mechanism {
            Mechanism::Gaussian { shift } => normal::hockey_stick(threshold, shift),
            Mechanism::Laplace { noise_multiplier } => {
                laplace::hockey_stick(threshold, noise_multiplier)
            }
            Mechanism::Pure { epsilon } => pure::hockey_stick(threshold, epsilon),
            Mechanism::BoundedRange { epsilon } => bounded_range::hockey_stick(threshold, epsilon),
        }
    }

    /// Delta at `epsilon` >= 0 in the worse direction.
    ///
    /// With a = e^epsilon and H the curve before sampling: for removal q H((a - 1 + q)/q); for
    /// addition (1 - (1-q) a) H(q a / (1 - (1-q) a)) while a < 1/(1-q), and nothing beyond.
    pub(super) fn delta(&self, epsilon: f64) -> (f64, Direction) {
        let rate = self.rate;
        let beyond = libm::expm1(epsilon);
        let remove = rate * self.hockey_stick((beyond + rate) / rate);
        let left = rate - (1.0 - rate) * beyond;
        let add = if left > 0.0 {
            left * self.hockey_stick(rate * libm::exp(epsilon) / left)
        } else {
            0.0
        };
        let (delta, direction) =
            if add > remove { (add, Direction::Add) } else { (remove, Direction::Remove) };
        ((delta * (1.0 + ROUNDING)).min(1.0), direction)
    }

    /// The smallest epsilon >= 0 with delta of at most `delta`, from above.
    pub(super) fn epsilon(&self, delta: f64) -> (f64, Direction) {
        let (at_zero, direction) = self.delta(0.0);
        if at_zero <= delta {
            return (0.0, direction);
        }
        let (mut low, mut high) = (0.0, 1.0);
        while self.delta(high).0 > delta && high < 1e300 {
            low = high;
            high *= 2.0;
        }
        while high - low > 4.0 * f64::EPSILON * high {
            let middle = 0.5 * (low + high);
            if self.delta(middle).0 > delta { low = middle } else { high = middle }
        }
        (high, self.delta(low).1)
    }
}
