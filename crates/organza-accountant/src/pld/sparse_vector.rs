//! The sparse vector technique.

use super::{Pair, laplace, pure};

/// What a run of the sparse vector technique published, in the terms that determine its loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SparseVector {
    /// Sensitivity over the scale of the threshold's noise.
    pub threshold_epsilon: f64,
    /// Twice the sensitivity over the scale of a query's noise (once, for monotone queries).
    pub query_epsilon: f64,
    /// The number of answers above the threshold after which it stops.
    pub hits: u64,
    /// Whether the threshold gets fresh noise after each hit.
    pub refreshed: bool,
    /// Sensitivity over the scale of the noise of a published value.
    pub value_epsilon: Option<f64>,
}

/// The pair of all answers, and of all published values.
///
/// One AboveThreshold is (threshold + query)-differentially private, whatever the number of queries:
/// shift threshold and the query that hit, and no query below moves the wrong way. With a fresh
/// threshold after every hit it is composed `hits` times; with one threshold all hits share its
/// shift, so the whole is (threshold + `hits` x query)-differentially private once (Lyu, Su, Li
/// 2017). Published values are `hits` Laplace mechanisms more, each with noise of its own.
pub(crate) fn pair(run: &SparseVector, step: f64, tail: f64) -> Pair {
    if run.hits == 0 {
        return Pair::identity(step);
    }
    let answers = if run.refreshed {
        pure::pair(run.threshold_epsilon + run.query_epsilon, step).power(run.hits, tail)
    } else {
        pure::pair(run.threshold_epsilon + run.hits as f64 * run.query_epsilon, step)
    };
    match run.value_epsilon {
        None => answers,
        Some(epsilon) => {
            answers.convolve(&laplace::pair(1.0 / epsilon, step).power(run.hits, tail))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_follow_the_number_of_hits() {
        let refreshed = SparseVector {
            threshold_epsilon: 0.1,
            query_epsilon: 0.2,
            hits: 4,
            refreshed: true,
            value_epsilon: None,
        };
        let truth = pure::pair(0.3, 0.1).power(4, 0.0);
        assert!((pair(&refreshed, 0.1, 0.0).delta(0.5) - truth.delta(0.5)).abs() < 1e-14);
        let single = SparseVector { refreshed: false, ..refreshed };
        assert!(
            (pair(&single, 0.1, 0.0).delta(0.5) - pure::pair(0.9, 0.1).delta(0.5)).abs() < 1e-14
        );
        let numeric = SparseVector { value_epsilon: Some(0.1), ..refreshed };
        assert!(pair(&numeric, 0.1, 0.0).delta(0.5) > truth.delta(0.5));
        assert_eq!(pair(&SparseVector { hits: 0, ..single }, 0.1, 0.0).delta(0.0), 0.0);
    }
}
