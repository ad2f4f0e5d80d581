//! A whole model in one file: safetensors with what is to be known about it in the header.

use super::{Vectors, VectorsError};
use crate::tensors::Tensors;
use crate::word_vectors::{Layout, WordVectors};
use organza_ledger::atomic::{Readers, write};
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// The version of the file's format, and the key in its metadata that holds it.
const FORMAT: (&str, &str) = ("organza_format", "1");
/// The largest header that is read. Ours have some hundred bytes.
const LARGEST_HEADER: u64 = 1 << 20;
/// Values that are read at a time.
const BLOCK: usize = 1 << 14;

/// A model of word vectors with its parameters, as it stands in a safetensors file.
///
/// The file has the tensors `target` (words x dimensions), and with two tables `context` (words x
/// dimensions) and `bias` (words). The metadata are names and values for readers: Organza writes
/// `epsilon`, `delta`, `neighbouring`, `unit`, `method` and `private` there, so that no one can use the vectors
/// without having their privacy at hand. The same model and metadata give the same bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedModel {
    /// The layout and the size.
    pub model: WordVectors,
    /// The parameters of all tables, one after another.
    pub parameters: Vec<f32>,
    /// What is to be known about the model.
    pub metadata: BTreeMap<String, String>,
}

impl SavedModel {
    /// Writes a model without copying its tables.
    ///
    /// # Errors
    /// When the parameters belong to another model, or the disk has an error; what was at `path` is
    /// as it was then.
    pub fn write(
        path: &Path,
        model: &WordVectors,
        parameters: &[f32],
        metadata: &BTreeMap<String, String>,
    ) -> Result<(), VectorsError> {
        if parameters.len() != model.parameters() {
            let (words, dimensions) = (model.words() as usize, model.dimensions());
            return Err(VectorsError::Size { words, dimensions, values: parameters.len() });
        }
        let mut metadata = metadata.clone();
        metadata.insert(FORMAT.0.to_owned(), FORMAT.1.to_owned());
        let (mut all, mut rest) = (Tensors::default(), parameters);
        for (name, shape) in tensors(model) {
            let (values, after) = rest.split_at(shape.iter().product());
            all.add(name, shape, values);
            rest = after;
        }
        write(path, Readers::Usual, |writer| all.write(&metadata, writer))
            .map_err(VectorsError::file("write", path))
    }

    /// Reads what [`SavedModel::write`] has written.
    ///
    /// # Errors
    /// When the file cannot be read, is no safetensors file, or holds another kind of model. Nothing
    /// is reserved for a tensor before the file is known to be long enough.
    pub fn read(path: &Path) -> Result<Self, VectorsError> {
        let error = |problem: String| VectorsError::format(path, "header", problem);
        let file = File::open(path).map_err(VectorsError::file("open", path))?;
        let length = file.metadata().map_err(VectorsError::file("read", path))?.len();
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let mut size = [0; 8];
        reader.read_exact(&mut size).map_err(VectorsError::file("read the header of", path))?;
        let size = u64::from_le_bytes(size);
        if size > LARGEST_HEADER.min(length) {
            return Err(error(format!("{size} bytes, in a file of {length}: not a model file")));
        }
        let mut header = vec![0; size as usize];
        reader.read_exact(&mut header).map_err(VectorsError::file("read the header of", path))?;
        let header: Metadata = serde_json::from_slice(&header)
            .map_err(|problem| error(format!("not a safetensors header: {problem}")))?;
        let expected = (size + 8).checked_add(header.data_len() as u64);
        if expected != Some(length) {
            let data = header.data_len();
            return Err(error(format!("promises {data} bytes of values, which are not there")));
        }
        let mut metadata: BTreeMap<String, String> =
            header.metadata().clone().unwrap_or_default().into_iter().collect();
        match metadata.remove(FORMAT.0) {
            Some(version) if version == FORMAT.1 => {}
            Some(version) => return Err(error(format!("format {version}: use a newer Organza"))),
            None => return Err(error(format!("no {}: not written by Organza", FORMAT.0))),
        }
        let model = model_of(&header).map_err(error)?;
        let mut parameters = Vec::with_capacity(model.parameters());
        let mut bytes = vec![0; BLOCK * size_of::<f32>()];
        while parameters.len() < model.parameters() {
            let left = (model.parameters() - parameters.len()).min(BLOCK);
            let bytes = &mut bytes[..left * size_of::<f32>()];
            reader.read_exact(bytes).map_err(VectorsError::file("read", path))?;
            parameters
                .extend(bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)));
        }
        Ok(Self { model, parameters, metadata })
    }

    /// The word vectors of people's use: the input vectors, with their words.
    ///
    /// # Errors
    /// When the words are not those of the model, or a value is not finite.
    pub fn into_vectors(mut self, words: Vec<String>) -> Result<Vectors, VectorsError> {
        let dimensions = self.model.dimensions();
        self.parameters.truncate(self.model.words() as usize * dimensions);
        Vectors::new(words, dimensions, self.parameters)
    }
}

/// Names and shapes of the tensors, in the order of the parameters.
fn tensors(model: &WordVectors) -> Vec<(&'static str, Vec<usize>)> {
    let words = model.words() as usize;
    let vectors = vec![words, model.dimensions()];
    match model.layout() {
        Layout::Tied => vec![("target", vectors)],
        Layout::TwoTables => {
            vec![("target", vectors.clone()), ("context", vectors), ("bias", vec![words])]
        }
    }
}

/// The model whose tensors the header describes.
fn model_of(header: &Metadata) -> Result<WordVectors, String> {
    let target = header.info("target").ok_or("there is no tensor `target`")?;
    let &[words, dimensions] = target.shape.as_slice() else {
        return Err("the tensor `target` is not a matrix".to_owned());
    };
    let layout = match header.tensors().len() {
        1 => Layout::Tied,
        _ => Layout::TwoTables,
    };
    let model =
        WordVectors::new(layout, words as u64, dimensions).map_err(|error| error.to_string())?;
    let expected = tensors(&model);
    if header.offset_keys() != expected.iter().map(|(name, _)| *name).collect::<Vec<_>>() {
        return Err(
            "tensors other than `target`, `context`, `bias`, or in another order".to_owned()
        );
    }
    for (name, shape) in expected {
        let fits = |info: &&TensorInfo| info.dtype == Dtype::F32 && info.shape == shape;
        if header.info(name).filter(fits).is_none() {
            return Err(format!("the tensor `{name}` should be F32 with the shape {shape:?}"));
        }
    }
    Ok(model)
}
