//! How fine a table's grid has to be for one draw to stand for the noise of many steps.

use organza_ledger::Event;
use serde::{Deserialize, Serialize};

/// The coarsest grid: one step's noise has a deviation of 2^8 units, or up to twice as many.
const COARSEST: u32 = 8;
/// The finest: 32 bits then still hold 2^12 deviations of one step.
const FINEST: u32 = 18;
/// Steps are counted in 31 bits.
const MOST_STEPS: u64 = (1 << 31) - 1;
/// What leaving noise for later may cost, as a part of delta.
const PART_OF_DELTA: f64 = 1.0 / 1_024.0;
/// Covers the rounding of the few operations below, and what is neglected in the proof, many times over.
const RESERVE: f64 = 1.0 + 1e-9;

/// The grid of a table that owes noise: how many units one step's noise has, and what it costs that the noise of
/// several steps is drawn at once.
///
/// # Privacy
/// In the dense loop every step adds R = round(N(m, s^2)) units to each coordinate of the table, exactly: m is what
/// the batch says of it, 0 where no unit touched the row. Where a row went untouched through k >= 2 steps, the sum of its k draws
/// (of N(0, s^2), rounded each) is replaced by one draw of round(N(0, k s^2 + (k - 1) / 12)). The laws of all that is ever read
/// in the two loops differ in total variation by at most
///
/// ```text
/// beta = sqrt(n chi / 2),   n = coordinates x floor(steps / 2),
/// chi  = e^(rho / 2) (1 / (16 x 345,600 s^8) + rho^6 / (1 - rho^2)),   rho = 1 / (12 s^2).
/// ```
///
/// The charge is [`Event::Near`]: if all that is released in the dense loop is (epsilon, delta)-private, then what is
/// released here is (epsilon, delta + (1 + e^epsilon) beta)-private, for every epsilon.
///
/// # Proof
/// *One draw for k.* Let G be normal of variance sigma^2 = k s^2, and V the sum of k - 1 uniform numbers on \[-1/2, 1/2\].
/// 1. The sum of k rounded normals has the law of round(G + V), up to e^-100000 in total variation. For the
///    Fourier transform of the density of N(0, s^2) + uniform is u(t) = e^(-s^2 t^2 / 2) sin(t/2) / (t/2), and by Poisson's
///    formula the sum has the series (sum over m of u(t + 2 pi m))^k, and round(G + V) has the sum over m of u(t + 2 pi m)^k.
///    For |t| <= pi all terms but m = 0 are together below h = 3 e^(-s^2 pi^2 / 2), so the series differ by less than 2 k h;
///    with s >= 2^8 and k < 2^31 that is less than e^-300000, also when it is added up over all whole numbers below 2^64, beyond
///    which neither has e^-300000.
/// 2. round(G + V) and round(G + W), W normal of the variance v = (k - 1) / 12 of V, are the same function of G + V
///    and G + W, so their divergence KL is at most that of these two.
/// 3. KL <= chi^2 = integral of (f - g)^2 / g, with f and g the densities of G + V and G + W. By Jensen's inequality
///    g(x) = E p(x - W) >= p(x) e^(-v / (2 sigma^2)) for the density p of G, and v / sigma^2 <= rho. And since the integral of
///    p(x - a) p(x - b) / p(x) is e^(a b / sigma^2), the integral of (f - g)^2 / p is the sum over n of
///    (E V^n - E W^n)^2 / (n! sigma^(2n)).
/// 4. Odd moments vanish, those of n = 0 and 2 agree, and E V^4 - E W^4 = -(k - 1) / 120, so that term is
///    (k - 1)^2 / (120^2 24 k^4 s^8) <= 1 / (16 x 345,600 s^8), as (k - 1) / k^2 <= 1/4. For n = 2j >= 6 both moments are between 0
///    and (2j - 1)!! v^j: the coefficient of t^(2j) in E e^(tU) = sinh(t/2) / (t/2) is 1 / ((2j + 1)! 4^j) <= 1 / (j! 24^j), that
///    in e^(t^2 / 24), and products of such series keep the order. As ((2j - 1)!!)^2 <= (2j)!, these terms are at most rho^(2j).
///
/// *Many draws.* Of one coordinate at most floor(steps / 2) draws stand for two steps or more, whatever the data; all others
/// have the same law in both loops. Each is independent of all that was read before, given how many steps it stands for. By the
/// chain rule the divergence of all that is read is at most n chi, and by Pinsker's inequality the total variation beta.
///
/// The figure for ten million rows of 64 and 200,000 steps (n = 6.4e13), with s >= 2^13: beta = 5.4e-13.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeferredGrid {
    /// The deviation of one step's noise is between 2^bits and 2^(bits + 1) units.
    bits: u32,
    coordinates: u64,
    steps: u64,
    total_variation: f64,
}

impl DeferredGrid {
    /// The coarsest grid that costs at most a thousandth of `delta` where `epsilon` is claimed: the coarser it
    /// is, the larger are the weights that 32 bits can hold. `None` where none is fine enough.
    pub fn new(coordinates: u64, steps: u64, epsilon: f64, delta: f64) -> Option<Self> {
        if steps > MOST_STEPS {
            return None;
        }
        let draws = coordinates as f64 * (steps / 2) as f64;
        (COARSEST..=FINEST).find_map(|bits| {
            let total_variation = total_variation(draws, libm::ldexp(1.0, bits as i32));
            let fits = (1.0 + libm::exp(epsilon)) * total_variation <= PART_OF_DELTA * delta;
            fits.then_some(Self { bits, coordinates, steps, total_variation })
        })
    }

    /// What it costs.
    pub fn event(&self) -> Event {
        Event::Near { total_variation: self.total_variation }
    }

    /// How far everything that is read may be from the dense loop, in total variation (beta).
    pub fn total_variation(&self) -> f64 {
        self.total_variation
    }

    /// For how many coordinates it is.
    pub fn coordinates(&self) -> u64 {
        self.coordinates
    }

    /// For how many steps it is.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    pub(super) fn bits(&self) -> u32 {
        self.bits
    }
}

/// beta for so many draws that stand for several steps, with a deviation of `deviation` units or more.
fn total_variation(draws: f64, deviation: f64) -> f64 {
    let square = deviation * deviation;
    let rho = 1.0 / (12.0 * square);
    let fourth = 1.0 / (16.0 * 345_600.0 * square.powi(4));
    let beyond = rho.powi(6) / (1.0 - rho * rho);
    let chi = libm::exp(rho / 2.0) * (fourth + beyond);
    (draws * chi / 2.0).sqrt() * RESERVE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probabilities of a normal of this variance, rounded, at the whole numbers from -`end` to `end`.
    fn rounded(variance: f64, end: i64) -> Vec<f64> {
        let scale = 1.0 / (2.0 * variance).sqrt();
        let above = |x: f64| 0.5 * libm::erfc(x * scale);
        (-end..=end)
            .map(|value| {
                let value = value.abs() as f64;
                above(value - 0.5) - above(value + 0.5)
            })
            .collect()
    }

    fn distance(one: &[f64], other: &[f64]) -> f64 {
        one.iter().zip(other).map(|(one, other)| (one - other).abs()).sum::<f64>() / 2.0
    }

    /// For small deviations, where it can be computed: the true total variation of one draw for two and for three is below the
    /// bound, which is not far off, and falls as it does. The twin that leaves the variance of rounding out is caught.
    #[test]
    fn one_draw_for_several_is_as_close_as_the_bound_says() {
        for deviation in [1.5, 2.0, 4.0, 8.0] {
            let square: f64 = deviation * deviation;
            let end = (20.0 * deviation) as i64;
            let one = rounded(square, end);
            let mut sum = one.clone();
            for draws in [2_i64, 3] {
                let size = one.len() as i64;
                sum = (0..sum.len() as i64 + size - 1)
                    .map(|place| {
                        (0..size)
                            .filter_map(|own| {
                                let other = usize::try_from(place - own).ok()?;
                                Some(one[own as usize] * sum.get(other)?)
                            })
                            .sum()
                    })
                    .collect();
                let end = end * draws;
                let variance = draws as f64 * square + (draws - 1) as f64 / 12.0;
                let found = distance(&sum, &rounded(variance, end));
                let bound = total_variation(1.0, deviation);
                // Doubles know the probabilities to some 1e-16.
                assert!(found <= bound + 1e-13, "{deviation} {draws}: {found} {bound}");
                if draws == 2 && deviation <= 4.0 {
                    assert!(found > bound / 4.0, "{deviation}: {found} {bound}");
                }
                let broken = distance(&sum, &rounded(draws as f64 * square, end));
                assert!(broken > bound, "{deviation} {draws}: {broken} {bound}");
            }
        }
    }

    /// The figures of the documents.
    #[test]
    fn grids_are_as_coarse_as_delta_allows() {
        let coordinates = 640_000_000;
        let beta = total_variation(coordinates as f64 * 100_000.0, 8_192.0);
        assert!((5.3e-13..5.4e-13).contains(&beta), "{beta}");
        let of = |coordinates, steps, epsilon, delta| {
            let grid = DeferredGrid::new(coordinates, steps, epsilon, delta)?;
            let beta = grid.total_variation();
            assert_eq!(grid.event(), Event::Near { total_variation: beta });
            assert!((1.0 + f64::exp(epsilon)) * beta <= delta / 1_000.0);
            Some(grid.bits())
        };
        assert_eq!(of(coordinates, 200_000, 3.0, 1e-6), Some(12));
        assert_eq!(of(100_000, 2_000, 3.0, 1e-5), Some(9));
        assert_eq!(of(coordinates, 1, 3.0, 1e-6), Some(COARSEST), "no draw stands for two steps");
        assert_eq!(of(coordinates, 200_000, 40.0, 1e-9), None);
        assert_eq!(of(100_000, 2_000, f64::NAN, 1e-5), None);
        assert_eq!(of(100_000, 2_000, 1.0, 0.0), None);
        assert_eq!(of(1, 1 << 31, 1.0, 1e-6), None, "more steps than are counted");
    }
}
