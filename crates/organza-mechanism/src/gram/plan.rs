//! Checked settings: the one thing that makes the sums, their noise and their event.

use super::row::NORM_BITS;
use super::sum::GramSum;
use crate::histogram::at_most;
use crate::plan::{PlanError, positive};
use crate::random::RandomSource;
use crate::release::Release;
use crate::sample::RoundedNormals;
use organza_ledger::{Event, Neighbouring};

/// The released values are whole multiples of 2^-20 of a unit's norm.
pub(super) const RELEASED_BITS: u32 = 20;
/// More columns than this make more cells than fit into memory one by one.
const MOST_COLUMNS: u32 = 1 << 14;

/// Unchecked settings of a table of pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GramSettings {
    /// The number of columns.
    pub columns: u32,
    /// The relation for which sensitivities are stated.
    pub neighbouring: Neighbouring,
    /// Standard deviation of the noise over the sensitivity.
    pub multiplier: f64,
}

/// A checked plan for one table of pairs of columns (a Gram matrix).
///
/// A unit has a row u of whole numbers, not negative. Of it the rest z = u - a p beside a direction p is taken, which is
/// public or was released before, with the whole number a that the unit's own row decides. The release is, for every
/// unordered pair i <= j of columns, the sum over units of z_i z_j / |z z'|, with noise, where |z z'| is the L2 norm of
/// all unordered cells of this unit, the diagonal among them.
///
/// # Privacy
/// The cells of a unit are whole numbers of steps whose L2 norm is at most 2^43 steps, to the last bit
/// (the proof stands at `row::factor`). So adding or removing a unit moves the sums by at most
/// 2^43 in L2. Replacing z by w moves them by at most sqrt2 times that: the inner product of two units' cells is
/// that of z and w, squared, plus the sum of z_i^2 w_i^2, halved (as for the norm), hence not negative. Each cell gets
/// its own normal noise, drawn exactly; on whole sums s, round(s / 2^23 + N) is a post-processing of
/// the Gaussian mechanism on s. Neither the number of columns nor the direction changes what it costs, so both may
/// follow what was released before.
#[derive(Clone, Debug, PartialEq)]
pub struct GramPlan {
    settings: GramSettings,
    pub(super) normals: RoundedNormals,
    event: Event,
}

impl GramPlan {
    /// Checks settings.
    ///
    /// # Errors
    /// Names the first setting with which there can be no such release.
    pub fn new(settings: GramSettings) -> Result<Self, PlanError> {
        if !(1..=MOST_COLUMNS).contains(&settings.columns) {
            let reason = format!("there must be from 1 to {MOST_COLUMNS}");
            return Err(PlanError::new("columns", settings.columns, reason, "take fewer columns"));
        }
        let multiplier = positive("noise multiplier of the pairs", settings.multiplier)?;
        let replaces = settings.neighbouring == Neighbouring::ReplaceOne;
        let longest = if replaces { std::f64::consts::SQRT_2.next_up() } else { 1.0 };
        // With a power of two the product is exact.
        let sensitivity = longest * (1_u64 << NORM_BITS) as f64;
        let deviation = multiplier * sensitivity;
        let normals = RoundedNormals::on_sums(deviation, NORM_BITS - RELEASED_BITS);
        let normals = normals.filter(|_| multiplier >= 1e-6).ok_or_else(|| {
            let reason = "it must be between 1e-6 and 500";
            PlanError::new("noise multiplier of the pairs", multiplier, reason, "take more or less")
        })?;
        let event = Event::RoundedGaussian { noise_multiplier: at_most(deviation, sensitivity) };
        Ok(Self { settings, normals, event })
    }

    /// What the release costs, by the settings alone.
    pub fn event(&self) -> Event {
        self.event.clone()
    }

    /// The settings it was made from.
    pub(super) fn settings(&self) -> &GramSettings {
        &self.settings
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.settings.columns as usize
    }

    /// The standard deviation of the noise of a cell, where the cells of a unit have norm 1.
    pub fn deviation(&self) -> f64 {
        self.normals.deviation() * self.unit()
    }

    /// One step of the released values.
    pub(super) fn unit(&self) -> f64 {
        1.0 / (1_u64 << RELEASED_BITS) as f64
    }

    /// The release under a purpose, which names its charge and its noise.
    pub fn release(&self, purpose: &str, source: &RandomSource) -> Release {
        Release::new(purpose, self.event(), self.settings.neighbouring, source)
    }

    /// No units yet. What is said of `direction` beyond the columns is left out, and what is missing is zero; entries
    /// above [`LARGEST_DIRECTION`](super::LARGEST_DIRECTION) are taken for it.
    ///
    /// # Privacy
    /// The direction has to be public, or a post-processing of what was released before.
    pub fn sum(&self, direction: &[u32]) -> GramSum {
        GramSum::new(self.clone(), direction)
    }
}
