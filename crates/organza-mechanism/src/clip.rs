//! The first clip: no unit moves the sum by more than S1.

use crate::gradient::UnitGradient;
use crate::grid::Grid;
use pulp::{Arch, Simd, WithSimd};

/// A unit's gradient with the factor that clips it to S1 and takes it to the grid.
#[derive(Debug)]
pub(crate) struct Clipped<'a> {
    pub(crate) gradient: &'a UnitGradient,
    pub(crate) factor: f64,
    /// Whether the gradient held a NaN or an infinity and so counts as zero.
    pub(crate) not_finite: bool,
}

/// Clips one unit's gradient: g / max(1, |g| / S1).
///
/// A gradient with a NaN or an infinity has no norm; it becomes zero, which any other gradient may
/// become as well, so the bound holds for it.
pub(crate) fn clip<'a>(gradient: &'a UnitGradient, grid: &Grid) -> Clipped<'a> {
    let values = gradient.values();
    let squares = Arch::new().dispatch(SumOfSquares(values));
    let not_finite = !squares.is_finite();
    let factor = if not_finite { 0.0 } else { grid.factor(squares.sqrt(), values.len()) };
    Clipped { gradient, factor, not_finite }
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

/// Adds a row, truncated toward zero to the grid, to integer sums.
pub(crate) struct AddTruncated<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) factor: f64,
    pub(crate) sums: &'a mut [i64],
}

impl WithSimd for AddTruncated<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (sum, value) in self.sums.iter_mut().zip(self.values) {
            // A cast truncates toward zero; a clipped value has at most 30 bits, so 32 hold it.
            *sum += i64::from((f64::from(*value) * self.factor) as i32);
        }
    }
}
