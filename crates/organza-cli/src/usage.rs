//! Command lines that parse and yet make no sense together.

use organza_ledger::EventError;
use organza_train::SettingError;
use std::fmt::Display;
use thiserror::Error;

/// What is wrong with the flags, and the flag that mends it. Ends the program with exit code 2.
#[derive(Debug, Error)]
#[error("{message}\nhelp: {help}")]
pub struct UsageError {
    message: String,
    help: String,
}

impl UsageError {
    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What is wrong, and what to do.
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }

    /// A parameter of an event that was built from flags.
    pub(crate) fn from_event(error: &EventError) -> Self {
        let flag = match (error.kind, error.field) {
            ("exponential" | "noisy_max", "epsilon") => "--selection-epsilon",
            (_, "cap") => "--score-cap",
            (_, "l2") => "--score-l2",
            (_, "share") => "--draws",
            ("selected", "sensitivity") => "--second-clip",
            (_, "noise_multiplier") => "--noise-multiplier",
            (_, "threshold_epsilon") => "--threshold-epsilon",
            (_, "query_epsilon") => "--query-epsilon",
            (_, "candidates") => "--candidates",
            (_, "draws") => "--draws",
            _ => "--rate",
        };
        let EventError { value, expected, .. } = error;
        Self::value(flag, value, expected)
    }

    /// What promises something, with a method that keeps no promise.
    pub(crate) fn not_private(what: &str, method: impl Display) -> Self {
        Self::new(
            format!("{what} has no meaning with --method {method}, which is not private"),
            "leave one of them out",
        )
    }

    /// A setting that makes no sense.
    pub(crate) fn setting(error: &SettingError) -> Self {
        Self::new(error.to_string(), format!("give another value for `{}`", error.setting))
    }

    /// A flag whose value is out of range.
    pub(crate) fn value(flag: &str, value: impl Display, expected: &str) -> Self {
        Self::new(
            format!("`{flag}` is {value}, but must be {expected}"),
            format!("give another value for `{flag}`"),
        )
    }
}

/// The value of a flag without which the question is not complete.
pub(crate) fn needed<T>(value: Option<T>, flag: &str, purpose: &str) -> Result<T, UsageError> {
    value.ok_or_else(|| {
        UsageError::new(format!("`{flag}` is missing"), format!("add `{flag}`: {purpose}"))
    })
}
