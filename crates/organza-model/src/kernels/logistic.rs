//! The logistic function and its logarithm, sixteen values at a time.

use std::f32::consts::LOG2_E;

/// Values are handled in blocks of this size, padded at the end, so that nine take no longer than
/// sixteen.
pub(crate) const LANES: usize = 16;
/// Where exp(x) counts as zero, well before it becomes denormal.
const FLOOR: f32 = -80.0;
/// 1.5 * 2^23: adding it rounds to an integer, which then stands in the low bits.
const ROUNDER: f32 = 12_582_912.0;
/// ln 2 in two parts, the first with so few bits that its product with an integer is exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// (softplus(t), sigmoid(t)) of each t, where softplus(t) = ln(1 + exp(t)).
///
/// With e = exp(-|t|), which cannot overflow,
///
/// ```text
/// softplus(t) = max(t, 0) + ln(1 + e)      sigmoid(t) = 1 / (1 + e) if t >= 0, e / (1 + e) if not
/// ```
///
/// ln(1 + e) = 2 artanh(s) with s = e / (2 + e), at most 1/3: the odd series s + s^3 / 3 + ... up to
/// s^13 leaves out less than 1.5e-8 of the value, a quarter of the last place.
#[inline(always)]
pub(crate) fn softplus_and_sigmoid(values: &[f32; LANES]) -> ([f32; LANES], [f32; LANES]) {
    let mut softplus = [0.0; LANES];
    let mut sigmoid = [0.0; LANES];
    for lane in 0..LANES {
        let value = values[lane];
        let tail = exponential_of_negative(-value.abs());
        let ratio = tail / (2.0 + tail);
        let square = ratio * ratio;
        let mut series = 1.0 / 13.0;
        series = series * square + 1.0 / 11.0;
        series = series * square + 1.0 / 9.0;
        series = series * square + 1.0 / 7.0;
        series = series * square + 1.0 / 5.0;
        series = series * square + 1.0 / 3.0;
        series = series * square + 1.0;
        softplus[lane] = if value > 0.0 { value } else { 0.0 } + 2.0 * ratio * series;
        sigmoid[lane] = if value < 0.0 { tail } else { 1.0 } / (1.0 + tail);
    }
    (softplus, sigmoid)
}

/// exp(x) for x <= 0; zero below -80.
///
/// x = k ln 2 + r with |r| <= ln(2) / 2, so exp(x) = 2^k exp(r); Taylor's series of exp(r) up to r^7
/// leaves out less than 6e-9 of the value.
#[inline(always)]
fn exponential_of_negative(x: f32) -> f32 {
    let shifted = x * LOG2_E + ROUNDER;
    let power = shifted - ROUNDER;
    let rest = (x - power * LN_2_HIGH) - power * LN_2_LOW;
    let mut series = 1.0 / 5040.0;
    series = series * rest + 1.0 / 720.0;
    series = series * rest + 1.0 / 120.0;
    series = series * rest + 1.0 / 24.0;
    series = series * rest + 1.0 / 6.0;
    series = series * rest + 0.5;
    series = series * rest + 1.0;
    series = series * rest + 1.0;
    let exponent = shifted.to_bits().wrapping_sub(ROUNDER.to_bits()).wrapping_add(127);
    let scale = f32::from_bits(exponent << 23);
    if x < FLOOR { 0.0 } else { series * scale }
}
