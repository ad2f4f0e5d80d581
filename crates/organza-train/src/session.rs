//! A run from its first file to its last: begun, or gone on with after it was stopped.

use crate::application::{Application, Failure, Start};
use crate::books::{Books, FirstFiles, Releases, SETTINGS, STATE};
use crate::certificate::Certificate;
use crate::check::SettingError;
use crate::folder::{FolderError, RunFolder};
use crate::metrics::{Metrics, Point};
use crate::phases::{self, Calibrated};
use crate::plan::plan;
use crate::run::{Observer, Outcome, RunError, RunPlan, losses_of, run};
use crate::schedule::CalibrationError;
use crate::settings::{EngineSettings, RunSettings};
use crate::shard::{Shards, is_of_shards};
use crate::task::Task;
use organza_ledger::{
    AccountError, BudgetError, DataSetError, Header, LedgerError, PublicFact, TornLine,
};
use organza_mechanism::random::{Origin, RandomError, StreamKey};
use organza_mechanism::{PlanError, RandomSource};
use organza_progress::{Size, Stage};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Instant;
use thiserror::Error;

pub(crate) const CERTIFICATE: &str = "certificate.json";
/// Goes up whenever the same key, data and settings would train on other batches, with other noise or other rounding.
const STATE_VERSION: u64 = 8;

/// A run that is under way.
pub struct Session<A: Application> {
    pub(crate) settings: A::Settings,
    pub(crate) application: A,
    pub(crate) phases: Vec<Calibrated>,
    /// None if there are no steps.
    pub(crate) plan: Option<RunPlan>,
    pub(crate) books: Books,
}

/// What a finished run has to show.
#[derive(Debug)]
pub struct Finished<M> {
    /// What was trained.
    pub model: M,
    /// What is promised, and what was spent on what.
    pub certificate: Certificate,
    /// The learning curve. *Not private.*
    pub curve: Vec<Point>,
    /// What is to be said about the data, such as that there was nothing to train on. *Not private.*
    pub remarks: Vec<String>,
    /// The steps of the run.
    pub steps: u64,
    /// Seconds spent in steps, by this process.
    pub seconds: f64,
}

/// How a session ended.
#[derive(Debug)]
pub enum Ended<M> {
    /// All is done and written.
    Finished(Box<Finished<M>>),
    /// It was interrupted and can go on.
    Interrupted {
        /// The steps that were made.
        steps: u64,
    },
}

/// Why a session cannot begin or go on.
#[derive(Debug, Error)]
pub enum SessionError {
    /// A setting.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The folder or a file.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Randomness.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The plan.
    #[error(transparent)]
    Calibration(#[from] CalibrationError),
    /// A setting of the plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The ledger of the data set.
    #[error(transparent)]
    DataSet(#[from] DataSetError),
    /// The budget.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The account.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// Training.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The application: its data, its settings, its files.
    #[error(transparent)]
    Application(#[from] Failure),
    /// What is in the folder is not what it was.
    #[error("{0}")]
    Changed(String),
}

/// What has to stay the same from one process of a run to the next. Private.
#[derive(Serialize, Deserialize)]
struct State<S> {
    version: u64,
    key: [u8; 32],
    data: [u8; 32],
    settings: S,
}

impl<A: Application> Session<A> {
    /// Begins a run in an empty folder, on the data that the settings name.
    ///
    /// # Errors
    /// If data or settings cannot be used, in which case nothing is written, or the folder cannot. What is released
    /// before there is a plan, such as a private vocabulary or the number of units, is paid for before it is seen: if it
    /// cannot be used, the charge stays.
    pub fn begin(settings: A::Settings, path: &Path) -> Result<Self, SessionError> {
        Self::begin_with(settings, path, A::read)
    }

    /// As [`Session::begin`], on whatever `read` gives.
    ///
    /// # Errors
    /// As [`Session::begin`].
    pub fn begin_with(
        settings: A::Settings,
        path: &Path,
        read: impl FnOnce(&A::Settings) -> Result<A::Data, Failure>,
    ) -> Result<Self, SessionError> {
        settings.check()?;
        RunFolder::check_free(path)?;
        Self::begun(settings, Some(path), true, read)
    }

    /// As [`Session::begin_with`], for a run that will not be gone on with if it is stopped: neither the key of its noise
    /// nor a hash of the data is written.
    ///
    /// # Errors
    /// As [`Session::begin`].
    pub fn once(
        settings: A::Settings,
        path: &Path,
        read: impl FnOnce(&A::Settings) -> Result<A::Data, Failure>,
    ) -> Result<Self, SessionError> {
        settings.check()?;
        RunFolder::check_free(path)?;
        Self::begun(settings, Some(path), false, read)
    }

    /// Whether there is a run in `path` that was begun with these settings and is not finished.
    pub fn is_unfinished(settings: &A::Settings, path: &Path) -> bool {
        let Ok(folder) = RunFolder::open(path) else { return false };
        let read = |file: PathBuf| folder.read(&file).ok().flatten();
        let begun = read(folder.file(SETTINGS));
        let begun = begun.and_then(|bytes| serde_json::from_slice::<A::Settings>(&bytes).ok());
        begun.as_ref() == Some(settings) && read(folder.private(STATE)).is_some()
    }

    /// Begins a run on `data` that writes nothing: its charges live as long as it does, and go onto the certificate. It
    /// cannot be resumed.
    ///
    /// # Errors
    /// As [`Session::begin`].
    pub fn in_memory(settings: A::Settings, data: A::Data) -> Result<Self, SessionError> {
        settings.check()?;
        Self::begun(settings, None, false, |_| Ok(data))
    }

    /// Trains on `data` to the end, in memory.
    ///
    /// # Errors
    /// As [`Session::begin`] and [`Session::train`].
    pub fn fit(settings: A::Settings, data: A::Data) -> Result<Finished<A::Model>, SessionError> {
        match Self::in_memory(settings, data)?.train(false, &mut ())? {
            Ended::Finished(finished) => Ok(*finished),
            Ended::Interrupted { steps } => {
                Err(SessionError::Changed(format!("interrupted after {steps} steps")))
            }
        }
    }

    fn begun(
        settings: A::Settings,
        path: Option<&Path>,
        goes_on: bool,
        read: impl FnOnce(&A::Settings) -> Result<A::Data, Failure>,
    ) -> Result<Self, SessionError> {
        let engine = settings.engine();
        check_share(&engine)?;
        let data = read(&settings)?;
        let source = new_source(&engine)?;
        let books = Self::new_books(&settings, engine, &data, source, path, goes_on)?;
        Self::prepare(settings, data, books, None)
    }

    /// The books of a new run.
    pub(crate) fn new_books(
        settings: &A::Settings,
        engine: EngineSettings,
        data: &A::Data,
        source: RandomSource,
        path: Option<&Path>,
        goes_on: bool,
    ) -> Result<Books, SessionError> {
        let state =
            |data| State { version: STATE_VERSION, key: *source.key().expose(), data, settings };
        // What cannot go on needs no hash of its data.
        let state = goes_on.then(|| hashed::<A>(data)).transpose()?.map(state);
        let files = FirstFiles {
            path: path.map(Path::to_owned),
            header: header(&engine, A::public_facts(settings, data)?),
            state: state.as_ref().map(json).transpose()?,
            settings: json(settings)?,
        };
        Books::closed(engine, source, files)
    }

    /// Goes on with the run in a folder.
    ///
    /// # Privacy
    /// Releases and steps since the last checkpoint are drawn again with the key of the private part, so with the same
    /// noise. They are copies of what was paid for, because the data is compared with the fingerprint beside the
    /// key, the settings with those beside it, and the checkpoint lies there too; anything else is refused.
    ///
    /// # Errors
    /// If there is no run, it is finished, or data or settings have changed.
    pub fn resume(path: &Path) -> Result<Self, SessionError> {
        Self::resume_with(path, None, A::read)
    }

    /// As [`Session::resume`], on whatever `read` gives, and where the ledger of the data set may have moved to `moved`.
    ///
    /// # Errors
    /// As [`Session::resume`], and if the ledger has moved, but the run began without one.
    pub fn resume_with(
        path: &Path,
        moved: Option<&Path>,
        read: impl FnOnce(&A::Settings) -> Result<A::Data, Failure>,
    ) -> Result<Self, SessionError> {
        Self::reopened(path, moved, None, read)
    }

    pub(crate) fn reopened(
        path: &Path,
        moved: Option<&Path>,
        shards: Option<&Shards>,
        read: impl FnOnce(&A::Settings) -> Result<A::Data, Failure>,
    ) -> Result<Self, SessionError> {
        let folder = RunFolder::open(path)?;
        let changed = |what: &str| SessionError::Changed(format!("{}: {what}", path.display()));
        let bytes = folder.read(&folder.file(SETTINGS))?.unwrap_or_default();
        let mut settings: A::Settings = serde_json::from_slice(&bytes)
            .map_err(|error| changed(&format!("settings.json cannot be read ({error})")))?;
        match (settings.ledger(), moved) {
            (Some(ledger), Some(moved)) => moved.clone_into(&mut ledger.path),
            (None, Some(_)) => {
                return Err(changed(
                    "the run began without --ledger, and may have released something that no data set ledger \
                     knows: go on without --ledger",
                ));
            }
            (_, None) => {}
        }
        let Some(state) = folder.read(&folder.private(STATE))? else {
            if !folder.file(CERTIFICATE).exists() {
                return Err(changed("its private part is gone: nothing can go on from here"));
            }
            // It may have been killed while it cleaned up.
            if folder.private("").exists() {
                folder.forget_private()?;
            }
            return Err(changed("the run is finished: there is nothing left to do"));
        };
        if shards.is_none() && is_of_shards(&folder) {
            return Err(changed("it is made of shards: go on with `organza shard merge`"));
        }
        let state: State<A::Settings> = serde_json::from_slice(&state)
            .map_err(|error| changed(&format!("private/state.json cannot be read ({error})")))?;
        if state.version != STATE_VERSION {
            // Other versions split or draw in other ways: the same noise on other values hides neither.
            return Err(changed("it was begun by another version of organza: begin a new run"));
        }
        let mut begun_with = state.settings;
        begun_with.moved(&settings);
        // So may the ledger of the data set: the run has its place there, or takes it now.
        if let (Some(begun), Some(ledger)) = (begun_with.ledger(), settings.ledger()) {
            begun.path.clone_from(&ledger.path);
        }
        if settings != begun_with {
            return Err(changed(
                "settings.json is not what it was when the run began. Bring the old settings back, \
                 or begin a new run",
            ));
        }
        let data = read(&settings)?;
        if hashed::<A>(&data)? != state.data {
            return Err(changed(
                "the data is not what it was when the run began: its noise would not hide the \
                 difference. Bring the old data back, or begin a new run",
            ));
        }
        let engine = settings.engine();
        let origin = engine.seed.map_or(Origin::OperatingSystem, Origin::Seed);
        let source = RandomSource::resume(StreamKey::from_bytes(state.key), origin);
        let source = match shards {
            Some(shards) => source.with_exchange(shards.exchange.clone()),
            None => source,
        };
        let header = header(&engine, A::public_facts(&settings, &data)?);
        let books = Books::reopened(engine, source, folder, &header)?;
        Self::prepare(settings, data, books, shards)
    }

    /// Releases what comes before the plan, and plans.
    pub(crate) fn prepare(
        settings: A::Settings,
        data: A::Data,
        mut books: Books,
        shards: Option<&Shards>,
    ) -> Result<Self, SessionError> {
        let engine = settings.engine();
        let phases = match engine.private {
            true => {
                let _stage = Stage::begin("calibrating", Size::Unknown);
                let found = shards.and_then(Shards::noises).unwrap_or_default();
                phases::calibrate(&engine.privacy, A::phases(&settings, &data)?, &found)?
            }
            false => Vec::new(),
        };
        if let Some(shards) = shards {
            // A run of shards stops before its first charge, and goes on from what is written here.
            books.open()?;
            shards.learn::<A>(&settings, books.source(), &phases)?;
        }
        let mut releases = Releases::new(&mut books, &phases);
        let application = A::prepare(&settings, data, &mut releases)?;
        let plan = plan(&settings, &application, &mut releases)?;
        if let Some(folder) = books.open()? {
            application.first_files(folder)?;
        }
        Ok(Self { settings, application, phases, plan, books })
    }

    /// The settings of the run.
    pub fn settings(&self) -> &A::Settings {
        &self.settings
    }

    /// Lines that were torn when a run was killed, and were cut off: of the ledger of the run, and of that of the
    /// data set.
    pub fn torn(&self) -> impl Iterator<Item = &TornLine> {
        self.books.torn()
    }

    /// Trains to the end, or until `observer` says stop, and writes the results.
    ///
    /// # Errors
    /// If a charge is refused or a file cannot be written; the run can go on later.
    pub fn train(
        mut self,
        keep_private: bool,
        observer: &mut dyn Observer,
    ) -> Result<Ended<A::Model>, SessionError> {
        let begun = Instant::now();
        let mut releases = Releases::new(&mut self.books, &self.phases);
        let mut start = self.application.start(&self.settings, &mut releases)?;
        let released = std::mem::take(&mut start.released);
        let task = self.application.task();
        let source = self.books.source().clone();
        let (folder, purse) = self.books.purse()?;
        let outcome = match &self.plan {
            Some(plan) => run(task, plan, folder, &source, start.parameters, purse, observer)?,
            None => without_steps(task, start, begun, folder, observer)?,
        };
        match outcome {
            Outcome::Interrupted { steps } => Ok(Ended::Interrupted { steps }),
            Outcome::Done { parameters, curve, seconds } => {
                let finished = self.finish(parameters, released, curve, seconds, keep_private)?;
                Ok(Ended::Finished(Box::new(finished)))
            }
        }
    }

    pub(crate) fn finish(
        mut self,
        parameters: Vec<f32>,
        released: Vec<PublicFact>,
        curve: Vec<Point>,
        seconds: f64,
        keep_private: bool,
    ) -> Result<Finished<A::Model>, SessionError> {
        let steps = self.plan.as_ref().map_or(0, |plan| plan.steps);
        let engine = self.settings.engine();
        let (paid, plan) = (self.books.paid(), self.plan.as_ref());
        let mut certificate = Certificate::new(&engine, &self.phases, paid, plan)?;
        certificate.released = released;
        certificate.not_private = A::not_private().map(str::to_owned).collect();
        certificate.dataset = self.books.reserved().map(|reserved| reserved.total.clone());
        self.application.certify(&self.settings, &mut certificate);
        let folder = self.books.open()?;
        if engine.private && folder.is_some() {
            let hidden = "nobody but the owner sees the private part of the run folder";
            certificate.conditions.push(hidden.to_owned());
        }
        let remarks = self.application.remarks();
        let model = self.application.finish(parameters, &certificate, folder)?;
        if let Some(folder) = folder {
            folder.write(&folder.file(CERTIFICATE), json(&certificate)?.as_bytes())?;
            if !keep_private {
                folder.forget_private()?;
            }
        }
        Ok(Finished { model, certificate, curve, remarks, steps, seconds })
    }
}

/// The first parameters are the result. The curve has a point for what they were before, if they were something, and
/// one for what they are.
fn without_steps<T: Task + ?Sized>(
    task: &T,
    start: Start,
    begun: Instant,
    folder: Option<&RunFolder>,
    observer: &mut dyn Observer,
) -> Result<Outcome, SessionError> {
    let seconds = begun.elapsed().as_secs_f64();
    let mut metrics = Metrics::open(folder, 0)?;
    if metrics.is_empty()
        && let Some(before) = &start.before
    {
        metrics.add(0, losses_of(task, before)?, observer)?;
    }
    metrics.add(start.passes, losses_of(task, &start.parameters)?, observer)?;
    let curve = metrics.into_points();
    Ok(Outcome::Done { parameters: start.parameters, curve, seconds })
}

pub(crate) fn check_share(engine: &EngineSettings) -> Result<(), SessionError> {
    match (&engine.ledger, engine.share()) {
        (Some(ledger), Some(share)) => Ok(ledger.check(&[share])?),
        _ => Ok(()),
    }
}

pub(crate) fn new_source(engine: &EngineSettings) -> Result<RandomSource, SessionError> {
    Ok(match engine.seed {
        Some(seed) => RandomSource::from_seed(seed),
        None => RandomSource::from_operating_system()?,
    })
}

fn hashed<A: Application>(data: &A::Data) -> Result<[u8; 32], Failure> {
    let _stage = Stage::begin("hashing the data", Size::Unknown);
    A::fingerprint(data)
}

fn header(settings: &EngineSettings, facts: Vec<PublicFact>) -> Header {
    let privacy = &settings.privacy;
    let header = Header::new(privacy.neighbouring, privacy.unit, privacy.delta);
    let header =
        facts.iter().fold(header, |header, fact| header.declare_public(&fact.name, &fact.value));
    match privacy.units {
        Some(units) => header.declare_public("units", units.to_string()),
        None => header,
    }
}

fn json(value: &impl Serialize) -> Result<String, SessionError> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| SessionError::Changed(format!("cannot be written as JSON: {error}")))
}
