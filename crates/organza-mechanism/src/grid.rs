//! The grid on which data and noise meet as integers.
//!
//! # Privacy
//! A sum of floats depends on its order, and float noise on a float leaks the low bits of what it
//! hides. So every clipped gradient is truncated toward zero to whole grid steps, sums are integer
//! sums, and what leaves is round((x + N) / M), for the integer x, a normal N and a public whole M: a
//! post-processing of the Gaussian mechanism with sensitivity exactly that of the integer sum, drawn in exactly
//! this law.

/// How many grid steps the clip norm S1 has: 2^30.
pub(crate) const STEPS_OF_CLIP: f64 = (1_u64 << 30) as f64;

/// How much a clipped gradient is shrunk beyond the clip, to cover the rounding of its norm.
///
/// The norm is a sum of squares in double precision over blocks: its relative error is at most
/// (n + 2) 2^-53 for n coordinates; 2^-30 covers n up to 2^22, and larger n are covered by n 2^-52.
const MARGIN: f64 = 1.0 / STEPS_OF_CLIP;

/// The grid: grid steps per unit of the averaged gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    clip: f64,
    expected_batch: f64,
}

impl Grid {
    pub(crate) fn new(clip: f64, expected_batch: f64) -> Self {
        Self { clip, expected_batch }
    }

    /// One step of the grid in the averaged gradient.
    pub fn step(&self) -> f64 {
        self.clip / (STEPS_OF_CLIP * self.expected_batch)
    }

    /// The norm that gradients are clipped to.
    pub(crate) fn clip(&self) -> f64 {
        self.clip
    }

    /// The same number of steps of another clip.
    pub(crate) fn at_clip(self, clip: f64) -> Self {
        Self { clip, ..self }
    }

    /// A length in the averaged gradient, in grid steps of the sum.
    pub(crate) fn steps(&self, length: f64) -> f64 {
        length / self.step()
    }

    /// The factor from a unit's gradient to grid steps, such that the truncated product has an L2
    /// norm of at most S1, that is 2^30 steps.
    ///
    /// # Proof
    /// With true norm N and computed norm M: M >= N (1 - n 2^-52). The factor is at most
    /// 2^30 (1 - margin) / max(S1, M), so the exact products have norm at most 2^30 (1 - margin) /
    /// (1 - n 2^-52); each float product errs by 2^-52 relative at the most, and truncation toward
    /// zero only shrinks. The margin is at least n 2^-52 + 2^-50, so the norm is at most 2^30.
    pub(crate) fn factor(&self, norm: f64, coordinates: usize) -> f64 {
        let margin = MARGIN.max((coordinates as f64 + 8.0) * f64::EPSILON);
        STEPS_OF_CLIP * (1.0 - margin) / norm.max(self.clip)
    }
}
