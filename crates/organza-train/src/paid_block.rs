//! The block of steps that is paid for, where steps are asked for one by one.

use crate::purse::Purse;
use crate::run::{RunError, RunPlan, pay};
use organza_ledger::Charged;
use organza_mechanism::Sampler;

/// The steps up to the next checkpoint, with the proof of their charge; nothing at first.
#[derive(Debug, Default)]
pub(crate) struct PaidBlock(Option<(u64, Charged)>);

impl PaidBlock {
    /// The proof that `step` is paid for: a new block is charged, as a whole, if it is the first step of one.
    pub(crate) fn of_step(
        &mut self,
        step: u64,
        plan: &RunPlan,
        sampler: &Sampler,
        purse: Option<&mut Purse>,
    ) -> Result<&Charged, RunError> {
        if self.0.as_ref().is_none_or(|(end, _)| step >= *end) {
            let every = plan.checkpoint_every;
            let end = plan.steps.min((step / every + 1) * every);
            let charged = pay(plan, &(step..end), Some(sampler), purse)?;
            self.0 = charged.map(|charged| (end, charged));
        }
        self.0.as_ref().map(|(_, charged)| charged).ok_or(RunError::NoPurse)
    }
}
