//! Sums that are counted on several machines, and one machine that draws the noise.
//!
//! ```text
//! shard ─(the ordinary run, up to the first release that is missing)─▶ Partial ─┐
//! shard ─(the same)──────────────────────────────────────────────────▶ Partial ─┼─▶ join ─(charge, noise)─▶ release
//! shard ─(the same)──────────────────────────────────────────────────▶ Partial ─┘      the ordinary run, on no data
//! ```
//!
//! A [`RandomSource`](crate::RandomSource) with an [`Exchange`] gives what was released before in the place of noise, and stops at
//! the first release that was not: a worker hands on the sum of its units there, a merge draws on the sum of all. So neither is a
//! second way to make a release: both are the run itself.

pub(crate) mod bytes;
mod partial;
mod summed;
mod sums;
#[cfg(test)]
mod tests;

pub use partial::{MOST_SHARDS, Partial, PartialError, Round, SumsDigest, TaskName};
pub(crate) use summed::{ReleasedNumbers, Summed, digest};
pub(crate) use sums::{Named, Sums, read_shards, write_shards};

use crate::due::NotPaid;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What was released in a round, as every machine of a run gets it.
pub type ReleasedRound = (Round, Vec<u8>);
/// Told of the sums before noise is drawn on them, to note their digest; says whether it is the one that was noted before, if one was, or
/// why it cannot be noted.
pub type NoteSums = Box<dyn FnMut(&SumsDigest) -> Result<bool, String> + Send>;

/// Where the sums of a run's releases come from and go to, where they are not all made in one place.
///
/// # Privacy
/// - A worker counts and draws nothing: its source has the key of choices, not that of noise, and whatever asks that source for
///   what hides data is refused.
/// - A merge draws the noise of a round once, on the sums of all shards, against the proof of the charge. Before it draws it
///   hands the digest of these sums to whoever keeps it. The same noise on other sums would show their difference, so
///   for these it draws nothing.
/// - What was released before is handed in as it was released, which tells nothing new.
#[derive(Clone)]
pub struct Exchange(Arc<Mutex<State>>);

struct State {
    released: Vec<ReleasedRound>,
    role: Role,
    stopped: Option<Round>,
}

enum Role {
    Count { name: TaskName, shard: (u32, u32), counted: Option<Partial> },
    Merge { sums: Option<Partial>, note: NoteSums },
}

/// What a release does in a round.
pub(crate) enum Turn {
    /// It was released before.
    Released(Vec<u8>),
    /// The sums of these units are handed on.
    Count,
    /// Noise is drawn on these, once they are found to be such sums, and [noted](Exchange::note).
    Merge(Partial),
    /// The shards have to be counted first.
    Wait,
}

/// The proof that sums were noted: without one a merge gets no randomness.
pub(crate) struct Noted(());

impl Exchange {
    /// For a worker, which counts the units of shard `shard.0` of `shard.1`.
    pub fn counting(name: TaskName, shard: (u32, u32), released: Vec<ReleasedRound>) -> Self {
        Self::new(released, Role::Count { name, shard, counted: None })
    }

    /// For a merge, which draws noise on `sums`; without any it goes as far as what was released before.
    pub fn merging(released: Vec<ReleasedRound>, sums: Option<Partial>, note: NoteSums) -> Self {
        Self::new(released, Role::Merge { sums, note })
    }

    fn new(released: Vec<ReleasedRound>, role: Role) -> Self {
        Self(Arc::new(Mutex::new(State { released, role, stopped: None })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a worker counted, once.
    pub fn counted(&self) -> Option<Partial> {
        match &mut self.state().role {
            Role::Count { counted, .. } => counted.take(),
            Role::Merge { .. } => None,
        }
    }

    /// The round at which the run stopped, because its shards have to be counted; none if it went through.
    pub fn stopped(&self) -> Option<Round> {
        self.state().stopped.clone()
    }

    /// All that was released, in this order.
    pub fn released(&self) -> Vec<ReleasedRound> {
        self.state().released.clone()
    }

    /// Whether the run may charge for a purpose: a worker's charges are on no ledger, and a merge charges when it has sums to
    /// draw on, or for what was charged before. If it may not, it stops here.
    pub fn may_charge(&self, purpose: &str) -> bool {
        let mut state = self.state();
        let may = match &state.role {
            Role::Count { .. } => true,
            Role::Merge { sums, .. } => {
                let of = |round: &Round| round.purpose == purpose;
                state.released.iter().any(|(round, _)| of(round))
                    || sums.as_ref().is_some_and(|sums| of(sums.round()))
            }
        };
        if !may {
            state.stopped = Some(Round { purpose: purpose.to_owned(), look: 0 });
        }
        may
    }

    /// Whether the units are looked at in a round.
    pub(crate) fn looks_at_units(&self, round: &Round) -> bool {
        let state = self.state();
        let is_worker = matches!(state.role, Role::Count { .. });
        is_worker && !state.released.iter().any(|(released, _)| released == round)
    }

    /// Whether the units are looked at here for a purpose that takes so many looks.
    pub(crate) fn counts(&self, purpose: &str, looks: u32) -> bool {
        let last = self.last_of(purpose).map(|(look, _)| look);
        self.shard().is_some() && last.is_none_or(|last| last + 1 < looks)
    }

    /// The last look of a purpose that was released, with what it released.
    pub(crate) fn last_of(&self, purpose: &str) -> Option<(u32, Vec<u8>)> {
        let state = self.state();
        let of = |(round, _): &&ReleasedRound| round.purpose == purpose;
        state.released.iter().rev().find(of).map(|(round, bytes)| (round.look, bytes.clone()))
    }

    /// The shard that is counted here.
    pub(crate) fn shard(&self) -> Option<u32> {
        match self.state().role {
            Role::Count { shard: (shard, _), .. } => Some(shard),
            Role::Merge { .. } => None,
        }
    }

    /// What is to be done in a round, whose sums are of this `plan`.
    ///
    /// # Errors
    /// If the sums that were handed in are of another plan.
    pub(crate) fn turn(&self, round: &Round, plan: [u8; 32]) -> Result<Turn, NotPaid> {
        let mut state = self.state();
        let State { released, role, stopped } = &mut *state;
        if let Some((_, bytes)) = released.iter().find(|(released, _)| released == round) {
            return Ok(Turn::Released(bytes.clone()));
        }
        let purpose = || round.purpose.clone();
        match role {
            Role::Count { .. } => Ok(Turn::Count),
            Role::Merge { sums, .. } => match sums.take_if(|sums| sums.round == *round) {
                None => {
                    *stopped = Some(round.clone());
                    Ok(Turn::Wait)
                }
                Some(sums) if sums.plan != plan => Err(NotPaid::OtherPlan { purpose: purpose() }),
                Some(sums) => Ok(Turn::Merge(sums)),
            },
        }
    }

    /// Has the sums noted on which the noise of a merge is drawn, which is the last that happens before it is drawn: sums that are refused
    /// for what they are have to be refused before, since what is noted can only be merged again.
    ///
    /// # Errors
    /// If they are not those that were noted before, or cannot be noted.
    pub(crate) fn note(&self, sums: &SumsDigest, purpose: &str) -> Result<Noted, NotPaid> {
        let purpose = || purpose.to_owned();
        let mut state = self.state();
        let Role::Merge { note, .. } = &mut state.role else {
            return Err(NotPaid::Elsewhere { purpose: purpose() });
        };
        match note(sums) {
            Ok(true) => Ok(Noted(())),
            Ok(false) => Err(NotPaid::OtherSums { purpose: purpose() }),
            Err(reason) => Err(NotPaid::NotNoted { purpose: purpose(), reason }),
        }
    }

    /// Keeps the sums of a worker, which stops here.
    pub(crate) fn hand_on(&self, round: &Round, plan: [u8; 32], sums: Sums) {
        let mut state = self.state();
        let State { role, stopped, .. } = &mut *state;
        if let Role::Count { name, shard, counted } = role
            && counted.is_none()
        {
            *counted = Some(Partial::new(*name, round.clone(), plan, *shard, sums));
            *stopped = Some(round.clone());
        }
    }

    /// Keeps what was released. A look has all that those before it have shown, of which nothing else is kept.
    pub(crate) fn keep(&self, round: &Round, released: Vec<u8>) {
        let mut state = self.state();
        let before = state.released.iter_mut().filter(|(it, _)| it.purpose == round.purpose);
        before.for_each(|(_, bytes)| bytes.clear());
        state.released.push((round.clone(), released));
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        let role = match state.role {
            Role::Count { shard: (shard, of), .. } => format!("shard {shard} of {of}"),
            Role::Merge { .. } => "merge".to_owned(),
        };
        write!(formatter, "Exchange({role}, {} rounds released)", state.released.len())
    }
}
