//! Checked settings: the one thing that makes the histogram, its noise and its event.

use super::settings::{Bound, CountNoise, HistogramSettings};
use super::sum::Histogram;
use crate::plan::{PlanError, positive};
use crate::random::RandomSource;
use crate::release::Release;
use crate::sample::IntegerNoise;
use organza_ledger::{Event, Neighbouring};

/// How many grid steps the norm of a unit has.
///
/// Truncation to the grid takes at most one step from each count of a unit: with n counts about
/// 2^-20 sqrt(n) of its norm.
pub(super) const STEPS_OF_NORM: f64 = (1_u64 << 20) as f64;
/// More cells than this are not released one by one.
const MOST_DENSE: u64 = 1 << 27;
/// So many cells keep all arithmetic on them within whole numbers.
const MOST_CELLS: u64 = 1 << 48;

/// A checked plan for one histogram.
///
/// # Privacy
/// A unit's counts become whole numbers of grid steps whose L1 or L2 norm is at most the bound, they are
/// summed as whole numbers, and each of *all* cells gets its own noise, a whole number drawn exactly.
///
/// - [`Bound::Total`] m: replacing one unit moves the sums by at most 2 m in L1, adding or removing one by
///   at most m. Noise with Pr\[z\] ~ e^(-|z| / scale) changes its probability by at most a factor
///   e^(1 / scale) per step, so the release is (sensitivity / scale)-differentially private.
/// - [`Bound::Norm`] c: the counts of a unit are not negative, so two units differ by at most sqrt2 c in L2
///   (|u - v|^2 = |u|^2 + |v|^2 - 2 uv), and one unit is at most c. On whole numbers x + round(N) =
///   round(x + N): a post-processing of the Gaussian mechanism.
///
/// The bar is public and is met by noisy counts, so it is a post-processing too; and so is to let it be for the first cells.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramPlan {
    settings: HistogramSettings,
    noise: IntegerNoise,
    event: Event,
    /// In grid steps.
    bar: Option<i64>,
    step: f64,
}

impl HistogramPlan {
    /// Checks settings.
    ///
    /// # Errors
    /// Names the first setting with which there can be no such release.
    pub fn new(settings: HistogramSettings) -> Result<Self, PlanError> {
        if !(1..=MOST_CELLS).contains(&settings.cells) {
            let reason = format!("there must be from 1 to {MOST_CELLS}");
            return Err(PlanError::new("cells", settings.cells, reason, "take fewer cells"));
        }
        let replaces = settings.neighbouring == Neighbouring::ReplaceOne;
        let (noise, event, step) = match (settings.bound, settings.noise) {
            (Bound::Total(most), CountNoise::DiscreteLaplace { epsilon }) => {
                if !(1..=1 << 32).contains(&most) {
                    let reason = "one unit must contribute something, and at most 2^32";
                    return Err(PlanError::new("bound", most, reason, "take a bound from 1"));
                }
                let sensitivity = most as f64 * if replaces { 2.0 } else { 1.0 };
                let scale = sensitivity / positive("epsilon of the counts", epsilon)?;
                let noise_multiplier = at_most(scale, sensitivity);
                let noise = IntegerNoise::discrete_laplace(scale)?;
                (noise, Event::DiscreteLaplace { noise_multiplier }, 1.0)
            }
            (Bound::Norm(clip), CountNoise::RoundedGaussian { multiplier }) => {
                positive("bound", clip)?;
                positive("noise multiplier of the counts", multiplier)?;
                let longest = if replaces { std::f64::consts::SQRT_2.next_up() } else { 1.0 };
                let sensitivity = STEPS_OF_NORM * longest;
                let deviation = multiplier * sensitivity;
                let noise_multiplier = at_most(deviation, sensitivity);
                let noise = IntegerNoise::rounded_gaussian(deviation)?;
                (noise, Event::RoundedGaussian { noise_multiplier }, clip / STEPS_OF_NORM)
            }
            (bound, noise) => {
                return Err(PlanError::new(
                    "noise",
                    format!("{noise:?}"),
                    format!("it does not suit the bound {bound:?}"),
                    "take discrete Laplace noise for a total and rounded Gaussian noise for a norm",
                ));
            }
        };
        if settings.bar.is_some() && settings.dense > settings.cells.min(MOST_DENSE) {
            let reason = "there are at most as many as cells, and 2^27";
            return Err(PlanError::new("dense cells", settings.dense, reason, "take fewer"));
        }
        let bar = match settings.bar {
            Some(bar) => Some(checked_bar(bar, step, &noise)?),
            None if settings.cells > MOST_DENSE => {
                let reason = "this many cells are only released above a bar";
                return Err(PlanError::new("cells", settings.cells, reason, "set a bar"));
            }
            None => None,
        };
        Ok(Self { settings, noise, event, bar, step })
    }

    /// What the release costs, by the settings alone.
    pub fn event(&self) -> Event {
        self.event.clone()
    }

    /// The settings it was made from.
    pub fn settings(&self) -> &HistogramSettings {
        &self.settings
    }

    /// The release under a purpose, which names its charge and its noise.
    pub fn release(&self, purpose: &str, source: &RandomSource) -> Release {
        Release::new(purpose, self.event(), self.settings.neighbouring, source)
    }

    /// An empty histogram, which nobody can read before it has its noise.
    pub fn histogram(&self) -> Histogram {
        Histogram::new(self.clone())
    }

    /// The bar in counts, as it is used: rounded up to the grid.
    pub fn bar(&self) -> Option<f64> {
        self.bar.map(|bar| bar as f64 * self.step)
    }

    /// One step of the grid in counts; 1 for whole counts.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// The standard deviation of the noise of a cell, in counts.
    pub fn deviation(&self) -> f64 {
        self.noise.deviation() * self.step
    }

    /// How likely a cell with this true count is released, if the bar is for it.
    pub fn chance_above(&self, count: f64) -> f64 {
        self.bar.map_or(1.0, |bar| self.noise.chance_at_least(self.needed(bar, count)))
    }

    /// The noise that lifts a true count to the bar.
    fn needed(&self, bar: i64, count: f64) -> i64 {
        bar.saturating_sub((count / self.step).round() as i64)
    }

    pub(super) fn noise(&self) -> &IntegerNoise {
        &self.noise
    }

    pub(super) fn bar_in_steps(&self) -> Option<i64> {
        self.bar
    }
}

/// A noise multiplier that is not above the true quotient.
pub(crate) fn at_most(scale: f64, sensitivity: f64) -> f64 {
    let quotient = scale / sensitivity;
    // The product is exact where it does not err upwards, and then the quotient is not too large.
    if quotient.mul_add(sensitivity, -scale) > 0.0 { quotient.next_down() } else { quotient }
}

fn checked_bar(bar: f64, step: f64, noise: &IntegerNoise) -> Result<i64, PlanError> {
    let steps = (bar / step).ceil();
    let largest = (1_u64 << 52) as f64;
    if !steps.is_finite() || steps.abs() > largest {
        let reason = "it is not a size that counts can have";
        return Err(PlanError::new("bar", bar, reason, "take a bar near the noise's deviation"));
    }
    noise.above(steps as i64).map_err(|error| PlanError { value: bar.to_string(), ..error })?;
    Ok(steps as i64)
}
