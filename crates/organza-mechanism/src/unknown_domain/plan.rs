//! Checked settings of a release of items.

use super::counts::ItemCounts;
use super::limited::LimitedItems;
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
    /// Rounded Gaussian noise on the number of units that have an item.
    Gaussian {
        /// Standard deviation over the L2 sensitivity.
        multiplier: f64,
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
    /// The top items in the order of noisy counts, down to a noisy bar (Durfee and Rogers 2019). It
    /// gives no counts, its noise is idealised, and it is for add-remove neighbours only.
    LimitedDomain {
        /// The bounded range of one draw.
        epsilon: f64,
        /// The probability that an item outside the common domain shows.
        delta: f64,
        /// How many items of the largest counts are candidates.
        domain: u64,
        /// The largest number of items that is returned.
        draws: u64,
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
/// and L1 and L2 sensitivity are 2c and sqrt(2c) (sqrt2 with weights, which are not negative).
///
/// Which items reach the threshold and in which order they are shown (by noisy count, then by
/// the items themselves) depends on noisy counts alone, and so does keeping the first ones.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemsPlan {
    settings: ItemSettings,
    event: Event,
    pub(super) method: Method,
}

/// How the plan's release is made.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Method {
    Threshold {
        noise: IntegerNoise,
        /// The weight of an item in a unit of j, in steps, for j from 1.
        weights: Vec<u64>,
        /// In steps.
        threshold: i64,
        step: f64,
    },
    Limited(LimitedItems),
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
        let plain = || vec![1; items as usize];
        match settings.rule {
            ItemRule::Laplace { epsilon, delta } => {
                let sensitivity = twice * most;
                let scale = sensitivity / positive("epsilon of the items", epsilon)?;
                let event =
                    Event::DiscreteLaplace { noise_multiplier: at_most(scale, sensitivity) };
                let noise = IntegerNoise::discrete_laplace(scale)?;
                Self::with_threshold(settings, event, noise, plain(), 1.0, delta)
            }
            ItemRule::Gaussian { multiplier, delta } => {
                positive("noise multiplier of the items", multiplier)?;
                let sensitivity = libm::sqrt(twice * most).next_up();
                let deviation = multiplier * sensitivity;
                let noise_multiplier = at_most(deviation, sensitivity);
                let event = Event::RoundedGaussian { noise_multiplier };
                let noise = IntegerNoise::rounded_gaussian(deviation)?;
                Self::with_threshold(settings, event, noise, plain(), 1.0, delta)
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
                Self::with_threshold(settings, event, noise, weights, 1.0 / STEPS_OF_WEIGHT, delta)
            }
            ItemRule::LimitedDomain { epsilon, delta, domain, draws } => {
                if settings.neighbouring == Neighbouring::ReplaceOne {
                    return Err(PlanError::new(
                        "neighbouring",
                        settings.neighbouring,
                        "limited-domain selection needs counts that move in one direction",
                        "use add-remove, or another rule",
                    ));
                }
                count("draws", draws, domain, "items in the domain")?;
                positive("epsilon of the items", epsilon)?;
                probability("delta of the items", delta)?;
                let event = Event::LimitedDomain { epsilon, delta, draws };
                let items_per_unit = items;
                let limited = LimitedItems { epsilon, delta, domain, draws, items_per_unit };
                Ok(Self { settings, event, method: Method::Limited(limited) })
            }
        }
    }

    fn with_threshold(
        settings: ItemSettings,
        noise_event: Event,
        noise: IntegerNoise,
        weights: Vec<u64>,
        step: f64,
        delta: f64,
    ) -> Result<Self, PlanError> {
        probability("delta of the items", delta)?;
        let threshold = least_threshold(&noise, &weights, delta);
        let event = Event::Compose(vec![noise_event, Event::Approximate { epsilon: 0.0, delta }]);
        Ok(Self { settings, event, method: Method::Threshold { noise, weights, threshold, step } })
    }

    /// The same release at the price that lets later events depend on what it shows, such as on how many items
    /// there are: by basic composition.
    ///
    /// # Privacy
    /// The release is (e, d)-private with the e and d below, whatever follows may be chosen by its
    /// outcome, and a sequence whose later part is (e', d')-private for every outcome of the first is
    /// (e + e', d + (1 - d) d')-private: by Kairouz, Oh and Viswanath (2015) an (e, d)-private release is one that
    /// shows everything with probability d and is e-private otherwise ([`Event::Deciding`]).
    /// - Discrete Laplace noise: e = 1 / multiplier, d that of the threshold.
    /// - Gaussian noise of multiplier m: rho = 1 / (2 m^2) is concentrated, hence
    ///   e = rho + 2 sqrt(rho ln(1 / d)) for any d (Bun and Steinke 2016); the threshold's own is taken once more.
    /// - Limited domain: each draw of range e0 is e0-private, so e = draws x e0.
    pub fn deciding(self) -> Self {
        let ItemSettings { rule, .. } = self.settings;
        let (epsilon, delta) = match (&self.event, rule) {
            (_, ItemRule::LimitedDomain { epsilon, delta, draws, .. }) => {
                (draws as f64 * epsilon, delta)
            }
            (Event::Compose(parts), ItemRule::Laplace { delta, .. }) => match parts.first() {
                Some(Event::DiscreteLaplace { noise_multiplier }) => {
                    (noise_multiplier.recip(), delta)
                }
                _ => return self,
            },
            (
                Event::Compose(parts),
                ItemRule::Gaussian { delta, .. } | ItemRule::WeightedGaussian { delta, .. },
            ) => match parts.first() {
                Some(Event::RoundedGaussian { noise_multiplier }) => {
                    let rho = 0.5 / (noise_multiplier * noise_multiplier);
                    (rho + 2.0 * libm::sqrt(rho * -libm::log(delta)), (2.0 * delta).min(1.0))
                }
                _ => return self,
            },
            // It decides already.
            _ => return self,
        };
        let epsilon = epsilon * (1.0 + ROUNDING);
        let event = vec![Event::Deciding { epsilon }, Event::Approximate { epsilon: 0.0, delta }];
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

    /// The threshold that noisy counts reach, where the rule has a fixed one.
    pub fn threshold(&self) -> Option<f64> {
        match &self.method {
            Method::Threshold { threshold, step, .. } => Some(*threshold as f64 * step),
            Method::Limited(_) => None,
        }
    }

    /// The standard deviation of the noise on a count, where counts are released.
    pub fn deviation(&self) -> Option<f64> {
        match &self.method {
            Method::Threshold { noise, step, .. } => Some(noise.deviation() * step),
            Method::Limited(_) => None,
        }
    }

    /// Whether the law of the noise is exact: the limited domain's is idealised.
    pub fn is_exact(&self) -> bool {
        matches!(self.method, Method::Threshold { .. })
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
