//! The files of a run, read back.

use organza_ledger::{LedgerError, Replay};
use organza_train::metrics::{self, Point};
use organza_train::settings::RunSettings;
use organza_train::{Certificate, Failure, FolderError, RunFolder};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::Path;
use thiserror::Error;

/// The files of a finished run that its page is made of.
#[derive(Clone, Debug)]
pub struct RunFiles<S> {
    /// What was asked for.
    pub settings: S,
    /// What is promised.
    pub certificate: Certificate,
    /// What was charged; none without privacy.
    pub ledger: Option<Replay>,
    /// The learning curve; empty where `metrics.jsonl` is gone. *Not private.*
    pub points: Vec<Point>,
    /// What was measured at the end. *Not private.*
    pub measured: Measured,
    /// `summary.json`, with what the application measured; nothing where it is gone. *Not private.*
    pub summary: Value,
}

/// What `summary.json` says beside what other files say. *Not private.* A value that could not be
/// measured, or a file that is gone, is no value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub struct Measured {
    /// How long the process of the run took.
    pub seconds: Option<f64>,
    /// Milliseconds a step.
    pub ms_step: Option<f64>,
    /// The most memory, in MB.
    pub peak_rss_mb: Option<f64>,
}

/// Why there is no page of a run.
#[derive(Debug, Error)]
pub enum RunFilesError {
    /// There is no run.
    #[error(
        "{0} holds no run, since it has no settings.json: train one with `organza train --out {0}`"
    )]
    NoRun(String),
    /// It is not finished.
    #[error(
        "the run in {0} is not finished, since it has no certificate.json: resume it with \
         `organza resume {0}`"
    )]
    Unfinished(String),
    /// Something that belongs to every finished run is gone.
    #[error("{folder} has no {file}, which every finished run has: {meaning}")]
    Missing {
        /// The folder of the run.
        folder: String,
        /// What is missing.
        file: &'static str,
        /// What follows.
        meaning: &'static str,
    },
    /// A file is not what it should be.
    #[error("{file} in {folder} cannot be read: {problem}")]
    Bad {
        /// The folder of the run.
        folder: String,
        /// Which file.
        file: &'static str,
        /// Where, and what is wrong.
        problem: String,
    },
    /// The disk refused.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The ledger is damaged.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A file of the model.
    #[error(transparent)]
    Model(#[from] Failure),
}

impl<S: RunSettings> RunFiles<S> {
    /// Reads the files of the finished run in `path`.
    ///
    /// # Errors
    /// If there is no run, it is not finished, or a file is missing or damaged. `metrics.jsonl` and
    /// `summary.json`, which are not private, may be gone.
    pub fn read(path: &Path) -> Result<Self, RunFilesError> {
        let shown = || path.display().to_string();
        let folder = RunFolder::open(path).map_err(|_| RunFilesError::NoRun(shown()))?;
        let missing = |file, meaning| RunFilesError::Missing { folder: shown(), file, meaning };
        let settings: S =
            json(&folder, "settings.json")?.ok_or_else(|| RunFilesError::NoRun(shown()))?;
        let certificate =
            json(&folder, "certificate.json")?.ok_or_else(|| RunFilesError::Unfinished(shown()))?;
        let ledger = match settings.engine().private {
            false => None,
            true => {
                let path = folder.file("ledger.jsonl");
                if !path.exists() {
                    let meaning = "without it nothing says what the budget was spent on";
                    return Err(missing("ledger.jsonl", meaning));
                }
                Some(Replay::read(&path)?)
            }
        };
        let summary: Value = json(&folder, "summary.json")?.unwrap_or_default();
        Ok(Self {
            settings,
            certificate,
            ledger,
            points: metrics::read(&folder)?,
            measured: serde_json::from_value(summary.clone()).unwrap_or_default(),
            summary,
        })
    }
}

/// A file of JSON, if it is there.
fn json<T: DeserializeOwned>(
    folder: &RunFolder,
    file: &'static str,
) -> Result<Option<T>, RunFilesError> {
    let Some(bytes) = folder.read(&folder.file(file))? else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| RunFilesError::Bad {
        folder: folder.path().display().to_string(),
        file,
        problem: error.to_string(),
    })
}
