//! Words of the command line and of files, as Python gives them.

use crate::exceptions::SettingsError;
use organza_ledger::{Neighbouring, Unit};
use pyo3::prelude::*;
use serde::de::{DeserializeOwned, IntoDeserializer, value::Error};

/// What a word stands for, where `expected` lists all words.
fn named<T: DeserializeOwned>(argument: &str, word: &str, expected: &str) -> PyResult<T> {
    let read = T::deserialize(IntoDeserializer::<Error>::into_deserializer(word));
    read.map_err(|_| {
        SettingsError::new_err(format!("`{argument}` is {word:?}, but must be {expected}"))
    })
}

/// The neighbouring relation of this name.
pub(crate) fn neighbouring(word: &str) -> PyResult<Neighbouring> {
    named("neighbouring", word, "\"add-remove\" or \"replace-one\"")
}

/// The unit of this name.
pub(crate) fn unit(word: &str) -> PyResult<Unit> {
    named("unit", word, "\"user\", \"record\", \"line\", \"document\", \"pair\" or \"group\"")
}
