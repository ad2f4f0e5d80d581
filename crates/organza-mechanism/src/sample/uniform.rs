//! Uniform numbers.

use crate::random::PrivateRandom;

/// A number in the open interval (0, 1), with 53 significant bits however small it is.
///
/// The exponent is the number of leading zeros of a stream of bits, the mantissa comes from fresh
/// bits. A multiple of 2^-53 would cut the tail of -ln(u) at 36.7.
#[inline]
pub fn unit(random: &mut PrivateRandom) -> f64 {
    let word = random.word();
    // Twelve bits decide the exponent, 52 the mantissa; only one word in 4,096 needs more.
    let mut zeros = (word >> 52 << 52).leading_zeros();
    if zeros == 64 {
        zeros = 12;
        loop {
            let more = random.word().leading_zeros();
            zeros += more;
            if more < 64 || zeros > 960 {
                break;
            }
        }
    }
    let mantissa = word & ((1 << 52) - 1);
    f64::from_bits(((1022 - u64::from(zeros)) << 52) | mantissa)
}

/// True with probability `probability`.
#[inline]
pub fn coin(probability: f64, random: &mut PrivateRandom) -> bool {
    unit(random) < probability
}

/// A whole number below `bound` (at least 1), without bias (Lemire 2019).
#[inline]
pub fn below(bound: u64, random: &mut PrivateRandom) -> u64 {
    let bound = bound.max(1);
    loop {
        let product = u128::from(random.word()) * u128::from(bound);
        let low = product as u64;
        // Only the lowest `2^64 mod bound` products are over-represented, and `bound` exceeds that.
        if low >= bound || low >= bound.wrapping_neg() % bound {
            return (product >> 64) as u64;
        }
    }
}
