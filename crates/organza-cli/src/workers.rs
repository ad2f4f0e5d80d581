//! Click models whose steps workers compute, for programs: bytes in and bytes out, so that actors of any engine can carry it.
//!
//! A [`Driver`] is where the folder of the run is, and needs no data; a [`Worker`] is where data is: see [`organza_train::remote`], which
//! says who sees what.

use crate::arguments::Arguments;
use crate::caller::Caller;
use crate::command::{Command, clicks};
use crate::output::Output;
use crate::running::Trained;
use crate::shard::Rows;
use crate::usage::UsageError;
use anyhow::Context;
use organza_clicks::{ClickData, ClickRun, ClickTask, Settings};
use organza_data::Shard;
use organza_data::table::HANDED_OVER;
use organza_train::remote::{Job, RemoteError, Reply, StepDriver, StepWorker};
use organza_train::{RunFolder, SessionError};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Takes no part of the rows for another's: a worker leaves out units of other buckets by itself.
const ALL_ROWS: Shard = Shard { number: 0, of: 1, strict: false };

/// What charges, adds noise and moves the tables of a run whose gradients workers compute.
pub struct Driver {
    driver: StepDriver<ClickRun>,
    settings: Settings,
    folder: PathBuf,
    output: Output,
    begun: Instant,
    pool: ThreadPool,
    made: u64,
}

impl Driver {
    /// Begins a run in an empty folder, or goes on with the one that was begun there: the words of the command that would make it
    /// on one machine, without `--data` and `--out`.
    ///
    /// # Errors
    /// If the flags make no sense, are not those of a click model with steps, name no column of users or no number of units, or the
    /// folder holds another run.
    pub fn open(
        words: impl IntoIterator<Item = OsString>,
        folder: &Path,
        threads: usize,
        caller: Arc<Caller>,
    ) -> anyhow::Result<Self> {
        let mut words = words.into_iter();
        let command = words.next().unwrap_or_default();
        let data = ["--data", HANDED_OVER].map(OsString::from);
        let words = [OsString::from("organza"), command].into_iter().chain(data).chain(words);
        let Command::Clicks(command) = Arguments::parsed(words.collect())?.command else {
            let problem = "steps by workers are for click models";
            return Err(UsageError::new(problem, "name `clicks` first, and then its flags").into());
        };
        let output = Output::silent(caller);
        let settings = command.checked(&output)?;
        let nobody = ClickData::of_nobody(&settings).map_err(SessionError::from)?;
        let driver = StepDriver::open(settings.clone(), nobody, folder).map_err(of_run)?;
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let (folder, begun) = (folder.to_owned(), Instant::now());
        Ok(Self { driver, settings, folder, output, begun, pool, made: 0 })
    }

    /// The steps that were made, and those that there are.
    pub fn steps(&self) -> (u64, u64) {
        self.driver.steps()
    }

    /// What the worker of `buckets` needs once: settings, and the keys of these buckets. **Private**: for it alone.
    ///
    /// # Errors
    /// If settings cannot be written.
    pub fn job(&self, buckets: Range<u16>) -> anyhow::Result<Vec<u8>> {
        let settings = serde_json::to_vec(&self.settings)?;
        let length = (settings.len() as u64).to_le_bytes();
        Ok([&length[..], &settings, &self.driver.job(buckets).to_bytes()].concat())
    }

    /// The order for the step under way; none if all are made.
    ///
    /// # Errors
    /// If a charge is refused, or a file cannot be written.
    pub fn order(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        self.driver.order().map_err(of_run)
    }

    /// The rows that a worker asks for.
    ///
    /// # Errors
    /// If it asks for another step, or for rows that there are not.
    pub fn rows(&mut self, asks: &[u8]) -> anyhow::Result<Vec<u8>> {
        let Self { driver, pool, .. } = self;
        pool.install(|| driver.rows(asks)).map_err(of_run)
    }

    /// Takes a part of the step under way.
    ///
    /// # Errors
    /// If it is damaged, of another step, or of buckets that are there; nothing has changed then.
    pub fn add(&mut self, part: &[u8]) -> anyhow::Result<()> {
        self.driver.add(part).map(drop).map_err(of_run)
    }

    /// Whether parts are still to come.
    pub fn is_waiting(&self) -> bool {
        !self.driver.missing().is_empty()
    }

    /// Makes the step.
    ///
    /// # Errors
    /// If parts are missing, it was made before of another sum, or a file cannot be written.
    pub fn make(&mut self) -> anyhow::Result<()> {
        let Self { driver, pool, .. } = self;
        pool.install(|| driver.make()).map_err(of_run)?;
        self.made += 1;
        Ok(())
    }

    /// Ends the run: certificate, model, page.
    ///
    /// # Errors
    /// If steps are left, or a file cannot be written.
    pub fn finish(self) -> anyhow::Result<()> {
        let Self { driver, settings, folder, output, begun, pool, made } = self;
        let finished = pool.install(|| driver.finish(true)).map_err(of_run)?;
        let folder = RunFolder::open(&folder)?;
        let trained = Trained { settings, finished, made, elapsed: begun.elapsed() };
        clicks::show(&folder, &trained, &output)?;
        Ok(folder.forget_private()?)
    }
}

/// What computes the parts of the units whose rows it has.
pub struct Worker {
    worker: StepWorker<ClickTask>,
    pool: ThreadPool,
}

impl Worker {
    /// A worker for the units of its job among these rows; all others are left out. Of a unit of its own it has to have all rows.
    ///
    /// # Errors
    /// If the job is none, or the rows cannot be read.
    pub fn open(job: &[u8], rows: Rows, threads: usize) -> anyhow::Result<Self> {
        let (length, rest) = job.split_first_chunk::<8>().context("this is no job of a driver")?;
        let length = usize::try_from(u64::from_le_bytes(*length))?;
        let parts = rest.split_at_checked(length).context("the job is cut short")?;
        let settings: Settings = serde_json::from_slice(parts.0)
            .context("the settings of the job are of another version")?;
        let job = Job::from_bytes(parts.1)?;
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let worker = pool.install(|| -> anyhow::Result<_> {
            let data = rows.clicks(&settings, ALL_ROWS).map_err(SessionError::from)?;
            let task = ClickTask::new(&settings, data).map_err(SessionError::from)?;
            let names: Vec<String> = task.unit_names().into_iter().map(str::to_owned).collect();
            Ok(StepWorker::new(task, names, &job)?)
        })?;
        Ok(Self { worker, pool })
    }

    /// Draws who joins the batch of an order, and answers.
    ///
    /// # Errors
    /// If the order is of another run.
    pub fn order(&mut self, order: &[u8]) -> anyhow::Result<Reply> {
        let Self { worker, pool } = self;
        Ok(pool.install(|| worker.order(order))?)
    }

    /// Takes rows that it asked for, and answers.
    ///
    /// # Errors
    /// If they are of another step than its last order.
    pub fn rows(&mut self, rows: &[u8]) -> anyhow::Result<Reply> {
        let Self { worker, pool } = self;
        Ok(pool.install(|| worker.rows(rows))?)
    }
}

/// The error of a run as that of any command.
fn of_run(error: RemoteError) -> anyhow::Error {
    match error {
        RemoteError::Session(error) => error.into(),
        RemoteError::Settings(_) => {
            UsageError::new(error.to_string(), "see `organza clicks --help`").into()
        }
        error => error.into(),
    }
}
