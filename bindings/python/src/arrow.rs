//! Tables of other libraries, by the Arrow PyCapsule interface: nothing is copied.

use crate::exceptions::DataError;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

const STREAM: &str = "__arrow_c_stream__";
const NAME: &std::ffi::CStr = c"arrow_array_stream";

/// Whether it can be asked for a stream of batches: a table of pandas, polars, pyarrow, duckdb and others.
pub(crate) fn is_table(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.hasattr(STREAM)
}

/// The batches of a table.
pub(crate) fn stream(table: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = table.call_method0(STREAM)?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(NAME))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name points to a stream that is valid until it is moved out of the capsule, which happens here
    // once: what is left behind is a released stream, which the capsule does not release again.
    #[allow(unsafe_code)]
    let reader = unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr()) };
    reader.map_err(|error| DataError::new_err(error.to_string()))
}
