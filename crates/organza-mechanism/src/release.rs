//! A release that is made once: its name, its charge and its randomness.

use crate::due::{Due, NotPaid};
use crate::exchange::{Exchange, Noted};
use crate::random::{PrivateRandom, RandomSource, Secret, StepRandom};
use organza_ledger::{Charge, Charged, Event, Neighbouring};

/// What ties a release to its charge: the purpose that names both the charge and the noise.
///
/// # Privacy
/// The noise comes from the source *under the name of the purpose*, so releases of different purposes
/// never share noise. The charge states the same purpose, the event of the plan that made the release,
/// the relation and the key; nothing is released against a charge that differs in any of them, and a
/// proof of a charge is used up by one release. Each purpose is released once in the life of a source,
/// whichever release asks for it.
#[derive(Clone, Debug)]
pub struct Release {
    due: Due,
}

impl Release {
    /// A release of `event` by a mechanism of the caller's own.
    ///
    /// # Privacy
    /// The caller answers for it: what is made with the randomness of [`Release::random`] has to be what the event
    /// states, for this relation. Plans of this crate make their releases themselves.
    pub fn new(
        purpose: &str,
        event: Event,
        neighbouring: Neighbouring,
        source: &RandomSource,
    ) -> Self {
        Self { due: Due::new(purpose, event, neighbouring, source) }
    }

    /// What has to be charged before anything is released.
    pub fn charge(&self) -> Charge {
        self.due.charge(0..1)
    }

    /// What it is for.
    pub fn purpose(&self) -> &str {
        self.due.purpose()
    }

    /// Whether the noise is private: whether nobody can know the key.
    pub fn is_private(&self) -> bool {
        self.due.source.is_private()
    }

    /// Randomness for choices that are made unit by unit before the noise, by the number of the unit: where all units are in one place.
    pub(crate) fn choices(&self, unit: u64) -> PrivateRandom {
        self.due.choices.secret(Secret::Selection, 0).shard(unit)
    }

    /// The same by the name of the unit, or by what there is in it, wherever it lies.
    ///
    /// # Privacy
    /// A keyed function of the unit alone. Units of one name choose alike, which costs nothing: the bound of a unit holds for every choice, and
    /// what the others choose does not change with it.
    pub(crate) fn choices_of(&self, unit: &[u8]) -> PrivateRandom {
        self.due.choices.named_by(unit).secret(Secret::Selection, 0).shard(0)
    }

    /// The randomness of the noise, once, if `paid` pays for this release and `event` is what it is of.
    ///
    /// # Errors
    /// If the charge is for something else, or this purpose was released before.
    pub fn random(&self, paid: Charged, event: &Event) -> Result<StepRandom, NotPaid> {
        self.check(event)?;
        self.due.hand_out(0, &paid)?;
        Ok(self.due.source.secret(Secret::Release, 0))
    }

    /// The same for a release that has the sums of all shards, which were noted.
    pub(crate) fn random_of_merge(
        &self,
        paid: Charged,
        event: &Event,
        _noted: Noted,
    ) -> Result<StepRandom, NotPaid> {
        self.check(event)?;
        self.due.hand_out_in_merge(0, &paid)?;
        Ok(self.due.source.secret(Secret::Release, 0))
    }

    fn check(&self, event: &Event) -> Result<(), NotPaid> {
        match event == self.due.event() {
            true => Ok(()),
            false => Err(NotPaid::NotCovered { purpose: self.purpose().to_owned(), step: 0 }),
        }
    }

    /// Where its sums come from and go to, if the run is made of shards.
    pub(crate) fn exchange(&self) -> Option<&Exchange> {
        self.due.source.exchange()
    }

    /// Why nothing is drawn here.
    pub(crate) fn elsewhere(&self) -> NotPaid {
        NotPaid::Elsewhere { purpose: self.purpose().to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_share_no_randomness() {
        let source = RandomSource::from_seed(3);
        let event = Event::Pure { epsilon: 1.0 };
        let release =
            |purpose: &str| Release::new(purpose, event.clone(), Neighbouring::AddRemove, &source);
        let all = [release("one"), release("other")];
        let words = all.each_ref().map(|it| it.choices(0).word());
        assert_ne!(words[0], words[1]);
        assert_eq!(words[0], release("one").choices(0).word());
        let charge = all[0].charge();
        assert_eq!((charge.range(), charge.key), (0..1, Some(source.fingerprint())));
        assert_eq!((all[1].purpose(), all[1].is_private()), ("other", false));
    }
}
