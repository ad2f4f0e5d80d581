//! What follows from declared bounds on the input: G, c2 and K of the paper.

use crate::loss::Loss;
use serde::{Deserialize, Serialize};

/// What a person declares about the input. Rows and labels beyond are brought within by a rule that
/// sees one record at a time ([`crate::Design::bounded`]).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputBounds {
    /// The L2 norm of a row, without the intercept.
    pub norm: f64,
    /// The largest size of a label; of use to linear and Poisson regression.
    pub label: f64,
    /// The radius of the ball that the weights are kept in.
    pub radius: f64,
    /// Whether there is an intercept, which adds a constant feature of 1.
    pub intercept: bool,
}

/// Bounds on one record's loss, over all weights within the radius.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LossBounds {
    /// The L2 norm of a gradient (G).
    pub gradient: f64,
    /// The largest coordinate of a gradient (c2).
    pub coordinate: f64,
    /// The smoothness (K): how fast a gradient changes.
    pub smoothness: f64,
}

impl InputBounds {
    /// The norm of a row with its intercept.
    pub fn whole_norm(&self) -> f64 {
        libm::hypot(self.norm, if self.intercept { 1.0 } else { 0.0 })
    }

    /// G = |f'| |x|, c2 = |f'| max |x_j| and K = |f''| |x|^2, with |margin| <= radius |x|.
    pub fn of(&self, loss: Loss) -> LossBounds {
        let whole = self.whole_norm();
        let margin = self.radius * whole;
        let slope = loss.slope_bound(margin, self.label);
        let largest = if self.intercept { self.norm.max(1.0) } else { self.norm };
        LossBounds {
            gradient: slope * whole,
            coordinate: slope * largest,
            smoothness: loss.curvature_bound(margin) * whole * whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_follow_from_the_input() {
        let input = InputBounds { norm: 3.0, label: 2.0, radius: 0.5, intercept: true };
        let logistic = input.of(Loss::Logistic);
        assert!((logistic.gradient - 10_f64.sqrt()).abs() < 1e-12);
        assert_eq!(logistic.coordinate, 3.0);
        assert!((logistic.smoothness - 2.5).abs() < 1e-12);
        let linear = input.of(Loss::Linear);
        assert!((linear.coordinate - 3.0 * (0.5 * 10_f64.sqrt() + 2.0)).abs() < 1e-12);
        let small = InputBounds { norm: 0.25, intercept: true, ..input };
        assert_eq!(small.of(Loss::Logistic).coordinate, 1.0, "that of the intercept");
    }
}
