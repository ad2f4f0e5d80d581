//! Whole numbers in doubles as integers, by additions: processors convert them one by one, or not at all.

/// 1.5 x 2^52: a whole number added to it stands in the low bits.
pub(crate) const SHIFT: f64 = 6_755_399_441_055_744.0;
const TWO_32: f64 = 4_294_967_296.0;

/// The integer of a whole number of size at most 2^51.
#[inline(always)]
pub(crate) fn integer(whole: f64) -> i64 {
    (whole + SHIFT).to_bits().wrapping_sub(SHIFT.to_bits()) as i64
}

/// The integer of a whole number of size at most 2^62, in two halves.
#[inline(always)]
pub(crate) fn large_integer(whole: f64) -> i64 {
    // Both halves and their difference are exact.
    let high = (whole / TWO_32).trunc();
    (integer(high) << 32) + integer(whole - high * TWO_32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_what_a_cast_gives() {
        for bits in 0..63 {
            for below in [0, 1, 3, 0x5555_5555] {
                for sign in [-1, 1] {
                    let whole = (sign * ((1_i64 << bits) - below)) as f64;
                    assert_eq!(large_integer(whole), whole as i64, "{whole}");
                    if bits <= 51 {
                        assert_eq!(integer(whole), whole as i64, "{whole}");
                    }
                }
            }
        }
        assert_eq!(integer(-0.0), 0);
    }
}
