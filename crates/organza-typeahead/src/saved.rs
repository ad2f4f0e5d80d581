//! The files of a model, and how they are read back.

use crate::arpa;
use crate::level::{Context, Level};
use crate::model::Model;
use crate::network::Network;
use crate::release::Released;
use crate::settings::Settings;
pub use crate::tensors::SavedError;
use crate::tensors::SavedTensors;
use crate::typeahead::Typeahead;
use organza_model::Tensors;
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
/// What the stages are, among the metadata of what was released, and the lengths of contexts, among those of the model.
const NAMES: &str = "stages";
const LENGTHS: &str = "context_lengths";
/// The list of the parameters of a network.
const NETWORK: &str = "network";

impl Released {
    /// Writes what was released into the folder of its run.
    pub(crate) fn write(
        all: &[Self],
        folder: &RunFolder,
        metadata: &BTreeMap<String, String>,
    ) -> Result<(), Failure> {
        let mut tensors = Tensors::default();
        for (stage, place) in all.iter().zip(1..) {
            tensors.list(format!("{place}_symbols"), &stage.symbols);
            tensors.list(format!("{place}_counts"), &stage.counts);
        }
        let stages: Vec<(&str, usize, f32)> =
            all.iter().map(|it| (it.name.as_str(), it.length, it.deviation)).collect();
        let mut metadata = metadata.clone();
        metadata.insert(NAMES.to_owned(), serde_json::to_string(&stages)?);
        Ok(folder.write_with(&folder.file(NGRAMS), |file| tensors.write(&metadata, file))?)
    }

    /// Reads what was released in a run.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn open(path: &Path) -> Result<Vec<Self>, SavedError> {
        let saved = SavedTensors::read(path, NGRAMS)?;
        let stages: Vec<(String, usize, f32)> =
            serde_json::from_str(&saved.metadata(NAMES)?).map_err(|it| saved.bad(it))?;
        let tensors = saved.tensors()?;
        let stage = |((name, length, deviation), place): ((String, usize, f32), usize)| {
            let symbols: Vec<u32> = saved.list(&tensors, &format!("{place}_symbols"))?;
            let counts: Vec<f32> = saved.list(&tensors, &format!("{place}_counts"))?;
            match symbols.len() == counts.len().saturating_mul(length) {
                true => Ok(Self { name, length, symbols, counts, deviation }),
                false => Err(saved.bad("its lists do not fit each other")),
            }
        };
        stages.into_iter().zip(1..).map(stage).collect()
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
            tensors.list(format!("{place}_keys"), &level.keys);
        }
        tensors.list("0_parts", model.alone());
        for (level, place) in model.levels().iter().zip(1..) {
            tensors.list(format!("{place}_starts"), &level.starts);
            tensors.list(format!("{place}_words"), &level.words);
            tensors.list(format!("{place}_parts"), &level.parts);
            tensors.list(format!("{place}_left"), &level.left);
            if let Context::Class { of_symbol, .. } = &level.context {
                tensors.list(format!("{place}_classes"), of_symbol);
            }
        }
        if let Some(network) = model.network() {
            tensors.list(NETWORK, network.parameters());
        }
        let length =
            |level: &Level| (level.length(), matches!(level.context, Context::Class { .. }));
        let lengths: Vec<(usize, bool)> = model.levels().iter().map(length).collect();
        let mut metadata = metadata.clone();
        metadata.insert(LENGTHS.to_owned(), serde_json::to_string(&lengths)?);
        folder.write_with(&folder.file(MODEL), |file| tensors.write(&metadata, file))?;
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
        let lengths: Vec<(usize, bool)> =
            serde_json::from_str(&saved.metadata(LENGTHS)?).map_err(|it| saved.bad(it))?;
        let tensors = saved.tensors()?;
        let alone: Vec<f32> = saved.list(&tensors, "0_parts")?;
        let symbols = alone.len() as u32;
        let mut levels = Vec::new();
        for ((length, by_class), place) in lengths.into_iter().zip(1..) {
            let level = Level {
                context: match by_class {
                    false => Context::Symbols(length),
                    true => {
                        let of_symbol = saved.list(&tensors, &format!("{place}_classes"))?;
                        Context::Class { of_symbol, length }
                    }
                },
                keys: saved.list(&tensors, &format!("{place}_keys"))?,
                starts: saved.list(&tensors, &format!("{place}_starts"))?,
                words: saved.list(&tensors, &format!("{place}_words"))?,
                parts: saved.list(&tensors, &format!("{place}_parts"))?,
                left: saved.list(&tensors, &format!("{place}_left"))?,
            };
            levels.push(level);
        }
        let misfit = || saved.bad("its tables do not fit each other");
        let fits = levels.iter().all(|level| level.fits(symbols));
        if !fits || symbols as usize != words.len() + organza_data::Writing::FIRST_WORD as usize {
            return Err(misfit());
        }
        let mut model = Model::new(alone, levels);
        if tensors.names().contains(&NETWORK) {
            let network = Network::new(symbols, saved.list(&tensors, NETWORK)?);
            model = model.with_network(network.ok_or_else(misfit)?);
        }
        Ok(Self::new(model, words, tokeniser))
    }
}
