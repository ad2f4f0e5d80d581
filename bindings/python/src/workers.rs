//! Steps whose gradients workers compute: bytes in and bytes out, for the actors of any engine.

use crate::data::Data;
use crate::run::raise;
use organza_cli::Caller;
use organza_cli::shard::Rows;
use organza_cli::workers::{Driver, Holder, Worker};
use organza_train::remote::{Reply, bucket, buckets_of, part_for_holders as parted};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// What charges, selects and saves.
///
/// # Privacy
/// It holds the key of the run, and sees the sizes of what may be selected.
#[pyclass(module = "organza._organza", frozen)]
pub(crate) struct StepDriver(Mutex<Option<Driver>>);

impl StepDriver {
    fn take(&self) -> Option<Driver> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

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

    /// The same where it gives bytes.
    fn bytes<'py>(
        &self,
        py: Python<'py>,
        act: impl FnOnce(&mut Driver) -> anyhow::Result<Vec<u8>> + Send,
    ) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.with(py, act)?))
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

    /// How many ranges the rows of the tables have.
    fn ranges(&self, py: Python<'_>) -> PyResult<u16> {
        self.with(py, |driver| Ok(driver.ranges()))
    }

    /// What worker `number` of `of` needs once. **Private**: it holds keys.
    fn job<'py>(&self, py: Python<'py>, number: usize, of: usize) -> PyResult<Bound<'py, PyBytes>> {
        self.bytes(py, |driver| driver.job(buckets_of(number, of)))
    }

    /// What holder `number` of `of` needs once, beside its rows. **Private**: it holds keys.
    fn holder_job<'py>(
        &self,
        py: Python<'py>,
        number: usize,
        of: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.bytes(py, |driver| Ok(driver.holder_job(number, of)))
    }

    /// The rows of holder `number` of `of`, as they were at the last checkpoint. *Not private.*
    fn holder_state<'py>(
        &self,
        py: Python<'py>,
        number: usize,
        of: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.bytes(py, |driver| driver.holder_state(number, of))
    }

    /// The order of the step under way; None if all are made.
    fn order<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let order = self.with(py, Driver::order)?;
        Ok(order.map(|order| PyBytes::new(py, &order)))
    }

    /// What holder `number` of `of` is told before anything else of this step.
    fn opening<'py>(
        &self,
        py: Python<'py>,
        number: usize,
        of: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.bytes(py, |driver| driver.opening(number, of))
    }

    /// What holders are asked for the rows that a worker asks for.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        asks: &[u8],
        of: usize,
    ) -> PyResult<Vec<(usize, Bound<'py, PyBytes>)>> {
        let rows = self.with(py, |driver| driver.rows(asks, of))?;
        Ok(rows.iter().map(|(number, rows)| (*number, PyBytes::new(py, rows))).collect())
    }

    /// Takes what a holder answered to a part.
    fn offers(&self, py: Python<'_>, offers: &[u8]) -> PyResult<()> {
        self.with(py, |driver| driver.offers(offers))
    }

    /// Decides what the step updates, and gives what each of `of` holders is told.
    fn decide<'py>(&self, py: Python<'py>, of: usize) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let told = self.with(py, |driver| driver.decide(of))?;
        Ok(told.iter().map(|told| PyBytes::new(py, told)).collect())
    }

    /// Whether holders are to hand over their states before the next step.
    fn saves(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |driver| Ok(driver.saves()))
    }

    /// Keeps the state of a holder.
    fn save(&self, py: Python<'_>, state: &[u8]) -> PyResult<()> {
        self.with(py, |driver| driver.save(state))
    }

    /// Ends the run, with the weights of all holders: certificate, model, page.
    fn finish(&self, py: Python<'_>, weights: Vec<Vec<u8>>) -> PyResult<()> {
        let driver = self.take().ok_or_else(ended)?;
        py.detach(|| driver.finish(&weights)).map_err(|error| raise(&error))
    }

    /// Lets go of the folder, so that the run can be opened again.
    fn close(&self) {
        drop(self.take());
    }
}

/// What keeps some rows of the tables.
#[pyclass(module = "organza._organza", frozen)]
pub(crate) struct RowHolder(Mutex<Holder>);

#[pymethods]
impl RowHolder {
    /// Of the rows `state`, for a job.
    #[new]
    #[pyo3(signature = (job, state, threads = 0))]
    fn open(py: Python<'_>, job: &[u8], state: &[u8], threads: usize) -> PyResult<Self> {
        let holder = py.detach(|| Holder::open(job, state, threads));
        let holder = holder.map_err(|error| raise(&error))?;
        Ok(Self(Mutex::new(holder)))
    }

    /// Answers a message; with nothing where there is nothing to answer.
    fn answer<'py>(&self, py: Python<'py>, message: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let answer =
            py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).answer(message));
        Ok(PyBytes::new(py, &answer.map_err(|error| raise(&error))?))
    }

    /// What a holder is told to hand over its state.
    #[classattr]
    #[pyo3(name = "SAVE")]
    fn save(py: Python<'_>) -> Py<PyBytes> {
        PyBytes::new(py, &Holder::SAVE).unbind()
    }

    /// What a holder is told to hand over its parameters, after the last step.
    #[classattr]
    #[pyo3(name = "END")]
    fn end(py: Python<'_>) -> Py<PyBytes> {
        PyBytes::new(py, &Holder::END).unbind()
    }
}

/// What each of `of` holders is told of the part of a worker. *Not private.*
#[pyfunction]
pub(crate) fn part_for_holders<'py>(
    py: Python<'py>,
    part: &[u8],
    of: usize,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let told = parted(part, of).map_err(|error| raise(&error.into()))?;
    Ok(told.iter().map(|told| PyBytes::new(py, told)).collect())
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

    /// Takes rows that it asked for, of all holders that have some, and answers.
    fn rows<'py>(&self, py: Python<'py>, places: Vec<Vec<u8>>) -> PyResult<Answer<'py>> {
        self.answer(py, |worker| worker.rows(&places))
    }
}

/// Which of `of` workers has the units of these names: a public hash.
#[pyfunction]
pub(crate) fn worker_of(py: Python<'_>, names: Vec<String>, of: usize) -> Vec<usize> {
    let ends: Vec<u16> = (0..of.max(1)).map(|number| buckets_of(number, of).end).collect();
    let worker = |name: &String| ends.partition_point(|end| *end <= bucket(name.trim().as_bytes()));
    py.detach(|| names.iter().map(worker).collect())
}
