//! Data that Python hands over.

use crate::arrow::{is_table, stream};
use crate::exceptions::{DataError, SettingsError};
use arrow_array::builder::StringBuilder;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use organza_cli::Handed;
use organza_data::table::{Batches, Table};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyString};
use std::sync::{Arc, Mutex, PoisonError};

/// Lines that are taken from Python at a time.
const LINES: usize = 4096;

/// What an iterable raised while it was read, if it did.
pub(crate) type Raised = Arc<Mutex<Option<PyErr>>>;

/// Data for one run.
#[pyclass(module = "organza._organza", frozen)]
pub(crate) struct Data {
    handed: Mutex<Option<Handed>>,
    raised: Raised,
}

impl Data {
    pub(crate) fn new(handed: Handed) -> Self {
        Self { handed: Mutex::new(Some(handed)), raised: Raised::default() }
    }

    fn of_batches(batches: Batches, raised: Raised) -> Self {
        Self { raised, ..Self::new(Handed::Table(Table::handed(batches))) }
    }

    /// The data, once, with the place where an iterable leaves what it raised.
    pub(crate) fn take(&self) -> PyResult<(Handed, Raised)> {
        let taken = self.handed.lock().unwrap_or_else(PoisonError::into_inner).take();
        let handed = taken.ok_or_else(|| SettingsError::new_err("this data was used before"))?;
        Ok((handed, self.raised.clone()))
    }
}

/// A table: whatever has `__arrow_c_stream__`.
#[pyfunction]
pub(crate) fn table(source: &Bound<'_, PyAny>) -> PyResult<Data> {
    if !is_table(source)? {
        return Err(DataError::new_err(format!("{} is not a table", source.get_type())));
    }
    Ok(Data::of_batches(Box::new(stream(source)?), Raised::default()))
}

/// Tables, one after another.
#[pyfunction]
pub(crate) fn batches(source: &Bound<'_, PyAny>) -> PyResult<Data> {
    let raised = Raised::default();
    let tables = source.try_iter()?.unbind();
    let tables = Tables { tables, current: None, raised: raised.clone() };
    Ok(Data::of_batches(Box::new(tables), raised))
}

/// Lines of text, and whose they are if `units` says it.
#[pyfunction]
#[pyo3(signature = (lines, units = None))]
pub(crate) fn texts(lines: &Bound<'_, PyAny>, units: Option<&Bound<'_, PyAny>>) -> PyResult<Data> {
    let raised = Raised::default();
    let units = units.map(|units| units.try_iter()).transpose()?.map(Bound::unbind);
    let texts = Texts { lines: lines.try_iter()?.unbind(), units, raised: raised.clone() };
    Ok(Data::of_batches(Box::new(texts), raised))
}

/// Leaves what was raised where the run finds it.
fn leave(raised: &Raised, error: PyErr) -> ArrowError {
    let text = error.to_string();
    *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    ArrowError::ExternalError(text.into())
}

struct Tables {
    tables: Py<PyIterator>,
    current: Option<RecordBatchStreamReader>,
    raised: Raised,
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
                Err(error) => return Some(Err(leave(&self.raised, error))),
            }
        }
    }
}

struct Texts {
    lines: Py<PyIterator>,
    units: Option<Py<PyIterator>>,
    raised: Raised,
}

impl Texts {
    /// The next lines as a batch; none at the end.
    fn batch(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let (mut lines, mut units) = (StringBuilder::new(), StringBuilder::new());
        let mut count = 0;
        let mut rows = self.lines.bind(py).clone();
        let mut names = self.units.as_ref().map(|it| it.bind(py).clone());
        while count < LINES {
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
        batch.map_err(|error| leave(&self.raised, error)).transpose()
    }
}
