//! The sessions of a run that is made of shards: its beginning, its merges, and its workers.

use super::{Shards, is_of_shards};
use crate::application::{Application, Failure};
use crate::books::LEDGER;
use crate::folder::RunFolder;
use crate::session::{Session, SessionError, check_share, new_source};
use crate::settings::{EngineSettings, RunSettings};
use organza_ledger::Replay;
use organza_mechanism::RandomSource;
use std::path::Path;

impl<A: Application> Session<A> {
    /// Begins a run of shards in an empty folder: nothing is charged or released before the first merge. A run that was killed while it was
    /// begun with these settings is gone on with: it keeps its key, and with it its place on the ledger of a data set.
    ///
    /// # Errors
    /// As [`Session::begin`], and if this application, or these settings, need their data in one place.
    pub fn of_shards(
        settings: A::Settings,
        path: &Path,
        shards: &Shards,
    ) -> Result<Self, SessionError> {
        settings.check()?;
        let begun = was_begun::<A>(&settings, path)?;
        if !begun {
            RunFolder::check_free(path)?;
        }
        let engine = settings.engine();
        if !engine.private || engine.steps.is_some() {
            let reason = "a run of shards is private, and all that it learns is released before the first step: take a method \
                          without steps";
            return Err(SessionError::Application(reason.into()));
        }
        if begun {
            return Self::merging(path, shards);
        }
        check_share(&engine)?;
        let source = new_source(&engine)?.with_exchange(shards.exchange.clone());
        let data = A::nobody(&settings)?;
        let books = Self::new_books(&settings, engine, &data, source, Some(path), true)?;
        Self::prepare(settings, data, books, Some(shards))
    }

    /// Goes on with a run of shards when those of a round were counted.
    ///
    /// # Errors
    /// As [`Session::resume`].
    pub fn merging(path: &Path, shards: &Shards) -> Result<Self, SessionError> {
        Self::reopened(path, None, Some(shards), A::nobody)
    }

    /// The run on a shard. It writes nothing, and what it charges ends with it.
    pub(crate) fn counting(
        settings: A::Settings,
        source: RandomSource,
        shards: &Shards,
        read: impl FnOnce(&A::Settings) -> Result<A::Data, Failure>,
    ) -> Result<Self, SessionError> {
        settings.check()?;
        let data = read(&settings)?;
        // Its place on the ledger of a data set is the merge's.
        let engine = EngineSettings { ledger: None, ..settings.engine() };
        let books = Self::new_books(&settings, engine, &data, source, None, false)?;
        Self::prepare(settings, data, books, Some(shards))
    }
}

/// Whether a run with these settings was begun in `path` and has charged nothing, nor has a task yet. Of what a run of another kind has charged
/// nothing is drawn again: its noise was not drawn on sums that are noted.
fn was_begun<A: Application>(settings: &A::Settings, path: &Path) -> Result<bool, SessionError> {
    if !Session::<A>::is_unfinished(settings, path) {
        return Ok(false);
    }
    let folder = RunFolder::open(path)?;
    Ok(!is_of_shards(&folder) && Replay::read(&folder.file(LEDGER))?.charges.is_empty())
}
