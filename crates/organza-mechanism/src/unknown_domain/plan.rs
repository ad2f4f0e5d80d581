//! Checked settings of a release of items.

use super::counts::ItemCounts;
use super::threshold::least_threshold;
use crate::histogram::at_most;
use crate::plan::{PlanError, count, positive, probability};
use crate::random::RandomSource;
use crate::release::Release;
use crate::sample::IntegerNoise;
use organza_ledger::{Event, Neighbouring};

/// More items of a unit than this are never counted.
const MOST_PER_UNIT: u64 = 1 << 16;
/// Grid steps of the weight 1, where items are weighted.
const STEPS_OF_WEIGHT: f64 = (1_u64 << 20) as f64;
/// More than a few operations err by.
const ROUNDING: f64 = 1e-14;

/// How items are released.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ItemRule {
    /// Discrete Laplace noise of scale sensitivity / `epsilon` on the number of units that have an item.
    Laplace {
        /// The guarantee, but for `delta`.
        epsilon: f64,
        /// The probability that an item of one unit alone shows.
        delta: f64,
    },
    /// Rounded Gaussian noise on sums of weights: each of the j items of a unit counts 1 / sqrt(j), so
    /// that a unit may have many items at no higher sensitivity.
    WeightedGaussian {
        /// Standard deviation over the L2 sensitivity.
        multiplier: f64,
        /// The probability that an item of one unit alone shows.
        delta: f64,
    },
}

/// Unchecked settings of a release of items.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ItemSettings {
    /// How many distinct items of a unit count: c.
    pub items_per_unit: u64,
    /// The relation for which sensitivities are stated.
    pub neighbouring: Neighbouring,
    /// Noise and threshold.
    pub rule: ItemRule,
}

/// A checked plan for one release of items.
///
/// # Privacy
/// Each unit has at most c items, chosen by a rule that sees only this unit. Only items that some unit
/// has get noise, and those whose noisy count reaches the threshold are released.
///
/// Take neighbours D = D' + x. Noise is independent from item to item, so the release is the product of
/// a release of the items of D', whose counts x moves by at most 1 each and the sensitivity in
/// all, and a release of the j <= c items that only x has, each with its bare weight w_j. Without x the
/// second one is empty. With x it is not with probability at most 1 - (1 - Pr\[w_j + Z >= threshold\])^j,
/// which the threshold makes at most delta: the total variation between the two. So the event is
/// the composition of the noise and of `approximate {0, delta}`, in both directions. If x is replaced
/// by y, each of the two laws is the same product, with items of its own that the other has not,
/// and the L1 sensitivity is 2c, the L2 sensitivity with weights, which are not negative, sqrt2.
///
/// Which items reach the threshold and in which order they are shown (by noisy count, then by
/// the items themselves) depends on noisy counts alone, and so does keeping the first ones.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemsPlan {
    settings: ItemSettings,
    event: Event,
    pub(super) noise: IntegerNoise,
    /// The weight of an item in a unit of j, in steps, for j from 1.
    pub(super) weights: Vec<u64>,
    /// In steps.
    pub(super) threshold: i64,
    pub(super) step: f64,
}

impl ItemsPlan {
    /// Checks settings.
    ///
    /// # Errors
    /// Names the first setting with which there can be no such release.
    pub fn new(settings: ItemSettings) -> Result<Self, PlanError> {
        let items = count("items per unit", settings.items_per_unit, MOST_PER_UNIT, "items")?;
        let twice = if settings.neighbouring == Neighbouring::ReplaceOne { 2.0 } else { 1.0 };
        let most = items as f64;
        let (noise_event, noise, weights, step, delta) = match settings.rule {
            ItemRule::Laplace { epsilon, delta } => {
                let sensitivity = twice * most;
                let scale = sensitivity / positive("epsilon of the items", epsilon)?;
                let event =
                    Event::DiscreteLaplace { noise_multiplier: at_most(scale, sensitivity) };
                let noise = IntegerNoise::discrete_laplace(scale)?;
                (event, noise, vec![1; items as usize], 1.0, delta)
            }
            ItemRule::WeightedGaussian { multiplier, delta } => {
                positive("noise multiplier of the items", multiplier)?;
                // j weights of floor(2^20 / sqrt(j)) have an L2 norm of at most 2^20.
                let sensitivity = if twice > 1.0 {
                    STEPS_OF_WEIGHT * 2_f64.sqrt().next_up()
                } else {
                    STEPS_OF_WEIGHT
                };
                let deviation = multiplier * sensitivity;
                let noise_multiplier = at_most(deviation, sensitivity);
                let event = Event::RoundedGaussian { noise_multiplier };
                let noise = IntegerNoise::rounded_gaussian(deviation)?;
                let weights = (1..=items).map(|number| ((1_u64 << 40) / number).isqrt()).collect();
                (event, noise, weights, 1.0 / STEPS_OF_WEIGHT, delta)
            }
        };
        probability("delta of the items", delta)?;
        let threshold = least_threshold(&noise, &weights, delta);
        let event = Event::Compose(vec![noise_event, Event::Approximate { epsilon: 0.0, delta }]);
        Ok(Self { settings, event, noise, weights, threshold, step })
    }

    /// The same release at the price that lets later events depend on what it shows, such as on how many items
    /// there are: by basic composition.
    ///
    /// # Privacy
    /// The release is (e, d)-private with the e and d below, whatever follows may be chosen by its
    /// outcome, and a sequence whose later part is (e', d')-private for every outcome of the first is
    /// (e + e', d + (1 - d) d')-private: by Kairouz, Oh and Viswanath (2015) an (e, d)-private release is one that
    /// shows everything with probability d and is e-private otherwise ([`Event::Added`]).
    /// - Discrete Laplace noise: e = 1 / multiplier, d that of the threshold.
    /// - Gaussian noise of multiplier m: rho = 1 / (2 m^2) is concentrated, hence
    ///   e = rho + 2 sqrt(rho ln(1 / d)) for any d (Bun and Steinke 2016); the threshold's own is taken once more.
    pub fn deciding(self) -> Self {
        let Event::Compose(parts) = &self.event else { return self };
        let (epsilon, delta) = match (parts.first(), self.settings.rule) {
            (
                Some(Event::DiscreteLaplace { noise_multiplier }),
                ItemRule::Laplace { delta, .. },
            ) => (noise_multiplier.recip(), delta),
            (
                Some(Event::RoundedGaussian { noise_multiplier }),
                ItemRule::WeightedGaussian { delta, .. },
            ) => {
                let rho = 0.5 / (noise_multiplier * noise_multiplier);
                (rho + 2.0 * libm::sqrt(rho * -libm::log(delta)), (2.0 * delta).min(1.0))
            }
            // It decides already.
            _ => return self,
        };
        let epsilon = epsilon * (1.0 + ROUNDING);
        let event = vec![Event::Added { epsilon }, Event::Approximate { epsilon: 0.0, delta }];
        Self { event: Event::Compose(event), ..self }
    }

    /// What the release costs, by the settings alone.
    pub fn event(&self) -> Event {
        self.event.clone()
    }

    /// The settings it was made from.
    pub fn settings(&self) -> &ItemSettings {
        &self.settings
    }

    /// The threshold that noisy counts reach.
    pub fn threshold(&self) -> f64 {
        self.threshold as f64 * self.step
    }

    /// The standard deviation of the noise on a count.
    pub fn deviation(&self) -> f64 {
        self.noise.deviation() * self.step
    }

    /// The release under a purpose, which names its charge and its noise.
    pub fn release(&self, purpose: &str, source: &RandomSource) -> Release {
        Release::new(purpose, self.event(), self.settings.neighbouring, source)
    }

    /// No counts yet, for this release.
    pub fn counts<Item: Ord>(&self, release: Release) -> ItemCounts<Item> {
        ItemCounts::new(self.clone(), release)
    }
}
