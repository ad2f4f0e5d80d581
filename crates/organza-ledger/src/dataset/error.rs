//! What can go wrong with the ledger of a data set.

use super::share::{rounded, scientific};
use crate::{ChargeError, LedgerError, Neighbouring, Unit};
use std::path::PathBuf;
use thiserror::Error;

/// Why a run has no place on the ledger of a data set.
#[derive(Debug, Error)]
pub enum DataSetError {
    /// The file is the ledger of a single run.
    #[error(
        "`{}` is the ledger of a single run, not of a data set: make one with `organza ledger create`",
        .0.display()
    )]
    NotShared(PathBuf),
    /// The data set has another name.
    #[error(
        "`{}` is the ledger of the data set `{stated}`, but --dataset says `{given}`: give the ledger of \
         `{given}`, or leave --dataset out if the data is that of `{stated}`",
        path.display()
    )]
    Name {
        /// The file.
        path: PathBuf,
        /// The name in it.
        stated: String,
        /// The name that was given.
        given: String,
    },
    /// The run promises something else than the ledger adds up.
    #[error(
        "the ledger of the data set `{dataset}` adds up what is promised to each {unit} ({neighbouring}), but this \
         run promises something to each {asked_unit} ({asked_neighbouring}): give --unit and --neighbouring of the \
         ledger where the command has them, or make another ledger for this unit, which counts on its own"
    )]
    Promise {
        /// The name of the data set.
        dataset: String,
        /// The unit of the ledger.
        unit: Unit,
        /// The relation of the ledger.
        neighbouring: Neighbouring,
        /// The unit of the run.
        asked_unit: Unit,
        /// The relation of the run.
        asked_neighbouring: Neighbouring,
    },
    /// There is not enough left.
    #[error("{}", exceeded(dataset, *asked, *left, *budget))]
    Exceeded {
        /// The name of the data set.
        dataset: String,
        /// Epsilon and delta that the run asked for.
        asked: (f64, f64),
        /// What is left of them.
        left: (f64, f64),
        /// What there was in all.
        budget: (f64, f64),
    },
    /// A line is no run's share.
    #[error(
        "`{}` line {line}: this is not the share of a run, which is all that may stand on the ledger of a data set",
        path.display()
    )]
    NoShare {
        /// The file.
        path: PathBuf,
        /// The number of the line, counted from 1.
        line: u64,
    },
    /// Another file took its place.
    #[error("`{}` is not the ledger that it was a moment ago: begin again", .0.display())]
    Changed(PathBuf),
    /// The share makes no sense.
    #[error(transparent)]
    Charge(#[from] ChargeError),
    /// The file.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

fn exceeded(dataset: &str, asked: (f64, f64), left: (f64, f64), budget: (f64, f64)) -> String {
    let said = format!(
        "the budget of the data set `{dataset}` is too small: this run would take epsilon {} at delta {}, but of \
         epsilon {} and delta {} only {} and {} are left",
        asked.0,
        scientific(asked.1),
        budget.0,
        scientific(budget.1),
        rounded(left.0),
        scientific(rounded(left.1)),
    );
    let advice = match (rounded(left.0) > 0.0, rounded(left.1) > 0.0) {
        (true, true) if asked.1 > left.1 && asked.0 <= left.0 => "give a smaller --delta",
        (true, true) => "give a smaller --epsilon",
        _ => "nothing more can be promised about this data",
    };
    format!("{said}. Nothing was released: {advice}")
}
