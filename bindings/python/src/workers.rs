//! Steps whose gradients workers compute: bytes in and bytes out, for the actors of any engine.

use crate::data::Data;
use crate::run::raise;
use organza_cli::Caller;
use organza_cli::shard::Rows;
use organza_cli::workers::{Driver, Worker};
use organza_train::remote::{Reply, bucket, buckets_of};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// What charges, adds noise and moves the tables.
///
/// # Privacy
/// It holds the key of the noise and sees sums without noise.
#[pyclass(module = "organza._organza", frozen)]
pub(crate) struct StepDriver(Mutex<Option<Driver>>);

impl StepDriver {
    /// Does something with the driver, without the lock of the interpreter.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Driver) -> anyhow::Result<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let mut driver = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let driver = driver.as_mut().ok_or_else(ended)?;
            act(driver).map_err(|error| raise(&error))
        })
    }
}

fn ended() -> PyErr {
    PyValueError::new_err("the run has ended")
}

#[pymethods]
impl StepDriver {
    /// Begins a run in a folder, or goes on with it: the words of its command, without `--data` and `--out`.
    #[new]
    #[pyo3(signature = (words, folder, threads = 0))]
    fn open(
        py: Python<'_>,
        words: Vec<OsString>,
        folder: PathBuf,
        threads: usize,
    ) -> PyResult<Self> {
        let driver =
            py.detach(|| Driver::open(words, &folder, threads, Arc::new(Caller::default())));
        Ok(Self(Mutex::new(Some(driver.map_err(|error| raise(&error))?))))
    }

    /// The steps that were made, and those that there are.
    fn steps(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.with(py, |driver| Ok(driver.steps()))
    }

    /// What worker `number` of `of` needs once. **Private**: it holds keys.
    fn job<'py>(&self, py: Python<'py>, number: usize, of: usize) -> PyResult<Bound<'py, PyBytes>> {
        let job = self.with(py, |driver| driver.job(buckets_of(number, of)))?;
        Ok(PyBytes::new(py, &job))
    }

    /// The order of the step under way; None if all are made.
    fn order<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let order = self.with(py, Driver::order)?;
        Ok(order.map(|order| PyBytes::new(py, &order)))
    }

    /// The rows that a worker asks for.
    fn rows<'py>(&self, py: Python<'py>, asks: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let rows = self.with(py, |driver| driver.rows(asks))?;
        Ok(PyBytes::new(py, &rows))
    }

    /// Takes a part of the step under way.
    fn add(&self, py: Python<'_>, part: &[u8]) -> PyResult<()> {
        self.with(py, |driver| driver.add(part))
    }

    /// Whether parts are still to come.
    fn is_waiting(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |driver| Ok(driver.is_waiting()))
    }

    /// Makes the step, all of whose parts are there.
    fn make(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, Driver::make)
    }

    /// Ends the run: certificate, model, page.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let driver = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let driver = driver.ok_or_else(ended)?;
        py.detach(|| driver.finish()).map_err(|error| raise(&error))
    }
}

/// What computes the parts of the units whose rows it has.
#[pyclass(module = "organza._organza", frozen)]
pub(crate) struct StepWorker(Mutex<Worker>);

/// Whether it asks for rows, and the message.
type Answer<'py> = (bool, Bound<'py, PyBytes>);

impl StepWorker {
    fn answer<'py>(
        &self,
        py: Python<'py>,
        act: impl FnOnce(&mut Worker) -> anyhow::Result<Reply> + Send,
    ) -> PyResult<Answer<'py>> {
        let reply = py.detach(|| act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)));
        Ok(match reply.map_err(|error| raise(&error))? {
            Reply::Asks(asks) => (true, PyBytes::new(py, &asks)),
            Reply::Part(part) => (false, PyBytes::new(py, &part)),
        })
    }
}

#[pymethods]
impl StepWorker {
    /// For a job, on the rows of a file or of a table.
    #[new]
    #[pyo3(signature = (job, data, threads = 0))]
    fn open(py: Python<'_>, job: &[u8], data: &Bound<'_, PyAny>, threads: usize) -> PyResult<Self> {
        let (rows, feeding) = match data.cast::<Data>() {
            Ok(data) => {
                let (handed, feeding) = data.get().take()?;
                (Rows::Handed(Box::new(handed)), feeding)
            }
            Err(_) => (Rows::Path(data.extract::<PathBuf>()?), Arc::default()),
        };
        match py.detach(|| Worker::open(job, rows, threads)) {
            Ok(worker) => Ok(Self(Mutex::new(worker))),
            Err(error) => Err(feeding.raised().unwrap_or_else(|| raise(&error))),
        }
    }

    /// Draws who joins the batch of an order, and answers.
    fn order<'py>(&self, py: Python<'py>, order: &[u8]) -> PyResult<Answer<'py>> {
        self.answer(py, |worker| worker.order(order))
    }

    /// Takes rows that it asked for, and answers.
    fn rows<'py>(&self, py: Python<'py>, rows: &[u8]) -> PyResult<Answer<'py>> {
        self.answer(py, |worker| worker.rows(rows))
    }
}

/// Which of `of` workers has the units of these names: a public hash.
#[pyfunction]
pub(crate) fn worker_of(py: Python<'_>, names: Vec<String>, of: usize) -> Vec<usize> {
    let ends: Vec<u16> = (0..of.max(1)).map(|number| buckets_of(number, of).end).collect();
    let worker = |name: &String| ends.partition_point(|end| *end <= bucket(name.trim().as_bytes()));
    py.detach(|| names.iter().map(worker).collect())
}
