//! Lemmas 1 to 4, Theorem 1 and Algorithm 4 of the paper, as printed. **None of it is a guarantee.**
//!
//! Theorem 3 stands in [`TheoremThree`](super::TheoremThree).

use super::{AsPrinted, Claim, Objection};
use organza_erm::printed_step;

/// Lemma 1: executing an (epsilon, delta)-private algorithm on a random share of the data is
/// (share epsilon, share delta)-private, for epsilon <= 1.
///
/// Not so for any 0 < share < 1: see [`corrected::amplification`](super::corrected::amplification).
pub fn amplification(claim: Claim, share: f64) -> AsPrinted<Claim> {
    AsPrinted {
        figure: Claim { epsilon: share * claim.epsilon, delta: share * claim.delta },
        within_its_conditions: claim.epsilon <= 1.0,
        objections: &[Objection::AmplificationIsTooLow],
    }
}

/// Lemma 2: strong composition of `times` mechanisms,
/// k epsilon (e^epsilon - 1) + epsilon sqrt(2 k ln(1 / slack)) at k delta + slack. This one is sound.
pub fn composition(claim: Claim, times: f64, slack: f64) -> AsPrinted<Claim> {
    let linear = times * claim.epsilon * libm::expm1(claim.epsilon);
    let root = claim.epsilon * (-2.0 * times * libm::log(slack)).sqrt();
    AsPrinted {
        figure: Claim { epsilon: linear + root, delta: times * claim.delta + slack },
        within_its_conditions: claim.epsilon > 0.0 && slack > 0.0 && slack <= 1.0,
        objections: &[],
    }
}

/// Lemma 3: Gaussian noise of this multiplier has epsilon = sqrt(2 ln(1.25 / delta)) / multiplier,
/// for epsilon <= 1.
///
/// See [`normal::gaussian_epsilon`](organza_accountant::normal::gaussian_epsilon).
pub fn gaussian_epsilon(noise_multiplier: f64, delta: f64) -> AsPrinted<f64> {
    let figure = (2.0 * libm::log(1.25 / delta)).sqrt() / noise_multiplier;
    AsPrinted {
        figure,
        within_its_conditions: figure <= 1.0,
        objections: &[Objection::GaussianBeyondOne],
    }
}

/// The scales of the noise in Algorithm 1 (NumericSparse), relative to the sensitivity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SparseScales {
    /// Of the Laplace noise on the threshold.
    pub threshold: f64,
    /// Of the Laplace noise on a query.
    pub query: f64,
    /// Of the Laplace noise on a published value.
    pub value: f64,
}

/// Lemma 4 for Algorithm 1: the scales that are claimed to give `claim` with `hits` hits.
///
/// As printed it does not stop after `hits` hits and is not private at all; with the test inside the
/// loop the claim is true with room to spare, see
/// [`corrected::numeric_sparse`](super::corrected::numeric_sparse).
pub fn numeric_sparse(claim: Claim, hits: u64) -> AsPrinted<SparseScales> {
    let scale = |epsilon: f64| (32.0 * hits as f64 * libm::log(2.0 / claim.delta)).sqrt() / epsilon;
    let (selection, values) = (0.95 * claim.epsilon, 0.05 * claim.epsilon);
    AsPrinted {
        figure: SparseScales {
            threshold: scale(selection),
            query: 2.0 * scale(selection),
            value: 2.0 * scale(values),
        },
        within_its_conditions: true,
        objections: &[Objection::BreakOutsideTheLoop],
    }
}

/// Theorem 1: the (epsilon', delta') that a step of Algorithm 2 may have, so that `steps` steps, each
/// on one of `groups` fixed groups, are claimed to be `claim`: epsilon m / (2 sqrt(2 T ln(2 / delta)))
/// and delta m / (2 T).
///
/// With the group visible this is wrong by about sqrt(m): see
/// [`corrected::group_step_epsilon`](super::corrected::group_step_epsilon).
pub fn group_step(claim: Claim, groups: f64, steps: f64) -> AsPrinted<Claim> {
    let (epsilon, delta) = printed_step((claim.epsilon, claim.delta), groups, steps);
    AsPrinted {
        figure: Claim { epsilon, delta },
        within_its_conditions: groups <= 10.0 * steps.sqrt(),
        objections: &[
            Objection::FixedGroupsDoNotAmplify,
            Objection::AmplificationIsTooLow,
            Objection::CompositionTermDropped,
            Objection::OneStepTooMany,
            Objection::BreakOutsideTheLoop,
        ],
    }
}
