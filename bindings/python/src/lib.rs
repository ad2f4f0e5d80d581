//! The module `organza._organza`: what the Python package `organza` is made of.

mod accounting;
mod event;
mod exceptions;
mod mechanisms;
mod names;
mod purse;
mod run_ledger;

use pyo3::prelude::*;

/// What the Python package `organza` is made of.
#[pymodule]
mod _organza {
    use super::*;

    #[pymodule_export]
    use super::{
        accounting::{
            calibrate_event, calibrate_rate, calibrate_steps, calibrate_training, curve, price,
        },
        event::Event,
        mechanisms::{noisy_count, noisy_histogram, noisy_items},
        purse::Purse,
        run_ledger::read_ledger,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
