//! One charge: what a block of steps may release.

use crate::spending::Spending;
use crate::{Event, EventError, KeyFingerprint, Neighbouring};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use thiserror::Error;

/// The longest purpose, in bytes.
const LONGEST_PURPOSE: usize = 64;

/// The same event, released once in each step of a block.
///
/// # Privacy
/// A charge is made *before* anything of its block is released, for the whole block: if a run dies
/// within it, the ledger says more than was spent, never less.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Charge {
    /// What it is for, such as `training` or `vocabulary`. Whoever draws the noise derives its stream
    /// from the key *and this name*, so that two purposes never share noise.
    pub purpose: String,
    /// The first step.
    pub from_step: u64,
    /// The number of steps.
    pub steps: u64,
    /// What each step releases.
    pub event: Event,
    /// The key that the noise comes from, if the block can be run again with the same noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyFingerprint>,
    /// The relation for which the event states its parameters, where that is known; a ledger for
    /// another relation refuses the charge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbouring: Option<Neighbouring>,
}

/// A charge that makes no sense.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ChargeError {
    /// The purpose is no short line of text.
    #[error(
        "the purpose of a charge must be 1 to {LONGEST_PURPOSE} bytes without control characters"
    )]
    Purpose,
    /// There is nothing to charge.
    #[error("the charge for `{0}` has no steps")]
    NoSteps(String),
    /// The last step has no number.
    #[error("the charge for `{purpose}` ends beyond the largest step number")]
    TooManySteps {
        /// What the charge is for.
        purpose: String,
    },
    /// What each step releases makes no sense.
    #[error(transparent)]
    Event(#[from] EventError),
}

impl Charge {
    /// A single release.
    pub fn once(purpose: impl Into<String>, event: Event) -> Self {
        Self::block(purpose, 0..1, event)
    }

    /// The same event in each of `steps`. An empty or reversed range is refused when it is charged.
    pub fn block(purpose: impl Into<String>, steps: Range<u64>, event: Event) -> Self {
        let length = steps.end.saturating_sub(steps.start);
        let (key, neighbouring) = (None, None);
        let purpose = purpose.into();
        Self { purpose, from_step: steps.start, steps: length, event, key, neighbouring }
    }

    /// This charge, its event stated for `neighbouring`.
    pub fn for_neighbours(mut self, neighbouring: Neighbouring) -> Self {
        self.neighbouring = Some(neighbouring);
        self
    }

    /// This charge, its noise drawn from the key that `key` names.
    pub fn with_key(mut self, key: KeyFingerprint) -> Self {
        self.key = Some(key);
        self
    }

    /// All that these charges pay for, as an account prices it: equal events are counted together.
    pub fn events<'a>(charges: impl IntoIterator<Item = &'a Self>) -> Vec<Event> {
        charges.into_iter().collect::<Spending>().events()
    }

    /// The steps that are paid for.
    pub fn range(&self) -> Range<u64> {
        self.from_step..self.from_step.saturating_add(self.steps)
    }

    /// Checks the purpose, the steps and every parameter of the event.
    ///
    /// # Errors
    /// Names the first thing that is out of range.
    pub(crate) fn check(&self) -> Result<(), ChargeError> {
        let lengths = 1..=LONGEST_PURPOSE;
        if !lengths.contains(&self.purpose.len()) || self.purpose.chars().any(char::is_control) {
            return Err(ChargeError::Purpose);
        }
        if self.steps == 0 {
            return Err(ChargeError::NoSteps(self.purpose.clone()));
        }
        if self.from_step.checked_add(self.steps).is_none() {
            return Err(ChargeError::TooManySteps { purpose: self.purpose.clone() });
        }
        // As an account will see it: the repetition counts towards the depth of the event.
        Ok(self.event.clone().repeat(self.steps).check()?)
    }

    /// Whether some step of both would draw the very same noise.
    pub(crate) fn shares_noise_with(&self, other: &Self) -> bool {
        self.key.is_some()
            && self.key == other.key
            && self.purpose == other.purpose
            && self.range().start < other.range().end
            && other.range().start < self.range().end
    }

    /// Whether every step of `other` is a step of this one.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.range().start <= other.range().start && other.range().end <= self.range().end
    }
}

#[cfg(test)]
mod tests {
    use super::{Charge, ChargeError};
    use crate::{Event, KeyFingerprint};

    fn pure(epsilon: f64) -> Event {
        Event::Pure { epsilon }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert_eq!(Charge::once("vocabulary", pure(0.1)).check(), Ok(()));
        for purpose in ["".to_owned(), "two\nlines".to_owned(), "x".repeat(65)] {
            assert_eq!(Charge::once(purpose, pure(0.1)).check(), Err(ChargeError::Purpose));
        }
        let empty = Charge::block("training", 7..7, pure(0.1));
        assert_eq!(empty.check(), Err(ChargeError::NoSteps("training".into())));
        let mut endless = Charge::block("training", 7..8, pure(0.1));
        endless.steps = u64::MAX;
        assert!(matches!(endless.check(), Err(ChargeError::TooManySteps { .. })));
        let negative = Charge::once("training", pure(-0.1));
        assert!(matches!(negative.check(), Err(ChargeError::Event(_))));
    }

    #[test]
    fn the_repetition_counts_towards_the_depth() {
        let nested = |depth: usize| (0..depth).fold(pure(0.1), |event, _| event.poisson(0.5));
        assert_eq!(Charge::once("training", nested(31)).check(), Ok(()));
        assert_eq!(nested(32).check(), Ok(()));
        assert!(Charge::once("training", nested(32)).check().is_err());
    }

    #[test]
    fn noise_is_shared_within_one_key_purpose_and_step() {
        let key = KeyFingerprint::new([1; 16]);
        let block = |steps| Charge::block("training", steps, pure(0.1)).with_key(key);
        assert!(block(0..10).shares_noise_with(&block(9..20)));
        assert!(!block(0..10).shares_noise_with(&block(10..20)));
        let other_key = block(0..10).with_key(KeyFingerprint::new([2; 16]));
        assert!(!block(0..10).shares_noise_with(&other_key));
        let other_purpose = Charge { purpose: "curve".into(), ..block(0..10) };
        assert!(!block(0..10).shares_noise_with(&other_purpose));
        let keyless = Charge { key: None, ..block(0..10) };
        assert!(!keyless.shares_noise_with(&keyless));
    }
}
