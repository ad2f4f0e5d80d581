//! The module `organza._organza`: what the Python package `organza` is made of.

mod exceptions;

use pyo3::prelude::*;

/// What the Python package `organza` is made of.
#[pymodule]
mod _organza {
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
