//! The exponential selection of capped scores, with or without Gaussian noise on what it selects.

use super::{logarithms, mechanism};
use organza_ledger::SelectedNoise;

/// Draws without replacement by weights e^(lambda u) from scores u in \[0, cap\] that are 1-Lipschitz
/// in the coordinates of a vector which one unit moves by at most `l2`, then perhaps Gaussian noise
/// on just the selected coordinates of that vector.
///
/// # Proof
/// Let g and g + v be the vectors without and with the unit, |v| <= C, a_y = |v_y| / C. Of one draw,
/// given those before it, let pi and pi' be the laws, f = lambda (u' - u), so |f_y| <= lambda
/// min(cap, C a_y), and pi' = pi e^f / Z with Z = E_pi e^f.
/// 1. At least N = p - k + 1 candidates are left and weights lie in \[1, e^(lambda cap)\], so no
///    probability under either law exceeds w = 1 / (1 + (N - 1) e^(-lambda cap)). Hence
///    E a^2 <= w under both, and E f^2 <= w lambda^2 C^2.
/// 2. |ln Z| <= zeta = min(sqrt(w) lambda C, lambda cap), by Jensen for Z = E_pi e^f from below and
///    for 1/Z = E_pi' e^(-f) from below.
/// 3. So the ratio rho = e^f / Z of the draw has |ln rho| <= B = lambda min(cap, C) + zeta; bounded
///    range gives |ln rho| <= eta as well.
/// 4. Var_Q rho = E (e^f - Z)^2 / Z^2 <= E (e^f - 1)^2 / Z^2 <= kappa^2 w lambda^2 C^2 e^(2 zeta) = V,
///    with kappa = (e^(lambda cap) - 1) / (lambda cap), as |e^f - 1| <= kappa |f| for f <= lambda cap.
/// 5. Taylor to second order with E rho = 1:
///    E_Q rho^a <= S = 1 + a (a-1) / 2 e^(|a-2| B) V. Bounded range bounds it too; take the smaller.
/// 6. Given the mask M, the unit moves what gets the noise by at most min(C s, D), where s^2 = sum
///    over M of a_y^2 <= 1, because the coordinates are distinct, and D <= C is the sensitivity (below C
///    after a second clip). With m = D / sd and x = min(1, (C s / D)^2), noise adds the factor
///    e^(a (a-1) m^2 x / 2) to the moment, by convexity at most 1 + x (e^(a (a-1) m^2 / 2) - 1), and
///    x <= (C / D)^2 s^2.
/// 7. For the j-th draw E_Q\[rho_j^a a_(y_j)^2\] = E_P\[rho_j^(a-1) a_(y_j)^2\] <= e^((a-1) B) w, and the
///    other draws contribute S each, those after j first:
///    E_Q r^a <= S^k + k w (C / D)^2 e^((a-1) B) S^(k-1) (e^(a (a-1) m^2 / 2) - 1).
///    As x <= 1, also E_Q r^a <= S^k e^(a (a-1) m^2 / 2): selection and noise priced apart.
///
/// Nothing distinguishes g from g + v, so both directions have this bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Capped {
    range: f64,
    draws: f64,
    /// The largest probability of a candidate (w).
    likeliest: f64,
    /// A bound on the log ratio of one draw (B).
    log_ratio: f64,
    /// A bound on the variance of the ratio of one draw (V).
    variance: f64,
    /// One over the noise multiplier (m); 0 without noise.
    shift: f64,
    /// The sensitivity of what gets the noise over the change of the whole vector (D / C).
    kept: f64,
}

impl Capped {
    pub(super) fn new(range: f64, draws: u64, candidates: u64, cap: f64, l2: f64) -> Self {
        let weight = range / (2.0 * cap).min(std::f64::consts::SQRT_2 * l2);
        let others = candidates.saturating_sub(draws) as f64;
        let likeliest = 1.0 / (1.0 + others * libm::exp(-weight * cap));
        let moved = weight * l2;
        let normaliser = (likeliest.sqrt() * moved).min(weight * cap);
        let curvature = if weight > 0.0 { libm::expm1(weight * cap) / (weight * cap) } else { 1.0 };
        Self {
            range,
            draws: draws as f64,
            likeliest,
            log_ratio: ((weight * cap).min(moved) + normaliser).min(range),
            variance: curvature
                * curvature
                * likeliest
                * moved
                * moved
                * libm::exp(2.0 * normaliser),
            shift: 0.0,
            kept: 1.0,
        }
    }

    /// The same with Gaussian noise on what was selected.
    pub(super) fn with_noise(selected: &SelectedNoise) -> Self {
        let SelectedNoise { epsilon, draws, candidates, cap, l2, sensitivity, noise_multiplier } =
            *selected;
        Self {
            shift: 1.0 / noise_multiplier,
            kept: sensitivity / l2,
            ..Self::new(epsilon, draws, candidates, cap, l2)
        }
    }

    /// The log moment of the whole step; never more than that of the selection and the full noise.
    pub(super) fn log_moment(&self, order: f64) -> f64 {
        if self.draws == 0.0 {
            return 0.0;
        }
        let above_one = order - 1.0;
        let taylor = libm::log(0.5 * order * above_one)
            + (order - 2.0).abs() * self.log_ratio
            + libm::log(self.variance);
        let draw = logarithms::one_more(taylor).min(mechanism::bounded_range(order, self.range));
        let noise = mechanism::concentrated(order, 0.5 * self.shift * self.shift);
        let seen = libm::log(self.draws * self.likeliest) - 2.0 * libm::log(self.kept)
            + above_one * self.log_ratio
            + logarithms::one_less(noise);
        let joint = (self.draws - 1.0) * draw + logarithms::add(draw, seen);
        joint.min(self.draws * draw + noise)
    }
}
