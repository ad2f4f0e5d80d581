//! Exact claims for Gaussian noise: epsilon at a given delta.

use super::harness::Claim;
use statrs::function::erf::erfc;

/// The probability that a standard normal is below `x`.
fn normal_below(x: f64) -> f64 {
    0.5 * erfc(-x / std::f64::consts::SQRT_2)
}

/// The exact delta of Gaussian noise at `epsilon` (Balle and Wang 2018, Theorem 8): with distance mu =
/// sensitivity over deviation, Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).
pub(crate) fn gaussian_delta(distance: f64, epsilon: f64) -> f64 {
    if distance == 0.0 {
        return (1.0 - epsilon.exp()).max(0.0);
    }
    let (half, shift) = (distance / 2.0, epsilon / distance);
    normal_below(half - shift) - epsilon.exp() * normal_below(-half - shift)
}

/// The exact delta of Gaussian noise on a Poisson batch, removing the unit: with P = N(mu, 1) and
/// Q = N(0, 1), the largest of (1-q) Q(A) + q P(A) - e^epsilon Q(A) over events A = {x > level}, whose
/// level solves 1 - q + q dP/dQ = e^epsilon.
pub(crate) fn sampled_remove_delta(distance: f64, rate: f64, epsilon: f64) -> f64 {
    let ratio = (epsilon.exp_m1() + rate) / rate;
    let level = ratio.ln() / distance + distance / 2.0;
    rate * normal_below(distance - level) - (epsilon.exp_m1() + rate) * normal_below(-level)
}

/// The same, adding the unit: the largest of Q(A) - e^epsilon ((1-q) Q(A) + q P(A)) over events
/// A = {x < level}; zero where even the smallest ratio 1 - q is above e^-epsilon.
pub(crate) fn sampled_add_delta(distance: f64, rate: f64, epsilon: f64) -> f64 {
    let ratio = ((-epsilon).exp_m1() + rate) / rate;
    if ratio <= 0.0 {
        return 0.0;
    }
    let level = ratio.ln() / distance + distance / 2.0;
    let (with, without) = (normal_below(level - distance), normal_below(level));
    without - epsilon.exp() * ((1.0 - rate) * without + rate * with)
}

/// The claims at each of `deltas`, for a mechanism whose exact delta at epsilon is `delta_of`.
pub(crate) fn exact(deltas: &[f64], delta_of: impl Fn(f64) -> f64) -> Vec<Claim> {
    deltas
        .iter()
        .map(|&delta| {
            let (mut low, mut high) = (0.0, 50.0);
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if delta_of(middle) > delta {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            Claim { epsilon: high, delta }
        })
        .collect()
}

/// What sampling at `rate` makes of a claim: (ln(1 + q (e^epsilon - 1)), q delta), in both directions
/// (Balle, Barthe and Gaboardi 2018, Theorem 8).
pub(crate) fn sampled(claim: Claim, rate: f64) -> Claim {
    Claim { epsilon: (rate * claim.epsilon.exp_m1()).ln_1p(), delta: rate * claim.delta }
}

#[test]
fn the_formulas_are_right() {
    // Balle and Wang's curve at distance 1, epsilon 1: Phi(-.5) - e Phi(-1.5).
    assert!((gaussian_delta(1.0, 1.0) - 0.126_936_737_506_6).abs() < 1e-9);
    // Without sampling the sampled forms are the plain one, in both directions.
    for epsilon in [0.1, 1.0, 3.0] {
        let plain = gaussian_delta(1.5, epsilon);
        assert!((sampled_remove_delta(1.5, 1.0, epsilon) - plain).abs() < 1e-12);
        assert!((sampled_add_delta(1.5, 1.0, epsilon) - plain).abs() < 1e-12);
    }
    // At epsilon 0 both are the total variation, q (2 Phi(mu/2) - 1).
    let variation = 0.3 * (2.0 * normal_below(0.75) - 1.0);
    assert!((sampled_remove_delta(1.5, 0.3, 0.0) - variation).abs() < 1e-12);
    assert!((sampled_add_delta(1.5, 0.3, 0.0) - variation).abs() < 1e-12);
}
