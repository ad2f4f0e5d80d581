//! The threshold that hides what one unit alone has.

use crate::sample::IntegerNoise;

/// By how much probabilities are taken for larger than their floats: far more than these err.
const RESERVE: f64 = 1.0 + 1e-9;

/// The least threshold for which the items of a unit that no other unit has stay hidden but with
/// probability `delta`, whatever the number j of them: `weights[j - 1]` is the weight of each.
///
/// Each of them shows with probability p = Pr\[weight + Z >= threshold\], independently of the others,
/// so some of them does with probability 1 - (1 - p)^j, and this has to be at most delta for every j. For
/// weight 1 this comes to the closed forms with p1 = 1 - (1 - delta)^(1/c):
/// 1 + ceil(scale ln(1 / ((1 + a) p1))) for the discrete Laplace law and
/// ceil(3/2 + sigma PhiInv(1 - p1)) for the rounded Gaussian.
pub(super) fn least_threshold(noise: &IntegerNoise, weights: &[u64], delta: f64) -> i64 {
    // Mostly the largest number decides: for others one look is enough then.
    let numbered = weights.iter().enumerate().rev();
    let threshold = numbered.fold(None, |threshold: Option<i64>, (place, weight)| {
        let weight = *weight as i64;
        let hides = |needed: i64| shows(noise, needed, place as u64 + 1) <= delta;
        threshold
            .filter(|threshold| hides(threshold - weight))
            .or_else(|| Some(weight + least(hides)))
    });
    threshold.unwrap_or(i64::MAX)
}

/// The probability that at least one of `number` draws is `needed` or more, rounded up.
fn shows(noise: &IntegerNoise, needed: i64, number: u64) -> f64 {
    let one = (noise.chance_at_least(needed) * RESERVE).min(1.0);
    -libm::expm1(number as f64 * libm::log1p(-one)) * RESERVE
}

/// The least whole number from which on `holds` does; it fails at some number below.
fn least(holds: impl Fn(i64) -> bool) -> i64 {
    let (mut low, mut high) = (-1, 1);
    while holds(low) {
        low *= 2;
    }
    while !holds(high) {
        high *= 2;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::sample::normal_quantile;

    /// Pr\[Z = z\] of the discrete Laplace law by definition, normalised by summing.
    fn laplace_chances(scale: f64) -> impl Fn(i64) -> f64 {
        let weight = move |z: i64| (-(z.unsigned_abs() as f64) / scale).exp();
        let total: f64 = (-2_000..=2_000).map(weight).sum();
        move |least| (least..=2_000).map(weight).sum::<f64>() / total
    }

    /// The probability that a rounded normal is at least so much, by Simpson's rule on the density.
    fn gaussian_chances(deviation: f64) -> impl Fn(i64) -> f64 {
        move |least| {
            let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
            let start = (least as f64 - 0.5) / deviation;
            let (cells, width) = (4_000, (12.0 - start) / 4_000.0);
            (0..=cells)
                .map(|cell| {
                    let weight = match cell {
                        0 => 1.0,
                        _ if cell == cells => 1.0,
                        _ if cell % 2 == 1 => 4.0,
                        _ => 2.0,
                    };
                    weight * density(start + f64::from(cell) * width) * width / 3.0
                })
                .sum()
        }
    }

    fn appears(chance: f64, number: u64) -> f64 {
        1.0 - (1.0 - chance).powf(number as f64)
    }

    /// At the threshold no unit shows with more than delta, and one step lower some unit does.
    fn is_right_and_least(
        noise: &IntegerNoise,
        weights: &[u64],
        delta: f64,
        chance: impl Fn(i64) -> f64,
    ) -> i64 {
        let threshold = least_threshold(noise, weights, delta);
        let worst = |threshold: i64| {
            weights
                .iter()
                .zip(1..)
                .map(|(weight, number)| appears(chance(threshold - *weight as i64), number))
                .fold(0.0, f64::max)
        };
        assert!(worst(threshold) <= delta, "{threshold}: {} of {delta}", worst(threshold));
        assert!(worst(threshold - 1) > delta, "{threshold} is not the least");
        threshold
    }

    #[test]
    fn whole_counts_have_the_closed_forms() {
        for (items, delta) in [(1_u64, 1e-3), (2, 1e-6), (20, 1e-5), (100, 0.2)] {
            let weights = vec![1; items as usize];
            let one = -f64::exp_m1(f64::ln_1p(-delta) / items as f64);
            for scale in [0.7, 3.0, 20.0] {
                let noise = IntegerNoise::discrete_laplace(scale).unwrap();
                let found = is_right_and_least(&noise, &weights, delta, laplace_chances(scale));
                let ratio = (-1.0 / scale).exp();
                let closed = 1 + (scale * (1.0 / ((1.0 + ratio) * one)).ln()).ceil() as i64;
                // Below the weight itself the closed form does not hold, and is not needed.
                assert!(found == closed || closed <= 1, "{items} {delta} {scale}");

                let noise = IntegerNoise::rounded_gaussian(scale).unwrap();
                let found = is_right_and_least(&noise, &weights, delta, gaussian_chances(scale));
                let closed = (1.5 - scale * normal_quantile(one)).ceil() as i64;
                assert_eq!(found, closed, "{items} {delta} {scale}");
            }
        }
    }

    #[test]
    fn weighted_counts_look_at_every_number_of_items() {
        for (items, delta, multiplier) in [(30_u64, 1e-5, 1.5), (200, 1e-2, 0.8), (5, 0.3, 4.0)] {
            let steps = 1_000.0;
            let weights: Vec<u64> =
                (1..=items).map(|number| (steps / (number as f64).sqrt()) as u64).collect();
            let deviation = multiplier * steps;
            let noise = IntegerNoise::rounded_gaussian(deviation).unwrap();
            let found = is_right_and_least(&noise, &weights, delta, gaussian_chances(deviation));
            let closed = (1..=items)
                .map(|number| {
                    let hidden = ((-delta).ln_1p() / number as f64).exp_m1();
                    1.0 / (number as f64).sqrt() - multiplier * normal_quantile(-hidden)
                })
                .fold(f64::NEG_INFINITY, f64::max);
            assert!((found as f64 / steps - closed).abs() < 3.0 / steps, "{found} {closed}");
        }
    }
}
