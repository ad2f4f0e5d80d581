//! Renyi curves of single mechanisms, before any sampling, in closed form.
//!
//! Each function gives the log moment (a - 1) D_a at a real order a > 1, a bound on both directions.

use super::logarithms;

/// Concentrated differential privacy: D_a <= a rho. A Gaussian has rho = 1 / (2 sigma^2), exactly;
/// the discrete Gaussian has at most that (Canonne, Kamath and Steinke 2020).
pub(super) fn concentrated(order: f64, rho: f64) -> f64 {
    (order - 1.0) * order * rho
}

/// Any epsilon-private mechanism: the randomised response, which dominates them all.
///
/// E = (e^(a e) + e^((1-a) e)) / (1 + e^e), and E - 1 = (e^(a e) - 1)(1 - e^(-(a-1) e)) / (1 + e^e).
pub(super) fn pure(order: f64, epsilon: f64) -> f64 {
    if epsilon == 0.0 {
        return 0.0;
    }
    let log_excess = logarithms::one_less(order * epsilon)
        + libm::log(-libm::expm1(-(order - 1.0) * epsilon))
        - logarithms::one_more(epsilon);
    // The ratio never exceeds e^epsilon, which rounding must not.
    logarithms::one_more(log_excess).min((order - 1.0) * epsilon)
}

/// Laplace noise of scale 1 / epsilon relative to the L1 sensitivity.
///
/// E = a/(2a-1) e^((a-1) e) + (a-1)/(2a-1) e^(-a e) (Mironov 2017); the linear terms cancel, so
/// E - 1 = (a s((a-1) e) + (a-1) s(-a e)) / (2a-1) with s(t) = e^t - 1 - t. Its logarithm is convex in
/// epsilon and zero at zero, so a change that is spread over coordinates costs no more.
pub(super) fn laplace(order: f64, epsilon: f64) -> f64 {
    if epsilon == 0.0 {
        return 0.0;
    }
    let log_excess = logarithms::add(
        libm::log(order) + logarithms::log_second_remainder((order - 1.0) * epsilon),
        libm::log(order - 1.0) + logarithms::log_second_remainder(-order * epsilon),
    ) - libm::log(2.0 * order - 1.0);
    logarithms::one_more(log_excess).min((order - 1.0) * epsilon)
}

/// One draw of bounded range eta, such as of the exponential mechanism.
///
/// The likelihood ratio lies in \[e^(t-eta), e^t\] for some t in \[0, eta\] and has expectation one, so a
/// convex function of it is largest when only the ends occur; of
/// p_t e^((a-1) t) + (1 - p_t) e^((a-1)(t - eta)), p_t = (1 - e^(t-eta)) / (1 - e^(-eta)), the largest
/// over t has e^t = (1 - 1/a) (1 - e^(-a eta)) / (e^(-eta) - e^(-a eta)). It is at most a eta^2 / 8
/// (Cesar and Rogers 2021). Draws compose adaptively by adding, since every past leaves one such t.
pub(super) fn bounded_range(order: f64, range: f64) -> f64 {
    let simple = concentrated(order, 0.125 * range * range).min(pure(order, range));
    if range == 0.0 {
        return simple;
    }
    let above_one = order - 1.0;
    let all = libm::log(-libm::expm1(-order * range));
    let most = libm::log(-libm::expm1(-above_one * range));
    let offset = libm::log(above_one / order) + all - most + range;
    let moment = above_one * offset + all - libm::log(-libm::expm1(-range)) - libm::log(order);
    // The logarithms cancel where the range is small: what they round off is put on top.
    let rounding = 4e-14 * (1.0 + above_one * (1.0 + range));
    simple.min(moment + rounding)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: [f64; 7] = [1.0001, 1.1, 2.0, 3.7, 16.0, 300.0, 1e5];

    #[test]
    fn closed_forms_are_their_sums() {
        for order in [1.1, 2.0, 3.7, 16.0] {
            for epsilon in [0.3, 1.0, 4.0] {
                let truth = 1.0 / (1.0 + libm::exp(-epsilon));
                let response = truth * libm::exp((order - 1.0) * epsilon)
                    + (1.0 - truth) * libm::exp(-(order - 1.0) * epsilon);
                assert!((pure(order, epsilon) / libm::log(response) - 1.0).abs() < 1e-12);
                // The density of the loss of Laplace noise, by the midpoint rule, and its two atoms.
                let cells = 200_000;
                let width = 2.0 * epsilon / f64::from(cells);
                let inside: f64 = (0..cells)
                    .map(|cell| -epsilon + (f64::from(cell) + 0.5) * width)
                    .map(|loss| 0.25 * libm::exp((order - 0.5) * loss - 0.5 * epsilon) * width)
                    .sum();
                let moment = inside
                    + 0.5 * libm::exp((order - 1.0) * epsilon)
                    + 0.5 * libm::exp(-order * epsilon);
                assert!((laplace(order, epsilon) / libm::log(moment) - 1.0).abs() < 1e-8);
                let largest = (0..=200_000)
                    .map(|index| epsilon * f64::from(index) / 200_000.0)
                    .map(|high| {
                        let likely = libm::expm1(high - epsilon) / libm::expm1(-epsilon);
                        let spread = libm::exp(-(order - 1.0) * epsilon);
                        libm::exp((order - 1.0) * high) * (likely + (1.0 - likely) * spread)
                    })
                    .fold(0.0, f64::max);
                assert!((bounded_range(order, epsilon) / libm::log(largest) - 1.0).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn curves_are_ordered_and_capped() {
        for order in ORDERS {
            for epsilon in [0.0, 1e-9, 1e-3, 0.02, 0.5, 8.0, 700.0] {
                let (any, range) = (pure(order, epsilon), bounded_range(order, epsilon));
                let laplace = laplace(order, epsilon);
                assert!(laplace <= any * (1.0 + 1e-12), "{order} {epsilon}");
                assert!(range <= any && range >= 0.0);
                assert!(any <= (order - 1.0) * epsilon && any >= 0.0 && laplace >= 0.0);
                assert!(any <= concentrated(order, 0.5 * epsilon * epsilon) * (1.0 + 1e-12));
            }
        }
    }
}
