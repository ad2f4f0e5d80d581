//! Powers of two with broken exponents, in vectors.

/// 1.5 * 2^23: adding it rounds to an integer, which then stands in the low bits.
const ROUNDER: f32 = 12_582_912.0;
/// Below 2 to this a power counts as zero, well before it becomes denormal.
const FLOOR: f32 = -100.0;

/// 2^x for x in [-100, 0], to a unit in the last place beside the rounding of x itself; something small
/// below that.
///
/// x = k + f with |f| <= 1/2, so 2^x = 2^k 2^f; Taylor's series of exp(f ln 2) up to the seventh power
/// leaves out less than 6e-9.
#[inline(always)]
pub(crate) fn power_of_two(x: f32) -> f32 {
    let x = if x < FLOOR { FLOOR } else { x };
    let shifted = x + ROUNDER;
    let rest = (x - (shifted - ROUNDER)) * std::f32::consts::LN_2;
    let mut series = 1.0 / 5040.0;
    series = series * rest + 1.0 / 720.0;
    series = series * rest + 1.0 / 120.0;
    series = series * rest + 1.0 / 24.0;
    series = series * rest + 1.0 / 6.0;
    series = series * rest + 0.5;
    series = series * rest + 1.0;
    series = series * rest + 1.0;
    let exponent = shifted.to_bits().wrapping_sub(ROUNDER.to_bits()).wrapping_add(127);
    series * f32::from_bits(exponent << 23)
}

/// As [`power_of_two`], and zero below 2^-100.
#[inline(always)]
pub(crate) fn running_power(x: f32) -> f32 {
    if x < FLOOR { 0.0 } else { power_of_two(x) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_double_precision() {
        for index in 0..100_000 {
            let x = -(index as f32) / 1_000.0;
            let exact = f64::from(x).exp2();
            assert!((f64::from(running_power(x)) / exact - 1.0).abs() < 2e-7, "{x}");
        }
        assert_eq!((power_of_two(0.0), running_power(-1e9)), (1.0, 0.0));
    }
}
