//! The experiments of the paper's section 5, beside what it prints.

mod claims;
mod compared;
mod hyper_parameters;
mod nearest;
mod page;
mod plan;
mod printed;
mod reproduction;
mod tight;

pub use claims::Claim;
pub use compared::{ComparedRun, Others};
pub use nearest::{Confirmed, Ended, Nearest, Tried};
pub use page::page;
pub use plan::{Base, Scale};
pub use printed::Distance;
pub use reproduction::{Canary, Panel, Reproduction, Tight};

use organza_audit::{Among, AuditError, AuditOptions, audit};
use organza_ledger::AccountError;
use organza_train::{FolderError, RunFolder};
use organza_words::suite::{Suite, SuiteError};
use plan::{COLUMNS, PANELS, REPEATS};
use thiserror::Error;

/// Why an experiment has not come to its end; the same command goes on.
#[derive(Debug, Error)]
pub enum ReproduceError {
    /// A run.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// A file of a run.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The audit of a run.
    #[error("{run}")]
    Audit {
        /// The run.
        run: String,
        /// Why there is none.
        source: AuditError,
    },
    /// The price of steps.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The certificate of a run.
    #[error("{path} cannot be read: {source}")]
    Certificate {
        /// The file.
        path: String,
        /// What is wrong.
        source: serde_json::Error,
    },
}

/// The six panels of Figure 1.
///
/// # Errors
/// If a run fails.
pub fn figure_1(base: &Base, suite: &Suite) -> Result<Vec<Panel>, ReproduceError> {
    let outcomes = suite.run(&base.figure_1())?;
    let panels = PANELS.iter().zip(outcomes);
    Ok(panels.map(|((name, _), outcome)| Panel::new(name, outcome)).collect())
}

/// Trains with canaries and ranks them; each run's folder also gets its audit.
///
/// # Errors
/// If a run or an audit fails.
pub fn figure_2(base: &Base, suite: &Suite) -> Result<Vec<Canary>, ReproduceError> {
    let runs = base.figure_2();
    suite.run(&runs)?;
    let options = AuditOptions { among: Among::Sampled(base.scale().continuations) };
    let places = REPEATS.iter().flat_map(|repeats| {
        COLUMNS.iter().enumerate().map(move |(place, (name, _))| (*repeats, (*name, place)))
    });
    let mut all = Vec::new();
    for (run, (repeats, column)) in runs.iter().zip(places) {
        let failed = |source| ReproduceError::Audit { run: run.name.clone(), source };
        let path = suite.path(&run.name);
        let report = audit(&path, options).map_err(failed)?;
        report.write(&RunFolder::open(&path)?).map_err(failed)?;
        all.extend(Canary::new(column, repeats, report));
    }
    Ok(all)
}

/// The two systems that the paper compares itself with, beside DP-SGD and its own method, at equal epsilon.
///
/// # Errors
/// If a run fails or its certificate cannot be read.
pub fn compared(base: &Base, suite: &Suite) -> Result<Others, ReproduceError> {
    Others::run(base, suite)
}

/// The search for the nearest settings at which the paper's claim holds.
///
/// # Errors
/// If a run fails.
pub fn nearest(base: &Base, suite: &Suite) -> Result<Nearest, ReproduceError> {
    Ok(Nearest::search(base, suite)?)
}

/// The paper's method at the paper's budget by a tight account, as printed and with what the search has changed.
///
/// # Errors
/// If a run fails or its certificate cannot be read.
pub fn tight(
    base: &Base,
    suite: &Suite,
    found: Option<&Nearest>,
) -> Result<Vec<Tight>, ReproduceError> {
    let change = found.and_then(|found| found.nearest.first()).map(|it| it.change);
    tight::tight(base, suite, change)
}
