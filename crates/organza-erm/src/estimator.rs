//! A fit in one line.

use crate::fit::{Fit, fit};
use crate::loss::Loss;
use crate::settings::{Method, Settings};
use organza_data::sparse::SparseRows;
use organza_train::SessionError;

/// Settings under way, from which a fit is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimator {
    settings: Settings,
}

/// Logistic regression.
#[derive(Clone, Copy, Debug)]
pub struct LogisticRegression;

/// Linear regression.
#[derive(Clone, Copy, Debug)]
pub struct LinearRegression;

/// Poisson regression.
#[derive(Clone, Copy, Debug)]
pub struct PoissonRegression;

impl LogisticRegression {
    /// Logistic regression by the best private method, at epsilon 1 and delta 1e-6.
    #[allow(clippy::new_ret_no_self)]
    pub fn new() -> Estimator {
        Estimator::of(Loss::Logistic)
    }
}

impl LinearRegression {
    /// Linear regression by the best private method, at epsilon 1 and delta 1e-6.
    #[allow(clippy::new_ret_no_self)]
    pub fn new() -> Estimator {
        Estimator::of(Loss::Linear)
    }
}

impl PoissonRegression {
    /// Poisson regression by the best private method, at epsilon 1 and delta 1e-6.
    #[allow(clippy::new_ret_no_self)]
    pub fn new() -> Estimator {
        Estimator::of(Loss::Poisson)
    }
}

impl Estimator {
    /// An estimator of any model.
    pub fn of(model: Loss) -> Self {
        Self { settings: Settings::new(model) }
    }

    /// The budget.
    pub fn epsilon(mut self, epsilon: f64) -> Self {
        self.settings.epsilon = epsilon;
        self
    }

    /// Its delta.
    pub fn delta(mut self, delta: f64) -> Self {
        self.settings.delta = delta;
        self
    }

    /// The method, instead of the best private one.
    pub fn method(mut self, method: Method) -> Self {
        self.settings.method = method;
        self
    }

    /// The L2 norm of a row; longer rows are scaled down to it.
    pub fn bound(mut self, bound: f64) -> Self {
        self.settings.bound = Some(bound);
        self
    }

    /// The weight of |w|^2 / 2 beside the mean loss.
    pub fn l2(mut self, l2: f64) -> Self {
        self.settings.l2 = Some(l2);
        self
    }

    /// Makes the noise repeatable: with a seed nothing is private.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = Some(seed);
        self
    }

    /// All other settings.
    pub fn settings(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// Fits the model. Rows must declare how many features there are, unless the largest column
    /// may be taken for public.
    ///
    /// # Errors
    /// If a setting makes no sense or no noise meets the budget.
    pub fn fit(&self, rows: &SparseRows) -> Result<Fit, SessionError> {
        let features = rows.declared_features().unwrap_or(rows.largest_column());
        fit(&self.settings, rows, features)
    }
}
