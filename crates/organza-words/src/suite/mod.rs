//! Many runs in one folder, each trained once: what was finished before is read again.

mod grids;
mod total;

pub use total::{Price, Total, TotalError};

use crate::settings::Settings;
use crate::{WordModel, Words};
use grids::Grid;
use organza_ledger::{DataSetError, DataSetLedger, Share, SharedTotal};
use organza_train::metrics::Point;
use organza_train::settings::RunSettings;
use organza_train::{
    Application, Ended, Finished, FolderError, Losses, Observer, RunFolder, Session, SessionError,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use thiserror::Error;

/// The file that says that a run is finished, and what it came to. *Not private.*
pub const OUTCOME: &str = "outcome.json";
/// What stands in that file before anything else.
const NOT_PRIVATE: &str = "not private: curve, frequency_loss and seconds come from the data without noise and without \
                           a charge; keep this file with the data, do not publish it with the model";

/// Settings of runs that train word vectors, and the application that they are of.
pub trait WordRun: RunSettings {
    /// The application.
    type Application: Application<Settings = Self, Model = WordModel>;
}

impl WordRun for Settings {
    type Application = Words;
}

/// A run to make: a folder of that name.
#[derive(Clone, Debug)]
pub struct NamedSettings<S = Settings> {
    /// The name of its folder.
    pub name: String,
    /// What is asked for.
    pub settings: S,
}

/// What a run came to. Losses and seconds are *not private*.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "S: RunSettings")]
pub struct Outcome<S = Settings> {
    #[serde(default)]
    note: String,
    /// What was asked for.
    pub settings: S,
    /// Whether anything is promised.
    pub private: bool,
    /// What was spent.
    pub epsilon: Option<f64>,
    /// At this delta.
    pub delta: Option<f64>,
    /// The steps that were made.
    pub steps: u64,
    /// How long they took. *Not private.*
    pub seconds: f64,
    /// The test loss of word frequencies alone. *Not private.*
    #[serde(deserialize_with = "organza_train::number_or_null")]
    pub frequency_loss: f64,
    /// The learning curve. *Not private.*
    pub curve: Vec<Point>,
    /// The fields that come from the data without a charge.
    not_private: Vec<String>,
}

impl<S> Outcome<S> {
    fn new(settings: S, finished: Finished<WordModel>) -> Self {
        let Finished { model, certificate, curve, steps, seconds, .. } = finished;
        let (private, epsilon, delta) =
            (certificate.private, certificate.epsilon, certificate.delta);
        let not_private = ["seconds", "frequency_loss", "curve"].map(str::to_owned).to_vec();
        Self {
            note: NOT_PRIVATE.to_owned(),
            settings,
            private,
            epsilon,
            delta,
            steps,
            seconds,
            frequency_loss: model.frequency_loss,
            curve,
            not_private,
        }
    }

    /// The losses of the result. *Not private.*
    pub fn losses(&self) -> Losses {
        let nothing = Losses { train: f64::NAN, validation: f64::NAN, test: f64::NAN };
        self.curve.last().map_or(nothing, |point| point.losses)
    }
}

/// What is taken of the budget of the data set, if runs are on its ledger.
///
/// # Errors
/// If its ledger cannot be read.
pub fn shared_total(settings: &Settings) -> Result<Option<SharedTotal>, DataSetError> {
    let Some(ledger) = &settings.ledger else { return Ok(None) };
    let last = DataSetLedger::named(ledger)?.shares()?.pop();
    Ok(last.map(|(_, total)| total))
}

/// Who watches the runs of a suite, from several threads.
pub trait Watch: Sync {
    /// So many runs are to be made or read.
    fn begin(&self, _runs: usize) {}

    /// Who watches the run of this name.
    fn observer(&self, name: &str) -> Box<dyn Observer + '_>;

    /// A run has ended.
    fn ended(&self) {}

    /// No run goes on.
    fn end(&self) {}

    /// Whether all runs shall save and stop.
    fn interrupted(&self) -> bool;
}

/// Nobody.
impl Watch for () {
    fn observer(&self, _: &str) -> Box<dyn Observer + '_> {
        Box::new(())
    }

    fn interrupted(&self) -> bool {
        false
    }
}

/// Why a suite has not come to its end; what was done stays, and can go on.
#[derive(Debug, Error)]
pub enum SuiteError {
    /// A file cannot be read or written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The new runs do not fit the budget of the data set together.
    #[error("{}", counted(*runs, "new run"))]
    Shares {
        /// How many there are.
        runs: usize,
        /// Why they do not fit.
        source: DataSetError,
    },
    /// There are no threads.
    #[error("the threads cannot be started: {0}")]
    Threads(String),
    /// The folder of a run is taken.
    #[error("{0} holds a run with other settings: name another --out folder")]
    OtherSettings(String),
    /// The outcome of a run is none.
    #[error("{path} cannot be read: {source}")]
    Outcome {
        /// The file.
        path: String,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A run has failed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Somebody wanted it to stop.
    #[error("stopped, all that was done is saved: the same command goes on in {0}")]
    Stopped(String),
    /// The run of this name has not come to its end.
    #[error("{name}")]
    Run {
        /// The run.
        name: String,
        /// Why.
        source: Box<SuiteError>,
    },
}

/// A number and what it counts.
pub fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Where what a run came to is put.
type Place<S> = Mutex<Option<Result<Outcome<S>, SuiteError>>>;

/// A folder of runs.
pub struct Suite {
    folder: PathBuf,
    watch: Box<dyn Watch>,
    threads: usize,
}

impl Suite {
    /// Runs in `folder`, which may hold some of them already, on so many threads.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn new(folder: &Path, threads: usize, watch: Box<dyn Watch>) -> Result<Self, FolderError> {
        std::fs::create_dir_all(folder).map_err(FolderError::file("create the folder", folder))?;
        Ok(Self { folder: folder.to_owned(), watch, threads })
    }

    /// The folder of a run.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Makes the runs that are not finished yet, as many at a time as there are threads, and gives
    /// what all came to, in their order.
    ///
    /// Where they are on the ledger of a data set, all that have not begun yet must fit together: otherwise none
    /// begins.
    ///
    /// # Errors
    /// If one of them fails, or is interrupted.
    pub fn run<S: WordRun + Send + Sync>(
        &self,
        runs: &[NamedSettings<S>],
    ) -> Result<Vec<Outcome<S>>, SuiteError> {
        let is_new = |run: &&NamedSettings<S>| !self.path(&run.name).join("settings.json").exists();
        let shares: Vec<Share> =
            runs.iter().filter(is_new).filter_map(|run| run.settings.engine().share()).collect();
        if let Some(ledger) = runs.first().and_then(|run| run.settings.engine().ledger) {
            let runs = shares.len();
            ledger.check(&shares).map_err(|source| SuiteError::Shares { runs, source })?;
        }
        Grid::write(&self.folder, runs)?;
        self.watch.begin(runs.len());
        let workers = self.threads.clamp(1, runs.len().max(1));
        let next = Mutex::new(0..runs.len());
        let outcomes: Vec<Place<S>> = runs.iter().map(|_| Mutex::new(None)).collect();
        let take = || next.lock().ok().and_then(|mut numbers| numbers.next());
        std::thread::scope(|scope| -> Result<(), SuiteError> {
            for _ in 0..workers {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads((self.threads / workers).max(1))
                    .build()
                    .map_err(|error| SuiteError::Threads(error.to_string()))?;
                let outcomes = &outcomes;
                scope.spawn(move || {
                    while let Some(number) = take().filter(|_| !self.watch.interrupted()) {
                        let outcome = pool.install(|| self.one(&runs[number]));
                        self.watch.ended();
                        if let Ok(mut place) = outcomes[number].lock() {
                            *place = Some(outcome);
                        }
                    }
                });
            }
            Ok(())
        })?;
        self.watch.end();
        let outcomes = outcomes.into_iter().zip(runs).map(|(place, run)| {
            let outcome = place.into_inner().ok().flatten();
            let failed =
                |source| SuiteError::Run { name: run.name.clone(), source: Box::new(source) };
            outcome.unwrap_or_else(|| Err(self.stopped())).map_err(failed)
        });
        outcomes.collect()
    }

    fn stopped(&self) -> SuiteError {
        SuiteError::Stopped(self.folder.display().to_string())
    }

    /// Reads, goes on with, or begins a run.
    fn one<S: WordRun>(&self, run: &NamedSettings<S>) -> Result<Outcome<S>, SuiteError> {
        let path = self.path(&run.name);
        let fits = |settings: &S| match *settings == run.settings {
            true => Ok(()),
            false => Err(SuiteError::OtherSettings(path.display().to_string())),
        };
        let file = path.join(OUTCOME);
        let unreadable = |source| SuiteError::Outcome { path: file.display().to_string(), source };
        if let Ok(bytes) = std::fs::read(&file) {
            let outcome: Outcome<S> = serde_json::from_slice(&bytes).map_err(unreadable)?;
            fits(&outcome.settings)?;
            return Ok(outcome);
        }
        let session = match path.join("settings.json").exists() {
            true => Session::<S::Application>::resume(&path)?,
            false => Session::begin(run.settings.clone(), &path)?,
        };
        fits(session.settings())?;
        // Kept until the outcome is there, so that a run killed just now can go on.
        let ended = session.train(true, &mut *self.watch.observer(&run.name))?;
        let Ended::Finished(finished) = ended else { return Err(self.stopped()) };
        let outcome = Outcome::new(run.settings.clone(), *finished);
        let folder = RunFolder::open(&path)?;
        folder.write(&file, &serde_json::to_vec(&outcome).map_err(unreadable)?)?;
        folder.forget_private()?;
        Ok(outcome)
    }
}
