//! The exceptions of `organza.exceptions`, raised with the libraries' own messages.

use organza_ledger::{BudgetError as ChargeRefused, DataSetError, LedgerError};
use pyo3::prelude::*;

pyo3::import_exception!(organza.exceptions, BudgetError);
pyo3::import_exception!(organza.exceptions, DataError);
pyo3::import_exception!(organza.exceptions, PrivacyWarning);
pyo3::import_exception!(organza.exceptions, RunError);
pyo3::import_exception!(organza.exceptions, SettingsError);

/// An error with the sources that its message leaves out, as the command line prints it, but that what are flags there
/// are arguments here.
pub(crate) fn message(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        source = inner.source();
    }
    as_arguments(&text)
}

/// Flags by the names that they have in Python: `--vocabulary-size` is `vocabulary_size`, and `--seed` is `random_state`.
pub(crate) fn as_arguments(text: &str) -> String {
    let mut parts = text.split("--");
    let mut read = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end =
            part.find(|it: char| !(it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-'));
        let (name, rest) = part.split_at(end.unwrap_or(part.len()));
        let (quote, name) = match name {
            "" => ("", "--".to_owned()),
            "seed" => ("`", "random_state".to_owned()),
            "out" => ("`", "folder".to_owned()),
            other => ("`", other.replace('-', "_")),
        };
        let quote = if read.ends_with('`') { "" } else { quote };
        read.extend([quote, &name, quote, rest]);
    }
    read
}

/// An argument cannot be.
pub(crate) fn settings_error(error: impl std::error::Error) -> PyErr {
    SettingsError::new_err(message(&error))
}

/// The data cannot be read as what they were given for.
pub(crate) fn data_error(error: impl std::error::Error) -> PyErr {
    DataError::new_err(message(&error))
}

/// The budget is too small.
pub(crate) fn budget_error(error: impl std::error::Error) -> PyErr {
    BudgetError::new_err(message(&error))
}

/// Work that had begun could not go on.
pub(crate) fn run_error(error: impl std::error::Error) -> PyErr {
    RunError::new_err(message(&error))
}

/// What is wrong with the ledger of a run or of a data set.
pub(crate) fn ledger_error(error: LedgerError) -> PyErr {
    match error {
        LedgerError::Exists(_) | LedgerError::Unwritable(_) => settings_error(error),
        LedgerError::File { .. }
        | LedgerError::NoHeader(_)
        | LedgerError::Line { .. }
        | LedgerError::Damaged { .. } => data_error(error),
        LedgerError::NoiseReused { .. } => budget_error(error),
        LedgerError::Locked(_) | LedgerError::Broken(_) => run_error(error),
    }
}

/// Why there is no place on the ledger of a data set.
pub(crate) fn dataset_error(error: DataSetError) -> PyErr {
    match error {
        DataSetError::Exceeded { .. } => budget_error(error),
        DataSetError::Name { .. } | DataSetError::Promise { .. } | DataSetError::Charge(_) => {
            settings_error(error)
        }
        DataSetError::NotShared(_) | DataSetError::NoShare { .. } => data_error(error),
        DataSetError::Changed(_) => run_error(error),
        DataSetError::Ledger(error) => ledger_error(error),
    }
}

/// Why a charge was not made.
pub(crate) fn charge_error(error: ChargeRefused) -> PyErr {
    match error {
        ChargeRefused::Exceeded { .. } => budget_error(error),
        ChargeRefused::Ledger(error) => ledger_error(error),
        _ => settings_error(error),
    }
}
