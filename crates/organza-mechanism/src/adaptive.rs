//! A clip that follows a quantile of the gradients' norms, released with every step.

use crate::grid::Grid;
use crate::noise::Noise;
use crate::plan::{NoiseSettings, Plan, PlanError, PlanSettings, positive};
use crate::random::{RandomSource, Secret};
use crate::sample::IntegerNoise;
use organza_ledger::Neighbouring;
use serde::{Deserialize, Serialize};

/// Of 1 / z^2, the part that the count of units within the clip takes: 1 / 64 makes the other noise 0.8 % larger, and
/// gives the count of b units a deviation of 4 z.
const SHARE: f64 = 1.0 / 64.0;

/// How far below and above the first clip it may go.
const REACH: f64 = 1e4;

/// How fast the clip follows: the paper's constant.
const RATE: f64 = 0.2;

/// How the clip follows a quantile (Andrew, Thakkar, McMahan and Ramaswamy 2021, "Differentially Private Learning with
/// Adaptive Clipping").
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdaptiveClip {
    /// The part of the units whose gradients are to be within the clip.
    pub quantile: f64,
    /// How fast the clip moves: by a factor of e to the power of this, where no unit is where it should be.
    pub rate: f64,
    /// It is never smaller.
    pub floor: f64,
    /// It is never larger.
    pub ceiling: f64,
}

impl AdaptiveClip {
    /// With the paper's rate, and bounds so far from the first clip that they are seldom met.
    pub fn new(quantile: f64, first_clip: f64) -> Self {
        let (floor, ceiling) = (first_clip / REACH, first_clip * REACH);
        Self { quantile, rate: RATE, floor, ceiling }
    }
}

/// A clip that was released: what the next step clips to. Only a step makes it, and a checkpoint brings it back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReleasedClip(f64);

impl ReleasedClip {
    /// The clip.
    pub fn value(self) -> f64 {
        self.0
    }

    /// One that was saved: any number is as private as where it comes from, and a plan keeps it within its bounds.
    pub fn saved(value: f64) -> Self {
        Self(value)
    }
}

/// What a plan with an adaptive clip draws beside its noise.
///
/// # Privacy
/// A step with the clip C releases the noisy sum of gradients x_i, clipped to C, and with it the number of units whose
/// norm is within C, as the sum of c_i = 1 for those and c_i = -1 for all others: the paper's bits less one half, twice. The
/// event of the step stays that of one Gaussian of multiplier z, the plan's, and the noise is divided so that it is:
///
/// ```text
/// z_x = z / sqrt(1 - f) for the gradients,     z_c = z / sqrt(f) for the count,     1 / z_x^2 + 1 / z_c^2 = 1 / z^2.
/// ```
///
/// # Proof
/// Let D_x = C (add-remove) or 2 C (replace-one) bound how far a unit moves the sum, and D_c = 1 or 2 how far it moves
/// the count: a unit that comes or goes brings one c_i, of size 1, which without the one half would have to be paid for as 2;
/// one that is replaced turns at most 1 into -1. The noise has deviations z_x D_x on each coordinate of the sum and z_c D_c on the
/// count. In units of their deviations, where all noise is standard normal, a unit moves (sum, count) by at most
///
/// ```text
/// sqrt((D_x / (z_x D_x))^2 + (D_c / (z_c D_c))^2) = sqrt(1 / z_x^2 + 1 / z_c^2) = 1 / z
/// ```
///
/// in L2: the Gaussian mechanism of multiplier z on the two together, inside one Poisson sample. (In the paper's terms z_c is 2
/// sigma_b.) The sum is on the grid of C, 2^30 steps of the clip, with the noise that such a grid has at every C. The count is a
/// whole number and gets a normal rounded to one, drawn exactly, from randomness of its own; that is round(count + N), a
/// post-processing. What follows from it,
///
/// ```text
/// C <- C exp(-rate ((count / b + 1) / 2 - quantile)),     within [floor, ceiling],
/// ```
///
/// is a function of what was released and of public numbers, so the clip of a step is known to whoever saw the steps
/// before it, and steps compose adaptively, each with the same event.
#[derive(Clone, Debug)]
pub(crate) struct Adaptive {
    pub(crate) settings: AdaptiveClip,
    noise: IntegerNoise,
    expected_batch: f64,
}

/// How far one unit moves the count.
fn count_change(neighbouring: Neighbouring) -> f64 {
    match neighbouring {
        Neighbouring::AddRemove => 1.0,
        Neighbouring::ReplaceOne => 2.0,
    }
}

impl Adaptive {
    /// The noise of the count and that of the gradients, for the plan of these settings.
    ///
    /// # Errors
    /// If a setting makes no sense, or the plan selects or clips again.
    pub(crate) fn new(
        settings: AdaptiveClip,
        plan: &PlanSettings,
        grid: Grid,
    ) -> Result<(Self, Noise), PlanError> {
        let AdaptiveClip { quantile, rate, floor, ceiling } = settings;
        if !(quantile > 0.0 && quantile < 1.0) {
            let reason = "the clip follows this part of the units";
            let remedy = "give a number between 0 and 1, such as 0.5";
            return Err(PlanError::new("quantile", quantile, reason, remedy));
        }
        positive("rate of the clip", rate)?;
        let is_within = floor > 0.0 && floor <= plan.clip && plan.clip <= ceiling;
        if !(is_within && ceiling.is_finite()) {
            let reason = format!("the clip is kept between {floor} and {ceiling}");
            return Err(PlanError::new("clip", plan.clip, reason, "give one between them"));
        }
        let NoiseSettings::Gaussian { multiplier, second_clip: None } = plan.noise else {
            return Err(PlanError::new(
                "quantile",
                quantile,
                "a clip that adapts is accounted for with Gaussian noise and without a second clip",
                "leave out the second clip, or the quantile",
            ));
        };
        // Roundings only ever add noise.
        let up = 1.0 + 4.0 * f64::EPSILON;
        let gradients = multiplier / libm::sqrt(1.0 - SHARE) * up;
        let count = multiplier / libm::sqrt(SHARE) * up * count_change(plan.neighbouring);
        let noise = IntegerNoise::rounded_gaussian(count)?;
        let of_gradients = NoiseSettings::Gaussian { multiplier: gradients, second_clip: None };
        let of_gradients = Noise::new(grid, plan.neighbouring, of_gradients, 0, f64::INFINITY)?;
        Ok((Self { settings, noise, expected_batch: plan.expected_batch }, of_gradients))
    }

    /// The clip within its bounds.
    pub(crate) fn within(&self, clip: f64) -> f64 {
        // Also what is no number becomes one.
        clip.max(self.settings.floor).min(self.settings.ceiling)
    }

    /// The clip after the step `step`, which had the clip `clip`; `count` is of units within it less those beyond.
    pub(crate) fn next(
        &self,
        clip: f64,
        count: i64,
        source: &RandomSource,
        step: u64,
    ) -> ReleasedClip {
        let mut random = source.secret(Secret::ClipNoise, step).shard(0);
        let released = count.saturating_add(self.noise.draw(&mut random));
        let part = 0.5 * (released as f64 / self.expected_batch + 1.0);
        let AdaptiveClip { quantile, rate, .. } = self.settings;
        ReleasedClip(self.within(clip * libm::exp(-rate * (part - quantile))))
    }
}

impl Plan {
    /// How the clip adapts, if it does.
    pub fn adaptive_clip(&self) -> Option<AdaptiveClip> {
        self.adaptive().map(|adaptive| adaptive.settings)
    }

    /// The grid of a step with a clip that was released, where the clip adapts; that of the plan if not.
    pub(crate) fn grid_at(&self, clip: ReleasedClip) -> Grid {
        match self.adaptive() {
            Some(adaptive) => self.grid().at_clip(adaptive.within(clip.value())),
            None => *self.grid(),
        }
    }

    /// The plan whose clip follows a quantile, from the clip of its settings on: the same event, of which the count of
    /// units within the clip takes a small part.
    ///
    /// # Errors
    /// If the quantile or its bounds make no sense; if the plan selects coordinates or rows, or clips twice: caps,
    /// thresholds and second clips are lengths, and would have to follow it.
    pub fn adapting(&self, settings: AdaptiveClip) -> Result<Self, PlanError> {
        if !self.selects_everything() {
            return Err(PlanError::new(
                "quantile",
                settings.quantile,
                "a clip that adapts is accounted for where noise lies on everything",
                "leave it out, or do not select",
            ));
        }
        let (adaptive, noise) = Adaptive::new(settings, self.settings(), *self.grid())?;
        Ok(self.with_adaptive(adaptive, noise))
    }
}

#[cfg(test)]
mod tests;
