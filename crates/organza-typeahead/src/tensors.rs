//! Named lists of numbers in a safetensors file.

use organza_model::tensor_header;
use organza_train::{FolderError, RunFolder};
use safetensors::{Dtype, SafeTensors};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use thiserror::Error;

/// Why a file cannot be read.
#[derive(Debug, Error)]
#[error("cannot read {file}: {problem}; is this the folder of a finished `organza typeahead`?")]
pub struct SavedError {
    pub(crate) file: String,
    pub(crate) problem: String,
}

/// A number as it stands in a file.
pub(crate) trait Number: Copy {
    const KIND: Dtype;
    const SIZE: usize;
    fn write(self, bytes: &mut Vec<u8>);
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($type:ty, $kind:expr) => {
        impl Number for $type {
            const KIND: Dtype = $kind;
            const SIZE: usize = size_of::<$type>();
            fn write(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
            fn read(bytes: &[u8]) -> Self {
                bytes.try_into().map(Self::from_le_bytes).unwrap_or_default()
            }
        }
    };
}
number!(f32, Dtype::F32);
number!(u32, Dtype::U32);
number!(u64, Dtype::U64);

/// Lists to be written.
#[derive(Default)]
pub(crate) struct Tensors {
    names: Vec<(String, Dtype, Vec<usize>)>,
    bytes: Vec<u8>,
}

impl Tensors {
    pub(crate) fn add<T: Number>(&mut self, name: impl Into<String>, values: &[T]) {
        self.names.push((name.into(), T::KIND, vec![values.len()]));
        values.iter().for_each(|value| value.write(&mut self.bytes));
    }

    pub(crate) fn write(
        &self,
        folder: &RunFolder,
        name: &str,
        metadata: &BTreeMap<String, String>,
    ) -> Result<(), FolderError> {
        let tensors = self.names.iter();
        let tensors = tensors.map(|(name, kind, shape)| (name.as_str(), *kind, shape.clone()));
        let header = tensor_header(metadata, tensors);
        folder.write_with(&folder.file(name), |file| {
            file.write_all(&header)?;
            file.write_all(&self.bytes)
        })
    }
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
        match tensor.dtype() == T::KIND {
            true => Ok(tensor.data().chunks_exact(T::SIZE).map(T::read).collect()),
            false => Err(self.bad(format!("`{name}` is not of the kind {:?}", T::KIND))),
        }
    }
}
