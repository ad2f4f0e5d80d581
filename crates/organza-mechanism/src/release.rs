//! A release that is made once: its name, its charge and its randomness.

use crate::random::RandomSource;
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
    pub(crate) fn choices(&self) -> &RandomSource {
        &self.source
    }

    /// The randomness of the noise, if `charged` pays for this release of `event`.
    pub(crate) fn paid(&self, charged: Charged, event: &Event) -> Result<&RandomSource, NotPaid> {
        if charged.charge() == &self.charge && event == &self.charge.event {
            return Ok(&self.source);
        }
        Err(NotPaid { purpose: self.charge.purpose.clone() })
    }
}
