//! The exceptions of `organza.exceptions`, raised with the libraries' own messages.

use pyo3::prelude::*;

pyo3::import_exception!(organza.exceptions, BudgetError);
pyo3::import_exception!(organza.exceptions, DataError);
pyo3::import_exception!(organza.exceptions, PrivacyWarning);
pyo3::import_exception!(organza.exceptions, RunError);
pyo3::import_exception!(organza.exceptions, SettingsError);

/// An error with the sources that its message leaves out, as the command line prints it.
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
    text
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
