//! Lists of numbers that are read back from a safetensors file.

use organza_model::{Number, numbers};
use safetensors::SafeTensors;
use std::path::Path;
use thiserror::Error;

/// Why a file cannot be read.
#[derive(Debug, Error)]
#[error("cannot read {file}: {problem}; is this the folder of a finished `organza typeahead`?")]
pub struct SavedError {
    pub(crate) file: String,
    pub(crate) problem: String,
}

/// A file that was read.
pub(crate) struct SavedTensors {
    file: String,
    bytes: Vec<u8>,
}

impl SavedTensors {
    pub(crate) fn read(folder: &Path, name: &str) -> Result<Self, SavedError> {
        let path = folder.join(name);
        let file = path.display().to_string();
        match std::fs::read(path) {
            Ok(bytes) => Ok(Self { file, bytes }),
            Err(error) => Err(SavedError { file, problem: error.to_string() }),
        }
    }

    pub(crate) fn bad(&self, problem: impl std::fmt::Display) -> SavedError {
        SavedError { file: self.file.clone(), problem: problem.to_string() }
    }

    /// A value among the metadata.
    pub(crate) fn metadata(&self, name: &str) -> Result<String, SavedError> {
        let (_, header) = SafeTensors::read_metadata(&self.bytes).map_err(|it| self.bad(it))?;
        let value = header.metadata().as_ref().and_then(|metadata| metadata.get(name).cloned());
        value.ok_or_else(|| self.bad("it is not that of a typeahead"))
    }

    /// The lists of a file.
    pub(crate) fn tensors(&self) -> Result<SafeTensors<'_>, SavedError> {
        SafeTensors::deserialize(&self.bytes).map_err(|error| self.bad(error))
    }

    /// One of its lists.
    pub(crate) fn list<T: Number>(
        &self,
        tensors: &SafeTensors<'_>,
        name: &str,
    ) -> Result<Vec<T>, SavedError> {
        let tensor = tensors.tensor(name).map_err(|error| self.bad(error))?;
        numbers(&tensor)
            .ok_or_else(|| self.bad(format!("`{name}` is not of the kind {:?}", T::KIND)))
    }
}
