//! Normals rounded to whole numbers, in bulk and exactly.

use super::gaussian::{CHUNK, sine_cosine, twice_exponential};
use super::rounded_exactly::{Slot, rounded_exactly};
use crate::random::{PrivateRandom, Word};
use crate::whole::{SHIFT, integer};
use pulp::{Arch, Simd, WithSimd};
use std::ops::RangeInclusive;

/// What a normal in double precision may err by, relative to its deviation: 2^-40.
const ERROR: f64 = 1.0 / (1_u64 << 40) as f64;
/// What a sum of two doubles may err by, relative to one of them, with some reserve.
const ERROR_OF_SUM: f64 = 1.0 / (1_u64 << 50) as f64;
/// Squared radii between which a normal errs by no more than [`ERROR`]; 2 ln 2^24 is the upper one.
const SQUARED_RADII: RangeInclusive<f64> = 1.0 / (1_u64 << 21) as f64..=33.0;
/// Doubles hold all whole numbers up to twice this, and [`SHIFT`] rounds those up to half of it.
const EXACT: f64 = (1_u64 << 52) as f64;
/// The largest deviation, at which one normal in 2^9 is rounded slowly.
const MOST: f64 = (1_u64 << 30) as f64;

/// The law of round(x / 2^bits + t N) for a whole x and a standard normal N, where t^2 = k s^2 + (k - 1) / 12.
///
/// With k = 1 it is a normal of deviation s on x, rounded. With more it is what k such draws come to, nearly: each
/// is rounded, and the variance of k - 1 of the roundings is in t.
///
/// # Proof
/// *The law is exact*, given perfect random bits. Box and Muller's method makes of two independent uniform numbers
/// U and V two independent normals, sqrt(-2 ln U) sin 2 pi V and sqrt(-2 ln U) cos 2 pi V. Here U and V are
/// uniform on \[0, 1), of which the first 64 bits are drawn at first. Double precision gives a value v' that is
/// off from the true v = x / 2^bits + t N by no more than e = 2^-40 t + 2^-50 |x / 2^bits|:
/// - the conversion of 64 bits to a double and those that are not drawn change U by 2^-52 + 2^-41 of itself, if U
///   is at least 2^-24 (r^2 is at most 33), which moves r = sqrt(-2 ln U) by less than 2^-43;
/// - near U = 1 they change r^2 by 2^-52, hence r by less than 2^-42 where r^2 is at least 2^-21;
/// - the polynomials err by 2^-51, the angle by 2^-52, t and the products by 2^-53 of themselves, and r is below 6;
/// - x / 2^bits is exact, and its sum with the rest is rounded once.
///
/// If v' is more than e away from every half, round(v') is round(v) whatever the other bits are. Where it is not, or
/// U is out of that range, more bits of U and V are drawn, and v is compared with the half by enclosures, as closely as
/// it takes ([`rounded_exactly`]). So the result is round(v) always. Tests hold the error against enclosures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RoundedNormals {
    /// The deviation of one draw (s), in steps of the result.
    deviation: f64,
    /// The number of draws that it stands for (k).
    draws: u32,
    /// How many bits of the sums lie below a step of the result.
    bits: u32,
    /// About t.
    total: f64,
}

/// What whole numbers are turned into.
pub(crate) trait Whole: Copy {
    /// Of a double that is a whole number below 2^51.
    fn of_double(whole: f64, unit: f64) -> Self;

    /// The same for any whole number.
    fn of_integer(whole: i64, unit: f64) -> Self;
}

/// In units.
impl Whole for f32 {
    #[inline(always)]
    fn of_double(whole: f64, unit: f64) -> Self {
        (whole * unit) as f32
    }

    #[inline(always)]
    fn of_integer(whole: i64, unit: f64) -> Self {
        (whole as f64 * unit) as f32
    }
}

/// Modulo 2^32.
impl Whole for i32 {
    #[inline(always)]
    fn of_double(whole: f64, _unit: f64) -> Self {
        integer(whole) as i32
    }

    #[inline(always)]
    fn of_integer(whole: i64, _unit: f64) -> Self {
        whole as i32
    }
}

/// As they are.
impl Whole for i64 {
    #[inline(always)]
    fn of_double(whole: f64, _unit: f64) -> Self {
        integer(whole)
    }

    #[inline(always)]
    fn of_integer(whole: i64, _unit: f64) -> Self {
        whole
    }
}

impl RoundedNormals {
    /// One draw on sums, its deviation in steps of the sums; a step of the result is 2^`bits` of theirs.
    /// None where the deviation is out of range.
    pub(crate) fn on_sums(deviation: f64, bits: u32) -> Option<Self> {
        let deviation = libm::ldexp(deviation, -(bits as i32));
        let fits = deviation.is_normal() && (0.0..=MOST).contains(&deviation);
        fits.then_some(Self { deviation, draws: 1, bits, total: deviation })
    }

    /// What stands for `draws` of these, at least 1, on sums that are zero.
    pub(crate) fn together(&self, draws: u32) -> Self {
        let draws = draws.max(1);
        let variance = self.deviation * self.deviation;
        let total = (f64::from(draws) * variance + f64::from(draws - 1) / 12.0).sqrt();
        Self { draws, total, ..*self }
    }

    /// The deviation of one draw, in steps of the result.
    pub(crate) fn deviation(&self) -> f64 {
        self.deviation
    }

    /// Makes as many values as there are words, each of the sum at its place; no sums stand for zeros. `unit` is a step
    /// of the result, `largest` bounds the sums. `more` gives further bits for the pair of this number.
    pub(crate) fn fill<W: Whole>(
        &self,
        words: &[Word],
        sums: Option<&[i64]>,
        largest: f64,
        unit: f64,
        values: &mut [W],
        more: impl Fn(usize) -> PrivateRandom,
    ) {
        let scale = libm::ldexp(1.0, -(self.bits as i32));
        // The rounding of v' and its sum with the sums stay exact.
        let small = largest < EXACT && largest * scale + 16.0 * self.total < EXACT / 4.0;
        let total = self.total;
        let limit = 0.5 - ERROR * total - ERROR_OF_SUM * largest * scale;
        let doubtful = {
            let values = &mut *values;
            match sums {
                None => {
                    let beside = &[(); CHUNK];
                    Arch::new().dispatch(Fast { words, beside, values, total, limit, unit, scale })
                }
                Some(beside) if small => {
                    Arch::new().dispatch(Fast { words, beside, values, total, limit, unit, scale })
                }
                Some(_) => true,
            }
        };
        if doubtful {
            self.fill_carefully(words, sums, unit, values, more);
        }
    }

    /// The same one by one, exactly where there is a doubt.
    #[cold]
    fn fill_carefully<W: Whole>(
        &self,
        words: &[Word],
        sums: Option<&[i64]>,
        unit: f64,
        values: &mut [W],
        more: impl Fn(usize) -> PrivateRandom,
    ) {
        let pairs = words.len() / 2;
        // Beyond the halves of sums there is nothing but whole steps.
        let limit = 0.5 - ERROR * self.total - ERROR_OF_SUM;
        let scale = libm::ldexp(1.0, -(self.bits as i32));
        for pair in 0..pairs {
            let [radius, angle] =
                [pair, pairs + pair].map(|place| u64::from_le_bytes(words[place]));
            let square = twice_exponential(radius);
            let radius_now = square.sqrt() * self.total;
            let (sine, cosine) = sine_cosine(angle);
            for (place, direction, slot) in
                [(pair, sine, Slot::Sine), (pairs + pair, cosine, Slot::Cosine)]
            {
                let sum = sums.map_or(0, |sums| sums[place]);
                let (steps, rest) = parted(sum, self.bits);
                let value = rest as f64 * scale + radius_now * direction;
                let (rounded, off) = rounded(value);
                let clear = !is_doubtful(square, [off, off], limit);
                let whole = if clear {
                    rounded as i64
                } else {
                    let bits = [radius, angle];
                    rounded_exactly(self, bits, slot, rest, rounded as i64, more(pair))
                };
                values[place] = W::of_integer(steps.wrapping_add(whole), unit);
            }
        }
    }

    /// s in steps of the sums, exactly; k; and the bits below a step of the result.
    pub(super) fn parameters(&self) -> (f64, u32, u32) {
        (libm::ldexp(self.deviation, self.bits as i32), self.draws, self.bits)
    }
}

/// Whole steps of 2^`bits`, and the rest, at most half a step.
fn parted(sum: i64, bits: u32) -> (i64, i64) {
    let half = (1_i64 << bits) >> 1;
    let steps = sum.saturating_add(half) >> bits;
    (steps, sum.wrapping_sub(steps << bits))
}

/// The nearest whole number to a value below 2^51, and how far it is.
#[inline(always)]
fn rounded(value: f64) -> (f64, f64) {
    let whole = (value + SHIFT) - SHIFT;
    (whole, (value - whole).abs())
}

/// Whether what was computed may be wrong.
#[inline(always)]
fn is_doubtful(square: f64, offs: [f64; 2], limit: f64) -> bool {
    (offs[0] > limit) | (offs[1] > limit) | !SQUARED_RADII.contains(&square)
}

/// What noise lies on, in steps of the result.
trait Beside: Copy {
    fn steps(self, scale: f64) -> f64;
}

/// Nothing.
impl Beside for () {
    #[inline(always)]
    fn steps(self, _scale: f64) -> f64 {
        0.0
    }
}

/// A sum that is exact as a double.
impl Beside for i64 {
    #[inline(always)]
    fn steps(self, scale: f64) -> f64 {
        self as f64 * scale
    }
}

/// Fills `values` in double precision, and tells whether any is doubtful; compiled once for each kind of processor.
struct Fast<'a, B, W> {
    words: &'a [Word],
    beside: &'a [B],
    values: &'a mut [W],
    total: f64,
    limit: f64,
    unit: f64,
    scale: f64,
}

impl<B: Beside, W: Whole> WithSimd for Fast<'_, B, W> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let Self { words, beside, values, total, limit, unit, scale } = self;
        let pairs = words.len() / 2;
        // All of one length, and no index is checked: a check would make the last vector one of scalars.
        let (radii, angles) = words[..2 * pairs].split_at(pairs);
        let (by_sines, by_cosines) = beside[..2 * pairs].split_at(pairs);
        let (sines, cosines) = values[..2 * pairs].split_at_mut(pairs);
        let mut doubts = 0_u64;
        for (((radius, angle), (at_sine, at_cosine)), (by_sine, by_cosine)) in radii
            .iter()
            .zip(angles)
            .zip(sines.iter_mut().zip(cosines))
            .zip(by_sines.iter().zip(by_cosines))
        {
            let square = twice_exponential(u64::from_le_bytes(*radius));
            let (sine, cosine) = sine_cosine(u64::from_le_bytes(*angle));
            let radius = square.sqrt() * total;
            let (one, one_off) = rounded(by_sine.steps(scale) + radius * sine);
            let (other, other_off) = rounded(by_cosine.steps(scale) + radius * cosine);
            doubts |= u64::from(is_doubtful(square, [one_off, other_off], limit));
            *at_sine = W::of_double(one, unit);
            *at_cosine = W::of_double(other, unit);
        }
        doubts != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{RandomSource, Secret, Words};
    use crate::sample::CHUNK;

    fn further(pair: usize) -> PrivateRandom {
        RandomSource::from_seed(3).secret(Secret::Noise, 1).shard(pair as u64)
    }

    /// Every value in double precision is near the true one: the proof says 2^-40 of the deviation at the most, the
    /// rounding analysis 2^-42, and here it is less than 2^-45 for words that are nowhere special.
    #[test]
    fn double_precision_errs_less_than_it_may() {
        for (total, law) in
            [(1.0, RoundedNormals::on_sums(1.0, 0)), (1_000.5, RoundedNormals::on_sums(1_000.5, 0))]
        {
            let law = law.expect("a good deviation");
            let mut random = further(7);
            let mut words = Words::default();
            for _ in 0..10 {
                let words = random.fill(&mut words, 16).to_vec();
                for pair in 0..8 {
                    let [radius, angle] =
                        [pair, 8 + pair].map(|place| u64::from_le_bytes(words[place]));
                    let length = twice_exponential(radius).sqrt() * total;
                    let (sine, cosine) = sine_cosine(angle);
                    for (direction, slot) in [(sine, Slot::Sine), (cosine, Slot::Cosine)] {
                        let value = length * direction;
                        // A sum that shifts the value to just above or below a half.
                        let law = RoundedNormals { bits: 45, deviation: total, ..law };
                        let unit = libm::ldexp(1.0, -45);
                        let most = 1.0 / (1_u64 << 45) as f64 * total.max(8.0);
                        for (off, expected) in [(most, 1), (-most, 0)] {
                            let shift = ((0.5 + off - value) / unit).round();
                            let (steps, rest) = parted(shift as i64, 45);
                            let bits = [radius, angle];
                            let whole = rounded_exactly(&law, bits, slot, rest, -steps, further(1));
                            assert_eq!(whole + steps, expected, "{value} {off}");
                        }
                    }
                }
            }
        }
    }

    /// Fast and careful ways agree, and the fast one sends on what it cannot tell.
    #[test]
    fn both_ways_give_the_same_numbers() {
        let mut random = further(9);
        let mut words = Words::default();
        for bits in [0, 9, 16] {
            for deviation in [3.7, 1e3, 7.7e6] {
                let law = RoundedNormals::on_sums(libm::ldexp(deviation, bits as i32), bits);
                let law = law.expect("a good deviation");
                for law in [law, law.together(2), law.together(1_000_000)] {
                    let words = random.fill(&mut words, CHUNK).to_vec();
                    let sums: Vec<i64> =
                        words.iter().map(|word| i64::from(word[3]) << 20).collect();
                    for sums in [None, Some(&sums[..])] {
                        let (mut fast, mut careful) = ([0_i64; CHUNK], [1_i64; CHUNK]);
                        law.fill(&words, sums, 1e9, 1.0, &mut fast, further);
                        law.fill_carefully(&words, sums, 1.0, &mut careful, further);
                        assert_eq!(fast, careful);
                        let mut floats = [0.0_f32; CHUNK];
                        law.fill(&words, sums, 1e9, 0.25, &mut floats, further);
                        let same =
                            |(float, whole): (&f32, &i64)| *float == (0.25 * *whole as f64) as f32;
                        assert!(floats.iter().zip(&careful).all(same));
                        let mut wrapped = [0_i32; CHUNK];
                        law.fill(&words, sums, 1e9, 1.0, &mut wrapped, further);
                        assert_eq!(wrapped, careful.map(|whole| whole as i32));
                        // Sums that no double holds.
                        law.fill(&words, sums, 1e17, 1.0, &mut fast, further);
                        assert_eq!(fast, careful);
                    }
                }
            }
        }
    }

    /// Words at the ends, where double precision knows too little, and a large deviation: all are rounded exactly.
    #[test]
    fn words_at_the_ends_are_rounded_exactly() {
        let law = RoundedNormals::on_sums(100.0, 0).expect("a good deviation");
        let words: Vec<Word> = [1_u64 << 16, 1 << 39, u64::MAX, u64::MAX - (1 << 30)]
            .into_iter()
            .cycle()
            .take(8)
            .chain((0..8).map(|place| place << 61))
            .map(u64::to_le_bytes)
            .collect();
        let mut values = [0_i32; 16];
        law.fill(&words, None, 0.0, 1.0, &mut values, further);
        // sqrt(2 ln 2^48) = 8.16 deviations at an angle of zero.
        assert_eq!((values[0], values[8]), (0, 816));
        assert_eq!(values[2], 0, "next to no radius");
    }

    #[test]
    fn whole_numbers_are_taken_modulo_two_to_the_thirty_two() {
        for whole in [0_i64, -1, 1 << 31, -(1 << 31), (1 << 32) + 5, -(1 << 45) - 3] {
            let expected = whole as i32;
            assert_eq!(i32::of_double(whole as f64, 1.0), expected);
            assert_eq!(i32::of_integer(whole, 1.0), expected);
        }
    }

    #[test]
    fn sums_are_parted_into_steps_and_a_rest() {
        for bits in [0, 1, 16, 40] {
            for sum in [0, 1, -1, 12_345_678_901, -(1 << 60), (1 << 61) + 77] {
                let (steps, rest) = parted(sum, bits);
                assert_eq!((steps << bits) + rest, sum);
                assert!(rest.unsigned_abs() <= (1_u64 << bits) >> 1);
            }
        }
    }
}
