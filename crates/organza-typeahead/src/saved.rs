//! The files of a model, and how they are read back.

use crate::arpa;
use crate::grams::{Grams, Order};
use crate::level::{Context, Level};
use crate::model::Model;
use crate::settings::Settings;
pub use crate::tensors::SavedError;
use crate::tensors::{SavedTensors, Tensors};
use crate::typeahead::Typeahead;
use organza_model::vectors::{read_words, write_words};
use organza_train::{Failure, RunFolder};
use std::collections::BTreeMap;
use std::path::Path;

/// The file of the model.
pub const MODEL: &str = "model.safetensors";
/// What was released.
pub const NGRAMS: &str = "ngrams.safetensors";
/// The words of both.
pub const WORDS: &str = "vocabulary.txt";
/// The model for others to read, as far as they can.
pub const ARPA: &str = "model.arpa";
/// The deviations of the noise, among the metadata of what was released, and the lengths of contexts, among those of the model.
const DEVIATIONS: &str = "deviations";
const LENGTHS: &str = "context_lengths";

impl Grams {
    /// Writes what was released into the folder of its run.
    pub(crate) fn write(
        &self,
        folder: &RunFolder,
        metadata: &BTreeMap<String, String>,
    ) -> Result<(), Failure> {
        let mut tensors = Tensors::default();
        tensors.add("1_counts", self.words());
        for (order, length) in self.orders().iter().zip(2..) {
            tensors.add(format!("{length}_starts"), order.starts());
            tensors.add(format!("{length}_words"), order.words());
            tensors.add(format!("{length}_counts"), order.counts());
        }
        let mut metadata = metadata.clone();
        metadata.insert(DEVIATIONS.to_owned(), serde_json::to_string(&self.deviations())?);
        Ok(tensors.write(folder, NGRAMS, &metadata)?)
    }

    /// Reads what was released in a run.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn open(path: &Path) -> Result<Self, SavedError> {
        let saved = SavedTensors::read(path, NGRAMS)?;
        let deviations = saved.metadata(DEVIATIONS)?;
        let deviations: Vec<f32> =
            serde_json::from_str(&deviations).map_err(|error| saved.bad(error))?;
        let (first, deviations) =
            deviations.split_first().ok_or_else(|| saved.bad("it has no words"))?;
        let tensors = saved.tensors()?;
        let words = saved.list(&tensors, "1_counts")?;
        let mut grams = Self { words, deviation: *first, orders: Vec::new() };
        for (deviation, length) in deviations.iter().zip(2..) {
            let starts = saved.list(&tensors, &format!("{length}_starts"))?;
            let words = saved.list(&tensors, &format!("{length}_words"))?;
            let counts = saved.list(&tensors, &format!("{length}_counts"))?;
            let (contexts, symbols) = (grams.next_contexts(), grams.symbols());
            let order = Order::read(starts, words, counts, *deviation, contexts, symbols);
            let order = order.ok_or_else(|| saved.bad("its tables do not fit each other"))?;
            grams.orders.push(order);
        }
        Ok(grams)
    }
}

impl Typeahead {
    /// Writes the model into the folder of its run.
    pub(crate) fn write(
        &self,
        folder: &RunFolder,
        metadata: &BTreeMap<String, String>,
    ) -> Result<(), Failure> {
        let model = self.model();
        let mut tensors = Tensors::default();
        // The widest numbers first, so that all of them are aligned.
        for (level, place) in model.levels().iter().zip(1..) {
            tensors.add(format!("{place}_keys"), &level.keys);
        }
        tensors.add("0_parts", model.alone());
        for (level, place) in model.levels().iter().zip(1..) {
            tensors.add(format!("{place}_starts"), &level.starts);
            tensors.add(format!("{place}_words"), &level.words);
            tensors.add(format!("{place}_parts"), &level.parts);
            tensors.add(format!("{place}_left"), &level.left);
            if let Context::Class(classes) = &level.context {
                tensors.add(format!("{place}_classes"), classes);
            }
        }
        let lengths: Vec<Option<usize>> = model
            .levels()
            .iter()
            .map(|level| match level.context {
                Context::Symbols(length) => Some(length),
                Context::Class(_) => None,
            })
            .collect();
        let mut metadata = metadata.clone();
        metadata.insert(LENGTHS.to_owned(), serde_json::to_string(&lengths)?);
        tensors.write(folder, MODEL, &metadata)?;
        write_words(&folder.file(WORDS), self.words())?;
        folder.write_with(&folder.file(ARPA), |file| arpa::write(model, self.words(), file))?;
        Ok(())
    }

    /// Reads the model in the folder of a run.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn open(path: &Path) -> Result<Self, SavedError> {
        let bad = |name: &str, problem: &dyn std::fmt::Display| SavedError {
            file: path.join(name).display().to_string(),
            problem: problem.to_string(),
        };
        const SETTINGS: &str = "settings.json";
        let settings = std::fs::read(path.join(SETTINGS)).map_err(|it| bad(SETTINGS, &it))?;
        let settings: Settings =
            serde_json::from_slice(&settings).map_err(|it| bad(SETTINGS, &it))?;
        let tokeniser = settings.data.tokeniser().map_err(|it| bad(SETTINGS, &it))?;
        let words = read_words(&path.join(WORDS)).map_err(|it| bad(WORDS, &it))?;
        let saved = SavedTensors::read(path, MODEL)?;
        let lengths: Vec<Option<usize>> =
            serde_json::from_str(&saved.metadata(LENGTHS)?).map_err(|it| saved.bad(it))?;
        let tensors = saved.tensors()?;
        let alone: Vec<f32> = saved.list(&tensors, "0_parts")?;
        let symbols = alone.len() as u32;
        let mut levels = Vec::new();
        for (length, place) in lengths.into_iter().zip(1..) {
            let level = Level {
                context: match length {
                    Some(length) => Context::Symbols(length),
                    None => Context::Class(saved.list(&tensors, &format!("{place}_classes"))?),
                },
                keys: saved.list(&tensors, &format!("{place}_keys"))?,
                starts: saved.list(&tensors, &format!("{place}_starts"))?,
                words: saved.list(&tensors, &format!("{place}_words"))?,
                parts: saved.list(&tensors, &format!("{place}_parts"))?,
                left: saved.list(&tensors, &format!("{place}_left"))?,
            };
            levels.push(level);
        }
        let fits = levels.iter().all(|level| level.fits(symbols));
        match fits && symbols as usize == words.len() + organza_data::Writing::FIRST_WORD as usize {
            true => Ok(Self::new(Model::new(alone, levels), words, tokeniser)),
            false => Err(saved.bad("its tables do not fit each other")),
        }
    }
}
