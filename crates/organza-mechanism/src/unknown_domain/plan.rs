//! Checked settings of a release of items.

use super::counts::ItemCounts;
use super::rounds::{ROOT_OF_ROUNDS, ROUNDS, Rounds, STEPS_OF_WEIGHT};
use super::threshold::least_threshold;
use crate::histogram::at_most;
use crate::plan::{PlanError, count, positive, probability};
use crate::random::RandomSource;
use crate::release::Release;
use crate::sample::IntegerNoise;
use organza_ledger::{Event, Neighbouring};

/// More items of a unit than this are never counted.
const MOST_PER_UNIT: u64 = 1 << 16;
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
    /// Rounded Gaussian noise on sums of weights, in 16 rounds: a unit divides a weight of 1, in L2, among its items,
    /// so that it may have many at no higher sensitivity, and gives most to those that may go either way by what the
    /// rounds before showed.
    AdaptiveGaussian {
        /// Standard deviation over the L2 sensitivity, of all rounds together.
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
/// Each unit has at most c items, chosen by a rule that sees only this unit. Only items that some unit has get noise,
/// and those whose noisy count, or sum, reaches the threshold are released.
///
/// Take neighbours D = D' + x. Let every item that there could be have noise in every round (one round with Laplace
/// noise), whether or not some unit has it; what is released is a part of that. Fix the noise z on the j <= c items
/// that only x has, such that none of them reaches the threshold: then all that is released is a function of the
/// noisy counts of the items of D'. In each round the units of D' add to these what they would add without x, given
/// the rounds before (no unit of D' has an item that only x has), and x adds at most the sensitivity: 1 for each of c
/// items, or weights with an L2 norm of at most 1 ([the rounds](ItemRule::AdaptiveGaussian)), whatever z is. So for
/// every such z this is a composition of rounds of noise, each of which may depend on those before, against the release
/// without x, which does not depend on z; and so is the mixture over all such z, because the divergences that define
/// privacy are jointly convex. The other z have probability at most delta by the choice of the threshold. So D
/// releases by such a mixture with probability 1 - delta or more, and the event is the composition of the rounds and of
/// `approximate {0, delta}`, in both directions.
///
/// If x is replaced by y, each of the two laws is such a mixture, over noise on items of its own, with probability
/// 1 - delta or more. For any pair of these noises the two differ by at most 2c in L1, or sqrt2 in L2 in each round, since
/// weights are not below zero; and the event is the same, at these sensitivities.
///
/// Which items reach the threshold and in which order they are shown (by noisy count, then by
/// the items themselves) depends on noisy counts alone, and so does keeping the first ones.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemsPlan {
    settings: ItemSettings,
    event: Event,
    pub(super) law: Law,
    /// In steps.
    pub(super) threshold: i64,
    pub(super) step: f64,
}

/// The noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Law {
    /// On the number of units, once.
    Counts(IntegerNoise),
    /// On sums of weights, in rounds.
    Rounds(Rounds),
}

impl ItemsPlan {
    /// Checks settings.
    ///
    /// # Errors
    /// Names the first setting with which there can be no such release.
    pub fn new(settings: ItemSettings) -> Result<Self, PlanError> {
        let items = count("items per unit", settings.items_per_unit, MOST_PER_UNIT, "items")?;
        let twice = if settings.neighbouring == Neighbouring::ReplaceOne { 2.0 } else { 1.0 };
        let (noise_event, law, threshold, step, delta) = match settings.rule {
            ItemRule::Laplace { epsilon, delta } => {
                let sensitivity = twice * items as f64;
                let scale = sensitivity / positive("epsilon of the items", epsilon)?;
                let event =
                    Event::DiscreteLaplace { noise_multiplier: at_most(scale, sensitivity) };
                let noise = IntegerNoise::discrete_laplace(scale)?;
                probability("delta of the items", delta)?;
                let threshold = least_threshold(&noise, &vec![1; items as usize], delta);
                (event, Law::Counts(noise), threshold, 1.0, delta)
            }
            ItemRule::AdaptiveGaussian { multiplier, delta } => {
                positive("noise multiplier of the items", multiplier)?;
                let weight = STEPS_OF_WEIGHT as f64;
                let sensitivity =
                    if twice > 1.0 { weight * 2_f64.sqrt().next_up() } else { weight };
                // 16 rounds of 4 times the deviation are as private as one of the deviation.
                let deviation = ROOT_OF_ROUNDS * multiplier * sensitivity;
                let noise_multiplier = at_most(deviation, sensitivity);
                let round = Event::RoundedGaussian { noise_multiplier };
                let event = Event::Repeat { times: ROUNDS, event: Box::new(round) };
                probability("delta of the items", delta)?;
                let rounds = Rounds::new(deviation, items, delta)?;
                let step = 1.0 / (ROUNDS as f64 * weight);
                (event, Law::Rounds(rounds), rounds.threshold, step, delta)
            }
        };
        let event = Event::Compose(vec![noise_event, Event::Approximate { epsilon: 0.0, delta }]);
        Ok(Self { settings, event, law, threshold, step })
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
    /// - Gaussian noise, k rounds of multiplier m: rho = k / (2 m^2) is concentrated, hence
    ///   e = rho + 2 sqrt(rho ln(1 / d)) for any d (Bun and Steinke 2016); the threshold's own is taken once more.
    pub fn deciding(self) -> Self {
        let Event::Compose(parts) = &self.event else { return self };
        let (epsilon, delta) = match (parts.first(), self.settings.rule) {
            (
                Some(Event::DiscreteLaplace { noise_multiplier }),
                ItemRule::Laplace { delta, .. },
            ) => (noise_multiplier.recip(), delta),
            (Some(Event::Repeat { times, event }), ItemRule::AdaptiveGaussian { delta, .. }) => {
                let Event::RoundedGaussian { noise_multiplier } = event.as_ref() else {
                    return self;
                };
                let rho = 0.5 * *times as f64 / (noise_multiplier * noise_multiplier);
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

    /// How often the units are looked at.
    pub(super) fn looks(&self) -> u32 {
        match &self.law {
            Law::Counts(_) => 1,
            Law::Rounds(_) => ROUNDS as u32,
        }
    }

    /// The threshold that noisy counts reach.
    pub fn threshold(&self) -> f64 {
        self.threshold as f64 * self.step
    }

    /// The standard deviation of the noise on a count.
    pub fn deviation(&self) -> f64 {
        let steps = match &self.law {
            Law::Counts(noise) => noise.deviation(),
            Law::Rounds(rounds) => rounds.deviation(),
        };
        steps * self.step
    }

    /// The release under a purpose, which names its charge and its noise.
    pub fn release(&self, purpose: &str, source: &RandomSource) -> Release {
        Release::new(purpose, self.event(), self.settings.neighbouring, source)
    }

    /// No counts yet, for this release.
    pub fn counts<Item: Ord + Clone + Send + Sync>(&self, release: Release) -> ItemCounts<Item> {
        ItemCounts::new(self.clone(), release)
    }
}
