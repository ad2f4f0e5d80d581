//! Word vectors with negative sampling: skip-gram, and the mean of the context (CBOW).

mod expected;
mod gradient;
mod initial;

pub use expected::{ExpectedLoss, HeldOutSample};
pub use gradient::{Sample, Scratch};
pub use initial::frequency_bias;

use organza_mechanism::{FlatRows, Shape};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Row numbers take 32 bits, and two tables and a bias make three rows a word.
const MOST_WORDS: u64 = (1 << 32) / 3;

/// Which tables there are, and which word of a pair looks where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// One table of words x dimensions in both roles, without a bias: the model of the paper.
    Tied,
    /// A table of input vectors, a table of output vectors, and a bias of each output word, in this
    /// order: what word2vec has, and a bias.
    TwoTables,
}

/// A model of word vectors: its layout and its size. The parameters stand outside, as rows of
/// all tables, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordVectors {
    layout: Layout,
    words: u32,
    dimensions: usize,
}

/// What does not fit a model.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ModelError {
    /// There is nothing to train, or more than row numbers can count.
    #[error(
        "a model of {words} words in {dimensions} dimensions: give at least one of both, and at \
         most {MOST_WORDS} words"
    )]
    Size {
        /// The words asked for.
        words: u64,
        /// The dimensions asked for.
        dimensions: usize,
    },
    /// The parameters belong to another model.
    #[error("{found} parameters were given to a model that has {expected}")]
    Parameters {
        /// How many the model has.
        expected: usize,
        /// How many came.
        found: usize,
    },
    /// A word that the model does not have.
    #[error("word {word} was asked of a model of {words} words, which count from 0")]
    Word {
        /// The word's number.
        word: u32,
        /// The size of the vocabulary.
        words: u32,
    },
    /// A sample with nothing on its input side.
    #[error("a sample has no input word: leave out targets without context")]
    NoInput,
    /// A list with one number for each word has another length.
    #[error("{what} have {found} entries for a vocabulary of {words} words")]
    Length {
        /// Which list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The size of the vocabulary.
        words: u32,
    },
    /// A probability, a count or a weight that is none.
    #[error("{what} must be finite, not negative, and not all zero")]
    Weights {
        /// Which list.
        what: &'static str,
    },
    /// A bias was given to a model without one.
    #[error("the tied layout has no bias: use two tables")]
    NoBias,
}

impl WordVectors {
    /// A model of `words` words in `dimensions` dimensions.
    ///
    /// # Errors
    /// When there are no words or no dimensions, or too many of them to be counted.
    pub fn new(layout: Layout, words: u64, dimensions: usize) -> Result<Self, ModelError> {
        let error = ModelError::Size { words, dimensions };
        // The bias table is the only one without dimensions, hence the 1.
        let coordinates = usize::try_from(words)
            .ok()
            .and_then(|words| dimensions.checked_mul(2)?.checked_add(1)?.checked_mul(words));
        if words == 0 || words > MOST_WORDS || dimensions == 0 || coordinates.is_none() {
            return Err(error);
        }
        Ok(Self { layout, words: words as u32, dimensions })
    }

    /// Which tables there are.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The size of the vocabulary.
    pub fn words(&self) -> u32 {
        self.words
    }

    /// The length of a word's vector.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The tables, each (rows, dimensions), in the order of rows and of parameters.
    pub fn tables(&self) -> Vec<(u64, u64)> {
        let vectors = (u64::from(self.words), self.dimensions as u64);
        match self.layout {
            Layout::Tied => vec![vectors],
            Layout::TwoTables => vec![vectors, vectors, (vectors.0, 1)],
        }
    }

    /// The number of parameters of all tables.
    pub fn parameters(&self) -> usize {
        match self.layout {
            Layout::Tied => self.table(),
            Layout::TwoTables => 2 * self.table() + self.words as usize,
        }
    }

    /// The rows of all tables.
    ///
    /// # Errors
    /// When the parameters belong to another model.
    pub fn rows<'a>(&self, parameters: &'a [f32]) -> Result<FlatRows<'a>, ModelError> {
        self.check_parameters(parameters)?;
        let (words, dimensions) = (u64::from(self.words), self.dimensions);
        let shape = Shape::tables(&self.tables());
        let shape = shape.map_err(|_| ModelError::Size { words, dimensions })?;
        Ok(FlatRows::new(shape, parameters))
    }

    /// The table of input vectors, which are the word vectors that people use.
    ///
    /// # Errors
    /// When the parameters belong to another model.
    pub fn target<'a>(&self, parameters: &'a [f32]) -> Result<&'a [f32], ModelError> {
        self.check_parameters(parameters)?;
        Ok(&parameters[..self.table()])
    }

    /// The table of output vectors; `None` where the one table has both roles.
    ///
    /// # Errors
    /// When the parameters belong to another model.
    pub fn context<'a>(&self, parameters: &'a [f32]) -> Result<Option<&'a [f32]>, ModelError> {
        self.check_parameters(parameters)?;
        Ok(match self.layout {
            Layout::Tied => None,
            Layout::TwoTables => Some(&parameters[self.table()..2 * self.table()]),
        })
    }

    /// The biases of output words; `None` where there are none.
    ///
    /// # Errors
    /// When the parameters belong to another model.
    pub fn bias<'a>(&self, parameters: &'a [f32]) -> Result<Option<&'a [f32]>, ModelError> {
        self.check_parameters(parameters)?;
        Ok(match self.layout {
            Layout::Tied => None,
            Layout::TwoTables => Some(&parameters[2 * self.table()..]),
        })
    }

    fn table(&self) -> usize {
        self.words as usize * self.dimensions
    }

    /// The row of a word's output vector.
    #[inline(always)]
    fn output_row(&self, word: u32) -> u32 {
        match self.layout {
            Layout::Tied => word,
            Layout::TwoTables => self.words + word,
        }
    }

    /// The row of a word's bias.
    #[inline(always)]
    fn bias_row(&self, word: u32) -> Option<u32> {
        match self.layout {
            Layout::Tied => None,
            Layout::TwoTables => Some(2 * self.words + word),
        }
    }

    #[inline]
    fn check_parameters(&self, parameters: &[f32]) -> Result<(), ModelError> {
        let (expected, found) = (self.parameters(), parameters.len());
        if expected == found { Ok(()) } else { Err(ModelError::Parameters { expected, found }) }
    }

    #[inline]
    fn check_words(&self, words: &[u32]) -> Result<(), ModelError> {
        match words.iter().find(|word| **word >= self.words) {
            None => Ok(()),
            Some(word) => Err(ModelError::Word { word: *word, words: self.words }),
        }
    }

    fn check_weights(&self, what: &'static str, weights: &[f64]) -> Result<f64, ModelError> {
        if weights.len() != self.words as usize {
            return Err(ModelError::Length { what, found: weights.len(), words: self.words });
        }
        total(what, weights.iter().copied())
    }
}

/// The sum of weights that are all finite and not negative, and not all zero.
fn total(what: &'static str, weights: impl Iterator<Item = f64>) -> Result<f64, ModelError> {
    let mut sum = 0.0;
    for weight in weights {
        if weight.is_nan() || weight < 0.0 {
            return Err(ModelError::Weights { what });
        }
        sum += weight;
    }
    if sum > 0.0 && sum.is_finite() { Ok(sum) } else { Err(ModelError::Weights { what }) }
}
