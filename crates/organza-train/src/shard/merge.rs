//! From the partials of all shards to a release, and to the next task.

use super::place::Place;
use super::task::run_name;
use super::{SealKey, ShardError, Shards, Task, looks};
use organza_ledger::Replay;
use organza_mechanism::{Exchange, Partial, PartialError, SumsDigest};
use std::path::Path;

/// A merge that is under way, or the beginning of a run.
#[derive(Debug)]
pub struct Merge {
    shards: Shards,
    /// The task of the round that is merged; none at the beginning.
    task: Option<Task>,
    key: Option<SealKey>,
}

/// What partials are good for.
#[derive(Debug)]
pub enum Merging {
    /// Noise is to be drawn on them.
    Now(Box<Merge>),
    /// It was drawn on them before: the task of the next round is there.
    Before(Box<Task>),
    /// The run is finished, so many rounds in all, and what was left over of it is deleted.
    Finished {
        /// How many rounds it took.
        rounds: u64,
        /// Of which the partials are.
        name: String,
    },
}

impl Merge {
    /// The beginning of a run: nothing is counted, drawn or charged yet. With a key all tasks of the run are sealed.
    pub fn beginning(key: Option<&SealKey>) -> Self {
        let exchange = Exchange::merging(Vec::new(), None, Box::new(|_| Ok(false)));
        Self { shards: Shards::new(exchange, None), task: None, key: key.cloned() }
    }

    /// A merge of all shards of the current round of the run in a folder, which was begun with this key or without one.
    ///
    /// # Privacy
    /// Before noise is drawn, the digest of the sums is in the private part of the folder. A merge that was killed draws the same
    /// noise on the same sums when it is made again; other sums are refused, since the same noise on both would show the difference. What was
    /// noted is read when the ledger is locked, so this holds too for merges at one time.
    ///
    /// # Errors
    /// If there is no such run, a shard is missing or there twice, or a partial is of something else. Nothing is charged then.
    pub fn of(
        path: &Path,
        partials: Vec<Partial>,
        key: Option<&SealKey>,
    ) -> Result<Merging, ShardError> {
        let place = Place::open(path, key)?;
        if place.is_finished() {
            return finished(&place, &Partial::join(partials)?);
        }
        let task = place.task()?.ok_or_else(|| place.no_run())?;
        let sums = Partial::join(partials)?;
        let noted_as = sums.noted_as();
        let noted = place.noted(task.released.len())?;
        // Only a guess while nobody has locked the ledger: what may be released is asked again under its lock.
        let before = noted.of(&noted_as).filter(|_| sums.name() != task.name());
        if let Some(same) = before {
            if !same {
                return Err(ShardError::OtherSums);
            }
            sums.check(sums.name())?;
            return Ok(Merging::Before(Box::new(place.again()?)));
        }
        let (name, released) = (task.name(), task.released.len());
        sums.check(name)?;
        let note = move |sums: &SumsDigest| {
            place.note(name, released, sums).map_err(|error| error.to_string())
        };
        let exchange = Exchange::merging(task.released.clone(), Some(sums), Box::new(note));
        let shards = Shards::new(exchange, Some(task.head.clone()));
        Ok(Merging::Now(Box::new(Self { shards, task: Some(task), key: key.cloned() })))
    }

    /// The task of the round that is counted now, which is put again where workers find it: whoever was killed before may not have done so.
    /// None if the run is finished; what was left over of it is deleted then.
    ///
    /// # Errors
    /// If there is no run of shards, or its task is sealed with another key.
    pub fn current(path: &Path, key: Option<&SealKey>) -> Result<Option<Task>, ShardError> {
        let place = Place::open(path, key)?;
        match place.is_finished() {
            true => place.end().map(|()| None),
            false => place.again().map(Some),
        }
    }

    /// The task of a run that was begun in `path`, where whoever began it was killed before workers could find it; it is put there now.
    ///
    /// # Errors
    /// If its task is sealed with another key.
    pub fn unpublished(path: &Path, key: Option<&SealKey>) -> Result<Option<Task>, ShardError> {
        let place = Place::open(path, key)?;
        place.is_unpublished().then(|| place.again()).transpose()
    }

    /// The application of the run, in a word.
    pub fn application(&self) -> Option<&str> {
        self.task.as_ref().map(Task::application)
    }

    /// What a session takes part in it by.
    pub fn shards(&self) -> &Shards {
        &self.shards
    }

    /// Whether the run came to a round whose shards have to be counted first, and stopped there. Otherwise it failed or is finished.
    pub fn is_waiting(&self) -> bool {
        let released = self.shards.exchange.released().len();
        let before = self.task.as_ref().map(|task| task.released.len());
        self.shards.exchange.stopped().is_some() && before.is_none_or(|before| released > before)
    }

    /// The number and the name of the round that was released last.
    pub fn last(&self) -> Option<(u64, String)> {
        let released = self.shards.exchange.released();
        let (round, _) = released.last()?;
        Some((released.len() as u64, round.to_string()))
    }

    /// Writes the task of the next round into the folder, if the run [waits](Merge::is_waiting) for it. Where another merge of the same sums was
    /// faster, it gives the task that this one has left.
    ///
    /// # Errors
    /// If it cannot be written, or the run is another one by now.
    pub fn go_on(&self, path: &Path) -> Result<Task, ShardError> {
        let exchange = &self.shards.exchange;
        let place = Place::open(path, self.key.as_ref())?;
        let (head, round) =
            self.shards.head().zip(exchange.stopped()).ok_or_else(|| place.no_run())?;
        let task = Task::of(head, round, exchange.released());
        place.go_on(self.task.as_ref().map(Task::name), task)
    }

    /// Takes the task away when the run is finished, and the key of its noise was deleted, or is to be kept.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn end(path: &Path) -> Result<(), ShardError> {
        Place::open(path, None)?.end()
    }
}

/// A merge of a run that is finished: that of its last round was killed before all was tidied up.
fn finished(place: &Place, sums: &Partial) -> Result<Merging, ShardError> {
    let charges = Replay::read(&place.ledger())?.charges;
    let key = charges.iter().find_map(|charge| charge.key);
    if key.is_none_or(|key| run_name(key) != sums.name().run) {
        return Err(PartialError::Foreign("run").into());
    }
    place.end()?;
    let rounds = charges.iter().map(|charge| looks(&charge.event)).sum::<Option<u64>>();
    let rounds = rounds.unwrap_or(charges.len() as u64);
    Ok(Merging::Finished { rounds, name: sums.round().to_string() })
}
