//! NumericSparse, the paper's Algorithm 1: sparse vector selection with noisy values.

use super::{NoiseSettings, PlanError, positive, probability};
use crate::scores::By;
use crate::select::{PassOrder, SelectionSettings};

/// The settings of Algorithm 1, from which those of a plan follow.
///
/// # Privacy
/// As printed, the algorithm leaves its loop only after the last coordinate, so that the number of
/// hits has no bound: that is not private. Here it stops at c1 hits. With sigma(e) =
/// s sqrt(32 c1 ln(2/delta)) / e the printed scales are sigma(.95 epsilon) for the threshold, twice that
/// for queries and 2 sigma(.05 epsilon) for values, s the sensitivity of a coordinate. The event holds
/// what these scales are worth; an accountant finds it far less than the (epsilon, delta) of the lemma.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumericSparse {
    /// The threshold on absolute values (alpha).
    pub threshold: f64,
    /// The number of hits after which it stops (c1).
    pub hits: u64,
    /// The epsilon of the lemma.
    pub epsilon: f64,
    /// The delta of the lemma.
    pub delta: f64,
}

impl NumericSparse {
    /// The selection and the noise that a plan takes.
    ///
    /// # Errors
    /// When epsilon or delta make no sense; the plan checks the rest.
    pub fn settings(&self) -> Result<(SelectionSettings, NoiseSettings), PlanError> {
        let root = (32.0 * self.hits as f64 * libm::log(2.0 / self.checked_delta()?)).sqrt();
        let epsilon = positive("epsilon", self.epsilon)?;
        let one = 0.95 * epsilon / root;
        let selection = SelectionSettings::SparseVector {
            by: By::Coordinate,
            hits: self.hits,
            order: PassOrder::FromFirst,
            threshold: self.threshold,
            threshold_epsilon: one,
            query_epsilon: one,
            cap: None,
        };
        Ok((selection, NoiseSettings::Laplace { epsilon: 0.05 * epsilon / (2.0 * root) }))
    }

    /// The threshold with which the lemma promises, with probability 1 - `failure`, that no value is
    /// off by more than it and none above twice it is missed, among `coordinates` coordinates of which
    /// at most c1 are not zero: 20 s (ln p + ln(4 c1 / beta)) sqrt(c1 ln(2/delta)) / epsilon.
    ///
    /// # Errors
    /// When a parameter makes no sense.
    pub fn lemma_threshold(
        &self,
        sensitivity: f64,
        coordinates: u64,
        failure: f64,
    ) -> Result<f64, PlanError> {
        let hits = positive("hits", self.hits as f64)?;
        let sensitivity = positive("sensitivity", sensitivity)?;
        let failure = probability("failure", failure)?;
        let coordinates = positive("coordinates", coordinates as f64)?;
        let logs = libm::log(coordinates) + libm::log(4.0 * hits) - libm::log(failure);
        let root = (hits * libm::log(2.0 / self.checked_delta()?)).sqrt();
        Ok(20.0 * sensitivity * logs * root / positive("epsilon", self.epsilon)?)
    }

    fn checked_delta(&self) -> Result<f64, PlanError> {
        probability("delta", self.delta)
    }
}
