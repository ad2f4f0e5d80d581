//! Privacy events: what a mechanism did, as plain data that an accountant can price.
//!
//! The JSON form is stable: an event's meaning never changes once a version was released, and an
//! unknown kind is an error that names it. Parameters are relative to the true sensitivity for the
//! stated [`Neighbouring`](crate::Neighbouring) relation, so an event can be priced without knowing
//! the data, the model or the units of measurement.

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
    Deciding {
        /// The bound on the privacy loss.
        epsilon: f64,
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
    /// `l2` in L2, the weight is `epsilon / min(2 cap, sqrt2 l2)` (for add-remove; `l2` is the change
    /// for the stated relation), and, where a `gaussian` follows it directly inside the same
    /// [`Event::Compose`], that noise lies on *just the selected* coordinates of the *same* vector,
    /// after a non-expansive map at the most, its multiplier taken relative to `l2`.
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
    /// A mask drawn uniformly among all of its size, independent of the data and published; `event`
    /// acts on the masked coordinates alone.
    UniformMask {
        /// The share of the coordinates that the mask lets through.
        share: f64,
        /// The mechanism behind the mask, its sensitivity that of the whole vector.
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

    /// The name of the kind, as it stands in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Gaussian { .. } => "gaussian",
            Self::RoundedGaussian { .. } => "rounded_gaussian",
            Self::DiscreteGaussian { .. } => "discrete_gaussian",
            Self::Laplace { .. } => "laplace",
            Self::DiscreteLaplace { .. } => "discrete_laplace",
            Self::Pure { .. } => "pure",
            Self::Deciding { .. } => "deciding",
            Self::Approximate { .. } => "approximate",
            Self::Exponential { .. } => "exponential",
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
            Self::Deciding { epsilon } => {
                check.not_negative("epsilon", *epsilon)?;
                part_of.map_or(Ok(()), |around| {
                    check.fail(
                        "place",
                        format!("inside `{around}`"),
                        "outside batches, groups and masks",
                    )
                })
            }
            Self::Approximate { epsilon, delta } => {
                check.not_negative("epsilon", *epsilon)?;
                check.probability("delta", *delta)
            }
            Self::Exponential { epsilon, draws, candidates, cap, l2 } => {
                check.not_negative("epsilon", *epsilon)?;
                check.joint(*draws, *candidates, *cap, *l2)
            }
            Self::UniformMask { share, event } => {
                check.share("share", *share)?;
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
struct Check {
    kind: &'static str,
}

impl Check {
    fn fail(
        &self,
        field: &'static str,
        value: impl ToString,
        expected: &'static str,
    ) -> Result<(), EventError> {
        Err(EventError { kind: self.kind, field, value: value.to_string(), expected })
    }

    fn positive(&self, field: &'static str, value: f64) -> Result<(), EventError> {
        if value > 0.0 && value.is_finite() {
            return Ok(());
        }
        self.fail(field, value, "positive and finite")
    }

    fn not_negative(&self, field: &'static str, value: f64) -> Result<(), EventError> {
        if value >= 0.0 && value.is_finite() {
            return Ok(());
        }
        self.fail(field, value, "zero or more, and finite")
    }

    fn probability(&self, field: &'static str, value: f64) -> Result<(), EventError> {
        if (0.0..1.0).contains(&value) {
            return Ok(());
        }
        self.fail(field, value, "at least 0 and below 1")
    }

    fn share(&self, field: &'static str, value: f64) -> Result<(), EventError> {
        if (0.0..=1.0).contains(&value) {
            return Ok(());
        }
        self.fail(field, value, "from 0 to 1")
    }

    fn at_least_one(&self, field: &'static str, value: u64) -> Result<(), EventError> {
        if value >= 1 {
            return Ok(());
        }
        self.fail(field, value, "at least 1")
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

#[cfg(test)]
mod tests {
    use super::Event;

    /// Every kind that has this parameter, with this value for it and good ones for all others.
    fn with(field: &'static str, value: f64) -> Vec<Event> {
        let pick = |name: &str, good: f64| if name == field { value } else { good };
        let nothing = || Box::new(Event::Compose(Vec::new()));
        let noise_multiplier = pick("noise_multiplier", 1.0);
        let epsilon = pick("epsilon", 0.1);
        let delta = pick("delta", 1e-6);
        let all = [
            Event::Gaussian { noise_multiplier },
            Event::RoundedGaussian { noise_multiplier },
            Event::DiscreteGaussian { noise_multiplier },
            Event::Laplace { noise_multiplier },
            Event::DiscreteLaplace { noise_multiplier },
            Event::Pure { epsilon },
            Event::Deciding { epsilon },
            Event::Approximate { epsilon, delta },
            Event::Exponential {
                epsilon,
                draws: 3,
                candidates: Some(5),
                cap: Some(pick("cap", 0.1)),
                l2: Some(pick("l2", 0.75)),
            },
            Event::UniformMask { share: pick("share", 0.5), event: nothing() },
            Event::SparseVector {
                threshold_epsilon: pick("threshold_epsilon", 0.1),
                query_epsilon: pick("query_epsilon", 0.1),
                hits: 3,
                refreshed: true,
                value_epsilon: Some(pick("value_epsilon", 0.1)),
            },
            Event::NoisyMax { epsilon, draws: 3, noise: super::MaxNoise::Gumbel },
            Event::LimitedDomain { epsilon, delta, draws: 3 },
            Event::Poisson { rate: pick("rate", 0.5), event: nothing() },
        ];
        // With a space before, so that `epsilon` is not found in `query_epsilon`.
        let text = format!(" {field}: ");
        all.into_iter().filter(|event| format!("{event:?}").contains(&text)).collect()
    }

    #[test]
    fn every_parameter_out_of_range_is_named() {
        let strictly_positive = [
            "noise_multiplier",
            "cap",
            "l2",
            "threshold_epsilon",
            "query_epsilon",
            "value_epsilon",
        ];
        let zero_allowed = ["epsilon", "delta", "share", "rate"];
        for field in strictly_positive.into_iter().chain(zero_allowed) {
            let mut bad = vec![-1e-300, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
            match field {
                "delta" => bad.push(1.0),
                "share" | "rate" => bad.push(1.0 + f64::EPSILON),
                "epsilon" => {}
                _ => bad.push(0.0),
            }
            for value in bad {
                assert!(!with(field, value).is_empty());
                for event in with(field, value) {
                    let error = event.check().expect_err("out of range");
                    assert_eq!((error.kind, error.field), (event.kind(), field), "{value}");
                    let nested = Event::Compose(vec![event.clone().poisson(0.1).repeat(3)]);
                    assert_eq!(nested.check().expect_err("out of range").field, field);
                }
            }
        }
    }

    #[test]
    fn the_bounds_themselves_are_allowed() {
        for (field, value) in
            [("epsilon", 0.0), ("delta", 0.0), ("share", 0.0), ("share", 1.0), ("rate", 1.0)]
        {
            for event in with(field, value) {
                assert_eq!(event.check(), Ok(()), "{event:?}");
            }
        }
    }

    /// Inside a batch, a group or a mask the proof of basic composition does not hold.
    #[test]
    fn what_decides_sees_the_whole_data_set() {
        let deciding = || Event::Deciding { epsilon: 0.1 };
        let whole = Event::Compose(vec![deciding().repeat(2), Event::Pure { epsilon: 0.1 }]);
        assert_eq!(whole.check(), Ok(()));
        let event = || Box::new(whole.clone());
        for part in [
            deciding().poisson(0.1).repeat(3),
            Event::Cluster { groups: 3, event: event() },
            Event::UniformMask { share: 0.1, event: event() },
        ] {
            let error = part.check().expect_err("a part of the data");
            assert_eq!((error.kind, error.field), ("deciding", "place"));
        }
        assert_eq!(
            deciding().poisson(0.1).check().expect_err("a batch").to_string(),
            "event `deciding`: `place` is inside `poisson`, but must be outside batches, groups and masks"
        );
    }

    #[test]
    fn counts_that_make_no_sense_are_named() {
        let cluster = Event::Cluster { groups: 0, event: Box::new(Event::Pure { epsilon: 0.1 }) };
        assert_eq!(
            cluster.check().expect_err("no groups").to_string(),
            "event `cluster`: `groups` is 0, but must be at least 1"
        );
        let exponential = |draws, candidates| Event::Exponential {
            epsilon: 0.1,
            draws,
            candidates: Some(candidates),
            cap: None,
            l2: None,
        };
        assert_eq!(exponential(5, 5).check(), Ok(()));
        assert_eq!(exponential(6, 5).check().expect_err("too many").field, "draws");
        assert_eq!(exponential(0, 0).check().expect_err("none").field, "candidates");
    }
}
