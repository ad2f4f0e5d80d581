//! Click models whose steps workers compute, for programs: bytes in and bytes out, so that actors of any engine can carry it.
//!
//! A [`Driver`] is where the folder of the run is, and needs no data; a [`Worker`] is where data is; a [`Holder`] keeps rows of the tables: see
//! [`organza_train::remote`], which says who sees what.

use crate::arguments::Arguments;
use crate::caller::Caller;
use crate::command::Command;
use crate::output::Output;
use crate::running::Trained;
use crate::shard::Rows;
use crate::summary;
use crate::usage::UsageError;
use anyhow::Context;
use organza_clicks::{ClickData, ClickRun, ClickTask, Settings};
use organza_data::Shard;
use organza_data::table::HANDED_OVER;
use organza_train::remote::{
    HolderJob, HolderState, Job, RemoteError, Reply, RowHolder, StepLead, StepWorker,
};
use organza_train::{RunFolder, SessionError};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Takes no part of the rows for another's: a worker leaves out units of other buckets by itself.
const ALL_ROWS: Shard = Shard { number: 0, of: 1, strict: false };

/// What charges, selects and saves in a run whose gradients workers compute, and whose rows holders keep.
pub struct Driver {
    lead: StepLead<ClickRun>,
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
        let lead = StepLead::open(settings.clone(), nobody, folder).map_err(of_run)?;
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let (folder, begun) = (folder.to_owned(), Instant::now());
        Ok(Self { lead, settings, folder, output, begun, pool, made: 0 })
    }

    /// The steps that were made, and those that there are.
    pub fn steps(&self) -> (u64, u64) {
        self.lead.steps()
    }

    /// How many ranges the rows of the tables have: more holders than that have nothing to hold.
    pub fn ranges(&self) -> u16 {
        self.lead.cut().count()
    }

    /// What the worker of `buckets` needs once: settings, and the keys of these buckets. **Private**: for it alone.
    ///
    /// # Errors
    /// If settings cannot be written.
    pub fn job(&self, buckets: Range<u16>) -> anyhow::Result<Vec<u8>> {
        let settings = serde_json::to_vec(&self.settings)?;
        let length = (settings.len() as u64).to_le_bytes();
        Ok([&length[..], &settings, &self.lead.job(buckets).to_bytes()].concat())
    }

    /// What holder `number` of `of` needs once, beside its rows: settings, and their keys. **Private**: for it alone.
    pub fn holder_job(&self, number: usize, of: usize) -> Vec<u8> {
        self.lead.holder_job(self.lead.cut().of_place(number, of)).to_bytes()
    }

    /// The rows of holder `number` of `of`, as they were at the last checkpoint. *Not private.*
    ///
    /// # Errors
    /// If what was saved cannot be read.
    pub fn holder_state(&self, number: usize, of: usize) -> anyhow::Result<Vec<u8>> {
        let ranges = self.lead.cut().of_place(number, of);
        Ok(self.lead.holder_state(ranges).map_err(of_run)?.to_bytes())
    }

    /// The order for the step under way; none if all are made.
    ///
    /// # Errors
    /// If a charge is refused, or a file cannot be written.
    pub fn order(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        self.lead.order().map_err(of_run)
    }

    /// What holder `number` of `of` is told before anything else of this step.
    ///
    /// # Errors
    /// If no step was ordered.
    pub fn opening(&self, number: usize, of: usize) -> anyhow::Result<Vec<u8>> {
        self.lead.opening(self.lead.cut().of_place(number, of)).map_err(of_run)
    }

    /// What holders are asked for the rows that a worker asks for.
    ///
    /// # Errors
    /// If it asks for another step, or for rows that there are not.
    pub fn rows(&mut self, asks: &[u8], of: usize) -> anyhow::Result<Vec<(usize, Vec<u8>)>> {
        self.lead.rows(asks, of).map_err(of_run)
    }

    /// Takes what a holder answered to a part: nothing, or what its rows offer.
    ///
    /// # Errors
    /// If that is damaged, of another step, or there already.
    pub fn offers(&mut self, offers: &[u8]) -> anyhow::Result<()> {
        self.lead.offers(offers).map_err(of_run)
    }

    /// Decides what the step updates, and gives what each holder is told.
    ///
    /// # Errors
    /// If offers are missing, it was made before of another sum, or a file cannot be written.
    pub fn decide(&mut self, of: usize) -> anyhow::Result<Vec<Vec<u8>>> {
        let Self { lead, pool, .. } = self;
        let decisions = pool.install(|| lead.decide(of)).map_err(of_run)?;
        self.made += 1;
        Ok(decisions)
    }

    /// Whether holders are to hand over their states before the next step.
    pub fn saves(&self) -> bool {
        self.lead.saves()
    }

    /// Keeps the state of a holder.
    ///
    /// # Errors
    /// If it is of another step, or a file cannot be written.
    pub fn save(&mut self, state: &[u8]) -> anyhow::Result<()> {
        self.lead.save(state).map_err(of_run)
    }

    /// Ends the run, with the parameters of all holders: certificate, model, page.
    ///
    /// # Errors
    /// If steps are left, or a file cannot be written.
    pub fn finish(self, parameters: &[Vec<u8>]) -> anyhow::Result<()> {
        let Self { lead, settings, folder, output, begun, pool, made } = self;
        let finished = pool.install(|| lead.finish(parameters, true)).map_err(of_run)?;
        let folder = RunFolder::open(&folder)?;
        let trained = Trained::<ClickRun> { settings, finished, made, elapsed: begun.elapsed() };
        summary::show(&folder, &trained, &output)?;
        Ok(folder.forget_private()?)
    }
}

/// What keeps the rows of its job.
pub struct Holder {
    holder: RowHolder,
    pool: ThreadPool,
}

impl Holder {
    /// What a holder is told to hand over its state.
    pub const SAVE: [u8; 1] = StepLead::<ClickRun>::SAVE;
    /// What a holder is told to hand over its parameters, after the last step.
    pub const END: [u8; 1] = StepLead::<ClickRun>::END;

    /// A holder of the rows `state`, for a job.
    ///
    /// # Errors
    /// If they do not belong together.
    pub fn open(job: &[u8], state: &[u8], threads: usize) -> anyhow::Result<Self> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let (job, state) = (HolderJob::from_bytes(job)?, HolderState::from_bytes(state)?);
        let holder = pool.install(|| RowHolder::new(job, &state))?;
        Ok(Self { holder, pool })
    }

    /// Answers a message; with nothing where there is nothing to answer.
    ///
    /// # Errors
    /// If it is damaged, late, or not of the driver of this run.
    pub fn answer(&mut self, message: &[u8]) -> anyhow::Result<Vec<u8>> {
        let Self { holder, pool } = self;
        Ok(pool.install(|| holder.answer(message))?)
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

    /// Takes rows that it asked for, of all holders that have some, and answers.
    ///
    /// # Errors
    /// If they are of another step than its last order.
    pub fn rows(&mut self, places: &[Vec<u8>]) -> anyhow::Result<Reply> {
        let Self { worker, pool } = self;
        Ok(pool.install(|| worker.rows_of(places))?)
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
