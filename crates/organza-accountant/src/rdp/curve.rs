//! The Renyi curve of a whole event, put together from the curves of its parts.

use super::capped::Capped;
use super::general::{self, Sampled};
use super::sampled::Step;
use super::{Direction, logarithms, mechanism};

/// A bound on the log moment (a - 1) D_a at every real order a > 1, for both directions.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Curve {
    /// D_a <= a rho.
    Concentrated { rho: f64 },
    /// Any epsilon-private mechanism.
    Pure { epsilon: f64 },
    /// D_a = epsilon at every order: a release that later events may depend on. All conversions see
    /// D_a - epsilon only, so it moves the answer by just this.
    Constant { epsilon: f64 },
    /// Laplace noise of scale 1 / epsilon.
    Laplace { epsilon: f64 },
    /// One draw of bounded range.
    BoundedRange { range: f64 },
    /// Capped selection and the noise on what it selected.
    Capped(Capped),
    /// `event` happens with this probability, visibly: 1 - share + share e^((a-1) D_a).
    Visible { share: f64, event: Box<Curve> },
    /// Adaptive composition, each part so many times: log moments add.
    Sum(Vec<(f64, Curve)>),
    /// An exactly known pair on a Poisson batch; `lost` is its exceptional mass before sampling.
    Exact { step: Step, rate: f64, lost: f64 },
    /// Anything on a Poisson batch.
    Sampled(Sampled),
}

impl Curve {
    pub(super) fn log_moment(&self, order: f64) -> f64 {
        match self {
            Self::Concentrated { rho } => mechanism::concentrated(order, *rho),
            Self::Pure { epsilon } => mechanism::pure(order, *epsilon),
            Self::Constant { epsilon } => (order - 1.0) * epsilon,
            Self::Laplace { epsilon } => mechanism::laplace(order, *epsilon),
            Self::BoundedRange { range } => mechanism::bounded_range(order, *range),
            Self::Capped(capped) => capped.log_moment(order),
            Self::Visible { share, event } => logarithms::mixed(*share, event.log_moment(order)),
            Self::Sum(parts) => parts
                .iter()
                .filter(|(times, _)| *times > 0.0)
                .map(|(times, curve)| times * curve.log_moment(order))
                .sum(),
            // Gaussians and randomised responses are their own mirror images, so the direction
            // `Add` costs no more (Mironov, Talwar and Zhang 2019, Theorem 5).
            Self::Exact { step, rate, lost } => {
                let log_moment = step.log_moment(order, Direction::Remove);
                general::with_exception(*rate, *lost, order, log_moment)
            }
            Self::Sampled(sampled) => sampled.log_moment(order),
        }
    }
}
