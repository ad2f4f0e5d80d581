//! Products and sums of rows: bodies to be inlined where the instruction set is known.
//!
//! They name the vectors explicitly: left to itself, the compiler picks the width of a sum by its
//! last fold, which is two lanes.

use pulp::Simd;

/// Sums side by side: two registers of the widest processors, four or eight of others, enough that
/// one addition need not wait for the one before.
const LANES: usize = 32;

/// The inner product: 32 sums side by side, folded in halves, and what is left of a row after whole blocks of
/// 32 beside them ([`dot_of_rest`]). The order of additions does not depend on the width of the processor's
/// vectors.
#[inline(always)]
pub(crate) fn dot<S: Simd>(simd: S, left: &[f32], right: &[f32]) -> f32 {
    const { assert!(LANES.is_multiple_of(S::F32_LANES)) };
    match S::F32_LANES {
        16 => dot_in::<S, 2>(simd, left, right),
        8 => dot_in::<S, 4>(simd, left, right),
        4 => dot_in::<S, 8>(simd, left, right),
        2 => dot_in::<S, 16>(simd, left, right),
        _ => dot_in::<S, 32>(simd, left, right),
    }
}

/// With the 32 sums in so many registers.
#[inline(always)]
fn dot_in<S: Simd, const REGISTERS: usize>(simd: S, left: &[f32], right: &[f32]) -> f32 {
    let length = left.len().min(right.len());
    let (left_blocks, left) = left[..length].as_chunks::<LANES>();
    let (right_blocks, right) = right[..length].as_chunks::<LANES>();
    let mut sums = [simd.splat_f32s(0.0); REGISTERS];
    for (left, right) in left_blocks.iter().zip(right_blocks) {
        let (left, right) = (S::as_simd_f32s(left).0, S::as_simd_f32s(right).0);
        for register in 0..REGISTERS {
            let product = simd.mul_f32s(left[register], right[register]);
            sums[register] = simd.add_f32s(sums[register], product);
        }
    }
    let mut half = REGISTERS / 2;
    while half > 0 {
        for register in 0..half {
            sums[register] = simd.add_f32s(sums[register], sums[register + half]);
        }
        half /= 2;
    }
    // This too folds in halves, on every processor; a test holds it to that.
    simd.reduce_sum_f32s(sums[0]) + dot_of_rest(left, right)
}

/// The inner product of rows shorter than a block: four sums side by side, the last three products one by
/// one. Short arrays become short vectors on every processor; to load a part of a long one costs more.
#[inline(always)]
fn dot_of_rest(left: &[f32], right: &[f32]) -> f32 {
    let ((left, left_last), (right, right_last)) = (left.as_chunks::<4>(), right.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (left, right) in left.iter().zip(right) {
        sums = std::array::from_fn(|lane| sums[lane] + left[lane] * right[lane]);
    }
    let last = left_last.iter().zip(right_last).map(|(left, right)| left * right);
    last.fold((sums[0] + sums[2]) + (sums[1] + sums[3]), |sum, product| sum + product)
}

/// target += scale source, as far as both reach; product and sum are rounded one by one.
#[inline(always)]
pub(crate) fn add_scaled<S: Simd>(simd: S, target: &mut [f32], scale: f32, source: &[f32]) {
    let length = target.len().min(source.len());
    let (target, target_rest) = S::as_mut_simd_f32s(&mut target[..length]);
    let (source, source_rest) = S::as_simd_f32s(&source[..length]);
    let scales = simd.splat_f32s(scale);
    for (target, source) in target.iter_mut().zip(source) {
        *target = simd.add_f32s(*target, simd.mul_f32s(scales, *source));
    }
    let (target, target_rest) = target_rest.as_chunks_mut::<4>();
    let (source, source_rest) = source_rest.as_chunks::<4>();
    for (target, source) in target.iter_mut().zip(source) {
        *target = std::array::from_fn(|lane| target[lane] + scale * source[lane]);
    }
    for (target, source) in target_rest.iter_mut().zip(source_rest) {
        *target += scale * source;
    }
}
