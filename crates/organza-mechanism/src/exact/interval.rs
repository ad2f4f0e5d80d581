//! Numbers enclosed from both sides, in fixed point of any precision.

use std::cmp::Ordering;

/// A number between `low` and `high`, both at least 0 and below 2^64.
///
/// Each end is a fixed-point number of little-endian words, the last of which is the whole part. Every
/// operation rounds the low end down and the high end up, and all of them are monotone in each
/// operand, so the result encloses the true result for all numbers that the operands enclose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    low: Vec<u64>,
    high: Vec<u64>,
}

impl Interval {
    /// A whole number, with `places` words of fraction.
    pub(crate) fn whole(value: u64, places: usize) -> Self {
        let mut words = vec![0; places + 1];
        words[places] = value;
        Self { low: words.clone(), high: words }
    }

    /// All numbers that begin with this fraction: `words` are its first words, the first one most
    /// significant, and what follows them is not known.
    pub(crate) fn begun_by(words: &[u64]) -> Self {
        let low: Vec<u64> = words.iter().rev().copied().chain([0]).collect();
        let mut high = low.clone();
        // Below 1 there is always room for one more unit of the last place.
        let _overflow = increment(&mut high);
        Self { low, high }
    }

    /// Everything from 0 to the high end of `self`.
    pub(crate) fn down_to_zero(mut self) -> Self {
        self.low.fill(0);
        self
    }

    /// The number of words of fraction.
    pub(crate) fn places(&self) -> usize {
        self.low.len() - 1
    }

    /// The whole part of the high end.
    pub(crate) fn whole_high(&self) -> u64 {
        self.high[self.places()]
    }

    /// Whether everything enclosed is at most one unit of the last place.
    pub(crate) fn vanishes(&self) -> bool {
        self.high[0] <= 1 && self.high[1..].iter().all(|word| *word == 0)
    }

    /// Whether every number of `self` is at most every number of `other`.
    pub(crate) fn is_at_most(&self, other: &Self) -> bool {
        compare(&self.high, &other.low) != Ordering::Greater
    }

    /// The sum; nothing if it might not be below 2^64.
    pub(crate) fn add(&self, other: &Self) -> Option<Self> {
        let sum = |one: &[u64], other: &[u64]| {
            let mut carry = false;
            let words = one
                .iter()
                .zip(other)
                .map(|(one, other)| {
                    let (sum, first) = one.overflowing_add(*other);
                    let (sum, second) = sum.overflowing_add(u64::from(carry));
                    carry = first || second;
                    sum
                })
                .collect();
            (!carry).then_some(words)
        };
        Some(Self { low: sum(&self.low, &other.low)?, high: sum(&self.high, &other.high)? })
    }

    /// The difference, where it is known that it is not negative: an end below zero becomes zero.
    pub(crate) fn subtract(&self, other: &Self) -> Self {
        let difference = |one: &[u64], other: &[u64]| {
            let mut borrow = false;
            let words: Vec<u64> = one
                .iter()
                .zip(other)
                .map(|(one, other)| {
                    let (rest, first) = one.overflowing_sub(*other);
                    let (rest, second) = rest.overflowing_sub(u64::from(borrow));
                    borrow = first || second;
                    rest
                })
                .collect();
            if borrow { vec![0; words.len()] } else { words }
        };
        Self { low: difference(&self.low, &other.high), high: difference(&self.high, &other.low) }
    }

    /// The product; nothing if it might not be below 2^64.
    pub(crate) fn multiply(&self, other: &Self) -> Option<Self> {
        let (low, _) = product(&self.low, &other.low)?;
        let (mut high, exact) = product(&self.high, &other.high)?;
        if !exact && increment(&mut high) {
            return None;
        }
        Some(Self { low, high })
    }

    /// The product with a whole number; nothing if it might not be below 2^64.
    pub(crate) fn times(&self, factor: u64) -> Option<Self> {
        let scaled = |words: &[u64]| {
            let mut carry = 0;
            let words = words
                .iter()
                .map(|word| {
                    let product = u128::from(*word) * u128::from(factor) + u128::from(carry);
                    carry = (product >> 64) as u64;
                    product as u64
                })
                .collect();
            (carry == 0).then_some(words)
        };
        Some(Self { low: scaled(&self.low)?, high: scaled(&self.high)? })
    }

    /// The quotient by a whole number of at least 1.
    pub(crate) fn divided_by(&self, divisor: u64) -> Self {
        let divided = |words: &[u64]| {
            let mut rest = 0;
            let mut quotient = vec![0; words.len()];
            for (place, word) in words.iter().enumerate().rev() {
                let number = u128::from(rest) << 64 | u128::from(*word);
                quotient[place] = (number / u128::from(divisor)) as u64;
                rest = (number % u128::from(divisor)) as u64;
            }
            (quotient, rest == 0)
        };
        let (low, _) = divided(&self.low);
        let (mut high, exact) = divided(&self.high);
        if !exact {
            // What was rounded down is below what it was before the division, so there is room.
            let _overflow = increment(&mut high);
        }
        Self { low, high }
    }

    /// The quotient; nothing if it might not be below 2^64.
    pub(crate) fn quotient(&self, divisor: &Self) -> Option<Self> {
        // Below the quotient lies what gives at most the dividend, whatever the divisor is.
        let low = largest_bit_by_bit(self.places(), |words| {
            let product = product(words, &divisor.high);
            product.is_some_and(|(product, exact)| match compare(&product, &self.low) {
                Ordering::Less => true,
                Ordering::Equal => exact,
                Ordering::Greater => false,
            })
        });
        let mut high = largest_bit_by_bit(self.places(), |words| {
            let product = product(words, &divisor.low);
            product.is_some_and(|(product, _)| compare(&product, &self.high) != Ordering::Greater)
        });
        // The next number gives more than the dividend, unless there is none.
        (!increment(&mut high)).then_some(Self { low, high })
    }

    /// The same, as far as it is at most `most`.
    pub(crate) fn at_most(mut self, most: &Self) -> Self {
        for (end, most) in [(&mut self.low, &most.high), (&mut self.high, &most.high)] {
            if compare(end, most) == Ordering::Greater {
                end.clone_from(most);
            }
        }
        self
    }

    /// The power of a number that is at most 1.
    pub(crate) fn power(&self, mut exponent: u64) -> Option<Self> {
        let mut power = Self::whole(1, self.places());
        let mut square = self.clone();
        while exponent > 0 {
            if exponent & 1 == 1 {
                power = power.multiply(&square)?;
            }
            exponent >>= 1;
            if exponent > 0 {
                square = square.multiply(&square)?;
            }
        }
        Some(power)
    }

    /// The number below 1 at which a rising function of it reaches 1, found bit by bit.
    ///
    /// `rising` must enclose a function that does not fall; where it gives nothing, it is taken for
    /// above 1.
    pub(crate) fn solve(places: usize, rising: impl Fn(&Self) -> Option<Self>) -> Self {
        let one = Self::whole(1, places);
        let largest = |is_small: &dyn Fn(&Self) -> bool| {
            largest_bit_by_bit(places, |words| {
                let point = Self { low: words.to_vec(), high: words.to_vec() };
                // Only numbers below 1 are asked about.
                words[places] == 0 && rising(&point).is_some_and(|value| is_small(&value))
            })
        };
        let low = largest(&|value| value.is_at_most(&one));
        // The largest number that might still be below, and so the next one is above.
        let mut high = largest(&|value| compare(&value.low, &one.low) == Ordering::Less);
        let _overflow = increment(&mut high);
        Self { low, high }
    }

    /// Both ends as floats, for tests of the functions built on this.
    #[cfg(test)]
    pub(crate) fn ends(&self) -> (f64, f64) {
        let float = |words: &[u64]| {
            words.iter().fold(0.0, |below, word| below / 2_f64.powi(64) + *word as f64)
        };
        (float(&self.low), float(&self.high))
    }
}

/// The largest number for which `fits` holds, which holds for all smaller ones, found bit by bit.
fn largest_bit_by_bit(places: usize, fits: impl Fn(&[u64]) -> bool) -> Vec<u64> {
    let mut found = vec![0; places + 1];
    for place in (0..=places).rev() {
        for bit in (0..64).rev() {
            found[place] |= 1_u64 << bit;
            if !fits(&found) {
                found[place] &= !(1_u64 << bit);
            }
        }
    }
    found
}

fn compare(one: &[u64], other: &[u64]) -> Ordering {
    one.iter().rev().cmp(other.iter().rev())
}

/// Adds a unit of the last place; true if there was no room for it.
fn increment(words: &mut [u64]) -> bool {
    for word in words {
        *word = word.wrapping_add(1);
        if *word != 0 {
            return false;
        }
    }
    true
}

/// The product rounded down, and whether it is exact; nothing if it is not below 2^64.
fn product(one: &[u64], other: &[u64]) -> Option<(Vec<u64>, bool)> {
    let places = one.len() - 1;
    let mut words = vec![0_u64; 2 * one.len()];
    for (shift, factor) in one.iter().enumerate() {
        let mut carry = 0;
        for (place, word) in other.iter().enumerate() {
            let target = &mut words[shift + place];
            let sum =
                u128::from(*factor) * u128::from(*word) + u128::from(*target) + u128::from(carry);
            *target = sum as u64;
            carry = (sum >> 64) as u64;
        }
        words[shift + other.len()] = carry;
    }
    let exact = words[..places].iter().all(|word| *word == 0);
    let fits = words.pop() == Some(0);
    words.drain(..places);
    fits.then_some((words, exact))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    /// A fraction of two words as an interval of one number, and its value times 2^128.
    fn point(words: [u64; 2]) -> Interval {
        let low = vec![words[1], words[0], 0];
        Interval { low: low.clone(), high: low }
    }

    fn encloses(interval: &Interval, low: u128, high: u128) -> bool {
        let value = |words: &[u64]| u128::from(words[1]) << 64 | u128::from(words[0]);
        let whole = |words: &[u64]| words[2] == 0;
        let (below, above) = (value(&interval.low), value(&interval.high));
        whole(&interval.low)
            && below <= low
            && (!whole(&interval.high) || above >= high)
            && (above.wrapping_sub(below) <= 1)
    }

    proptest! {
        #[test]
        fn results_are_enclosed_and_tight(a: u64, b: u64, c: u64, d: u64, divisor in 1_u64..) {
            let (one, other) = (point([a, b]), point([c, d]));
            let (left, right) = (u128::from(a) << 64 | u128::from(b), u128::from(c) << 64 | u128::from(d));
            let (large, small) = if left > right { (&one, &other) } else { (&other, &one) };
            let difference = left.abs_diff(right);
            prop_assert!(encloses(&large.subtract(small), difference, difference));
            prop_assert_eq!(small.subtract(large).high.iter().all(|word| *word == 0), true);
            let quotient = left / u128::from(divisor);
            let up = quotient + u128::from(!left.is_multiple_of(u128::from(divisor)));
            prop_assert!(encloses(&one.divided_by(divisor), quotient, up));
            // (a 2^64 + b)(c 2^64 + d) / 2^128, by parts.
            let (ad, bc, bd) = (u128::from(a) * u128::from(d), u128::from(b) * u128::from(c), u128::from(b) * u128::from(d));
            let middle = (ad & u128::from(u64::MAX)) + (bc & u128::from(u64::MAX)) + (bd >> 64);
            let product = u128::from(a) * u128::from(c) + (ad >> 64) + (bc >> 64) + (middle >> 64);
            let exact = middle as u64 == 0 && bd as u64 == 0;
            prop_assert!(encloses(&one.multiply(&other).unwrap(), product, product + u128::from(!exact)));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let large = Interval::whole(1 << 40, 2);
        assert!(large.multiply(&large).is_none());
        assert!(large.times(1 << 30).is_none());
        let most = Interval::whole(u64::MAX, 2);
        assert!(most.add(&Interval::whole(1, 2)).is_none());
        assert_eq!(large.times(3), Some(Interval::whole(3 << 40, 2)));
    }

    #[test]
    fn equations_are_solved_to_the_last_place() {
        let third = Interval::solve(3, |number| number.times(3));
        assert_eq!(third.low, vec![u64::MAX / 3, u64::MAX / 3, u64::MAX / 3, 0]);
        assert_eq!(third.high, vec![u64::MAX / 3 + 1, u64::MAX / 3, u64::MAX / 3, 0]);
        let half = Interval::solve(2, |number| number.times(2));
        assert_eq!((&half.low, &half.high), (&vec![0, 1 << 63, 0], &vec![0, 1 << 63, 0]));
        assert_eq!(Interval::whole(1, 3).quotient(&Interval::whole(3, 3)), Some(third));
        let exact = Interval::whole(21, 2).quotient(&Interval::whole(7, 2)).unwrap();
        assert_eq!(exact.low, vec![0, 0, 3]);
        assert_eq!(exact.high, vec![1, 0, 3]);
        let large = Interval::whole(1 << 40, 2);
        assert_eq!(large.quotient(&Interval::whole(1, 2).divided_by(1 << 30)), None);
        assert_eq!(large.quotient(&Interval::whole(0, 2)), None);
        assert_eq!(Interval::whole(1, 2).divided_by(2).power(3).unwrap().low[1], 1 << 61);
    }
}
