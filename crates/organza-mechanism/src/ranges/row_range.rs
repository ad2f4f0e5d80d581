//! The rows of a range, with the key of the noise on them.

use super::{GatheredBatch, PaidOrder, RangeKeys, RowRanges};
use crate::adaptive::AdaptiveClip;
use crate::batch::{Run, Sampler};
use crate::buckets::PartError;
use crate::candidate_clip::CandidateClip;
use crate::due::Due;
use crate::grid::Grid;
use crate::memory::Pool;
use crate::owed::{Deferral, DeferredGrid, OwedNoise};
use crate::plan::{Plan, PlanError, PlanSettings};
use crate::shape::Shape;
use organza_ledger::KeyFingerprint;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// What whoever holds rows has to know of a plan. It is public.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RangeSettings {
    /// The public name of the key under which the run draws.
    pub run: KeyFingerprint,
    /// The plan, of all tables.
    pub(crate) plan: PlanSettings,
    /// A clip of units at each candidate: the noise is relative to it.
    pub(crate) candidates: Option<CandidateClip>,
    /// How the clip adapts, which takes a part of the budget of the noise.
    pub(crate) adaptive: Option<AdaptiveClip>,
    /// The grid of tables that owe noise, where that was paid for.
    pub(crate) deferred: Option<DeferredGrid>,
}

impl Sampler {
    /// What those who hold rows have to know; `owed` is the right to leave noise for later, where tables do. `None` where the plan is for
    /// [groups](Plan::in_groups), or the right is of another sampler.
    pub fn range_settings(&self, owed: Option<&OwedNoise>) -> Option<RangeSettings> {
        let Run { plan, source, .. } = &*self.run;
        let is_own = owed.is_none_or(|owed| owed.is_of(&self.run));
        (plan.groups().is_none() && is_own).then(|| RangeSettings {
            run: source.fingerprint(),
            plan: plan.settings().clone(),
            candidates: plan.clips_candidates(),
            adaptive: plan.adaptive_clip(),
            deferred: owed.map(OwedNoise::grid),
        })
    }

    /// The keys by which the rows of `ranges` get their noise.
    pub fn range_keys(&self, ranges: Range<u16>) -> RangeKeys {
        let last = RowRanges::of(&self.run.plan.shared_shape()).count();
        RangeKeys::of(&self.run.source, ranges.start..ranges.end.min(last))
    }
}

impl RangeSettings {
    /// How rows are cut into ranges.
    pub fn cut(&self) -> RowRanges {
        RowRanges::of(&self.plan.shape)
    }

    fn plan(&self) -> Result<Plan, PlanError> {
        let plan = Plan::checked(self.plan.clone(), self.candidates)?;
        self.adaptive.map_or(Ok(plan.clone()), |adaptive| plan.adapting(adaptive))
    }

    /// The ranges of these keys.
    ///
    /// # Errors
    /// If the settings are of another version, or there are no such ranges.
    pub fn ranges(&self, keys: &RangeKeys) -> Result<Vec<RowRange>, PartError> {
        let plan = self.plan().map_err(|_| PartError::OtherVersion)?;
        let cut = self.cut();
        let of = |number: u16| {
            let rows = cut.rows(number);
            let source = keys.0.source(number).filter(|_| !rows.is_empty());
            let source = source.ok_or(PartError::OtherTables)?;
            let shape = plan.shared_shape().part(rows.clone());
            let plan = plan.of_rows(shape.clone());
            let due = Due::of_range(source, plan.step_event(), plan.settings().neighbouring);
            let pool = Pool::new(Arc::new(shape), plan.rows_per_unit(), plan.clips_candidates());
            let run = Arc::new(Run { plan, due, source: source.clone(), pool });
            let owed = match &self.deferred {
                None => None,
                Some(grid) => {
                    let deferral = Deferral::of(&run, grid).ok_or(PartError::OtherVersion)?;
                    Some(deferral.paid_by_driver())
                }
            };
            Ok(RowRange { number, rows, run, owed, name: self.run })
        };
        keys.ranges().map(of).collect()
    }
}

/// The rows of one range, as a table of their own, with the key of the noise on them.
///
/// # Privacy
/// See [`ranges`](crate::ranges). It gathers a step once, for an order that was paid for.
pub struct RowRange {
    number: u16,
    rows: Range<u32>,
    run: Arc<Run>,
    owed: Option<OwedNoise>,
    name: KeyFingerprint,
}

impl RowRange {
    /// Its number.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Its rows, as they are numbered in all tables.
    pub fn rows(&self) -> Range<u32> {
        self.rows.clone()
    }

    /// The shape of its rows.
    pub fn shape(&self) -> Shape {
        (*self.run.plan.shared_shape()).clone()
    }

    #[cfg(test)]
    pub(super) fn plan(&self) -> &Plan {
        &self.run.plan
    }

    /// The right to leave the noise of its rows for later, where tables do.
    pub fn owed(&self) -> Option<&OwedNoise> {
        self.owed.as_ref()
    }

    /// The batch of a step, as far as it is of these rows.
    ///
    /// # Errors
    /// If the order is of another run, or this step or one after it was drawn before.
    pub fn gather(&self, paid: &PaidOrder) -> Result<GatheredBatch, PartError> {
        let order = paid.order();
        if order.run != self.name {
            return Err(PartError::OtherRun);
        }
        if !self.run.due.take_turn(order.step) {
            return Err(PartError::DrawnBefore { step: order.step });
        }
        let grid = Grid::new(order.clip, self.run.plan.settings().expected_batch);
        Ok(GatheredBatch::new(self.run.clone(), self.number, self.rows.start, order, grid))
    }
}

impl std::fmt::Debug for RowRange {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "RowRange({}, rows {:?})", self.number, self.rows)
    }
}
