//! Runs that are made of shards, for programs: bytes in and bytes out, so that any engine's map and reduce can call it.
//!
//! [`count`] runs anywhere, [`join`] may, and [`begin`] and [`merge`] run where the folder of the run is: see [`organza_train::shard`].

use crate::caller::Caller;
use crate::handed::HandedData;
use crate::output::Output;
use crate::running::{RunOptions, Runnable};
use crate::summary::show;
use organza_clicks::{ClickData, ClickRun};
use organza_data::settings::DataSettings;
use organza_data::table::Table;
use organza_data::{Shard, TextSource};
use organza_ledger::Unit;
use organza_mechanism::Partial;
use organza_recommend::{RecommenderData, RecommenderRun};
use organza_train::shard::{Merge, Merging, SealKey, Task};
use organza_train::{Failure, Session};
use organza_typeahead::TypeaheadRun;
use organza_words::Words;
use serde::Serialize;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that a worker looks through for those of its shard.
pub enum Rows {
    /// A file or a folder.
    Path(PathBuf),
    /// What a program hands over.
    Handed(Box<HandedData>),
}

/// How far a run of shards has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// The round that is counted next; of a finished run the last one.
    pub round: u64,
    /// How many there are, where that is known.
    pub rounds: Option<u64>,
    /// What is counted in it.
    pub name: String,
    /// Whether the model is there.
    pub finished: bool,
}

impl Progress {
    fn next(task: &Task) -> Self {
        let (round, rounds) = (task.number(), task.rounds());
        Self { round, rounds, name: task.round().to_string(), finished: false }
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { round, rounds, name, finished } = self;
        match (finished, rounds) {
            (true, _) => writeln!(formatter, "finished, after {round} rounds"),
            (false, Some(rounds)) => writeln!(formatter, "round {round} of {rounds}: {name}"),
            (false, None) => writeln!(formatter, "round {round}: {name}"),
        }
    }
}

/// An application whose data may lie in shards.
pub(crate) trait Sharded: Runnable {
    /// The rows of a shard.
    fn of_shard(settings: &Self::Settings, rows: Rows, shard: Shard)
    -> Result<Self::Data, Failure>;
}

impl Sharded for TypeaheadRun {
    fn of_shard(
        settings: &Self::Settings,
        rows: Rows,
        shard: Shard,
    ) -> Result<Self::Data, Failure> {
        let mut settings = settings.clone();
        let text = rows.text(&mut settings.data, settings.privacy.unit, shard)?;
        Self::Data::read(&settings, text.as_ref())
    }
}

impl Sharded for Words {
    fn of_shard(
        settings: &Self::Settings,
        rows: Rows,
        shard: Shard,
    ) -> Result<Self::Data, Failure> {
        let mut settings = settings.clone();
        let text = rows.text(&mut settings.data, settings.privacy.unit, shard)?;
        Self::Data::read(&settings, text.as_ref())
    }
}

impl Sharded for RecommenderRun {
    fn of_shard(
        settings: &Self::Settings,
        rows: Rows,
        shard: Shard,
    ) -> Result<Self::Data, Failure> {
        let of_table = |table: &Table| match &settings.data {
            Some(data) => RecommenderData::of_shard(settings, data, table, Some(shard)),
            None => Err("the task names no columns".into()),
        };
        match rows {
            Rows::Path(path) => {
                let format = settings.data.as_ref().and_then(|data| data.format);
                of_table(&Table::open(&path, format)?)
            }
            Rows::Handed(handed) => match *handed {
                HandedData::Table(table) => of_table(&table),
                handed => Self::data(settings, handed),
            },
        }
    }
}

impl Sharded for ClickRun {
    fn of_shard(
        settings: &Self::Settings,
        rows: Rows,
        shard: Shard,
    ) -> Result<Self::Data, Failure> {
        rows.clicks(settings, shard)
    }
}

impl Rows {
    /// Those of users of a shard.
    pub(crate) fn clicks(
        self,
        settings: &organza_clicks::Settings,
        shard: Shard,
    ) -> Result<ClickData, Failure> {
        match self {
            Self::Path(path) => ClickData::of_shard_at(settings, &path, shard),
            Self::Handed(handed) => match *handed {
                HandedData::Table(table) => ClickData::of_shard(settings, &table, shard),
                handed => ClickRun::data(settings, handed),
            },
        }
    }

    /// The text of units of a shard; a path is named in the settings.
    fn text(
        self,
        data: &mut DataSettings,
        unit: Unit,
        shard: Shard,
    ) -> Result<Box<dyn TextSource>, Failure> {
        let handed = match self {
            Self::Path(path) => {
                data.path = Some(path);
                HandedData::Nothing
            }
            Self::Handed(handed) => *handed,
        };
        Ok(data.of_shard(handed.text(data, unit)?, unit, shard))
    }
}

/// Begins a run: the words of the command that would make it on one machine, without `--data` and `--out`, and its folder. Gives the
/// task of the first round. Nothing is charged yet.
///
/// # Errors
/// If the flags make no sense, the folder is not empty, or this cannot be made of shards.
pub fn begin(
    words: impl IntoIterator<Item = OsString>,
    folder: &Path,
    caller: Arc<Caller>,
) -> anyhow::Result<Vec<u8>> {
    let out = [OsString::from("--out"), folder.into()];
    let words = ["organza", "shard", "begin"].map(OsString::from).into_iter().chain(words);
    crate::run_on(words.chain(out), HandedData::Nothing, caller)?;
    Ok(std::fs::read(folder.join("task"))?)
}

/// Counts the units of a shard among these rows. Gives a partial: **private**, the bare sums.
///
/// Rows of other shards are passed over; `strict` refuses them. Rows of a matrix have no names: each is a unit, and all are taken.
///
/// # Errors
/// If the task or the data cannot be read, or do not go together.
pub fn count(task: &[u8], rows: Rows, shard: Shard) -> anyhow::Result<Vec<u8>> {
    let task = Task::from_bytes(task)?;
    let partial = match task.application() {
        "train" => counted::<Words>(&task, rows, shard),
        "recommender" => counted::<RecommenderRun>(&task, rows, shard),
        "typeahead" => counted::<TypeaheadRun>(&task, rows, shard),
        "clicks" => counted::<ClickRun>(&task, rows, shard),
        other => anyhow::bail!("the task is of `{other}`, which cannot be made of shards"),
    }?;
    Ok(partial.to_bytes())
}

fn counted<A: Sharded>(task: &Task, rows: Rows, shard: Shard) -> anyhow::Result<Partial> {
    let place = (shard.number, shard.of);
    let read = |settings: &A::Settings| A::of_shard(settings, rows, shard);
    Ok(organza_train::shard::count::<A>(task, place, read)?)
}

/// A task for the worker of one shard, without what other shards alone have: see [`Task::for_shard`].
///
/// # Errors
/// If it is not a task.
pub fn for_shard(task: &[u8], shard: u32) -> anyhow::Result<Vec<u8>> {
    Ok(Task::from_bytes(task)?.for_shard(shard).to_bytes())
}

/// One partial of all shards of these: for a merge in several steps. **Private** as they are.
///
/// # Errors
/// If one is damaged, of another round or run, or a shard is there twice.
pub fn join(partials: &[impl AsRef<[u8]>]) -> anyhow::Result<Vec<u8>> {
    Ok(Partial::join(read(partials)?)?.to_bytes())
}

fn read(partials: &[impl AsRef<[u8]>]) -> anyhow::Result<Vec<Partial>> {
    let partials = partials.iter().map(|bytes| Partial::from_bytes(bytes.as_ref()));
    Ok(partials.collect::<Result<_, _>>()?)
}

/// Releases the current round of the run in a folder, from the partials of all its shards. Gives the task of the next round; none if the
/// model is there.
///
/// # Errors
/// If a shard is missing or there twice, or a partial is of something else: nothing is charged then. If the charge is refused.
pub fn merge(
    folder: &Path,
    partials: &[impl AsRef<[u8]>],
    caller: Arc<Caller>,
) -> anyhow::Result<(Option<Vec<u8>>, Progress)> {
    let output = Output::silent(caller);
    let progress = merged(folder, read(partials)?, None, &RunOptions::default(), &output)?;
    let task = match progress.finished {
        true => None,
        false => Some(std::fs::read(folder.join("task"))?),
    };
    Ok((task, progress))
}

/// The task of the round that is counted now of the run in a folder, which was begun before, also if whoever began it or merged was killed.
/// None if it is finished, of which nothing is left over then.
///
/// # Errors
/// If there is no such run.
pub fn current(folder: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    Ok(Merge::current(folder, None)?.map(|task| task.to_bytes()))
}

/// Merges, and goes on to the next round or to the end.
pub(crate) fn merged(
    path: &Path,
    partials: Vec<Partial>,
    key: Option<&SealKey>,
    running: &RunOptions,
    output: &Output,
) -> anyhow::Result<Progress> {
    let merge = match Merge::of(path, partials, key)? {
        Merging::Before(task) => return Ok(Progress::next(&task)),
        Merging::Finished { rounds, name } => {
            return Ok(Progress { round: rounds, rounds: Some(rounds), name, finished: true });
        }
        Merging::Now(merge) => merge,
    };
    match merge.application() {
        Some("train") => gone_on::<Words>(&merge, path, running, output),
        Some("recommender") => gone_on::<RecommenderRun>(&merge, path, running, output),
        Some("typeahead") => gone_on::<TypeaheadRun>(&merge, path, running, output),
        Some("clicks") => gone_on::<ClickRun>(&merge, path, running, output),
        other => anyhow::bail!("the run is of {other:?}, which cannot be made of shards"),
    }
}

fn gone_on<A: Sharded>(
    merge: &Merge,
    path: &Path,
    running: &RunOptions,
    output: &Output,
) -> anyhow::Result<Progress> {
    let session = || Session::<A>::merging(path, merge.shards());
    let outcome = running.train(path, output, session, show);
    if merge.is_waiting() {
        return Ok(Progress::next(&merge.go_on(path)?));
    }
    outcome?;
    // After the key of the noise: as long as the task is there, whoever was killed comes here again.
    Merge::end(path)?;
    let (round, name) = merge.last().unwrap_or_default();
    Ok(Progress { round, rounds: Some(round), name, finished: true })
}

/// Begins a run: its folder, and the task of its first round. Goes on where it was killed before anybody had that.
pub(crate) fn begun<A: Sharded>(
    settings: A::Settings,
    path: &Path,
    key: Option<&SealKey>,
    running: &RunOptions,
    output: &Output,
) -> anyhow::Result<(Progress, Task)> {
    if Session::<A>::is_unfinished(&settings, path)
        && let Some(task) = Merge::unpublished(path, key)?
    {
        return Ok((Progress::next(&task), task));
    }
    let merge = Merge::beginning(key);
    let session = || Session::<A>::of_shards(settings, path, merge.shards());
    let outcome = running.train(path, output, session, |_, _, _| Ok(()));
    if !merge.is_waiting() {
        outcome?;
        anyhow::bail!("the run releases nothing that shards could be counted for");
    }
    let task = merge.go_on(path)?;
    Ok((Progress::next(&task), task))
}
