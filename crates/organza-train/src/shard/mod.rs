//! Runs that are made of shards: several machines count, one draws the noise.
//!
//! ```text
//!            ┌─ count: the run on one shard ──▶ partial ─┐
//! begin ─▶ task ─ count: the run on one shard ▶ partial ─┼─▶ merge: the run on no data ─▶ next task, or the model
//!            └─ count: the run on one shard ──▶ partial ─┘
//! ```
//!
//! Each of them is the ordinary run of the application, with an [`Exchange`] where sums meet noise. So the same seed
//! gives the same bits on one machine and on any number of them, and whatever a run refuses or charges, a run of shards does.
//!
//! # Privacy
//! A shard holds all that there is of its units, and none of them is in two: so a unit is bounded once, by the worker that has all of
//! it. Workers hold no key of noise and no ledger. The merge holds both and sees no unit, only sums. It charges for a release when it has
//! the sums of all shards, notes their digest, and then draws; if it is killed at any point, it draws the same noise on the same sums, and
//! on no others.

mod merge;
mod place;
mod seal;
mod sessions;
mod task;

pub use merge::{Merge, Merging};
pub(crate) use place::is_of_shards;
pub use seal::{SealKey, open, sealed};
pub use task::Task;

use crate::application::Application;
use crate::folder::FolderError;
use crate::phases::Calibrated;
use crate::session::{Session, SessionError};
use organza_ledger::{Event, LedgerError};
use organza_mechanism::{Exchange, MOST_SHARDS, Partial, PartialError, RandomSource};
use std::sync::{Arc, Mutex, PoisonError};
use task::Head;
use thiserror::Error;

/// Why there is no partial or no merge.
#[derive(Debug, Error)]
pub enum ShardError {
    /// The bytes are no task.
    #[error("this is not a task of `organza shard`, or it is damaged or cut short: copy it again")]
    NoTask,
    /// It is of another version.
    #[error("the task was written by organza {0}: take the same version on all machines")]
    Version(String),
    /// It has other settings.
    #[error("the settings of the task cannot be read: {0}")]
    Settings(String),
    /// There is no such shard.
    #[error(
        "there is no shard {0} of {1}: shards are numbered from 0, and there are at most {MOST_SHARDS}"
    )]
    NoShard(u32, u32),
    /// A key that can be guessed.
    #[error(
        "the key file has {0} bytes: take at least 32 random ones, as of `head -c 32 /dev/urandom`"
    )]
    ShortKey(usize),
    /// Nothing can be sealed.
    #[error("nothing can be sealed: the system has no randomness, or there is too much to seal")]
    Sealing,
    /// It is sealed.
    #[error("it is sealed: name the file of its key with --key-file")]
    KeyNeeded,
    /// It is not sealed.
    #[error(
        "it is not sealed, so anybody may have written it: seal it with --key-file where it is made, or leave out the key"
    )]
    NotSealed,
    /// It was sealed by another key, or is no longer what it was.
    #[error("it was sealed with another key, or changed since")]
    OtherKey,
    /// The partials.
    #[error(transparent)]
    Partial(#[from] PartialError),
    /// The folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The run is no run of shards.
    #[error("{0} holds no run of shards that can go on: begin one with `organza shard begin`")]
    NoRun(String),
    /// The round was merged of other sums.
    #[error(
        "the noise of this round was drawn on other partials before, and on these it would bare the difference: count the next \
         round with the task that is in the folder"
    )]
    OtherSums,
    /// Another merge was faster.
    #[error(
        "another merge has gone on with this run meanwhile: count the next round with the task that is in the folder"
    )]
    GoneOn,
    /// What was noted is gone.
    #[error(
        "{0} is missing or not whole, so nothing shows on which sums noise was drawn before: begin a new run, or bring back the whole \
         folder as it was"
    )]
    NotesLost(String),
    /// Nothing was counted or released.
    #[error("the run did not come to the round `{0}`: this application cannot be made of shards")]
    NotReached(String),
}

/// What a session of shards shares with whoever runs it.
#[derive(Clone, Debug)]
pub struct Shards {
    pub(crate) exchange: Exchange,
    /// What is known of the run.
    head: Arc<Mutex<Option<Head>>>,
}

impl Shards {
    fn new(exchange: Exchange, head: Option<Head>) -> Self {
        Self { exchange, head: Arc::new(Mutex::new(head)) }
    }

    /// The noise of each phase, where it was found before.
    pub(crate) fn noises(&self) -> Option<Vec<(String, f64)>> {
        self.head().map(|head| head.noises)
    }

    fn head(&self) -> Option<Head> {
        self.head.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps what workers will have to know.
    pub(crate) fn learn<A: Application>(
        &self,
        settings: &A::Settings,
        source: &RandomSource,
        phases: &[Calibrated],
    ) -> Result<(), SessionError> {
        use crate::settings::RunSettings;
        let mut head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        if head.is_none() {
            let noises = phases.iter().map(|phase| (phase.name.to_owned(), phase.noise)).collect();
            let each = phases.iter().flat_map(|phase| &phase.events).map(looks);
            let rounds = each.sum::<Option<u64>>();
            let settings_now = serde_json::to_value(settings)
                .map_err(|error| SessionError::Changed(error.to_string()))?;
            let application = settings.engine().name[0].to_string();
            *head = Some(Head::new(&application, settings_now, source, noises, rounds));
        }
        Ok(())
    }
}

/// How often the units are looked at for a release, where its event says so: once for one Gaussian or Laplace mechanism, and as often as a
/// repeated one is repeated.
fn looks(event: &Event) -> Option<u64> {
    match event {
        Event::Compose(events) => match events.first()? {
            Event::Repeat { times, .. } => Some(*times),
            Event::Added { .. } => None,
            _ => Some(1),
        },
        _ => Some(1),
    }
}

/// Counts a shard: the run of the application on the data of this shard, up to the round of the task. What it gives is **private**.
///
/// # Privacy
/// It draws no noise and has no key to, and its charges are on a ledger of its own that ends with it. Whoever calls it answers for the shard: all rows of
/// a unit are in it, and no row of it in another. See [`Partial`].
///
/// # Errors
/// If the data cannot be read, or is of another kind than the task.
pub fn count<A: Application>(
    task: &Task,
    shard: (u32, u32),
    read: impl FnOnce(&A::Settings) -> Result<A::Data, crate::Failure>,
) -> Result<Partial, SessionError> {
    let failed = |error: ShardError| SessionError::Application(error.into());
    if shard.0 >= shard.1 || shard.1 > MOST_SHARDS {
        return Err(failed(ShardError::NoShard(shard.0, shard.1)));
    }
    let settings: A::Settings = task.settings().map_err(failed)?;
    let (source, exchange) = task.source(shard);
    let shards = Shards::new(exchange.clone(), Some(task.head.clone()));
    let outcome = Session::<A>::counting(settings, source, &shards, read)
        .and_then(|session| session.train(false, &mut ()));
    let not_reached = || failed(ShardError::NotReached(task.round().to_string()));
    match (exchange.counted(), outcome) {
        (Some(partial), _) if *partial.round() == task.round() => Ok(partial),
        (None, Err(error)) => Err(error),
        _ => Err(not_reached()),
    }
}

#[cfg(test)]
mod tests;
