//! The exponential and the normal tail, enclosed to any precision.

use super::interval::Interval;
use super::inversion::FIRST_PLACES;
use std::sync::OnceLock;

/// How far an argument of the exponential is halved before its series is summed.
const HALVINGS: u32 = 8;

/// `numerator` / `denominator` for a positive float, which is m 2^e with whole m and e; nothing if it
/// might not be below 2^64.
pub(crate) fn ratio(numerator: u64, denominator: f64, places: usize) -> Option<Interval> {
    let bits = denominator.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i64 - 1075;
    let mantissa = (bits & ((1 << 52) - 1)) | 1 << 52;
    let mut quotient = Interval::whole(numerator, places).divided_by(mantissa);
    let mut left = -exponent;
    while left != 0 {
        let shift = left.unsigned_abs().min(63);
        if left > 0 {
            quotient = quotient.times(1 << shift)?;
            left -= shift as i64;
        } else {
            quotient = quotient.divided_by(1 << shift);
            left += shift as i64;
        }
    }
    Some(quotient)
}

/// e^-x; an argument that does not fit is taken for 2^20 at the least.
///
/// With y = x 2^-j below 1/2 the series of e^-y alternates and its terms fall, so what is left out is
/// at most the last term. The result is squared j times.
pub(crate) fn exp_negative(argument: Option<&Interval>, places: usize) -> Interval {
    let one = Interval::whole(1, places);
    let Some(argument) = argument else {
        return exp_negative(Some(&Interval::whole(1 << 20, places)), places).down_to_zero();
    };
    let halvings = 64 - argument.whole_high().leading_zeros() + HALVINGS;
    let mut reduced = argument.clone();
    for _ in 0..halvings {
        reduced = reduced.divided_by(2);
    }
    let mut term = one.clone();
    let mut sums = [one.clone(), Interval::whole(0, places)];
    let mut index = 0;
    while !term.vanishes() {
        index += 1;
        // Neither can overflow: terms fall from 1, and their sum is below e.
        let Some(next) = term.multiply(&reduced) else { break };
        term = next.divided_by(index);
        let Some(sum) = sums[index as usize % 2].add(&term) else { break };
        sums[index as usize % 2] = sum;
    }
    let rest = term.down_to_zero();
    let [even, odd] = sums;
    let above = even.add(&rest).unwrap_or_else(|| one.clone());
    let below = odd.add(&rest).unwrap_or_else(|| one.clone());
    let mut power = above.subtract(&below).at_most(&one);
    for _ in 0..halvings {
        power = power.multiply(&power).unwrap_or_else(|| one.clone().down_to_zero());
    }
    power
}

/// 1 / sqrt(2 pi), kept for the precision that is asked for first and mostly.
fn normal_density_at_zero(places: usize) -> Option<Interval> {
    static FIRST: OnceLock<Option<Interval>> = OnceLock::new();
    if places == FIRST_PLACES {
        return FIRST.get_or_init(|| inverse_root_of_two_pi(places)).clone();
    }
    inverse_root_of_two_pi(places)
}

/// 1 / sqrt(2 pi).
fn inverse_root_of_two_pi(places: usize) -> Option<Interval> {
    let circle = pi(places)?.times(2)?;
    Some(Interval::solve(places, |root| root.multiply(root)?.multiply(&circle)))
}

/// pi, kept for the precision that is asked for first and mostly.
fn pi(places: usize) -> Option<Interval> {
    static FIRST: OnceLock<Option<Interval>> = OnceLock::new();
    if places == FIRST_PLACES {
        return FIRST.get_or_init(|| pi_by_machin(places)).clone();
    }
    pi_by_machin(places)
}

/// Machin's pi = 16 atan(1/5) - 4 atan(1/239).
fn pi_by_machin(places: usize) -> Option<Interval> {
    let arctangent = |inverse: u64| {
        let mut power = Interval::whole(1, places).divided_by(inverse);
        let mut sums = [power.clone(), Interval::whole(0, places)];
        let mut index = 0;
        while !power.vanishes() {
            index += 1;
            power = power.divided_by(inverse * inverse);
            let term = power.divided_by(2 * index + 1);
            sums[index as usize % 2] = sums[index as usize % 2].add(&term)?;
        }
        // Terms alternate and fall, so what is left out is at most the last power.
        let rest = power.down_to_zero();
        Some(sums[0].add(&rest)?.subtract(&sums[1].add(&rest)?))
    };
    Some(arctangent(5)?.times(16)?.subtract(&arctangent(239)?.times(4)?))
}

/// The squares of the sine and the cosine of pi x, for x from 0 to 1/4: (1 - cos 2 pi x) / 2 and
/// (1 + cos 2 pi x) / 2.
///
/// The terms of the cosine's series alternate, and fall from the second on, since (pi/2)^2 < 3 4; so what is
/// left out is at most the last term.
pub(crate) fn squared_sine_and_cosine(x: &Interval) -> Option<(Interval, Interval)> {
    let places = x.places();
    let one = Interval::whole(1, places);
    let angle = pi(places)?.times(2)?.multiply(x)?;
    let square = angle.multiply(&angle)?;
    let mut term = one.clone();
    let mut sums = [one.clone(), Interval::whole(0, places)];
    let mut index = 0;
    while !term.vanishes() {
        index += 1;
        term = term.multiply(&square)?.divided_by(2 * index * (2 * index - 1));
        sums[index as usize % 2] = sums[index as usize % 2].add(&term)?;
    }
    let rest = term.down_to_zero();
    let [even, odd] = sums;
    let cosine = even.add(&rest)?.subtract(&odd.add(&rest)?).at_most(&one);
    Some((one.subtract(&cosine).divided_by(2), one.add(&cosine)?.divided_by(2)))
}

/// The probability that a standard normal exceeds `x`, which is not negative; an argument that does
/// not fit is taken for 2^11 at the least.
///
/// Phi(x) - 1/2 = phi(x) (x + x^3/3 + x^5/(3 5) + ...): all terms are positive, and once 2n + 3 exceeds
/// 2 x^2 each is below half of the one before, so what is left out is at most the last term. Where the
/// precision is too low for the sum, the bound e^(-x^2/2) / 2 holds.
pub(crate) fn normal_tail(x: Option<&Interval>, places: usize) -> Interval {
    let square = x.and_then(|x| x.multiply(x));
    let half_square = square.as_ref().map(|square| square.divided_by(2));
    let bell = exp_negative(half_square.as_ref(), places);
    let bound = bell.divided_by(2).down_to_zero();
    x.zip(square)
        .and_then(|(x, square)| normal_tail_by_series(x, &square, &bell))
        .map_or_else(|| bound.clone(), |tail| tail.at_most(&bound))
}

fn normal_tail_by_series(x: &Interval, square: &Interval, bell: &Interval) -> Option<Interval> {
    let places = x.places();
    let mut term = x.multiply(bell)?;
    let mut sum = term.clone();
    let mut odd = 1;
    let most = 2 * square.whole_high().checked_add(1)?;
    if most > 1 << 20 {
        // Tens of thousands of deviations: the bound serves.
        return None;
    }
    while odd <= most || !term.vanishes() {
        odd += 2;
        term = term.multiply(square)?.divided_by(odd);
        sum = sum.add(&term)?;
    }
    let sum = sum.add(&term.down_to_zero())?;
    let area = sum.multiply(&normal_density_at_zero(places)?)?;
    Some(Interval::whole(1, places).divided_by(2).subtract(&area))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn agrees(interval: &Interval, expected: f64, precision: f64) {
        let (low, high) = interval.ends();
        let margin = 1e-14 * expected;
        assert!(low <= expected + margin && expected <= high + margin, "{low} {expected} {high}");
        assert!(high - low <= precision * expected.max(1e-300), "{low} {high}");
    }

    #[test]
    fn exponentials_are_enclosed() {
        for (x, expected) in [(0.0, 1.0), (1e-9, 0.999_999_999), (1.0, 0.367_879_441_171_442_33)] {
            let argument =
                if x == 0.0 { Interval::whole(0, 4) } else { ratio(1, 1.0 / x, 4).unwrap() };
            agrees(&exp_negative(Some(&argument), 4), expected, 1e-15);
        }
        for x in [2, 10, 40, 100] {
            let argument = Interval::whole(x, 8);
            agrees(&exp_negative(Some(&argument), 8), (-(x as f64)).exp(), 1e-15);
        }
        let (low, high) = exp_negative(Some(&Interval::whole(1 << 60, 3)), 3).ends();
        assert!(low == 0.0 && high < 1e-50);
        let (low, high) = exp_negative(None, 3).ends();
        assert!(low == 0.0 && high < 1e-50);
    }

    #[test]
    fn ratios_are_exact() {
        for (numerator, denominator) in [(1, 3.0), (7, 0.125), (12_345, 1e-3), (1 << 40, 3e9)] {
            let expected = numerator as f64 / denominator;
            agrees(&ratio(numerator, denominator, 4).unwrap(), expected, 1e-15);
        }
        assert!(ratio(1 << 60, 1e-9, 4).is_none());
    }

    #[test]
    fn squares_of_sine_and_cosine_are_enclosed() {
        for (numerator, denominator) in [(0, 1.0), (1, 1e9), (1, 12.0), (3, 16.0), (1, 4.0)] {
            let x = ratio(numerator, denominator, 4).unwrap();
            let (sine, cosine) = squared_sine_and_cosine(&x).unwrap();
            let angle = std::f64::consts::PI * numerator as f64 / denominator;
            let (low, high) = sine.ends();
            assert!(
                high - low < 1e-60 && (high - angle.sin().powi(2)).abs() < 1e-15,
                "{low} {high}"
            );
            agrees(&cosine, angle.cos().powi(2), 1e-15);
        }
        // sin^2 of 30 degrees, to all places.
        let (sine, _) = squared_sine_and_cosine(&ratio(1, 6.0, 4).unwrap()).unwrap();
        let quarter = Interval::whole(1, 4).divided_by(4);
        assert!(sine.subtract(&quarter).ends().0 == 0.0 && quarter.subtract(&sine).ends().0 == 0.0);
    }

    #[test]
    fn normal_tails_are_enclosed() {
        // To 20 digits and more from tables of the complementary error function.
        for (x, expected) in [
            (0.5, 0.308_537_538_725_986_9),
            (1.0, 0.158_655_253_931_457_05),
            (2.0, 0.022_750_131_948_179_21),
            (5.0, 2.866_515_718_791_939e-7),
            (8.0, 6.220_960_574_271_785e-16),
        ] {
            for places in [6, 9, 16] {
                let tail = normal_tail(ratio(2, 2.0 / x, places).as_ref(), places);
                agrees(&tail, expected, 1e-13);
            }
        }
        agrees(&normal_tail(Some(&Interval::whole(0, 3)), 3), 0.5, 1e-30);
        // Where the precision does not do, there is an honest bound.
        let (low, high) = normal_tail(Some(&Interval::whole(30, 3)), 3).ends();
        assert!(low == 0.0 && high < 1e-50);
        let (low, high) = normal_tail(None, 3).ends();
        assert!(low == 0.0 && high < 1e-50);
    }
}
