//! Runs a command of the tool, on data that Python hands over.

use crate::data::Data;
use crate::exceptions::{BudgetError, DataError, RunError, SettingsError, as_arguments, run_error};
use crate::watch::{Looking, State, Stopped};
use organza_cli::{Caller, HandedData, UsageError};
use organza_erm::FitError;
use organza_ledger::{BudgetError as OverBudget, DataSetError};
use organza_progress::Watch;
use organza_recommend::EventsError;
use organza_train::{Failure, FolderError, SessionError, SettingError};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often Python looks whether somebody wants to stop, and what the run is at.
const POLL: Duration = Duration::from_millis(50);

/// The tool itself, for its words; ends with its exit code.
#[pyfunction]
pub(crate) fn tool(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| organza_cli::main(words))
}

/// The head of the page of a finished run, for a notebook.
#[pyfunction]
pub(crate) fn card(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    let page = py.detach(|| organza_cli::page(&folder));
    page.map(|page| page.card()).map_err(run_error)
}

/// Runs a command: its words, data if it is handed over, and who is told what it is at. Gives what a person should know,
/// the result as JSON, and whether somebody wanted to stop it when it was too late.
///
/// # Privacy
/// As of the command: it is the same code. What is told on the way is not private.
#[pyfunction]
#[pyo3(signature = (words, data = None, tell = None, goes_on = false))]
pub(crate) fn run(
    py: Python<'_>,
    words: Vec<OsString>,
    data: Option<&Data>,
    tell: Option<Py<PyAny>>,
    goes_on: bool,
) -> PyResult<(Vec<String>, Option<String>, bool)> {
    let (handed, feeding) = match data {
        Some(data) => data.take()?,
        None => (HandedData::Nothing, Default::default()),
    };
    let looking = Arc::new(Looking::default());
    let caller = Arc::new(Caller::new(Some(looking.clone() as Arc<dyn Watch>), goes_on));
    looking.stops_with(&caller);
    let (sender, receiver) = channel();
    let receiver = Mutex::new(receiver);
    let running = caller.clone();
    let work = std::thread::Builder::new().name("organza".to_owned()).spawn(move || {
        let words = std::iter::once("organza".into()).chain(words);
        let run = || organza_cli::run_on(words, handed, running);
        let _ = sender.send(catch_unwind(AssertUnwindSafe(run)));
    })?;
    let mut interrupted = None;
    let mut told = State::default();
    let outcome = loop {
        let wait = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(POLL);
        match py.detach(wait) {
            Ok(outcome) => break Some(outcome),
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let state = looking.state();
        let shown = match &tell {
            Some(tell) if state != told => {
                tell.call1(py, (&state.stage, state.part, state.of)).map(drop)
            }
            _ => Ok(()),
        };
        told = state;
        if let Err(error) = py.check_signals().and(shown) {
            caller.stop();
            feeding.stop();
            interrupted = Some(error);
        }
    };
    let _ = py.detach(|| work.join());
    if let Some(error) = interrupted.is_none().then(|| feeding.raised()).flatten() {
        return Err(error);
    }
    let stopped = "stopped; what was charged is kept";
    match outcome {
        Some(Ok(Ok(()))) => {
            let result = caller.result().map(|result| result.to_string());
            let notes = caller.notes().iter().map(|note| as_arguments(note)).collect();
            Ok((notes, result, interrupted.is_some()))
        }
        Some(Ok(Err(error))) => Err(match interrupted {
            Some(interrupted) if caller.is_stopped() => interrupted,
            _ => raise(&error),
        }),
        Some(Err(payload)) if payload.is::<Stopped>() => {
            Err(interrupted.unwrap_or_else(|| PyKeyboardInterrupt::new_err(stopped)))
        }
        Some(Err(payload)) => {
            let text = payload.downcast_ref::<String>().cloned();
            let text = text.or_else(|| payload.downcast_ref::<&str>().map(|it| (*it).to_owned()));
            Err(RunError::new_err(text.unwrap_or_else(|| "the run failed".to_owned())))
        }
        None => Err(RunError::new_err("the run ended without a result")),
    }
}

/// The exception for an error of a command.
pub(crate) fn raise(error: &anyhow::Error) -> PyErr {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    if let Some(usage) = error.downcast_ref::<UsageError>() {
        return SettingsError::new_err(as_arguments(usage.message()));
    }
    let text = as_arguments(&text);
    match error.downcast_ref::<SessionError>() {
        Some(SessionError::Setting(_) | SessionError::Calibration(_) | SessionError::Plan(_)) => {
            SettingsError::new_err(text)
        }
        Some(SessionError::DataSet(DataSetError::Exceeded { .. })) => BudgetError::new_err(text),
        Some(SessionError::Budget(OverBudget::Exceeded { .. })) => BudgetError::new_err(text),
        Some(SessionError::DataSet(_) | SessionError::Budget(_)) => SettingsError::new_err(text),
        Some(SessionError::Folder(FolderError::NotEmpty(path))) => SettingsError::new_err(format!(
            "{path} is not empty: name another `folder`, or fit with the settings of the run in it, which goes on unless it is \
             finished"
        )),
        Some(SessionError::Application(failure)) => of_application(failure, text),
        _ if error.is::<FitError>() || error.is::<organza_data::DataError>() => {
            DataError::new_err(text)
        }
        _ => RunError::new_err(text),
    }
}

/// What an application says of its data or its settings.
fn of_application(failure: &Failure, text: String) -> PyErr {
    let about_settings = failure.is::<SettingError>()
        || failure.downcast_ref::<FitError>().is_some_and(|it| matches!(it, FitError::Setting(_)));
    let about_data = failure.is::<organza_data::DataError>()
        || failure.is::<EventsError>()
        || failure.is::<FitError>()
        || failure.is::<organza_words::PrepareError>();
    match (about_settings, about_data) {
        (true, _) => SettingsError::new_err(text),
        (_, true) => DataError::new_err(text),
        _ => RunError::new_err(text),
    }
}
