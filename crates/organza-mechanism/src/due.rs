//! What is due before anything is drawn: the charge, and the turn of each step.

use crate::random::{RandomSource, Turn};
use organza_ledger::{Charge, Charged, Event, Neighbouring};
use std::ops::Range;
use thiserror::Error;

/// What ties the noise of one name to its charge.
///
/// # Privacy
/// The noise comes from the source *under the name of the purpose*, so two purposes never share it. The charge
/// states the same purpose, the event of the plan that draws, the relation and the key of the source. A step
/// is handed out only against the proof of a charge that agrees in all of these and covers the step, and only
/// once in the life of the source: by whichever sampler or release of this purpose, and by whichever clone.
#[derive(Clone, Debug)]
pub(crate) struct Due {
    /// Of step 0.
    charge: Charge,
    turn: Turn,
    pub(crate) source: RandomSource,
    /// Where choices that are made unit by unit come from.
    pub(crate) choices: RandomSource,
}

/// Why nothing was drawn.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotPaid {
    /// No charge covers it.
    #[error(
        "step {step} of `{purpose}` cannot be drawn: the charge is for another event, purpose, key, relation or \
         step; charge what the sampler or the release itself states, and draw with the plan that made it"
    )]
    NotCovered {
        /// What was to be drawn.
        purpose: String,
        /// Its step, or the number of the release.
        step: u64,
    },
    /// It is drawn in another place.
    #[error(
        "`{purpose}` is not drawn here: this run is made of shards, whose sums are counted by workers, and gets its noise in a merge; \
         anything else is made on one machine"
    )]
    Elsewhere {
        /// What was to be drawn.
        purpose: String,
    },
    /// The sums that were handed in, or what was released, are not of this release.
    #[error(
        "the partials of `{purpose}` are not of this release: count all shards again, with the task of this run and by this version \
         of organza"
    )]
    OtherPlan {
        /// What was to be drawn.
        purpose: String,
    },
    /// Noise was drawn on other sums before.
    #[error(
        "the noise of `{purpose}` was drawn on other partials before, and on these it would bare the difference: merge the \
         partials of that merge again, or begin a new run"
    )]
    OtherSums {
        /// What was to be drawn.
        purpose: String,
    },
    /// A shard is not what it was.
    #[error(
        "`{purpose}` looks at the units several times, and those of this shard are not what they were: count the same rows, by the \
         same number of shards, in every look"
    )]
    OtherUnits {
        /// What was to be drawn.
        purpose: String,
    },
    /// On which sums noise is drawn cannot be noted.
    #[error("the sums of `{purpose}` cannot be noted, so no noise is drawn on them: {reason}")]
    NotNoted {
        /// What was to be drawn.
        purpose: String,
        /// What the system said.
        reason: String,
    },
    /// It, or a step after it, was drawn already, and a charge pays for one.
    #[error(
        "step {step} of `{purpose}` cannot be drawn: it or a step after it was drawn before, and the same noise \
         on another value would bare both. Draw steps once and in ascending order, or take another purpose"
    )]
    DrawnBefore {
        /// What was to be drawn.
        purpose: String,
        /// Its step, or the number of the release.
        step: u64,
    },
}

impl Due {
    pub(crate) fn new(
        purpose: &str,
        event: Event,
        neighbouring: Neighbouring,
        source: &RandomSource,
    ) -> Self {
        let charge = Charge::once(purpose, event)
            .with_key(source.fingerprint())
            .for_neighbours(neighbouring);
        let (source, choices) = (source.named(purpose), source.choices().named(purpose));
        Self { charge, turn: source.turn(), source, choices }
    }

    /// Of the rows of a range, whose steps are charged by a driver, and whose key is that of `source`.
    pub(crate) fn of_range(
        source: &RandomSource,
        event: &Event,
        neighbouring: Neighbouring,
    ) -> Self {
        let charge = Charge::once("rows of a range", event.clone())
            .with_key(source.fingerprint())
            .for_neighbours(neighbouring);
        Self { charge, turn: source.turn(), source: source.clone(), choices: source.choices() }
    }

    /// Whether it is the turn of `step`, which a driver was shown the charge of; afterwards it no longer is.
    pub(crate) fn take_turn(&self, step: u64) -> bool {
        self.turn.take(step)
    }

    /// The charge for `steps`.
    pub(crate) fn charge(&self, steps: Range<u64>) -> Charge {
        let length = steps.end.saturating_sub(steps.start);
        Charge { from_step: steps.start, steps: length, ..self.charge.clone() }
    }

    /// What it is for.
    pub(crate) fn purpose(&self) -> &str {
        &self.charge.purpose
    }

    /// What is charged for a step.
    pub(crate) fn event(&self) -> &Event {
        &self.charge.event
    }

    /// Hands out `step`, if `paid` pays for it and its turn has not passed; of a run that is made of shards there is none.
    pub(crate) fn hand_out(&self, step: u64, paid: &Charged) -> Result<(), NotPaid> {
        match self.source.exchange() {
            Some(_) => Err(NotPaid::Elsewhere { purpose: self.charge.purpose.clone() }),
            None => self.hand_out_in_merge(step, paid),
        }
    }

    /// The same to a release that has the sums of all shards.
    pub(crate) fn hand_out_in_merge(&self, step: u64, paid: &Charged) -> Result<(), NotPaid> {
        let Charge { purpose, event, key, neighbouring, .. } = &self.charge;
        let charge = paid.charge();
        let is_covered = charge.range().contains(&step)
            && charge.event == *event
            && charge.purpose == *purpose
            && charge.key == *key
            && charge.neighbouring == *neighbouring;
        if !is_covered {
            return Err(NotPaid::NotCovered { purpose: purpose.clone(), step });
        }
        if !self.turn.take(step) {
            return Err(NotPaid::DrawnBefore { purpose: purpose.clone(), step });
        }
        Ok(())
    }
}
