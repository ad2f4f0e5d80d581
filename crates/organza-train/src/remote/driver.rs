//! The driver: a lead that holds all rows itself.

use super::error::RemoteError;
use super::holder::RowHolder;
use super::lead::StepLead;
use super::messages::{Job, begin_rows, read_asks};
use crate::application::Application;
use crate::session::Finished;
use std::ops::Range;
use std::path::Path;

/// A run whose gradients are computed by workers. It needs an application, for its tables, its first parameters and
/// its files, and none of its units. It is a [`StepLead`] and the [`RowHolder`] of all rows in one: the bits are those of any number
/// of holders.
///
/// # Privacy
/// See [`remote`](crate::remote): it holds the key of the noise and sees sums without noise.
pub struct StepDriver<A: Application> {
    lead: StepLead<A>,
    holder: RowHolder,
}

impl<A: Application> StepDriver<A> {
    /// Begins a run in an empty folder, or goes on with the one that was begun there with these settings; `data` is that of
    /// an application without units.
    ///
    /// # Errors
    /// As [`StepLead::open`].
    pub fn open(settings: A::Settings, data: A::Data, path: &Path) -> Result<Self, RemoteError> {
        let lead = StepLead::open(settings, data, path)?;
        let all = lead.cut().of_place(0, 1);
        let holder = RowHolder::new(lead.holder_job(all.clone()), &lead.holder_state(all)?)?;
        Ok(Self { lead, holder })
    }

    /// The steps that were made, and those that there are.
    pub fn steps(&self) -> (u64, u64) {
        self.lead.steps()
    }

    /// What the worker of `buckets` needs once, with their keys: for it alone.
    pub fn job(&self, buckets: Range<u16>) -> Job {
        self.lead.job(buckets)
    }

    /// The order for the step under way, the same for all workers; the next one begins when the one before was made. `None` if
    /// all are made.
    ///
    /// # Errors
    /// If a charge is refused, or a file cannot be written.
    pub fn order(&mut self) -> Result<Option<Vec<u8>>, RemoteError> {
        let order = self.lead.order()?;
        if order.is_some() {
            self.holder.answer(&self.lead.opening(self.lead.cut().of_place(0, 1))?)?;
        }
        Ok(order)
    }

    /// The rows that a worker asks for, as they are now: for the worker that asked.
    ///
    /// # Errors
    /// If it asks for another step than the one under way, or there are no such rows; if this step was made before without
    /// them.
    pub fn rows(&mut self, asks: &[u8]) -> Result<Vec<u8>, RemoteError> {
        match self.lead.rows(asks, 1)?.pop() {
            Some((_, message)) => Ok(self.holder.answer(&message)?),
            None => Ok(begin_rows(&read_asks(asks)?.0, &[])),
        }
    }

    /// Takes a part of the step under way.
    ///
    /// # Errors
    /// If it is damaged, of another run or step, or of buckets that are there already. Nothing has changed then, and the step
    /// goes on.
    pub fn add(&mut self, part: &[u8]) -> Result<Range<u16>, RemoteError> {
        match self.lead.is_ordered() {
            true => Ok(self.holder.add(part)?),
            false => Err(RemoteError::NotOrdered),
        }
    }

    /// The buckets whose parts are still to come.
    pub fn missing(&self) -> Vec<Range<u16>> {
        self.holder.missing()
    }

    /// Makes the step, all of whose parts are there: joins them, selects, adds noise, moves the tables, and saves where the plan
    /// says so.
    ///
    /// # Errors
    /// If parts are missing, the step was made before of another sum, or a file cannot be written.
    pub fn make(&mut self) -> Result<(), RemoteError> {
        if !self.lead.is_ordered() {
            return Err(RemoteError::NotOrdered);
        }
        if let Some(missing) = self.missing().into_iter().next() {
            return Err(RemoteError::Missing(missing));
        }
        self.lead.offers(&self.holder.offers()?)?;
        for decision in self.lead.decide(1)? {
            self.holder.answer(&decision)?;
        }
        if self.lead.saves() {
            self.lead.save(&self.holder.state()?)?;
        }
        Ok(())
    }

    /// Ends the run, after its last step: certificate, model. Where the private part of the folder stays, whoever asked for that
    /// forgets it later.
    ///
    /// # Errors
    /// If steps are left, or a file cannot be written.
    pub fn finish(mut self, keep_private: bool) -> Result<Finished<A::Model>, RemoteError> {
        let (done, steps) = self.steps();
        if done < steps {
            return Err(RemoteError::NotDone { left: steps - done, steps });
        }
        let weights = self.holder.weights();
        self.lead.finish(&[weights], keep_private)
    }
}
