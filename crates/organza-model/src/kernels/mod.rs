//! Arithmetic on rows, in vectors as wide as the processor has them.
//!
//! The instruction set is chosen at run time. Every function gives the same bits on every processor:
//! sums are kept in a fixed number of lanes and folded in a fixed order, no multiplication is fused
//! with an addition, and exponentials are computed here instead of by the system's library.

pub(crate) mod logistic;
pub(crate) mod rows;

use pulp::{Arch, Simd, WithSimd};

/// The inner product of two rows of the same length (of the shorter one's length otherwise).
pub fn dot(left: &[f32], right: &[f32]) -> f32 {
    Arch::new().dispatch(Dot { left, right })
}

/// Adds `scale` times `source` to `target`, as far as both reach.
pub fn add_scaled(target: &mut [f32], scale: f32, source: &[f32]) {
    Arch::new().dispatch(AddScaled { target, scale, source });
}

struct Dot<'a> {
    left: &'a [f32],
    right: &'a [f32],
}

impl WithSimd for Dot<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        rows::dot(simd, self.left, self.right)
    }
}

struct AddScaled<'a> {
    target: &'a mut [f32],
    scale: f32,
    source: &'a [f32],
}

impl WithSimd for AddScaled<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        rows::add_scaled(simd, self.target, self.scale, self.source);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logistic::LANES;
    use proptest::prelude::*;

    /// Each value z becomes sigmoid(z), by the instructions of this processor.
    fn sigmoid(values: &mut [f32]) {
        Arch::new().dispatch(Sigmoid { values });
    }

    struct Sigmoid<'a> {
        values: &'a mut [f32],
    }

    impl WithSimd for Sigmoid<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            for values in self.values.chunks_mut(LANES) {
                let mut block = [0.0; LANES];
                block[..values.len()].copy_from_slice(values);
                let (_, sigmoid) = logistic::softplus_and_sigmoid(&block);
                values.copy_from_slice(&sigmoid[..values.len()]);
            }
        }
    }

    proptest! {
        #[test]
        fn dot_and_add_scaled_agree_with_double_precision(
            pairs in prop::collection::vec((-10.0f32..10.0, -10.0f32..10.0), 0..200),
            scale in -3.0f32..3.0,
        ) {
            let (left, right): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let products = left.iter().zip(&right).map(|(a, b)| f64::from(*a) * f64::from(*b));
            let (sum, size) = products.fold((0.0, 0.0), |(sum, size), product| {
                (sum + product, size + f64::abs(product))
            });
            prop_assert!((f64::from(dot(&left, &right)) - sum).abs() <= 1e-6 * size);

            let mut target = left.clone();
            add_scaled(&mut target, scale, &right);
            for ((target, left), right) in target.iter().zip(&left).zip(&right) {
                prop_assert_eq!(*target, left + scale * right);
            }
        }

        #[test]
        fn sigmoid_agrees_with_double_precision(
            values in prop::collection::vec(-79.0f32..79.0, 0..50),
        ) {
            let mut plain = values.clone();
            sigmoid(&mut plain);
            for (value, plain) in values.iter().zip(plain) {
                let tail = f64::exp(-f64::from(*value).abs());
                let exact = if *value < 0.0 { tail / (1.0 + tail) } else { 1.0 / (1.0 + tail) };
                prop_assert!((f64::from(plain) / exact - 1.0).abs() < 1e-6, "{value}: {plain}");
            }
        }
    }

    #[test]
    fn the_ends_of_the_line_are_quiet() {
        let ends = [f32::NEG_INFINITY, -1e30, -81.0, 0.0, 81.0, 1e30, f32::INFINITY];
        let mut plain = ends;
        sigmoid(&mut plain);
        assert_eq!(plain, [0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 1.0]);
        let mut nothing = [f32::NAN];
        sigmoid(&mut nothing);
        assert!(nothing[0].is_nan(), "a NaN is not hidden");
    }

    /// The order of additions that the rows promise, without a vector in it.
    fn plain_dot(left: &[f32], right: &[f32]) -> f32 {
        let products: Vec<f32> = left.iter().zip(right).map(|(left, right)| left * right).collect();
        let (whole, rest) = products.split_at(left.len() / 32 * 32);
        let mut sums = [0.0_f32; 32];
        for (place, product) in whole.iter().enumerate() {
            sums[place % 32] += product;
        }
        for half in [16, 8, 4, 2, 1] {
            for lane in 0..half {
                sums[lane] += sums[lane + half];
            }
        }
        let (fours, last) = rest.split_at(rest.len() / 4 * 4);
        let mut four = [0.0_f32; 4];
        for (place, product) in fours.iter().enumerate() {
            four[place % 4] += product;
        }
        let rest = last.iter().fold((four[0] + four[2]) + (four[1] + four[3]), |sum, it| sum + it);
        sums[0] + rest
    }

    #[test]
    fn every_processor_gives_the_same_bits() {
        let left: Vec<f32> = (0..103).map(|place| (place as f32 * 0.37).sin()).collect();
        let right: Vec<f32> = (0..103).map(|place| (place as f32 * 0.73).cos()).collect();
        for length in 0..left.len() {
            let (left, right) = (&left[..length], &right[..length]);
            let plain = plain_dot(left, right).to_bits();
            assert_eq!(dot(left, right).to_bits(), plain, "the widest vectors, {length}");
            assert_eq!(rows::dot(pulp::Scalar, left, right).to_bits(), plain, "none, {length}");
            #[cfg(target_arch = "x86_64")]
            if let Some(simd) = pulp::x86::V3::try_new() {
                let narrow = Simd::vectorize(simd, Dot { left, right });
                assert_eq!(narrow.to_bits(), plain, "AVX2, {length}");
            }
        }
        let mut wide = left.clone();
        sigmoid(&mut wide);
        for (block, wide) in left.as_chunks::<LANES>().0.iter().zip(wide.as_chunks::<LANES>().0) {
            assert_eq!(logistic::softplus_and_sigmoid(block).1, *wide);
        }
    }
}
