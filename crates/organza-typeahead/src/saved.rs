//! The files of a model, and how it is read back.

use crate::arpa;
use crate::grams::{Grams, Order};
use crate::model::Model;
use crate::settings::Settings;
use crate::typeahead::Typeahead;
use organza_data::Writing;
use organza_model::tensor_header;
use organza_model::vectors::{read_words, write_words};
use organza_train::{Failure, RunFolder};
use safetensors::{Dtype, SafeTensors};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use thiserror::Error;

/// The file of a model.
pub const MODEL: &str = "model.safetensors";
/// Its words.
pub const WORDS: &str = "vocabulary.txt";
/// The same model for others to read.
pub const ARPA: &str = "model.arpa";
/// The deviations of the noise, among the metadata of the model.
const DEVIATIONS: &str = "deviations";

/// Why a model cannot be read.
#[derive(Debug, Error)]
#[error("cannot read {file}: {problem}; is this the folder of a finished `organza typeahead`?")]
pub struct SavedError {
    file: String,
    problem: String,
}

impl Typeahead {
    /// Writes the model into the folder of its run.
    pub(crate) fn write(
        &self,
        folder: &RunFolder,
        metadata: &BTreeMap<String, String>,
    ) -> Result<(), Failure> {
        let grams = self.model().grams();
        let deviations: Vec<f64> = [f64::from(grams.deviation)]
            .into_iter()
            .chain(grams.orders().iter().map(Order::deviation))
            .collect();
        let mut metadata = metadata.clone();
        metadata.insert(DEVIATIONS.to_owned(), serde_json::to_string(&deviations)?);
        let mut names = vec![("words".to_owned(), Dtype::F32, grams.words().len())];
        for (order, length) in grams.orders().iter().zip(2..) {
            names.push((format!("{length}_starts"), Dtype::U32, order.starts().len()));
            names.push((format!("{length}_words"), Dtype::U32, order.len()));
            names.push((format!("{length}_counts"), Dtype::F32, order.len()));
        }
        let tensors = names.iter().map(|(name, kind, size)| (name.as_str(), *kind, vec![*size]));
        let header = tensor_header(&metadata, tensors);
        folder.write_with(&folder.file(MODEL), |file| {
            file.write_all(&header)?;
            let floats = |file: &mut dyn Write, values: &[f32]| {
                values.iter().try_for_each(|value| file.write_all(&value.to_le_bytes()))
            };
            let numbers = |file: &mut dyn Write, values: &[u32]| {
                values.iter().try_for_each(|value| file.write_all(&value.to_le_bytes()))
            };
            floats(file, grams.words())?;
            for order in grams.orders() {
                numbers(file, order.starts())?;
                numbers(file, order.words())?;
                floats(file, order.counts())?;
            }
            Ok(())
        })?;
        write_words(&folder.file(WORDS), self.words())?;
        folder
            .write_with(&folder.file(ARPA), |file| arpa::write(self.model(), self.words(), file))?;
        Ok(())
    }

    /// Reads the model in the folder of a run.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn open(path: &Path) -> Result<Self, SavedError> {
        let bad = |file: &str| {
            let file = path.join(file).display().to_string();
            move |problem: &dyn std::fmt::Display| SavedError {
                file: file.clone(),
                problem: problem.to_string(),
            }
        };
        let settings = std::fs::read(path.join("settings.json"))
            .map_err(|error| bad("settings.json")(&error))?;
        let settings: Settings =
            serde_json::from_slice(&settings).map_err(|error| bad("settings.json")(&error))?;
        let tokeniser = settings.data.tokeniser().map_err(|error| bad("settings.json")(&error))?;
        let words = read_words(&path.join(WORDS)).map_err(|error| bad(WORDS)(&error))?;
        let bad = bad(MODEL);
        let bytes = std::fs::read(path.join(MODEL)).map_err(|error| bad(&error))?;
        let tensors = SafeTensors::deserialize(&bytes).map_err(|error| bad(&error))?;
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|error| bad(&error))?;
        let deviations = header.metadata().as_ref().and_then(|metadata| metadata.get(DEVIATIONS));
        let deviations = deviations.ok_or_else(|| bad(&"it is not a typeahead"))?;
        let deviations: Vec<f64> = serde_json::from_str(deviations).map_err(|error| bad(&error))?;
        let bytes_of = |name: &str, kind: Dtype| {
            let tensor = tensors.tensor(name).map_err(|error| bad(&error))?;
            match tensor.dtype() == kind {
                true => Ok(tensor.data().as_chunks::<4>().0),
                false => Err(bad(&format!("`{name}` is not of the kind {kind:?}"))),
            }
        };
        let floats = |name: &str| -> Result<Vec<f32>, SavedError> {
            Ok(bytes_of(name, Dtype::F32)?.iter().map(|it| f32::from_le_bytes(*it)).collect())
        };
        let numbers = |name: &str| -> Result<Vec<u32>, SavedError> {
            Ok(bytes_of(name, Dtype::U32)?.iter().map(|it| u32::from_le_bytes(*it)).collect())
        };
        let (first, deviations) =
            deviations.split_first().ok_or_else(|| bad(&"it has no words"))?;
        let counts = floats("words")?;
        if counts.len() != words.len() + Writing::FIRST_WORD as usize {
            return Err(bad(&"its words are not those of vocabulary.txt"));
        }
        let mut grams = Grams { words: counts, deviation: *first as f32, orders: Vec::new() };
        for (deviation, length) in deviations.iter().zip(2..) {
            let [starts, words] = ["starts", "words"].map(|it| numbers(&format!("{length}_{it}")));
            let counts = floats(&format!("{length}_counts"))?;
            let order = Order::read(
                starts?,
                words?,
                counts,
                *deviation,
                grams.next_contexts(),
                grams.symbols(),
            );
            grams.orders.push(order.ok_or_else(|| bad(&"its tables do not fit each other"))?);
        }
        Ok(Self::new(Model::new(grams), words, tokeniser))
    }
}
