//! Runs that are made of shards: bytes in and bytes out, for the map and the reduce of any engine.

use crate::data::Data;
use crate::run::raise;
use organza_cli::Caller;
use organza_cli::shard::{self, Rows};
use organza_data::Shard;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// Begins a run in a folder: the words of the command that would make it on one machine, without `--data` and `--out`. Gives the task of the
/// first round.
#[pyfunction]
pub(crate) fn begin<'py>(
    py: Python<'py>,
    arguments: Vec<OsString>,
    folder: PathBuf,
) -> PyResult<Bound<'py, PyBytes>> {
    let task = py.detach(|| shard::begin(arguments, &folder, Arc::new(Caller::default())));
    Ok(PyBytes::new(py, &task.map_err(|error| raise(&error))?))
}

/// The task of the round that is counted now of a run that was begun before; none if it is finished.
#[pyfunction]
pub(crate) fn current(py: Python<'_>, folder: PathBuf) -> PyResult<Option<Bound<'_, PyBytes>>> {
    let task = py.detach(|| shard::current(&folder)).map_err(|error| raise(&error))?;
    Ok(task.map(|task| PyBytes::new(py, &task)))
}

/// Counts the units of a shard among the rows of a file or of a table. Gives a partial.
///
/// # Privacy
/// A partial is the bare sums of the shard, before any noise.
#[pyfunction]
#[pyo3(signature = (task, data, shard, shards, strict = false))]
pub(crate) fn count<'py>(
    py: Python<'py>,
    task: &[u8],
    data: &Bound<'py, PyAny>,
    shard: u32,
    shards: u32,
    strict: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let own = Shard { number: shard, of: shards, strict };
    let (rows, feeding) = match data.cast::<Data>() {
        Ok(data) => {
            let (handed, feeding) = data.get().take()?;
            (Rows::Handed(Box::new(handed)), feeding)
        }
        Err(_) => (Rows::Path(data.extract::<PathBuf>()?), Arc::default()),
    };
    let partial = py.detach(|| shard::count(task, rows, own));
    match partial {
        Ok(partial) => Ok(PyBytes::new(py, &partial)),
        Err(error) => Err(feeding.raised().unwrap_or_else(|| raise(&error))),
    }
}

/// One partial of all shards of these.
///
/// # Privacy
/// As that of one shard, it is bare sums.
#[pyfunction]
pub(crate) fn join<'py>(py: Python<'py>, partials: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyBytes>> {
    let joined = py.detach(|| shard::join(&partials));
    Ok(PyBytes::new(py, &joined.map_err(|error| raise(&error))?))
}

/// The task of the next round, if there is one, and how far the run has come.
type Merged<'py> = (Option<Bound<'py, PyBytes>>, Bound<'py, PyDict>);

/// Releases the current round of the run in a folder, from the partials of all its shards.
///
/// # Privacy
/// The charge is on the ledger before the noise is drawn, on the sums of all shards.
#[pyfunction]
pub(crate) fn merge<'py>(
    py: Python<'py>,
    folder: PathBuf,
    partials: Vec<Vec<u8>>,
) -> PyResult<Merged<'py>> {
    let merged = py.detach(|| shard::merge(&folder, &partials, Arc::new(Caller::default())));
    let (task, progress) = merged.map_err(|error| raise(&error))?;
    let told = PyDict::new(py);
    told.set_item("round", progress.round)?;
    told.set_item("rounds", progress.rounds)?;
    told.set_item("name", progress.name)?;
    told.set_item("finished", progress.finished)?;
    Ok((task.map(|task| PyBytes::new(py, &task)), told))
}

/// A task for the worker of one shard, without what other shards alone have.
#[pyfunction]
pub(crate) fn for_shard<'py>(
    py: Python<'py>,
    task: &[u8],
    shard: u32,
) -> PyResult<Bound<'py, PyBytes>> {
    let task = shard::for_shard(task, shard).map_err(|error| raise(&error))?;
    Ok(PyBytes::new(py, &task))
}

/// The shards of units by their names: a public hash, by which an engine may part rows beforehand.
#[pyfunction]
pub(crate) fn shard_of(py: Python<'_>, names: Vec<String>, shards: u32) -> Vec<u32> {
    py.detach(|| names.iter().map(|name| Shard::of_unit(name, shards)).collect())
}
