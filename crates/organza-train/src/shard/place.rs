//! The files of a run of shards, and whose turn it is to change them.

use super::seal::{SealKey, open, sealed};
use super::{ShardError, Task};
use crate::books::{LEDGER, STATE};
use crate::folder::{FolderError, RunFolder};
use crate::session::CERTIFICATE;
use organza_ledger::atomic::{Readers, write_alone};
use organza_mechanism::{SumsDigest, TaskName};
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The task of the round that is counted now: for workers, and in the private part for the next merge, byte by byte the same.
const TASK: &str = "task";
/// What each merge drew its noise on.
const SUMS: &str = "sums.txt";

/// The folder of a run of shards, and the key that its task is sealed with, if it is.
///
/// # Privacy
/// Whoever changes what is here has the ledger of the run locked, and looks at what is there once it is locked: two merges at one time are
/// two merges one after the other. No byte of a task is written that is not sealed, where there is a key. The private part has the sealed
/// bytes too: so they are published again without a key, and a run that was begun with one goes on with no other and not without.
#[derive(Clone, Debug)]
pub(super) struct Place {
    folder: RunFolder,
    key: Option<SealKey>,
}

impl Place {
    /// Of the run in `path`.
    pub(super) fn open(path: &Path, key: Option<&SealKey>) -> Result<Self, ShardError> {
        let folder = RunFolder::open(path).map_err(|_| no_run(path))?;
        Ok(Self { folder, key: key.cloned() })
    }

    /// That there is no run that could go on.
    pub(super) fn no_run(&self) -> ShardError {
        no_run(self.folder.path())
    }

    /// The ledger of the run.
    pub(super) fn ledger(&self) -> PathBuf {
        self.folder.file(LEDGER)
    }

    /// Whether the run is finished: its certificate is there, and the key of its noise is not.
    pub(super) fn is_finished(&self) -> bool {
        self.folder.file(CERTIFICATE).exists() && !self.has_key()
    }

    fn has_key(&self) -> bool {
        self.folder.private(STATE).exists()
    }

    /// The task of the round that is counted now, if there is one.
    pub(super) fn task(&self) -> Result<Option<Task>, ShardError> {
        let bytes = self.folder.read(&self.folder.private(TASK))?;
        bytes.map(|bytes| Task::from_bytes(&open(bytes, self.key.as_ref())?)).transpose()
    }

    /// Whether there is a task, but workers do not find it: whoever wrote it was killed then.
    pub(super) fn is_unpublished(&self) -> bool {
        is_of_shards(&self.folder) && !self.folder.file(TASK).exists() && !self.is_finished()
    }

    /// Waits until nobody else merges: nobody does before the file is closed.
    fn turn(&self) -> Result<File, ShardError> {
        let path = self.ledger();
        // Some file systems lock what is written to, and nothing else.
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let locked = file.and_then(|file| file.lock().map(|()| file));
        Ok(locked.map_err(FolderError::file("lock", &path))?)
    }

    /// Puts `task` in the place of the one that is known as `before`, for the next merge and for workers. If another merge of the same sums has
    /// gone on meanwhile, its task stays, and is what this gives.
    pub(super) fn go_on(&self, before: Option<TaskName>, task: Task) -> Result<Task, ShardError> {
        let _turn = self.turn()?;
        let task = match self.task()? {
            None if before.is_none() && self.has_key() => self.keep(task)?,
            Some(now) if before.is_some_and(|before| now.name() == before) => self.keep(task)?,
            Some(now) if now.name().run == task.name().run => now,
            _ => return Err(self.no_run()),
        };
        self.publish()?;
        Ok(task)
    }

    /// From here on what was released in the rounds before this task is there for good.
    fn keep(&self, task: Task) -> Result<Task, ShardError> {
        let bytes = sealed(task.to_bytes(), self.key.as_ref())?;
        self.folder.write(&self.folder.private(TASK), &bytes)?;
        Ok(task)
    }

    /// Gives the task of the round that is counted now, and puts it again where workers find it.
    pub(super) fn again(&self) -> Result<Task, ShardError> {
        let _turn = self.turn()?;
        let task = self.task()?.ok_or_else(|| self.no_run())?;
        self.publish()?;
        Ok(task)
    }

    /// Puts the task where workers find it: for the owner alone.
    fn publish(&self) -> Result<(), ShardError> {
        let path = self.folder.file(TASK);
        let bytes = self.folder.read(&self.folder.private(TASK))?.ok_or_else(|| self.no_run())?;
        if self.folder.read(&path)?.as_ref() != Some(&bytes) {
            write_alone(&path, Readers::Owner, &bytes)
                .map_err(FolderError::file("write", &path))?;
        }
        Ok(())
    }

    /// Deletes what is left over of a run that is finished, the task last: while it is there, whoever goes on with the run comes here again.
    pub(super) fn end(&self) -> Result<(), ShardError> {
        if self.is_finished() && self.folder.private("").exists() {
            self.folder.forget_private()?;
        }
        let path = self.folder.file(TASK);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(FolderError::file("delete", &path)(error).into())
            }
            _ => Ok(()),
        }
    }

    /// On which sums noise was drawn, where so many rounds were released before.
    pub(super) fn noted(&self, released: usize) -> Result<Noted, ShardError> {
        let path = self.folder.private(SUMS);
        let bytes = self.folder.read(&path)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        // A torn last line is of sums on which no noise was drawn.
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let pair = |line: &str| {
            line.split_once(' ').map(|(task, sums)| (task.to_owned(), sums.to_owned()))
        };
        let lines: Vec<_> = whole.lines().filter_map(pair).collect();
        // Each round that was released has its line, and no line is ever taken away.
        match lines.len() < released {
            true => Err(ShardError::NotesLost(path.display().to_string())),
            false => Ok(Noted(lines)),
        }
    }

    /// Notes the sums of the round of `task`, before which so many were released; false if others were noted before.
    ///
    /// # Privacy
    /// This is asked with the ledger locked, after which nobody else draws noise, and everything is read again here: what was read before
    /// the lock may be older than another merge. At the end of a run its key is deleted before anything else is, so notes that are not there
    /// because the run has ended are told from those of a run that begins.
    pub(super) fn note(
        &self,
        task: TaskName,
        released: usize,
        sums: &SumsDigest,
    ) -> Result<bool, ShardError> {
        let mut noted = self.noted(released)?;
        let now = self.task()?.filter(|_| self.has_key()).ok_or_else(|| self.no_run())?;
        if now.name() != task {
            return Err(ShardError::GoneOn);
        }
        if let Some(same) = noted.of(sums) {
            return Ok(same);
        }
        noted.0.push((hex(&sums.name.task), hex(&sums.digest)));
        let lines = noted.0.iter().map(|(task, sums)| format!("{task} {sums}\n"));
        self.folder.write(&self.folder.private(SUMS), lines.collect::<String>().as_bytes())?;
        Ok(true)
    }
}

/// Whether the run in a folder is made of shards.
pub(crate) fn is_of_shards(folder: &RunFolder) -> bool {
    folder.private(TASK).exists()
}

fn no_run(path: &Path) -> ShardError {
    ShardError::NoRun(path.display().to_string())
}

/// On which sums noise was drawn, by the tasks that they were counted for.
pub(super) struct Noted(Vec<(String, String)>);

impl Noted {
    /// Whether these are the sums that were noted for their task, if some were.
    pub(super) fn of(&self, sums: &SumsDigest) -> Option<bool> {
        let task = hex(&sums.name.task);
        let (_, before) = self.0.iter().find(|(noted, _)| *noted == task)?;
        Some(*before == hex(&sums.digest))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
