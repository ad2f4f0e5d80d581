//! How much noise, on which grid, after which second clip.

use crate::grid::{Grid, STEPS_OF_CLIP};
use crate::plan::{NoiseSettings, PlanError, positive};
use crate::random::{PrivateRandom, StepRandom, Words};
use crate::sample::{CHUNK, RoundedNormals, laplace, size_of_block};
use crate::select::Selector;
use crate::whole::large_integer;
use organza_ledger::{Event, Neighbouring};

/// The finest that the grid gets below the sum's grid: 2^-20 of its step.
const FINEST: i32 = 20;
/// Integers stay below 2^62, noise of `TAIL` deviations included.
const ROOM: f64 = (1_u64 << 62) as f64;
/// What is left after the second clip has at most 2^50 fine steps, so that doubles hold it exactly.
const PROJECTED: f64 = (1_u64 << 50) as f64;
/// More deviations than a normal can have here, and a Laplace variable with probability e^-64.
const TAIL: f64 = 64.0;

/// A released step is at least the deviation over 2^19: noise on coarser steps is rounded exactly at full speed,
/// because normals in double precision tell nearly always to which step they belong.
const FINEST_RELEASE: i32 = 18;

/// Less noise than this part of a step of the sum's grid is none.
const LEAST: f64 = 1.0 / (1_u64 << 30) as f64;

/// Marks the shards that hold further bits of single normals.
const FURTHER: u64 = 1 << 63;

/// How much noise, on which grid, after which second clip.
///
/// # Privacy
/// The sum of a batch moves by at most L = S1 (add-remove) or 2 S1 (replace-one) in L2, and so does
/// what a *fixed* selection sees of it. The projection on the ball of radius S2 b is non-expansive
/// and bounds the norm, so the released vector moves by at most min(L, 2 S2 b); taking add-remove for
/// min(L, S2 b), as the paper's noise does, is short by up to a factor of two (take -g/2 and +g/2).
///
/// Truncation to the finer grid after a projection: if the selection misses what the unit changed,
/// both runs see the same integers. Otherwise they differ by at least one step of the sum's grid,
/// and truncation (toward zero: less than one fine step a coordinate) and float arithmetic (six
/// roundings of 2^-53 on a vector of at most 2^50 fine steps: less than one in all, on either side)
/// add at most sqrt(k) + 2 fine steps: a factor of at most 1 + (sqrt(k) + 2) 2^-fine on whatever the
/// selection saw of the change. `inflation` is that factor, and the noise is scaled by it. Relative to
/// the inflated change of the whole vector what gets the noise then moves by at most the share that was
/// selected, and by at most `kept`: the event of a joint account needs both.
///
/// Where a clip at each candidate bounds what a selection sees of the change ([`CandidateClip`](crate::candidate_clip::CandidateClip)), that
/// is one more bound on the change before the projection, and takes the place of L.
///
/// The released values are whole multiples of a power of two M of that grid, round((x + N) / M) for the integer x and
/// a normal N: a post-processing of x + N, in *exactly* this law ([`RoundedNormals`]), so the Gaussian event holds for the
/// numbers that leave. M is such that a deviation has 2^18 to 2^19 of them, or 1 where it has fewer. (Laplace noise is a rounded
/// double.) Values that are rounded slowly take longer, once in a million: those near a half, which tells of x + N, and those of
/// normals next to zero or far out, which tells of N.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Noise {
    grid: Grid,
    settings: NoiseSettings,
    /// The radius of the second clip, in steps of the sum's grid, or infinity: S2, less the rounding
    /// of the projection, so that the truncated vector is no longer than S2.
    second_clip: f64,
    /// Bits of the released grid below the sum's grid.
    fine: i32,
    /// The standard deviation (the scale, for Laplace noise), in steps of the released grid.
    pub(crate) deviation: f64,
    /// How far a unit moves what gets the noise, over how far it moves the vector before the second
    /// clip, rounding included: one where neither a second clip nor one at each candidate bounds it further.
    kept: f64,
}

/// The number of bits that values lose with noise of this deviation.
fn bits_below(deviation: f64) -> u32 {
    (libm::ilogb(deviation.max(1.0)) - FINEST_RELEASE).clamp(0, 61) as u32
}

impl Noise {
    /// Noise in proportion to the sensitivity of what is released; `most` bounds the number of selected coordinates, and
    /// `seen` how far a unit moves what a selection sees, in steps of the sum's grid; infinite where only the whole is bounded.
    pub(crate) fn new(
        grid: Grid,
        neighbouring: Neighbouring,
        settings: NoiseSettings,
        most: u64,
        seen: f64,
    ) -> Result<Self, PlanError> {
        let change = match neighbouring {
            Neighbouring::AddRemove => STEPS_OF_CLIP,
            Neighbouring::ReplaceOne => 2.0 * STEPS_OF_CLIP,
        };
        match settings {
            NoiseSettings::Gaussian { multiplier, second_clip: None } => {
                let deviation = positive("noise multiplier", multiplier)? * change.min(seen);
                let kept = change.min(seen) / change;
                let noise = Self::without_second_clip(grid, settings, deviation);
                Self { kept, ..noise }.fitting("noise multiplier", multiplier)
            }
            NoiseSettings::Laplace { epsilon } => {
                let scale = change / positive("value epsilon", epsilon)?;
                let noise = Self::without_second_clip(grid, settings, scale);
                noise.fitting("value epsilon", epsilon)
            }
            NoiseSettings::Gaussian { multiplier, second_clip: Some(length) } => {
                positive("noise multiplier", multiplier)?;
                let length_in_steps = grid.steps(positive("second clip", length)?);
                let second_clip = length_in_steps * (1.0 - 4.0 * f64::EPSILON);
                let deviation = multiplier * change.min(2.0 * length_in_steps).min(seen);
                // The projected vector stays within 2^50 fine steps, the noise within the integers.
                let room = (PROJECTED / second_clip).min(ROOM / (2.0 * TAIL * deviation));
                let fine = room.log2().floor().min(f64::from(FINEST)) as i32;
                let scale = libm::ldexp(1.0, fine);
                let inflation = 1.0 + ((most as f64).sqrt() + 2.0) / scale;
                if fine < 1 || inflation > 2.0 {
                    return Err(PlanError::new(
                        "second clip",
                        length,
                        "rounding after it would cost more noise than it saves",
                        "give a smaller one or none, or lower the noise or the number of selected coordinates",
                    ));
                }
                let change = change * scale * inflation;
                let seen = seen * scale * inflation;
                let sensitivity = change.min(2.0 * length_in_steps * scale).min(seen);
                let (deviation, kept) = (multiplier * sensitivity, sensitivity / change);
                let noise = Self { grid, settings, second_clip, fine, deviation, kept };
                noise.fitting("noise multiplier", multiplier)
            }
        }
    }

    fn without_second_clip(grid: Grid, settings: NoiseSettings, deviation: f64) -> Self {
        Self { grid, settings, second_clip: f64::INFINITY, fine: 0, deviation, kept: 1.0 }
    }

    fn fitting(self, setting: &'static str, value: f64) -> Result<Self, PlanError> {
        if TAIL * self.deviation >= ROOM {
            return Err(too_large(setting, value));
        }
        if self.deviation < LEAST {
            let reason = "the noise is next to none";
            return Err(PlanError::new(setting, value, reason, "give a larger one"));
        }
        Ok(self)
    }

    /// The event of the noise after `selector`, relative to the sensitivity of what gets it.
    pub(crate) fn event(&self, selector: &dyn Selector) -> Result<Event, PlanError> {
        match self.settings {
            NoiseSettings::Gaussian { multiplier, .. } => {
                Ok(Event::Gaussian { noise_multiplier: multiplier })
            }
            NoiseSettings::Laplace { epsilon } if selector.values() => {
                Ok(Event::Laplace { noise_multiplier: 1.0 / epsilon })
            }
            NoiseSettings::Laplace { epsilon } => Err(PlanError::new(
                "noise",
                format!("Laplace with epsilon {epsilon}"),
                "Laplace noise is accounted for with sparse vector selection by coordinate only",
                "use that selection, or Gaussian noise",
            )),
        }
    }

    /// How far a unit moves what gets the noise, over how far it moves the whole vector.
    pub(crate) fn kept(&self) -> f64 {
        self.kept
    }

    /// The standard deviation of the noise on the averaged gradient.
    pub(crate) fn deviation(&self) -> f64 {
        self.deviation * self.released_step()
    }

    /// The law of released values, and a step of theirs in the averaged gradient.
    pub(crate) fn released(&self) -> (RoundedNormals, f64) {
        let bits = bits_below(self.deviation);
        let normals = RoundedNormals::on_sums(self.deviation, bits);
        (normals.expect("the noise was checked"), libm::ldexp(self.released_step(), bits as i32))
    }

    /// Whether it is Gaussian noise without a second clip.
    pub(crate) fn is_plain_gaussian(&self) -> bool {
        matches!(self.settings, NoiseSettings::Gaussian { second_clip: None, .. })
    }

    /// Whether what was selected is clipped again.
    pub(crate) fn has_second_clip(&self) -> bool {
        self.second_clip.is_finite()
    }

    /// One step of the released grid, in the averaged gradient.
    pub(crate) fn released_step(&self) -> f64 {
        libm::ldexp(self.grid.step(), -self.fine)
    }

    /// The projection of values whose squares sum to `squares`, exact in integers so that the norm errs by
    /// its square root's rounding alone.
    pub(crate) fn projection(&self, squares: impl FnOnce() -> u128) -> Projection {
        if !self.has_second_clip() {
            return Projection::None;
        }
        let norm = (squares() as f64).sqrt();
        if norm <= self.second_clip {
            Projection::Inside(self.fine)
        } else {
            Projection::Outside(libm::ldexp(self.second_clip / norm, self.fine))
        }
    }

    /// The largest size after the second clip of values up to `largest`.
    pub(crate) fn largest_projected(&self, largest: f64) -> f64 {
        if self.has_second_clip() { PROJECTED } else { largest }
    }
}

/// The second clip: projection on the ball of radius S2, truncated toward zero to the released grid.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Projection {
    /// There is no second clip.
    None,
    /// Within the ball: to the released grid, so many bits finer.
    Inside(i32),
    /// Outside of it: shrunk by this factor, to the released grid.
    Outside(f64),
}

impl Projection {
    #[inline(always)]
    pub(crate) fn apply(self, value: i64) -> i64 {
        match self {
            Self::None => value,
            Self::Inside(fine) => value << fine,
            Self::Outside(factor) => (value as f64 * factor) as i64,
        }
    }
}

/// The sum of squares, without overflow.
pub(crate) fn squares(values: impl Iterator<Item = i64>) -> u128 {
    values.map(|value| u128::from(value.unsigned_abs()).pow(2)).sum()
}

impl Noise {
    /// Adds noise, integer to integer, rounded to whole steps of what is released. `largest` bounds the values.
    pub(crate) fn add(&self, values: &mut [i64], largest: f64, random: &StepRandom) {
        let mut stream = random.shard(0);
        let (normals, _) = self.released();
        let bits = bits_below(self.deviation);
        if let NoiseSettings::Laplace { .. } = self.settings {
            let (half, mask) = ((1_i64 << bits) >> 1, -1_i64 << bits);
            for value in values {
                let noise =
                    large_integer((laplace(&mut stream) * self.deviation).round_ties_even());
                *value = value.wrapping_add(noise).wrapping_add(half) & mask;
            }
            return;
        }
        let (mut words, mut sums, mut noised) = (Words::default(), [0; CHUNK], [0; CHUNK]);
        for (number, values) in values.chunks_mut(CHUNK).enumerate() {
            let size = size_of_block(values.len());
            let words = stream.fill(&mut words, size);
            sums[..values.len()].copy_from_slice(values);
            let noised = &mut noised[..size];
            normals.fill(words, Some(&sums[..size]), largest, 1.0, noised, |pair| {
                further(random, (number * CHUNK + pair) as u64)
            });
            values.iter_mut().zip(noised).for_each(|(value, steps)| *value = *steps << bits);
        }
    }
}

/// Further bits of the pair of normals at `place`, below 2^63: no other use of a step has them.
pub(crate) fn further(random: &StepRandom, place: u64) -> PrivateRandom {
    random.shard(FURTHER | place)
}

fn too_large(setting: &'static str, value: f64) -> PlanError {
    PlanError::new(
        setting,
        value,
        "the noise does not fit into the integers that carry it",
        "keep the noise below 2^25 times clip / expected_batch",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{RandomSource, Secret};

    /// Values with noise, for zeros and for ones, far out where doubles are coarse.
    fn far_out(multiplier: f64, second_clip: Option<f64>) -> (Noise, [Vec<i64>; 2]) {
        let settings = NoiseSettings::Gaussian { multiplier, second_clip };
        let grid = Grid::new(1.0, 1.0);
        let noise = Noise::new(grid, Neighbouring::AddRemove, settings, 1, f64::INFINITY)
            .expect("good settings");
        let values = [0, 1].map(|value| {
            let mut values = vec![value; 100_000];
            let random = RandomSource::from_seed(5).secret(Secret::Noise, value as u64);
            noise.add(&mut values, 1.0, &random);
            values.retain(|value| value.unsigned_abs() as f64 > 2.0 * noise.deviation);
            values
        });
        (noise, values)
    }

    /// Without the rounding all values around zero are even here, and all around one are odd.
    #[test]
    fn the_last_bit_of_a_value_never_tells_what_the_noise_hides() {
        for (multiplier, second_clip) in
            [(0.5, None), (1.0, None), (4.0, Some(10.0)), (64.0, Some(1.0)), (1e7, None)]
        {
            let (noise, values) = far_out(multiplier, second_clip);
            let multiple = 1_i64 << bits_below(noise.deviation);
            assert!(noise.deviation / multiple as f64 <= 524_288.0);
            for values in values {
                let odd = values.iter().filter(|value| *value / multiple % 2 != 0).count() as f64;
                let count = values.len() as f64;
                // Five deviations of a fair coin: a false alarm of 6e-7.
                assert!((odd - count / 2.0).abs() < 2.5 * count.sqrt(), "{multiplier}: {odd}");
                assert!(values.iter().all(|value| value % multiple == 0));
            }
        }
    }
}
