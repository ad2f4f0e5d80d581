//! Losses of linear models: what a margin costs against a label.

use organza_data::sparse::LabelKind;
use serde::{Deserialize, Serialize};

/// The loss f(m, y) of a model with margin m = w x + intercept and label y.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Linear regression: (m - y)^2 / 2.
    Linear,
    /// Logistic regression, classes 0 and 1: ln(1 + e^m) - y m.
    Logistic,
    /// Poisson regression, counts: e^m - y m.
    Poisson,
    /// The squared error of a sigmoid, (s(m) - y)^2 / 2 with s(m) = 1 / (1 + e^-m): not convex.
    Sigmoid,
}

impl std::fmt::Display for Loss {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Linear => "linear",
            Self::Logistic => "logistic",
            Self::Poisson => "poisson",
            Self::Sigmoid => "sigmoid",
        })
    }
}

/// Margins beyond this are taken for it by the exponential of Poisson regression, so that nothing
/// overflows.
const LARGEST_EXPONENT: f64 = 300.0;

/// 1 / (1 + e^-m), without overflow.
pub(crate) fn sigmoid(margin: f64) -> f64 {
    if margin >= 0.0 {
        1.0 / (1.0 + libm::exp(-margin))
    } else {
        let power = libm::exp(margin);
        power / (1.0 + power)
    }
}

impl Loss {
    /// The loss itself.
    pub fn value(self, margin: f64, label: f64) -> f64 {
        match self {
            Self::Linear => 0.5 * (margin - label) * (margin - label),
            Self::Logistic => {
                margin.max(0.0) + libm::log1p(libm::exp(-margin.abs())) - label * margin
            }
            Self::Poisson => libm::exp(margin.min(LARGEST_EXPONENT)) - label * margin,
            Self::Sigmoid => 0.5 * (sigmoid(margin) - label) * (sigmoid(margin) - label),
        }
    }

    /// Its derivative in the margin: the gradient in the weights is slope times the row.
    pub fn slope(self, margin: f64, label: f64) -> f64 {
        match self {
            Self::Linear => margin - label,
            Self::Logistic => sigmoid(margin) - label,
            Self::Poisson => libm::exp(margin.min(LARGEST_EXPONENT)) - label,
            Self::Sigmoid => {
                let share = sigmoid(margin);
                (share - label) * share * (1.0 - share)
            }
        }
    }

    /// A curvature for Newton's method: the second derivative, or for the sigmoid the part of it that
    /// is never negative.
    pub(crate) fn curvature(self, margin: f64) -> f64 {
        match self {
            Self::Linear => 1.0,
            Self::Logistic => {
                let share = sigmoid(margin);
                share * (1.0 - share)
            }
            Self::Poisson => libm::exp(margin.min(LARGEST_EXPONENT)),
            Self::Sigmoid => {
                let share = sigmoid(margin);
                (share * (1.0 - share)).powi(2)
            }
        }
    }

    /// Which labels it takes.
    pub fn labels(self) -> LabelKind {
        match self {
            Self::Linear => LabelKind::Real,
            Self::Logistic => LabelKind::Binary,
            Self::Poisson => LabelKind::Count,
            Self::Sigmoid => LabelKind::Share,
        }
    }

    /// The label that a private method sees: a number for which [`Self::slope_bound`] holds, whatever was handed in. Logistic:
    /// 1 if it is above 1/2, else 0. Sigmoid: clamped to 0 to 1. Linear: clamped to -`bound` to `bound`. Poisson: to 0 to
    /// `bound`. What is not finite is 0.
    ///
    /// # Privacy
    /// It looks at one label and the declared bound. Objective perturbation needs a slope s(m) - y of one sign, which
    /// for y strictly between 0 and 1 it has not: hence exactly 0 or 1 for logistic regression, while for the others bounds
    /// are enough.
    pub fn bounded_label(self, label: f64, bound: f64) -> f64 {
        if !label.is_finite() {
            return 0.0;
        }
        match self {
            Self::Logistic => f64::from(u8::from(label > 0.5)),
            Self::Sigmoid => label.clamp(0.0, 1.0),
            // Not `clamp`, which panics where the bound is negative or no number.
            Self::Linear => label.min(bound).max(-bound),
            Self::Poisson => label.min(bound).max(0.0),
        }
    }

    /// What the model predicts at a margin: a mean, or the probability of class 1.
    pub fn prediction(self, margin: f64) -> f64 {
        match self {
            Self::Linear => margin,
            Self::Poisson => libm::exp(margin.min(LARGEST_EXPONENT)),
            Self::Logistic | Self::Sigmoid => sigmoid(margin),
        }
    }

    /// The margin of the best constant where labels have this mean.
    pub(crate) fn constant(self, mean: f64) -> f64 {
        match self {
            Self::Linear => mean,
            Self::Poisson => libm::log(mean.max(f64::MIN_POSITIVE)),
            Self::Logistic | Self::Sigmoid => {
                let share = mean.clamp(f64::EPSILON, 1.0 - f64::EPSILON);
                libm::log(share / (1.0 - share))
            }
        }
    }

    /// The largest |slope| for margins of size at most `margin` and labels of size at most `label`.
    ///
    /// Linear: margin + label. Logistic: 1. Poisson: max(e^margin, label), since 0 < e^m and
    /// 0 <= y. Sigmoid: s (1 - s)^2 has its maximum 4/27 at s = 1/3 (y = 1; y = 0 mirrors it, and the
    /// slope is linear in y between).
    pub fn slope_bound(self, margin: f64, label: f64) -> f64 {
        match self {
            Self::Linear => margin + label,
            Self::Logistic => 1.0,
            Self::Poisson => libm::exp(margin).max(label),
            Self::Sigmoid => 4.0 / 27.0,
        }
    }

    /// The largest |second derivative| for margins of size at most `margin`.
    ///
    /// Logistic: s (1 - s) <= 1/4. Sigmoid: for y = 0 it is 2 s^2 - 5 s^3 + 3 s^4, whose largest size,
    /// .0770..., is at s = (15 - sqrt 33) / 24; y = 1 mirrors it.
    pub fn curvature_bound(self, margin: f64) -> f64 {
        match self {
            Self::Linear => 1.0,
            Self::Logistic => 0.25,
            Self::Poisson => libm::exp(margin),
            Self::Sigmoid => 0.0771,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Loss; 4] = [Loss::Linear, Loss::Logistic, Loss::Poisson, Loss::Sigmoid];

    fn label(loss: Loss, share: f64) -> f64 {
        match loss {
            Loss::Linear => 4.0 * share - 2.0,
            Loss::Logistic => share.round(),
            Loss::Poisson => (5.0 * share).floor(),
            Loss::Sigmoid => share,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn slopes_are_finite_differences_and_within_their_bounds(
            margin in -4.0_f64..4.0, share in 0.0_f64..1.0, kind in 0_usize..4
        ) {
            let loss = ALL[kind];
            let (label, step) = (label(loss, share), 1e-5);
            let (below, above) = (margin - step, margin + step);
            let slope = (loss.value(above, label) - loss.value(below, label)) / (2.0 * step);
            prop_assert!((slope - loss.slope(margin, label)).abs() < 1e-6 * (1.0 + slope.abs()));
            let bend = (loss.slope(above, label) - loss.slope(below, label)) / (2.0 * step);
            prop_assert!(bend.abs() <= loss.curvature_bound(margin.abs()) * (1.0 + 1e-6));
            prop_assert!(slope.abs() <= loss.slope_bound(margin.abs(), label.abs()) + 1e-6);
            if loss != Loss::Sigmoid {
                prop_assert!((bend - loss.curvature(margin)).abs() < 1e-6 * (1.0 + bend.abs()));
            }
        }
    }

    #[test]
    fn any_label_is_brought_to_where_the_slopes_bounds_hold() {
        let labels = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.3, 0.7, 1.0, 2.0, 1e300];
        for loss in ALL {
            for label in labels {
                let label = loss.bounded_label(label, 1.5);
                for margin in [-3.0, 0.0, 3.0] {
                    let slope = loss.slope(margin, label);
                    assert!(slope.abs() <= loss.slope_bound(3.0, 1.5), "{loss} {label}: {slope}");
                }
            }
        }
        for label in labels {
            let label = Loss::Logistic.bounded_label(label, 1.0);
            let signs = [-30.0, 30.0].map(|margin| Loss::Logistic.slope(margin, label).signum());
            assert_eq!(signs[0], signs[1], "{label}: one sign, whatever the margin");
        }
        let raw = [-30.0, 30.0].map(|margin| Loss::Logistic.slope(margin, 0.7).signum());
        assert_ne!(raw[0], raw[1], "a label between 0 and 1 has to be seen");
    }

    #[test]
    fn the_sigmoids_bounds_are_attained() {
        let most = |value: &dyn Fn(f64) -> f64| {
            (-8_000..8_000).map(|at| value(f64::from(at) / 1_000.0).abs()).fold(0.0, f64::max)
        };
        let slope = most(&|margin| Loss::Sigmoid.slope(margin, 1.0));
        assert!((slope - 4.0 / 27.0).abs() < 1e-6, "{slope}");
        let bend = most(&|margin| {
            (Loss::Sigmoid.slope(margin + 1e-4, 1.0) - Loss::Sigmoid.slope(margin, 1.0)) / 1e-4
        });
        assert!((0.0769..0.0771).contains(&bend), "{bend}");
    }

    #[test]
    fn extreme_margins_stay_finite() {
        for loss in [Loss::Logistic, Loss::Sigmoid] {
            for margin in [-1e6, 1e6] {
                assert!(loss.value(margin, 1.0).is_finite() && loss.slope(margin, 1.0).is_finite());
            }
        }
        assert!(Loss::Poisson.value(1e6, 1.0).is_finite());
    }
}
