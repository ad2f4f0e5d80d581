//! Steps one by one, for a loop of one's own.

use crate::average::Average;
use crate::checkpoint::Checkpoint;
use crate::plain::PlainBatch;
use crate::purse::Purse;
use crate::refinement::Refiner;
use crate::run::{RunError, RunPlan, make_step, tables};
use crate::task::Task;
use organza_ledger::Charged;
use organza_mechanism::{RandomSource, Sampler};

/// The steps of a plan, all paid for before the first.
///
/// It writes no file, so that it cannot be resumed; [`run`](crate::run()) does both.
pub struct Stepper<T> {
    task: T,
    plan: RunPlan,
    source: RandomSource,
    /// Without privacy there is none.
    paid: Option<(Sampler, Charged)>,
    state: Checkpoint,
    plain: PlainBatch,
}

impl<T: Task> Stepper<T> {
    /// Pays for all steps of `plan`, which are charged under the purpose `name`.
    ///
    /// # Errors
    /// If a charge is refused, or `initial` is of another model.
    pub fn new(
        name: &str,
        task: T,
        plan: RunPlan,
        source: RandomSource,
        initial: Vec<f32>,
        mut purse: Option<&mut Purse>,
    ) -> Result<Self, RunError> {
        let mut pay = |charge| Ok(purse.as_mut().ok_or(RunError::NoPurse)?.charge(charge)?);
        let sampler = plan.method.sampler(name, &task, &source);
        let mut tables = tables(&task, &plan, sampler.as_ref(), initial, &mut pay)?;
        tables.refine(Refiner::of(&task, &plan, &source));
        let paid = match sampler {
            Some(sampler) => {
                let charged = pay(sampler.charge(0..plan.steps))?;
                Some((sampler, charged))
            }
            None => None,
        };
        let plain = PlainBatch::new(&task.tables())?;
        let average = Average::new(if plan.average { tables.coordinates() } else { 0 });
        let state = Checkpoint { average, tables, best: None, clip: None };
        Ok(Self { task, plan, source, paid, state, plain })
    }

    /// Makes the next step.
    ///
    /// # Errors
    /// If all steps that were paid for are made.
    pub fn make(&mut self) -> Result<(), RunError> {
        let Self { task, plan, source, paid, state, plain } = self;
        let paid = paid.as_ref().map(|(sampler, charged)| (sampler, charged));
        make_step(task, plan, source, state.tables.steps(), state, paid, plain)
    }

    /// Whether rows wait until they are read.
    pub fn waits(&self) -> bool {
        self.state.tables.wait()
    }

    /// The parameters, averaged if the plan says so.
    pub fn into_parameters(self) -> Vec<f32> {
        self.state.into_parameters(self.plan.average)
    }
}
