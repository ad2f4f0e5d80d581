//! The normal distribution, in bulk.
//!
//! Box and Muller's method in double precision: a pair of normals is (r sin t, r cos t) with r^2 / 2
//! exponential and t uniform on the circle. The radius takes 64 bits, so the tails reach 9.4 standard
//! deviations; the angle takes 64 bits as well, so that a pair rounded to the grid is not confined
//! to a few rays. The arithmetic is written so that the compiler turns it into vectors of whatever
//! width the processor has; it uses no fused operations, so every processor gives the same bits.

use crate::random::{PrivateRandom, Word, Words};
use pulp::{Arch, Simd, WithSimd};
use std::f64::consts::{FRAC_PI_2, LN_2};

/// How many normals are made at a time.
pub(crate) const CHUNK: usize = Words::COUNT;
/// Pairs come in vectors of this size, whatever the processor has.
const LANES: usize = 8;
/// 2^-64.
const ULP_OF_WORD: f64 = 1.0 / 18_446_744_073_709_551_616.0;
/// The bits of sqrt(1/2), from which mantissas are counted.
const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;

/// Fills `values` with independent standard normals.
pub fn fill_normal(values: &mut [f64], random: &mut PrivateRandom) {
    in_blocks(values, random, |block, values| values.copy_from_slice(block));
}

/// Fills `values` with independent standard normals in single precision.
pub fn fill_normal_f32(values: &mut [f32], random: &mut PrivateRandom) {
    in_blocks(values, random, |block, values| {
        for (value, normal) in values.iter_mut().zip(block) {
            *value = *normal as f32;
        }
    });
}

/// One standard normal.
pub fn normal(random: &mut PrivateRandom) -> f64 {
    let [radius, angle] = [random.word(), random.word()].map(u64::to_le_bytes);
    let (one, _) = pair(radius, angle, 1.0);
    one
}

fn in_blocks<T>(values: &mut [T], random: &mut PrivateRandom, store: impl Fn(&[f64], &mut [T])) {
    let arch = Arch::new();
    let mut words = Words::default();
    let mut normals = Scratch([0.0; CHUNK]);
    for values in values.chunks_mut(CHUNK) {
        let size = size_of_block(values.len());
        let (words, normals) = (random.fill(&mut words, size), &mut normals.0[..size]);
        arch.dispatch(Block { words, normals: &mut *normals });
        store(&normals[..values.len()], values);
    }
}

/// Room for what is made at a time, where vectors of the processor may begin.
#[repr(align(64))]
pub(crate) struct Scratch<T>(pub(crate) [T; CHUNK]);

/// The number of words, and of normals, that are made where `count` are needed: whole vectors of pairs.
#[inline(always)]
pub(crate) const fn size_of_block(count: usize) -> usize {
    count.next_multiple_of(2 * LANES)
}

/// Makes as many values as there are words, each by `make` from what stands at its place in `beside` and a
/// normal of standard deviation `deviation`. To be inlined where the instruction set is known: the first half of the words are radii, the
/// others angles.
#[inline(always)]
pub(crate) fn normals_of<Beside: Copy, Value>(
    words: &[Word],
    deviation: f64,
    beside: &[Beside],
    values: &mut [Value],
    make: impl Fn(Beside, f64) -> Value,
) {
    let pairs = words.len() / 2;
    // All of one length, and no index is checked: a check would make the last vector one of scalars.
    let (radii, angles) = words[..2 * pairs].split_at(pairs);
    let (by_sines, by_cosines) = beside[..2 * pairs].split_at(pairs);
    let (sines, cosines) = values[..2 * pairs].split_at_mut(pairs);
    let values = sines.iter_mut().zip(cosines);
    let beside = by_sines.iter().zip(by_cosines);
    for (((radius, angle), (sine, cosine)), (by_sine, by_cosine)) in
        radii.iter().zip(angles).zip(values).zip(beside)
    {
        let normals = pair(*radius, *angle, deviation);
        *sine = make(*by_sine, normals.0);
        *cosine = make(*by_cosine, normals.1);
    }
}

/// A block of pairs, compiled once for each kind of processor.
struct Block<'a> {
    words: &'a [Word],
    normals: &'a mut [f64],
}

impl WithSimd for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        normals_of(self.words, 1.0, &[(); CHUNK], self.normals, |(), normal| normal);
    }
}

#[inline(always)]
fn pair(radius: Word, angle: Word, deviation: f64) -> (f64, f64) {
    let radius = twice_exponential(u64::from_le_bytes(radius)).sqrt() * deviation;
    let (sine, cosine) = sine_cosine(u64::from_le_bytes(angle));
    (radius * sine, radius * cosine)
}

/// The value at `z` of the polynomial with these coefficients, the highest first.
#[inline(always)]
fn polynomial<const TERMS: usize>(z: f64, coefficients: [f64; TERMS]) -> f64 {
    coefficients.into_iter().reduce(|sum, term| sum * z + term).unwrap_or(0.0)
}

/// -2 ln((bits + 1/2) / 2^64), to 15 digits.
///
/// With x = 2^e m, m in \[sqrt(1/2), sqrt2): ln m = 2 artanh s, s = (m-1)/(m+1), |s| < 0.172, and artanh s =
/// s + s^3 P(s^2), with the P of least error: 2e-16 of the whole.
#[inline(always)]
pub(super) fn twice_exponential(bits: u64) -> f64 {
    let x = (bits as f64 + 0.5) * ULP_OF_WORD;
    let offset = x.to_bits().wrapping_sub(ROOT_HALF);
    let exponent = ((offset as i64) >> 52) as f64;
    let mantissa = f64::from_bits(x.to_bits().wrapping_sub(offset & 0xfff0_0000_0000_0000));
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let z = s * s;
    let rest = polynomial(
        z,
        [
            4.0 * 0.084_099_141_184_781_14,
            4.0 * 0.090_618_210_220_614_53,
            4.0 * 0.111_116_858_495_799_05,
            4.0 * 0.142_857_085_647_884_74,
            4.0 * 0.200_000_000_261_374_6,
            4.0 * 0.333_333_333_332_936,
        ],
    );
    exponent * (-2.0 * LN_2) - s * (4.0 + z * rest)
}

/// Sine and cosine of a uniform angle: two bits choose the quarter, the others the place in it.
#[inline(always)]
pub(super) fn sine_cosine(bits: u64) -> (f64, f64) {
    // From -pi/4 to pi/4: sin a = a + a^3 S(a^2) and cos a = 1 + a^2 C(a^2), with the S and C of least error,
    // 3e-18 and 5e-17.
    let angle = ((bits << 2) as i64 as f64) * (FRAC_PI_2 * ULP_OF_WORD);
    let z = angle * angle;
    let rest = polynomial(
        z,
        [
            1.589_682_798_852_578_8e-10,
            -2.505_075_865_444_670_5e-8,
            2.755_731_369_523_514e-6,
            -0.000_198_412_698_298_169_8,
            0.008_333_333_333_322_425,
            -0.166_666_666_666_666_32,
        ],
    );
    let sine = angle * (1.0 + z * rest);
    let rest = polynomial(
        z,
        [
            2.063_359_043_637_215_8e-9,
            -2.755_529_638_233_037e-7,
            2.480_157_901_660_121_5e-5,
            -0.001_388_888_887_172_772_3,
            0.041_666_666_666_503_22,
            -0.499_999_999_999_994_84,
        ],
    );
    let cosine = 1.0 + z * rest;
    let (half, quarter) = (bits >> 63, (bits >> 62) & 1);
    let (one, other) = if quarter == 1 { (cosine, sine) } else { (sine, cosine) };
    (with_sign(one, half), with_sign(other, half ^ quarter))
}

#[inline(always)]
fn with_sign(value: f64, negative: u64) -> f64 {
    f64::from_bits(value.to_bits() ^ (negative << 63))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithm_and_angle_are_exact_to_fourteen_digits() {
        let golden = 0x9e37_79b9_7f4a_7c15_u64;
        for index in 0..100_000_u64 {
            // From all magnitudes, so that the tail is checked as well.
            let bits = index.wrapping_mul(golden) >> (index % 64);
            let exact = -2.0 * ((bits as f64 + 0.5) * ULP_OF_WORD).ln();
            let error = (twice_exponential(bits) - exact).abs();
            assert!(error <= 2e-14 * exact.max(1.0), "{bits}: {error}");

            let bits = index.wrapping_mul(golden);
            let (sine, cosine) = sine_cosine(bits);
            let quarter = (bits >> 62) as f64;
            let place = ((bits << 2) as i64) as f64 * ULP_OF_WORD;
            let (exact_sine, exact_cosine) = match quarter as u8 {
                0 => (place * FRAC_PI_2).sin_cos(),
                1 => {
                    let (sine, cosine) = (place * FRAC_PI_2).sin_cos();
                    (cosine, -sine)
                }
                2 => {
                    let (sine, cosine) = (place * FRAC_PI_2).sin_cos();
                    (-sine, -cosine)
                }
                _ => {
                    let (sine, cosine) = (place * FRAC_PI_2).sin_cos();
                    (-cosine, sine)
                }
            };
            assert!((sine - exact_sine).abs() < 1e-14 && (cosine - exact_cosine).abs() < 1e-14);
        }
    }

    #[test]
    fn the_largest_radius_is_beyond_nine_deviations() {
        assert!(twice_exponential(0).sqrt() > 9.4);
        assert!(twice_exponential(u64::MAX) >= 0.0);
    }
}
