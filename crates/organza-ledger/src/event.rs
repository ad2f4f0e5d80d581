//! Privacy events: what a mechanism did, as plain data that an accountant can price.
//!
//! The JSON form is stable: an event's meaning never changes once a version was released, and an
//! unknown kind is an error that names it. Parameters are relative to the true sensitivity for the
//! stated [`Neighbouring`](crate::Neighbouring) relation, so an event can be priced without knowing
//! the data, the model or the units of measurement.

use crate::SelectedNoise;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The deepest nesting of events that is accepted.
const DEEPEST: usize = 32;

/// What a mechanism released, in the terms that determine its privacy loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// Real Gaussian noise on a value of bounded L2 sensitivity.
    Gaussian {
        /// Standard deviation over L2 sensitivity.
        noise_multiplier: f64,
    },
    /// A Gaussian rounded to an integer and added to an integer: a post-processing of [`Event::Gaussian`].
    RoundedGaussian {
        /// Standard deviation before rounding, over L2 sensitivity.
        noise_multiplier: f64,
    },
    /// The discrete Gaussian, which the Gaussian does *not* dominate: zCDP only.
    DiscreteGaussian {
        /// The parameter sigma over L2 sensitivity.
        noise_multiplier: f64,
    },
    /// Laplace noise on a value of bounded L1 sensitivity.
    Laplace {
        /// Scale over L1 sensitivity.
        noise_multiplier: f64,
    },
    /// Two-sided geometric noise on an integer of bounded L1 sensitivity.
    DiscreteLaplace {
        /// Scale over L1 sensitivity: probabilities fall by e^(-1 / scale) a step.
        noise_multiplier: f64,
    },
    /// Any mechanism known to be epsilon-differentially private.
    Pure {
        /// The bound on the privacy loss.
        epsilon: f64,
    },
    /// A release of pure epsilon that decides what later events are: it is added as it is.
    ///
    /// The other events of a composition are data-independent constants, fixed beforehand. After this
    /// one their parameters (a rate, a number of steps, a noise multiplier) may be chosen by its
    /// outcome, which tight composition does not allow.
    ///
    /// # Proof
    /// Let it be e0-private, and let the rest, as chosen for the outcome o, be (e - e0, d)-private for
    /// *every* o. With p and q the laws of the outcome on neighbours and S(o) the section of an event
    /// S at o, P(S) = E_p\[P_o(S(o))\] <= E_p\[e^(e - e0) Q_o(S(o))\] + d <= e^(e0) e^(e - e0) Q(S) + d.
    /// What was released before it counts as the rest, provided it was fixed beforehand. It holds
    /// for the whole data set only, so this event may not stand inside a batch, a group or a mask.
    Added {
        /// The bound on the privacy loss.
        epsilon: f64,
    },
    /// All else that was charged has its law only nearly: what is really released is within this total variation of
    /// what the other events state, on every data set.
    ///
    /// # Proof
    /// Let the other events together be (e, d)-private, with laws P and Q on neighbours, and P' and Q' be within b of
    /// them. Then P'(S) <= P(S) + b <= e^e Q(S) + d + b <= e^e Q'(S) + d + (1 + e^e) b: what is added to delta depends on
    /// the epsilon that is claimed, whatever was composed, and for however many units at once. It speaks of all that was
    /// released, so it may not stand inside a batch, a group or a mask.
    Near {
        /// The total variation (b); those of several such events add up.
        total_variation: f64,
    },
    /// Any mechanism known to be (epsilon, delta)-differentially private.
    Approximate {
        /// The bound on the privacy loss outside an event of probability `delta`.
        epsilon: f64,
        /// The probability of the exceptional event.
        delta: f64,
    },
    /// Draws without replacement, each proportional to exp(weight x score) over what is left.
    ///
    /// With all of `candidates`, `cap` and `l2` the event also states: scores lie in \[0, `cap`\], are
    /// 1-Lipschitz in the coordinate (or the row, in L2) of one vector that a unit moves by at most
    /// `l2` in L2 (`l2` is the change for the stated relation), and the weight is
    /// `epsilon / min(2 cap, sqrt2 l2)`. It says nothing of the events around it: noise on what was
    /// selected is [`Event::Selected`]. Without draws nothing is selected or released.
    Exponential {
        /// The bounded range of one draw: the range of the log-probability ratio over candidates.
        epsilon: f64,
        /// The number of draws.
        draws: u64,
        /// The number of candidates before the first draw.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        candidates: Option<u64>,
        /// The largest score.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cap: Option<f64>,
        /// How far one unit moves the vector of scores, in L2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        l2: Option<f64>,
    },
    /// A selection, and noise on *just the selected* coordinates (or rows) of the *same* vector.
    ///
    /// Let a unit move the vector by v, |v| <= `l2` of `by`, and v_M be the part of v that was selected.
    /// In some measure of length, the mean of the noise then moves by at most min(|v_M|,
    /// `sensitivity`), and the deviation of the noise is its multiplier times `sensitivity`. That is so
    /// where the selected part goes through a map that does not expand distances, such as the
    /// projection on a ball of radius `sensitivity` / 2, and gets the noise. Without draws nothing is
    /// released.
    Selected {
        /// An [`Event::Exponential`] with all of `candidates`, `cap` and `l2`.
        by: Box<Event>,
        /// How far a unit moves what gets the noise, at the most; `l2` unless it is stated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sensitivity: Option<f64>,
        /// One [`Event::Gaussian`] or [`Event::RoundedGaussian`].
        noise: Box<Event>,
    },
    /// A mask drawn uniformly among all of its size, independent of the data and published, and noise
    /// on the masked coordinates alone.
    UniformMask {
        /// The mean, over masks, of the square of what the noise sees of a unit's change, over the
        /// square of its sensitivity: the share of the coordinates that the mask lets through. Where
        /// a second clip makes the sensitivity D smaller than the change C of the whole vector, it is
        /// min(1, share of the coordinates x (C / D)^2).
        share: f64,
        /// One event of noise. Of two behind one mask the second could aim at it.
        event: Box<Event>,
    },
    /// The sparse vector technique, stopped after `hits` answers above the threshold.
    SparseVector {
        /// Sensitivity over the scale of the threshold's noise.
        threshold_epsilon: f64,
        /// Twice the sensitivity over the scale of a query's noise (once, for monotone queries).
        query_epsilon: f64,
        /// The number of answers above the threshold after which it stops.
        hits: u64,
        /// Whether the threshold gets fresh noise after each hit.
        refreshed: bool,
        /// Sensitivity over the scale of the noise of a published value (NumericSparse only).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value_epsilon: Option<f64>,
    },
    /// The best of noisy scores, peeled `draws` times with fresh noise.
    NoisyMax {
        /// The guarantee of one draw (its bounded range, for Gumbel noise).
        epsilon: f64,
        /// The number of draws.
        draws: u64,
        /// The noise on the scores.
        noise: MaxNoise,
    },
    /// The limited-domain top-k of Durfee and Rogers (2019), for monotone counts.
    LimitedDomain {
        /// The bounded range of one draw.
        epsilon: f64,
        /// The probability that an element outside the common domain shows.
        delta: f64,
        /// The largest number of elements returned.
        draws: u64,
    },
    /// `event` on one of `groups` fixed groups, picked uniformly, the choice visible.
    ///
    /// It makes the exceptional mass rarer and does *not* amplify epsilon.
    Cluster {
        /// The number of groups.
        groups: u64,
        /// The mechanism that sees the group.
        event: Box<Event>,
    },
    /// All of these, each free to depend on the results of those before it.
    Compose(Vec<Event>),
    /// The same event a number of times, adaptively.
    Repeat {
        /// How often.
        times: u64,
        /// The event.
        event: Box<Event>,
    },
    /// `event` on a batch that every unit joins independently with probability `rate`.
    Poisson {
        /// The probability of joining.
        rate: f64,
        /// The mechanism that sees the batch.
        event: Box<Event>,
    },
}

/// The noise of report noisy max.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxNoise {
    /// Gumbel: the exponential mechanism.
    Gumbel,
    /// Two-sided exponential.
    Laplace,
    /// One-sided exponential: permute-and-flip.
    Exponential,
}

/// An event whose parameters make no sense.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("event `{kind}`: `{field}` is {value}, but must be {expected}")]
pub struct EventError {
    /// The kind of the event, as it stands in JSON.
    pub kind: &'static str,
    /// The offending field.
    pub field: &'static str,
    /// What it was.
    pub value: String,
    /// What it must be.
    pub expected: &'static str,
}

impl Event {
    /// `times` times this event.
    pub fn repeat(self, times: u64) -> Self {
        Self::Repeat { times, event: Box::new(self) }
    }

    /// This event on a Poisson batch.
    pub fn poisson(self, rate: f64) -> Self {
        Self::Poisson { rate, event: Box::new(self) }
    }

    /// Whether this is noise on a value and nothing else.
    pub fn is_noise(&self) -> bool {
        matches!(
            self,
            Self::Gaussian { .. }
                | Self::RoundedGaussian { .. }
                | Self::DiscreteGaussian { .. }
                | Self::Laplace { .. }
                | Self::DiscreteLaplace { .. }
        )
    }

    /// The name of the kind, as it stands in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Gaussian { .. } => "gaussian",
            Self::RoundedGaussian { .. } => "rounded_gaussian",
            Self::DiscreteGaussian { .. } => "discrete_gaussian",
            Self::Laplace { .. } => "laplace",
            Self::DiscreteLaplace { .. } => "discrete_laplace",
            Self::Pure { .. } => "pure",
            Self::Added { .. } => "added",
            Self::Near { .. } => "near",
            Self::Approximate { .. } => "approximate",
            Self::Exponential { .. } => "exponential",
            Self::Selected { .. } => "selected",
            Self::UniformMask { .. } => "uniform_mask",
            Self::SparseVector { .. } => "sparse_vector",
            Self::NoisyMax { .. } => "noisy_max",
            Self::LimitedDomain { .. } => "limited_domain",
            Self::Cluster { .. } => "cluster",
            Self::Compose(_) => "compose",
            Self::Repeat { .. } => "repeat",
            Self::Poisson { .. } => "poisson",
        }
    }

    /// The events directly inside this one.
    pub fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Compose(events) => events.iter().collect(),
            Self::Selected { by, noise, .. } => vec![by, noise],
            Self::UniformMask { event, .. }
            | Self::Cluster { event, .. }
            | Self::Repeat { event, .. }
            | Self::Poisson { event, .. } => vec![event],
            Self::Gaussian { .. }
            | Self::RoundedGaussian { .. }
            | Self::DiscreteGaussian { .. }
            | Self::Laplace { .. }
            | Self::DiscreteLaplace { .. }
            | Self::Pure { .. }
            | Self::Added { .. }
            | Self::Near { .. }
            | Self::Approximate { .. }
            | Self::Exponential { .. }
            | Self::SparseVector { .. }
            | Self::NoisyMax { .. }
            | Self::LimitedDomain { .. } => Vec::new(),
        }
    }

    /// Checks every parameter, all the way down.
    ///
    /// # Errors
    /// Names the first kind and field that is out of range.
    pub fn check(&self) -> Result<(), EventError> {
        self.check_at(0, None)
    }

    /// `part_of` is the kind of the nearest event around this one that lets it see a part of the data.
    fn check_at(&self, depth: usize, part_of: Option<&'static str>) -> Result<(), EventError> {
        let check = Check { kind: self.kind() };
        if depth > DEEPEST {
            return check.fail("event", format!("nested more than {DEEPEST} deep"), "flatter");
        }
        match self {
            Self::Gaussian { noise_multiplier }
            | Self::RoundedGaussian { noise_multiplier }
            | Self::DiscreteGaussian { noise_multiplier }
            | Self::Laplace { noise_multiplier }
            | Self::DiscreteLaplace { noise_multiplier } => {
                check.positive("noise_multiplier", *noise_multiplier)
            }
            Self::Pure { epsilon } => check.not_negative("epsilon", *epsilon),
            Self::Added { epsilon } => {
                check.not_negative("epsilon", *epsilon)?;
                check.sees_everything(part_of)
            }
            Self::Near { total_variation } => {
                check.probability("total_variation", *total_variation)?;
                check.sees_everything(part_of)
            }
            Self::Approximate { epsilon, delta } => {
                check.not_negative("epsilon", *epsilon)?;
                check.probability("delta", *delta)
            }
            Self::Exponential { epsilon, draws, candidates, cap, l2 } => {
                check.not_negative("epsilon", *epsilon)?;
                check.joint(*draws, *candidates, *cap, *l2)
            }
            Self::Selected { by, sensitivity, noise } => {
                by.check_at(depth + 1, part_of)?;
                noise.check_at(depth + 1, part_of)?;
                SelectedNoise::new(by, *sensitivity, noise).map(drop)
            }
            Self::UniformMask { share, event } => {
                check.share("share", *share)?;
                if !event.is_noise() {
                    let expected = "one event of noise, such as `gaussian`";
                    return check.fail("event", format!("`{}`", event.kind()), expected);
                }
                event.check_at(depth + 1, Some(self.kind()))
            }
            Self::SparseVector { threshold_epsilon, query_epsilon, value_epsilon, .. } => {
                check.positive("threshold_epsilon", *threshold_epsilon)?;
                check.positive("query_epsilon", *query_epsilon)?;
                value_epsilon.map_or(Ok(()), |value| check.positive("value_epsilon", value))
            }
            Self::NoisyMax { epsilon, .. } => check.not_negative("epsilon", *epsilon),
            Self::LimitedDomain { epsilon, delta, .. } => {
                check.not_negative("epsilon", *epsilon)?;
                check.probability("delta", *delta)
            }
            Self::Cluster { groups, event } => {
                check.at_least_one("groups", *groups)?;
                event.check_at(depth + 1, Some(self.kind()))
            }
            Self::Compose(events) => {
                events.iter().try_for_each(|event| event.check_at(depth + 1, part_of))
            }
            Self::Repeat { event, .. } => event.check_at(depth + 1, part_of),
            Self::Poisson { rate, event } => {
                check.share("rate", *rate)?;
                event.check_at(depth + 1, Some(self.kind()))
            }
        }
    }
}

/// The rules for one kind of event.
pub(crate) struct Check {
    pub(crate) kind: &'static str,
}

impl Check {
    pub(crate) fn error(
        &self,
        field: &'static str,
        value: impl ToString,
        expected: &'static str,
    ) -> EventError {
        EventError { kind: self.kind, field, value: value.to_string(), expected }
    }

    fn fail(
        &self,
        field: &'static str,
        value: impl ToString,
        expected: &'static str,
    ) -> Result<(), EventError> {
        Err(self.error(field, value, expected))
    }

    /// Refuses an event that stands for a part of the data, inside the event `part_of`.
    fn sees_everything(&self, part_of: Option<&'static str>) -> Result<(), EventError> {
        part_of.map_or(Ok(()), |around| {
            self.fail("place", format!("inside `{around}`"), "outside batches, groups and masks")
        })
    }

    fn require(
        &self,
        fits: bool,
        field: &'static str,
        value: impl ToString,
        expected: &'static str,
    ) -> Result<(), EventError> {
        if fits { Ok(()) } else { self.fail(field, value, expected) }
    }

    fn positive(&self, field: &'static str, value: f64) -> Result<(), EventError> {
        self.require(value > 0.0 && value.is_finite(), field, value, "positive and finite")
    }

    fn not_negative(&self, field: &'static str, value: f64) -> Result<(), EventError> {
        self.require(value >= 0.0 && value.is_finite(), field, value, "zero or more, and finite")
    }

    fn probability(&self, field: &'static str, value: f64) -> Result<(), EventError> {
        self.require((0.0..1.0).contains(&value), field, value, "at least 0 and below 1")
    }

    fn share(&self, field: &'static str, value: f64) -> Result<(), EventError> {
        self.require((0.0..=1.0).contains(&value), field, value, "from 0 to 1")
    }

    fn at_least_one(&self, field: &'static str, value: u64) -> Result<(), EventError> {
        self.require(value >= 1, field, value, "at least 1")
    }

    fn joint(
        &self,
        draws: u64,
        candidates: Option<u64>,
        cap: Option<f64>,
        l2: Option<f64>,
    ) -> Result<(), EventError> {
        if let Some(candidates) = candidates {
            self.at_least_one("candidates", candidates)?;
            if draws > candidates {
                return self.fail("draws", draws, "at most the number of candidates");
            }
        }
        cap.map_or(Ok(()), |cap| self.positive("cap", cap))?;
        l2.map_or(Ok(()), |l2| self.positive("l2", l2))
    }
}
