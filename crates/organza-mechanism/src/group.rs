//! Batches of one whole group, picked anew for each step.

use crate::batch::{Batch, Run};
use crate::due::NotPaid;
use crate::plan::{Plan, PlanError};
use crate::random::RandomSource;
use crate::sample::below;
use organza_ledger::{Charge, Charged, Event};
use std::ops::Range;
use std::sync::Arc;

/// Draws batches that are one group each: all of its units, and nobody else.
///
/// # Privacy
/// The group of a step is picked uniformly, and the choice may be known: what [`Event::Cluster`] states. Groups are
/// fixed, and each unit is in one of them. Charges and turns are those of a [`PoissonSampler`](crate::PoissonSampler).
#[derive(Clone)]
pub struct GroupSampler {
    run: Arc<Run>,
    groups: u64,
}

impl GroupSampler {
    pub(crate) fn new(
        plan: Plan,
        purpose: &str,
        groups: u64,
        source: &RandomSource,
    ) -> Result<Self, PlanError> {
        let event = plan.group_event(groups)?;
        Ok(Self { run: Run::new(plan, event, purpose, source), groups })
    }

    /// The charge for `steps`: the plan's event on one of the groups, its relation and purpose, and the key of
    /// the noise.
    pub fn charge(&self, steps: Range<u64>) -> Charge {
        self.run.charge(steps)
    }

    /// The group of `step`, which `paid` pays for, and the batch of all its units: the numbers below what `size`
    /// gives for it. Steps are drawn in ascending order, each once.
    ///
    /// # Errors
    /// As [`PoissonSampler::batch`](crate::PoissonSampler::batch).
    pub fn batch(
        &self,
        step: u64,
        paid: &Charged,
        size: impl FnOnce(u64) -> u64,
    ) -> Result<(u64, Batch), NotPaid> {
        let (batch, mut random) = Batch::empty(&self.run, step, paid)?;
        let group = below(self.groups, &mut random);
        Ok((group, batch.joined_by(0..size(group))))
    }
}

impl std::fmt::Debug for GroupSampler {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "GroupSampler({}, {} groups)", self.run.purpose(), self.groups)
    }
}

impl Plan {
    /// What one step releases where it looks at one of `groups` groups, picked uniformly, and all of its units.
    ///
    /// # Errors
    /// If there is no group, or the plan samples units: all of a group join.
    pub fn group_event(&self, groups: u64) -> Result<Event, PlanError> {
        if groups == 0 {
            let remedy = "give at least one group";
            return Err(PlanError::new("groups", groups, "a step looks at one of them", remedy));
        }
        match self.step_event() {
            // The batch is no sample.
            Event::Poisson { rate: 1.0, event } => {
                Ok(Event::Cluster { groups, event: event.clone() })
            }
            _ => {
                let (rate, remedy) = (self.settings().rate, "give the rate 1");
                Err(PlanError::new("rate", rate, "all units of a group join its step", remedy))
            }
        }
    }

    /// A sampler that visits one of `groups` fixed groups in each step, whose randomness comes from `source` under
    /// the name of `purpose`.
    ///
    /// # Errors
    /// As [`Plan::group_event`].
    pub fn group_sampler(
        &self,
        purpose: &str,
        groups: u64,
        source: &RandomSource,
    ) -> Result<GroupSampler, PlanError> {
        GroupSampler::new(self.clone(), purpose, groups, source)
    }
}
