//! Data that Python hands over.

use crate::arrow::{is_table, stream};
use crate::exceptions::{DataError, SettingsError};
use arrow_array::builder::StringBuilder;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use organza_cli::HandedData;
use organza_data::table::{Batches, Table};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyString};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Lines that are taken from Python at a time.
const LINES: usize = 4096;

/// What goes on with data while it is read.
#[derive(Default)]
pub(crate) struct Feeding {
    raised: Mutex<Option<PyErr>>,
    stopped: AtomicBool,
}

impl Feeding {
    /// No more is read.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// What an iterable raised, if it did.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Leaves what was raised where the run finds it.
    fn leave(&self, error: PyErr) -> ArrowError {
        let text = error.to_string();
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        ArrowError::ExternalError(text.into())
    }
}

/// Data for one run.
#[pyclass(module = "organza._organza", frozen)]
pub(crate) struct Data {
    handed: Mutex<Option<HandedData>>,
    feeding: Arc<Feeding>,
}

impl Data {
    pub(crate) fn new(handed: HandedData) -> Self {
        Self { handed: Mutex::new(Some(handed)), feeding: Arc::default() }
    }

    fn of_batches(
        batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
        feeding: Arc<Feeding>,
    ) -> Self {
        let fed = feeding.clone();
        let stopped = move || fed.stopped.load(Ordering::Relaxed);
        let end = || Err(ArrowError::ExternalError("stopped".into()));
        let mut batches = batches;
        let until =
            std::iter::from_fn(move || if stopped() { Some(end()) } else { batches.next() });
        let batches: Batches = Box::new(until);
        Self { feeding, ..Self::new(HandedData::Table(Table::handed(batches))) }
    }

    /// The data, once, with what goes on while it is read.
    pub(crate) fn take(&self) -> PyResult<(HandedData, Arc<Feeding>)> {
        let taken = self.handed.lock().unwrap_or_else(PoisonError::into_inner).take();
        let handed = taken.ok_or_else(|| SettingsError::new_err("this data was used before"))?;
        Ok((handed, self.feeding.clone()))
    }
}

/// A table: whatever has `__arrow_c_stream__`.
#[pyfunction]
pub(crate) fn table(source: &Bound<'_, PyAny>) -> PyResult<Data> {
    if !is_table(source)? {
        return Err(DataError::new_err(format!("{} is not a table", source.get_type())));
    }
    Ok(Data::of_batches(stream(source)?, Arc::default()))
}

/// Tables, one after another.
#[pyfunction]
pub(crate) fn batches(source: &Bound<'_, PyAny>) -> PyResult<Data> {
    let feeding = Arc::<Feeding>::default();
    let tables = source.try_iter()?.unbind();
    let tables = Tables { tables, current: None, feeding: feeding.clone() };
    Ok(Data::of_batches(tables, feeding))
}

/// Lines of text, and whose they are if `units` says it.
#[pyfunction]
#[pyo3(signature = (lines, units = None))]
pub(crate) fn texts(lines: &Bound<'_, PyAny>, units: Option<&Bound<'_, PyAny>>) -> PyResult<Data> {
    let feeding = Arc::<Feeding>::default();
    let units = units.map(|units| units.try_iter()).transpose()?.map(Bound::unbind);
    let texts = Texts { lines: lines.try_iter()?.unbind(), units, feeding: feeding.clone() };
    Ok(Data::of_batches(texts, feeding))
}

/// Whether nobody is named: by None, or by what is not even equal to itself, as NaN and NaT.
fn is_missing(unit: &Bound<'_, PyAny>) -> bool {
    unit.is_none() || unit.ne(unit).unwrap_or(false)
}

struct Tables {
    tables: Py<PyIterator>,
    current: Option<RecordBatchStreamReader>,
    feeding: Arc<Feeding>,
}

impl Iterator for Tables {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.current.as_mut().and_then(Iterator::next) {
                return Some(batch);
            }
            let next = Python::attach(|py| {
                let next = self.tables.bind(py).clone().next()?;
                Some(next.and_then(|table| match is_table(&table)? {
                    true => stream(&table),
                    false => Err(DataError::new_err(format!(
                        "an item of the iterable is {}, not a table: give tables of pandas, polars or pyarrow, or lines of \
                         text",
                        table.get_type()
                    ))),
                }))
            });
            match next? {
                Ok(reader) => self.current = Some(reader),
                Err(error) => return Some(Err(self.feeding.leave(error))),
            }
        }
    }
}

struct Texts {
    lines: Py<PyIterator>,
    units: Option<Py<PyIterator>>,
    feeding: Arc<Feeding>,
}

impl Texts {
    /// The next lines as a batch; none at the end.
    fn batch(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let (mut lines, mut units) = (StringBuilder::new(), StringBuilder::new());
        let mut count = 0;
        let mut rows = self.lines.bind(py).clone();
        let mut names = self.units.as_ref().map(|it| it.bind(py).clone());
        while count < LINES {
            if self.feeding.stopped.load(Ordering::Relaxed) {
                return Err(PyKeyboardInterrupt::new_err("stopped"));
            }
            let line = rows.next().transpose()?;
            let unit = names.as_mut().map(|names| names.next().transpose()).transpose()?;
            let Some(line) = line else {
                if unit.is_some_and(|unit| unit.is_some()) {
                    return Err(DataError::new_err("there are more units than lines of text"));
                }
                break;
            };
            let text = line.cast::<PyString>().map_err(|_| {
                DataError::new_err(format!(
                    "a line of text is {}, not str: give strings, or a table and `text_column`",
                    line.get_type()
                ))
            })?;
            lines.append_value(text.to_cow()?);
            match unit {
                None => units.append_value(""),
                Some(Some(unit)) if is_missing(&unit) => units.append_null(),
                Some(Some(unit)) => units.append_value(unit.str()?.to_cow()?),
                Some(None) => {
                    return Err(DataError::new_err("there are fewer units than lines of text"));
                }
            }
            count += 1;
        }
        if count == 0 {
            return Ok(None);
        }
        let columns: [(&str, ArrayRef); 2] =
            [("text", Arc::new(lines.finish())), ("unit", Arc::new(units.finish()))];
        let batch = RecordBatch::try_from_iter(columns);
        Ok(Some(batch.map_err(|error| DataError::new_err(error.to_string()))?))
    }
}

impl Iterator for Texts {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = Python::attach(|py| self.batch(py));
        batch.map_err(|error| self.feeding.leave(error)).transpose()
    }
}
