//! A step whose sums are elsewhere: opened against the proof of its charge, and decided when all ranges have made their offers.

use super::offer::{Offer, Offered, first_of};
use super::{Decision, RangeKeys, RowRanges};
use crate::adaptive::{Adaptive, ReleasedClip};
use crate::batch::{Run, Sampler};
use crate::buckets::{BatchOrder, PartError};
use crate::due::NotPaid;
use crate::grid::Grid;
use crate::memory::Lease;
use crate::random::Secret;
use crate::scores::{Candidates, JoinedRows};
use crate::select::{Choice, Workspace};
use crate::shape::Shape;
use crate::sum::mixed;
use organza_ledger::Charged;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A step that is paid for, whose gradients are summed, and whose rows are held, elsewhere. Only a [`Sampler`] makes it.
///
/// # Privacy
/// See [`ranges`](crate::ranges). Whoever makes a step again, after it was stopped, decides only if its [digest](PaidStep::digest) is what it was.
pub struct PaidStep {
    run: Arc<Run>,
    step: u64,
    grid: Grid,
    cut: RowRanges,
    offers: BTreeMap<u16, Offer>,
}

impl Sampler {
    /// The batch of `step`, which `paid` pays for, to be summed elsewhere, with a clip that an earlier step has released where the plan's
    /// clip adapts. It takes the turn of the step, as [`Sampler::batch`] does.
    ///
    /// # Errors
    /// As [`Sampler::batch`].
    pub fn open(
        &self,
        step: u64,
        paid: &Charged,
        clip: Option<ReleasedClip>,
    ) -> Result<PaidStep, NotPaid> {
        self.run.due.hand_out(step, paid)?;
        let plan = &self.run.plan;
        let grid = clip.map_or(*plan.grid(), |clip| plan.grid_at(clip));
        let run = self.run.clone();
        let cut = RowRanges::of(&run.plan.shared_shape());
        Ok(PaidStep { run, step, grid, cut, offers: BTreeMap::new() })
    }
}

impl PaidStep {
    /// What those who sum parts are told.
    pub fn order(&self) -> BatchOrder {
        BatchOrder { run: self.run.source.fingerprint(), step: self.step, clip: self.grid.clip() }
    }

    /// The same for whoever holds the rows of `ranges`, sealed.
    pub fn opening(&self, ranges: Range<u16>) -> Vec<u8> {
        RangeKeys::of(&self.run.source, ranges).seal(self.order().to_bytes())
    }

    /// Takes what a range offers.
    ///
    /// # Errors
    /// If it is damaged, of another run, step or range, there already, or of other units than those of other ranges; the step is as it was.
    pub fn offer(&mut self, bytes: &[u8]) -> Result<u16, PartError> {
        let offer = Offer::from_bytes(bytes, &self.run)?;
        let own = self.order();
        if offer.order.run != own.run {
            return Err(PartError::OtherRun);
        }
        if offer.order != own {
            return Err(PartError::OtherStep { expected: own.step, found: offer.order.step });
        }
        if self.offers.contains_key(&offer.range) {
            return Err(PartError::DoubleRange { range: offer.range });
        }
        // Each range has the same parts. Of two that a worker made, each on another state of its data, a unit could be in both.
        if self.offers.values().any(|other| other.counted != offer.counted) {
            return Err(PartError::OtherParts { range: offer.range });
        }
        let range = offer.range;
        self.offers.insert(range, offer);
        Ok(range)
    }

    /// The ranges whose offers are still to come.
    pub fn missing(&self) -> Vec<Range<u16>> {
        let ends = std::iter::once(0).chain(self.offers.keys().map(|range| range + 1));
        let starts = self.offers.keys().copied().chain([self.cut.count()]);
        ends.zip(starts).map(|(end, start)| end..start).filter(|gap| !gap.is_empty()).collect()
    }

    /// A number that tells the sums of all ranges apart, for a run that makes a step again and has to make it of the same gradients,
    /// under the same clip. *Not private*, and no secret-keeping hash: it stays where the key of the run is kept.
    pub fn digest(&self) -> u64 {
        let digests = self.offers.values().map(|offer| offer.digest);
        digests.fold(self.grid.clip().to_bits(), mixed)
    }

    /// Private selection, when all ranges have made their offers: which coordinates or rows this step updates, and the next clip where it
    /// adapts. `None` if an offer is missing.
    pub fn decide(self) -> Option<Decision> {
        if !self.missing().is_empty() {
            return None;
        }
        let order = self.order();
        let Self { run, step, grid, cut, offers } = self;
        let Run { plan, source, .. } = &*run;
        let digests = offers.iter().map(|(range, offer)| (*range, offer.digest)).collect();
        let within = offers.values().next()?.counted[2].cast_signed();
        let next = |adaptive: &Adaptive| adaptive.next(grid.clip(), within, source, step);
        let next_clip = plan.adaptive().map(next);
        let always = offers.values().map(|offer| offer.always).fold(0, u128::saturating_add);
        let shape = plan.shared_shape();
        let (choice, squares) = match plan.selector().by() {
            None => (Choice::All, always),
            Some(by) => {
                let joined = Joined::of(offers.into_values(), shape.clone());
                let mut random = source.secret(Secret::Selection, step).shard(0);
                let (mut workspace, mut indices) = (Workspace::default(), Vec::new());
                let candidates = joined.candidates();
                plan.selector().select(candidates, &mut random, &mut workspace, &mut indices);
                let squares = indices.iter().map(|index| joined.squares(*index));
                let squares = squares.fold(always, u128::saturating_add);
                indices.extend(shape.dense(by));
                (Choice::Some { by, indices }, squares)
            }
        };
        let squares = plan.noise().has_second_clip().then_some(squares);
        let firsts = match &choice {
            Choice::All => Vec::new(),
            Choice::Some { by, .. } => {
                (0..cut.count()).map(|range| first_of(&shape, *by, cut.rows(range).start)).collect()
            }
        };
        let source = source.clone();
        let selectable = plan.selector().by().map_or(0, |by| shape.candidates(by));
        Some(Decision { order, choice, squares, digests, firsts, selectable, source, next_clip })
    }
}

/// The candidates of all ranges.
struct Joined {
    /// Of single coordinates.
    sum: Option<Lease>,
    rows: JoinedRows,
}

impl Joined {
    fn of(offers: impl Iterator<Item = Offer>, shape: Arc<Shape>) -> Self {
        let mut joined = Self { sum: None, rows: JoinedRows { shape, sizes: Vec::new() } };
        for offer in offers {
            match (offer.candidates, &mut joined.sum) {
                (Offered::Nothing, _) => {}
                (Offered::Rows(sizes), _) => joined.rows.sizes.extend(sizes),
                (Offered::Coordinates(own), Some(memory)) => memory.sum.join(own),
                (Offered::Coordinates(own), sum) => *sum = Some(own),
            }
        }
        joined
    }

    fn candidates(&self) -> Candidates<'_> {
        match &self.sum {
            Some(memory) => Candidates::OfSum(&memory.sum),
            None => Candidates::OfRows(&self.rows),
        }
    }

    /// The squares of a candidate.
    fn squares(&self, candidate: u64) -> u128 {
        match &self.sum {
            Some(memory) => u128::from(memory.sum.value(candidate).unsigned_abs()).pow(2),
            None => self.rows.get(candidate).map_or(0, |size| size.squares),
        }
    }
}

impl std::fmt::Debug for PaidStep {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "PaidStep({})", self.step)
    }
}
