//! Word vectors after training: files, neighbours, analogies, similarity.

mod binary;
mod header;
mod plane;
mod query;
mod saved;
mod similarity;
mod text;
mod vocabulary;

pub use query::Neighbour;
pub use saved::SavedModel;
pub use similarity::{Similarity, WordPair, read_pairs, spearman};
pub use vocabulary::{read_words, write_words};

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Words, each with its vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    words: Vec<String>,
    dimensions: usize,
    matrix: Vec<f32>,
    /// The numbers of the words in the order of their spelling.
    by_spelling: Vec<u32>,
}

/// What can go wrong with word vectors and their files.
#[derive(Debug, Error)]
pub enum VectorsError {
    /// The disk refused.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{}, {place}: {problem}", path.display())]
    Format {
        /// Which file.
        path: PathBuf,
        /// Where in it.
        place: String,
        /// What is wrong there, and what to do.
        problem: String,
    },
    /// A word that no word2vec file can hold.
    #[error("word {number} of the vocabulary, {word:?}, {problem}")]
    Word {
        /// Its number, from 1.
        number: usize,
        /// The word.
        word: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The matrix is not one of so many words and dimensions.
    #[error("{values} values do not make {words} vectors of {dimensions} dimensions")]
    Size {
        /// The number of words.
        words: usize,
        /// The length of each vector.
        dimensions: usize,
        /// The number of values.
        values: usize,
    },
    /// Training has diverged.
    #[error("the vector of {word:?} is not finite: train again with a smaller learning rate")]
    NotFinite {
        /// The first such word.
        word: String,
    },
    /// A word without a vector.
    #[error("{word:?} is not in the vocabulary of {words} words{}", hint(suggestion))]
    UnknownWord {
        /// The word asked for.
        word: String,
        /// The size of the vocabulary.
        words: usize,
        /// The word of the vocabulary that is spelled most like it.
        suggestion: Option<String>,
    },
    /// A rank correlation that is not defined.
    #[error(
        "only {known} of {all} word pairs are in the vocabulary, or all their scores are equal: \
         no rank correlation is defined"
    )]
    TooFewPairs {
        /// The pairs of which both words have vectors.
        known: usize,
        /// All pairs.
        all: usize,
    },
}

fn hint(suggestion: &Option<String>) -> String {
    match suggestion {
        Some(word) => format!("; did you mean {word:?}?"),
        None => String::new(),
    }
}

impl VectorsError {
    fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { action, path: path.to_owned(), source }
    }

    fn format(path: &Path, place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Format { path: path.to_owned(), place: place.into(), problem: problem.into() }
    }
}

impl Vectors {
    /// Words and their vectors, one after another in one matrix.
    ///
    /// # Errors
    /// When a word cannot be written to a word2vec file or comes twice, when the matrix has another
    /// size, or a value is not finite.
    pub fn new(
        words: Vec<String>,
        dimensions: usize,
        matrix: Vec<f32>,
    ) -> Result<Self, VectorsError> {
        let by_spelling = vocabulary::order(&words)?;
        if dimensions == 0 || words.len().checked_mul(dimensions) != Some(matrix.len()) {
            let (words, values) = (words.len(), matrix.len());
            return Err(VectorsError::Size { words, dimensions, values });
        }
        if let Some(place) = matrix.iter().position(|value| !value.is_finite()) {
            return Err(VectorsError::NotFinite { word: words[place / dimensions].clone() });
        }
        Ok(Self { words, dimensions, matrix, by_spelling })
    }

    /// The words, in the order of their numbers.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The length of each vector.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// All vectors, one after another.
    pub fn matrix(&self) -> &[f32] {
        &self.matrix
    }

    /// The vector of a word.
    ///
    /// # Errors
    /// When the word is not in the vocabulary.
    pub fn vector(&self, word: &str) -> Result<&[f32], VectorsError> {
        Ok(self.row(self.number(word)?))
    }

    fn row(&self, number: usize) -> &[f32] {
        &self.matrix[number * self.dimensions..(number + 1) * self.dimensions]
    }

    fn find(&self, word: &str) -> Option<usize> {
        let place = self
            .by_spelling
            .binary_search_by(|number| self.words[*number as usize].as_str().cmp(word));
        place.ok().map(|place| self.by_spelling[place] as usize)
    }
}
