//! From Renyi divergences to (epsilon, delta).

/// The epsilon at `delta` that a divergence of order `order` gives; it may be negative, which is
/// valid and means that 0 is too.
///
/// epsilon = D_a + ln(1 - 1/a) - ln(a delta) / (a - 1) (Balle, Barthe, Gaboardi, Hsu and Sato 2020;
/// Canonne, Kamath and Steinke 2020, Proposition 12): the best factor c for which
/// (r - e^epsilon)+ <= c r^a holds for all r.
pub(crate) fn epsilon(order: f64, divergence: f64, delta: f64) -> f64 {
    divergence + libm::log1p(-1.0 / order) - (libm::log(delta) + libm::log(order)) / (order - 1.0)
}

/// The logarithm of the delta at `epsilon` that a divergence of order `order` gives.
pub fn log_delta(order: f64, divergence: f64, epsilon: f64) -> f64 {
    (order - 1.0) * (divergence - epsilon + libm::log1p(-1.0 / order)) - libm::log(order)
}

/// The smallest epsilon over (order, divergence) pairs, with its order; never below zero.
///
/// `None` if no pair gives a finite one.
pub fn best_epsilon(curve: &[(f64, f64)], delta: f64) -> Option<(f64, f64)> {
    curve
        .iter()
        .filter(|(order, _)| *order > 1.0)
        .map(|(order, divergence)| (epsilon(*order, *divergence, delta), *order))
        .filter(|(epsilon, _)| epsilon.is_finite())
        .min_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(epsilon, order)| (epsilon.max(0.0), order))
}

/// The largest delta at any epsilon >= 0 of a pair whose Kullback-Leibler divergence is at most
/// `divergence`: its total variation, by Bretagnolle and Huber (1979), sqrt(1 - e^(-divergence)), or
/// by Pinsker, sqrt(divergence / 2). Renyi divergences rise in their order, so one of any order
/// above 1 will do.
pub(super) fn total_variation(divergence: f64) -> f64 {
    (-libm::expm1(-divergence)).min(0.5 * divergence).sqrt()
}
