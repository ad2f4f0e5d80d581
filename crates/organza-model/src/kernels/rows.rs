//! Products and sums of rows: bodies to be inlined where the instruction set is known.

/// Sums side by side: two registers of the widest processors, eight of the plainest, enough in
/// either case that one addition need not wait for the one before.
const WIDE: usize = 32;
/// What is left over goes through one narrow register.
const NARROW: usize = 4;

/// The inner product: products into 32 lanes, then 4 lanes, then one by one; lanes folded in halves.
#[inline(always)]
pub(crate) fn dot(left: &[f32], right: &[f32]) -> f32 {
    let length = left.len().min(right.len());
    let (left_wide, left) = left[..length].as_chunks::<WIDE>();
    let (right_wide, right) = right[..length].as_chunks::<WIDE>();
    let mut wide = [0.0_f32; WIDE];
    for (left, right) in left_wide.iter().zip(right_wide) {
        for lane in 0..WIDE {
            wide[lane] += left[lane] * right[lane];
        }
    }
    let (left_narrow, left) = left.as_chunks::<NARROW>();
    let (right_narrow, right) = right.as_chunks::<NARROW>();
    let mut narrow = [0.0_f32; NARROW];
    for (left, right) in left_narrow.iter().zip(right_narrow) {
        for lane in 0..NARROW {
            narrow[lane] += left[lane] * right[lane];
        }
    }
    let mut half = WIDE / 2;
    while half >= NARROW {
        for lane in 0..half {
            wide[lane] += wide[lane + half];
        }
        half /= 2;
    }
    for lane in 0..NARROW {
        narrow[lane] += wide[lane];
    }
    let mut sum = (narrow[0] + narrow[2]) + (narrow[1] + narrow[3]);
    for (left, right) in left.iter().zip(right) {
        sum += left * right;
    }
    sum
}

/// target += scale source.
#[inline(always)]
pub(crate) fn add_scaled(target: &mut [f32], scale: f32, source: &[f32]) {
    for (target, source) in target.iter_mut().zip(source) {
        *target += scale * *source;
    }
}
