//! A release that is made once: its name, its charge and its randomness.

use crate::random::{PrivateRandom, Purpose, RandomSource, StepRandom};
use organza_ledger::{Charge, Charged, Event, Neighbouring};
use thiserror::Error;

/// What ties a release to its charge: the purpose that names both the charge and the noise.
///
/// # Privacy
/// The noise comes from the source *under the name of the purpose*, so releases of different purposes
/// never share noise. The charge states the same purpose, the event of the plan that made the release,
/// the relation and the key; nothing is released against a charge that differs in any of them, and a
/// proof of a charge is used up by one release. Made again with the same key, a release must be made of the
/// same data, so that it is a copy.
#[derive(Clone, Debug)]
pub struct Release {
    charge: Charge,
    source: RandomSource,
}

/// A release that no charge covers.
#[derive(Clone, Debug, PartialEq, Error)]
#[error(
    "`{purpose}` cannot be released: the charge is for another event, purpose, key or relation; charge \
     what the release itself states, and release it with the plan that made it"
)]
pub struct NotPaid {
    /// What was to be released.
    pub purpose: String,
}

impl Release {
    pub(crate) fn new(
        purpose: &str,
        event: Event,
        neighbouring: Neighbouring,
        source: &RandomSource,
    ) -> Self {
        let charge = Charge::once(purpose, event)
            .with_key(source.fingerprint())
            .for_neighbours(neighbouring);
        Self { charge, source: source.named(purpose) }
    }

    /// The release of this number, where one purpose has several (0 is the first): each has noise of its
    /// own and is charged on its own.
    pub fn numbered(mut self, number: u64) -> Self {
        self.charge.from_step = number;
        self
    }

    /// What has to be charged before anything is released.
    pub fn charge(&self) -> Charge {
        self.charge.clone()
    }

    /// What it is for.
    pub fn purpose(&self) -> &str {
        &self.charge.purpose
    }

    /// Whether the noise is private: whether nobody can know the key.
    pub fn is_private(&self) -> bool {
        self.source.is_private()
    }

    /// Randomness for choices that are made unit by unit before the noise.
    pub(crate) fn choices(&self, unit: u64) -> PrivateRandom {
        self.source.substream(Purpose::Selection, self.charge.from_step, unit)
    }

    /// The randomness of the noise, if `charged` pays for this release of `event`.
    pub(crate) fn paid(&self, charged: Charged, event: &Event) -> Result<StepRandom, NotPaid> {
        if charged.charge() == &self.charge && event == &self.charge.event {
            return Ok(self.source.step(Purpose::Release, self.charge.from_step));
        }
        Err(NotPaid { purpose: self.charge.purpose.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_and_numbers_share_no_randomness() {
        let source = RandomSource::from_seed(3);
        let event = Event::Pure { epsilon: 1.0 };
        let release =
            |purpose: &str| Release::new(purpose, event.clone(), Neighbouring::AddRemove, &source);
        let all = [release("one"), release("other"), release("one").numbered(7)];
        let words = all.each_ref().map(|it| it.choices(0).word());
        assert!(words[0] != words[1] && words[0] != words[2] && words[1] != words[2]);
        assert_eq!(words[0], release("one").choices(0).word());
        let charge = all[2].charge();
        assert_eq!((charge.range(), charge.key), (7..8, Some(source.fingerprint())));
        assert_eq!((all[1].purpose(), all[1].is_private()), ("other", false));
    }
}
