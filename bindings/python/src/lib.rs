//! The module `organza._organza`: what the Python package `organza` is made of.

mod accounting;
mod arrow;
mod data;
mod event;
mod exceptions;
mod lent;
mod matrix;
mod mechanisms;
mod models;
mod names;
mod network;
mod purse;
mod run;
mod run_ledger;
mod shard;
mod watch;
mod workers;

use pyo3::prelude::*;

/// What the Python package `organza` is made of.
#[pymodule]
mod _organza {
    use super::*;

    #[pymodule_export]
    use super::data::{Data, batches, table, texts};
    #[pymodule_export]
    use super::matrix::{dense_rows, histories, sparse_rows};
    #[pymodule_export]
    use super::models::{ClickModel, LinearModel, RecommenderModel, TypeaheadModel, WordModel};
    #[pymodule_export]
    use super::network::Network;
    #[pymodule_export]
    use super::run::{card, run, tool};
    #[pymodule_export]
    use super::{
        accounting::{
            calibrate_event, calibrate_rate, calibrate_steps, calibrate_training, curve,
            lower_bound, price,
        },
        event::Event,
        mechanisms::{noisy_count, noisy_histogram, noisy_items},
        purse::Purse,
        run_ledger::read_ledger,
        shard::{begin, count, current, for_shard, join, merge, shard_of},
        workers::{RowHolder, StepDriver, StepWorker, part_for_holders, worker_of},
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("HANDED_OVER", organza_data::table::HANDED_OVER)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
