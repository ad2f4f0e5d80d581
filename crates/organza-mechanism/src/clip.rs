//! The first clip: no unit moves the sum by more than S1.

use crate::gradient::UnitGradient;
use crate::grid::Grid;
use crate::whole::integer;
use pulp::{Arch, Simd, WithSimd};

/// A unit's gradient with the factor that clips it to S1 and takes it to the grid.
#[derive(Debug)]
pub(crate) struct Clipped<'a> {
    pub(crate) gradient: &'a UnitGradient,
    pub(crate) factor: f64,
    /// Whether the gradient held a NaN or an infinity and so counts as zero.
    pub(crate) not_finite: bool,
    /// Whether it was no longer than the clip.
    pub(crate) is_within: bool,
}

/// Clips one unit's gradient: g / max(1, |g| / S1).
///
/// A gradient with a NaN or an infinity has no norm; it becomes zero, which any other gradient may
/// become as well, so the bound holds for it.
pub(crate) fn clip<'a>(gradient: &'a UnitGradient, grid: &Grid) -> Clipped<'a> {
    let values = gradient.values();
    let squares = Arch::new().dispatch(SumOfSquares(values));
    let not_finite = !squares.is_finite();
    let norm = squares.sqrt();
    let factor = if not_finite { 0.0 } else { grid.factor(norm, values.len()) };
    Clipped { gradient, factor, not_finite, is_within: norm <= grid.clip() }
}

/// The sum of squares in double precision: squares of floats are exact there and cannot overflow.
struct SumOfSquares<'a>(&'a [f32]);

impl WithSimd for SumOfSquares<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        // Sixteen sums side by side: the same additions in the same order on every processor.
        let mut sums = [0.0; 16];
        let (blocks, rest) = self.0.as_chunks::<16>();
        for block in blocks {
            for (sum, value) in sums.iter_mut().zip(block) {
                let value = f64::from(*value);
                *sum += value * value;
            }
        }
        for (sum, value) in sums.iter_mut().zip(rest) {
            let value = f64::from(*value);
            *sum += value * value;
        }
        sums.iter().sum()
    }
}

/// A value of a gradient in whole grid steps, truncated toward zero.
#[inline(always)]
pub(crate) fn truncated(value: f32, factor: f64) -> i64 {
    // A clipped value is finite and has at most 30 bits.
    integer((f64::from(value) * factor).trunc())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::STEPS_OF_CLIP;
    use crate::shape::Shape;
    use crate::sum::ClippedSum;
    use proptest::prelude::*;
    use std::sync::Arc;

    const ROWS: u32 = 12;
    const DIMENSIONS: usize = 7;

    fn gradient(rows: &[(u32, Vec<f32>)]) -> UnitGradient {
        let mut gradient = UnitGradient::new(shape());
        for (row, values) in rows {
            let target = gradient.row(*row).expect("inside");
            target.iter_mut().zip(values).for_each(|(target, value)| *target += value);
        }
        gradient
    }

    /// What one unit adds to a sum, coordinate by coordinate of its rows.
    fn contribution(clipped: &Clipped<'_>) -> Vec<i64> {
        ClippedSum::of(clipped, shape())
    }

    fn shape() -> Arc<Shape> {
        Arc::new(Shape::table(u64::from(ROWS), DIMENSIONS as u64).expect("a good shape"))
    }

    fn squares(contribution: &[i64]) -> i128 {
        contribution.iter().map(|value| i128::from(*value).pow(2)).sum()
    }

    /// Numbers of all sizes, denormal and huge ones, and those that are none.
    fn value() -> impl Strategy<Value = f32> {
        let size = (-45.0_f32..38.0).prop_map(|power| 10.0_f32.powf(power));
        prop_oneof![
            4 => -2.0_f32..2.0,
            2 => (size, prop::bool::ANY).prop_map(|(size, minus)| if minus { -size } else { size }),
            1 => prop::sample::select(vec![0.0, -0.0, f32::MAX, f32::MIN, f32::from_bits(1)]),
        ]
    }

    fn rows(value: impl Strategy<Value = f32>) -> impl Strategy<Value = Vec<(u32, Vec<f32>)>> {
        prop::collection::vec((0..ROWS, prop::collection::vec(value, DIMENSIONS)), 0..20)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_unit_moves_the_sum_by_more_than_the_clip(
            rows in rows(value()),
            power in -30.0_f64..30.0,
        ) {
            let size = 10.0_f64.powf(power);
            let gradient = gradient(&rows);
            let clipped = clip(&gradient, &Grid::new(size, 3.0));
            let finite = gradient.values().iter().all(|value| value.is_finite());
            prop_assert_eq!(clipped.not_finite, !finite);
            if !finite {
                return Ok(());
            }
            let contribution = contribution(&clipped);
            prop_assert!(squares(&contribution) <= 1 << 60);
            // One step of truncation and two of the margin are lost at the most, and no sign changes.
            let exact = gradient.values().iter().map(|it| f64::from(*it) * f64::from(*it));
            let norm = exact.sum::<f64>().sqrt();
            for (value, steps) in gradient.values().iter().zip(&contribution) {
                let wanted = f64::from(*value) * (STEPS_OF_CLIP / norm.max(size));
                let lost = (wanted - *steps as f64) * wanted.signum();
                prop_assert!((0.0..3.001).contains(&lost), "{wanted} {steps}");
            }
        }

        #[test]
        fn what_is_not_finite_counts_as_zero(
            rows in rows(value()),
            row in 0..ROWS,
            place in 0..DIMENSIONS,
            bad in prop::sample::select(vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY]),
        ) {
            let mut gradient = gradient(&rows);
            gradient.row(row).expect("inside")[place] = bad;
            let clipped = clip(&gradient, &Grid::new(1.0, 3.0));
            prop_assert!(clipped.not_finite && clipped.factor == 0.0);
        }
    }

    #[test]
    fn small_gradients_are_truncated_and_not_scaled() {
        let step = (1.0 / STEPS_OF_CLIP) as f32;
        let rows = [(3, vec![10.6 * step, -10.6 * step, 0.9 * step, -0.9 * step, 0.0])];
        let gradient = gradient(&rows);
        let clipped = clip(&gradient, &Grid::new(1.0, 3.0));
        assert_eq!(contribution(&clipped)[..5], [10, -10, 0, 0, 0]);
    }

    #[test]
    fn an_empty_gradient_is_zero() {
        let gradient = gradient(&[]);
        let clipped = clip(&gradient, &Grid::new(1.0, 3.0));
        assert!(!clipped.not_finite && contribution(&clipped).is_empty());
    }

    #[test]
    fn a_clip_without_its_margin_would_be_caught() {
        // One coordinate at the clip: rounding up by any factor above one passes 2^30 steps.
        let gradient = gradient(&[(0, vec![5.0])]);
        let mut clipped = clip(&gradient, &Grid::new(1.0, 3.0));
        assert!(squares(&contribution(&clipped)) <= 1 << 60);
        clipped.factor *= 1.0 + 4.0 / STEPS_OF_CLIP;
        assert!(squares(&contribution(&clipped)) > 1 << 60);
    }
}
