//! The files of a model, and how it is read back.

use crate::fit::Choice;
use crate::model::Recommender;
use crate::pairs::Pairs;
use organza_model::{Tensors, numbers};
use organza_train::RunFolder;
use safetensors::SafeTensors;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use thiserror::Error;

/// The file of a model.
pub const MODEL: &str = "model.safetensors";
/// The names of its items, with their titles after a tab.
pub const ITEMS: &str = "items.txt";
/// How it was chosen, among the metadata of the model.
const CHOICE: &str = "choice";

/// A model with the names of its items.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedRecommender {
    /// What recommends.
    pub model: Recommender,
    /// The names of items, in the order of their noisy counts.
    pub names: Vec<String>,
    /// Their titles, where they have some.
    pub titles: Vec<Option<String>>,
    /// Their noisy counts.
    pub counts: Vec<f64>,
    /// How it was chosen, where there was a choice.
    pub choice: Option<Choice>,
}

/// Why a model cannot be read or used.
#[derive(Debug, Error)]
pub enum SavedError {
    /// A file.
    #[error("cannot read {file}: {problem}; is this the folder of `organza recommender`?")]
    Bad {
        /// Which.
        file: String,
        /// What is wrong.
        problem: String,
    },
    /// An item that the model does not have.
    #[error(
        "the model has no item `{name}`{}; items.txt lists those it has",
        near.as_ref().map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default()
    )]
    NoItem {
        /// What was asked for.
        name: String,
        /// The one whose name is nearest.
        near: Option<String>,
    },
}

impl SavedRecommender {
    /// Writes the model into the folder of its run.
    pub(crate) fn write(
        &self,
        folder: &RunFolder,
        metadata: &BTreeMap<String, String>,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let Self { model, names, titles, counts, choice } = self;
        let mut metadata = metadata.clone();
        metadata.insert(CHOICE.to_owned(), serde_json::to_string(choice)?);
        let counts: Vec<f32> = counts.iter().map(|count| *count as f32).collect();
        let shape = [model.items(), model.dimensions()];
        let (pairs, pair_scores) = model.pairs().columns();
        let mut tensors = Tensors::default();
        tensors.add("asking", shape, model.asking());
        tensors.add("found", shape, model.found());
        tensors.add("vectors", [model.items(), model.likeness()], model.vectors());
        tensors.list("counts", &counts);
        tensors.add("pairs", [pair_scores.len(), 2], &pairs);
        tensors.list("pair_scores", &pair_scores);
        tensors.list("prior", model.prior());
        folder.write_with(&folder.file(MODEL), |file| tensors.write(&metadata, file))?;
        let line = |(name, title): (&String, &Option<String>)| match title {
            None => format!("{name}\n"),
            Some(title) => format!("{name}\t{title}\n"),
        };
        let text: String = names.iter().zip(titles).map(line).collect();
        Ok(folder.write(&folder.file(ITEMS), text.as_bytes())?)
    }

    /// Reads the model in the folder of a run.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn read(path: &Path) -> Result<Self, SavedError> {
        let file = path.join(MODEL);
        let bad = |problem: &dyn std::fmt::Display| SavedError::Bad {
            file: file.display().to_string(),
            problem: problem.to_string(),
        };
        let bytes = std::fs::read(&file).map_err(|error| bad(&error))?;
        let tensors = SafeTensors::deserialize(&bytes).map_err(|error| bad(&error))?;
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|error| bad(&error))?;
        let choice = header.metadata().as_ref().and_then(|metadata| metadata.get(CHOICE));
        let choice = choice.ok_or_else(|| bad(&"it is not a recommender"))?;
        let choice: Option<Choice> = serde_json::from_str(choice).map_err(|error| bad(&error))?;
        let values = |name: &str| {
            let tensor = tensors.tensor(name).map_err(|error| bad(&error))?;
            let values: Vec<f32> = numbers(&tensor)
                .ok_or_else(|| bad(&format!("`{name}` does not hold 32-bit floats")))?;
            Ok((tensor.shape().to_vec(), values))
        };
        let (shape, asking) = values("asking")?;
        let (same, found) = values("found")?;
        let (short, vectors) = values("vectors")?;
        let (number, counts) = values("counts")?;
        let (_, pair_scores) = values("pair_scores")?;
        let pairs = tensors.tensor("pairs").map_err(|error| bad(&error))?;
        let (square, prior) = values("prior")?;
        let [items, dimensions] = shape[..] else { return Err(bad(&"`asking` is not a table")) };
        let fits = short.first() == Some(&items) && short.len() == 2;
        let square = square == [0] || square == [dimensions.saturating_mul(dimensions)];
        if dimensions == 0 || same != shape || number != [items] || !fits || !square {
            return Err(bad(&"its tables do not fit each other"));
        }
        let listed = path.join(ITEMS);
        let text = std::fs::read_to_string(&listed).map_err(|error| SavedError::Bad {
            file: listed.display().to_string(),
            problem: error.to_string(),
        })?;
        let parted = |line: &str| match line.split_once('\t') {
            Some((name, title)) => (name.to_owned(), Some(title.to_owned())),
            None => (line.to_owned(), None),
        };
        let (names, titles): (Vec<_>, Vec<_>) = text.lines().map(parted).unzip();
        if names.len() != items {
            return Err(SavedError::Bad {
                file: listed.display().to_string(),
                problem: format!("it names {} items, but the model has {items}", names.len()),
            });
        }
        let counts = counts.into_iter().map(f64::from).collect();
        let pairs = numbers(&pairs)
            .and_then(|pairs: Vec<u32>| Pairs::of_columns(&pairs, &pair_scores, items))
            .ok_or_else(|| bad(&"its pairs do not fit its items"))?;
        let model = Recommender::new(dimensions, asking, found, vectors);
        let model = model.with_pairs(pairs).with_prior(prior);
        Ok(Self { model, names, titles, counts, choice })
    }

    /// The number of an item by its name, or by its title.
    ///
    /// # Errors
    /// If there is none; names the nearest.
    pub fn find(&self, name: &str) -> Result<u32, SavedError> {
        let titled = || {
            let same = |title: &Option<String>| {
                title.as_ref().is_some_and(|title| title.eq_ignore_ascii_case(name))
            };
            self.titles.iter().position(same)
        };
        let place = self.names.iter().position(|known| known == name).or_else(titled);
        place.map(|place| place as u32).ok_or_else(|| {
            let all = self.names.iter().chain(self.titles.iter().flatten());
            let near = all.map(|known| (strsim::jaro_winkler(known, name), known));
            let near = near.max_by(|one, other| one.0.total_cmp(&other.0));
            let near = near.filter(|(alike, _)| *alike > 0.8).map(|(_, known)| known.clone());
            SavedError::NoItem { name: name.to_owned(), near }
        })
    }

    /// The number of each name.
    pub fn places(&self) -> HashMap<&str, u32> {
        self.names.iter().map(String::as_str).zip(0..).collect()
    }

    /// What an item is called: its title, or else its name.
    pub fn title(&self, item: u32) -> &str {
        let titled = self.titles.get(item as usize).and_then(Option::as_deref);
        titled.or(self.names.get(item as usize).map(String::as_str)).unwrap_or_default()
    }
}
