//! From the partials of all shards to a release, and to the next task.

use super::{ShardError, Shards, Task};
use crate::folder::RunFolder;
use organza_ledger::atomic::{Readers, write};
use organza_mechanism::{Exchange, Partial};
use std::io::Write;
use std::path::Path;

/// The task of the round that is counted now: for workers, and for the next merge.
const TASK: &str = "task";
/// What each merge drew its noise on.
const SUMS: &str = "sums.txt";

/// A merge that is under way, or the beginning of a run.
#[derive(Debug)]
pub struct Merge {
    shards: Shards,
    /// The task of the round that is merged; none at the beginning.
    task: Option<Task>,
}

/// What partials are good for.
#[derive(Debug)]
pub enum Merging {
    /// Noise is to be drawn on them.
    Now(Box<Merge>),
    /// It was drawn on them before: the task of the next round is there.
    Before(Box<Task>),
}

impl Merge {
    /// The beginning of a run: nothing is counted, drawn or charged yet.
    pub fn beginning() -> Self {
        let exchange = Exchange::merging(Vec::new(), None, Box::new(|_| Ok(false)));
        Self { shards: Shards::new(exchange, None), task: None }
    }

    /// A merge of all shards of the current round of the run in a folder.
    ///
    /// # Privacy
    /// Before noise is drawn, the digest of the sums is in the private part of the folder. A merge that was killed draws the same
    /// noise on the same sums when it is made again; other sums are refused, since the same noise on both would show the difference.
    ///
    /// # Errors
    /// If there is no such run, a shard is missing or there twice, or a partial is of something else. Nothing is charged then.
    pub fn of(path: &Path, partials: Vec<Partial>) -> Result<Merging, ShardError> {
        let no_run = || ShardError::NoRun(path.display().to_string());
        let folder = RunFolder::open(path).map_err(|_| no_run())?;
        let task = folder.read(&folder.private(TASK))?.ok_or_else(no_run)?;
        let task = Task::from_bytes(&task)?;
        let sums = Partial::join(partials)?;
        let noted = Noted::read(&folder)?;
        let before = noted.of(&sums).filter(|_| sums.name() != task.name());
        if let Some(same) = before {
            if !same {
                return Err(ShardError::OtherSums);
            }
            sums.check(sums.name())?;
            publish(&folder, &task)?;
            return Ok(Merging::Before(Box::new(task)));
        }
        sums.check(task.name())?;
        let mut noted = noted;
        let note = move |sums: &Partial| noted.note(&folder, sums).map_err(|it| it.to_string());
        let exchange = Exchange::merging(task.released.clone(), Some(sums), Box::new(note));
        let shards = Shards::new(exchange, Some(task.head.clone()));
        Ok(Merging::Now(Box::new(Self { shards, task: Some(task) })))
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

    /// Writes the task of the next round into the folder, if the run [waits](Merge::is_waiting) for it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn go_on(&self, path: &Path) -> Result<Task, ShardError> {
        let exchange = &self.shards.exchange;
        let no_run = || ShardError::NoRun(path.display().to_string());
        let (head, round) = self.shards.head().zip(exchange.stopped()).ok_or_else(no_run)?;
        let folder = RunFolder::open(path)?;
        let task = Task::of(head, round, exchange.released());
        // From here on the release is there for good.
        folder.write(&folder.private(TASK), &task.to_bytes())?;
        publish(&folder, &task)?;
        Ok(task)
    }

    /// Takes the task away when the run is finished.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn end(path: &Path) -> Result<(), ShardError> {
        let folder = RunFolder::open(path)?;
        match std::fs::remove_file(folder.file(TASK)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(crate::FolderError::file("delete", &folder.file(TASK))(error).into())
            }
            _ => Ok(()),
        }
    }
}

/// Whether the run in a folder is made of shards.
pub(crate) fn is_of_shards(folder: &RunFolder) -> bool {
    folder.private(TASK).exists()
}

/// Puts the task where workers find it: for the owner alone.
fn publish(folder: &RunFolder, task: &Task) -> Result<(), ShardError> {
    let path = folder.file(TASK);
    let bytes = task.to_bytes();
    write(&path, Readers::Owner, |file| file.write_all(&bytes))
        .map_err(crate::FolderError::file("write", &path))?;
    Ok(())
}

/// On which sums noise was drawn, in the private part of a folder.
struct Noted(Vec<(String, String)>);

impl Noted {
    fn read(folder: &RunFolder) -> Result<Self, ShardError> {
        let bytes = folder.read(&folder.private(SUMS))?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        // A torn last line is of sums on which no noise was drawn.
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let pair = |line: &str| {
            line.split_once(' ').map(|(task, sums)| (task.to_owned(), sums.to_owned()))
        };
        Ok(Self(whole.lines().filter_map(pair).collect()))
    }

    /// Whether these are the sums that were noted for their task, if some were.
    fn of(&self, sums: &Partial) -> Option<bool> {
        let task = hex(&sums.name().task);
        let (_, before) = self.0.iter().find(|(noted, _)| *noted == task)?;
        Some(*before == hex(&sums.digest()))
    }

    /// Notes the sums; false if others were noted before.
    fn note(&mut self, folder: &RunFolder, sums: &Partial) -> Result<bool, ShardError> {
        if let Some(same) = self.of(sums) {
            return Ok(same);
        }
        self.0.push((hex(&sums.name().task), hex(&sums.digest())));
        let lines = self.0.iter().map(|(task, sums)| format!("{task} {sums}\n"));
        folder.write(&folder.private(SUMS), lines.collect::<String>().as_bytes())?;
        Ok(true)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
