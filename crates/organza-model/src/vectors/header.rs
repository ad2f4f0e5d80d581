//! The first line of both word2vec formats: how many words, how many dimensions.

use super::vocabulary::read_line;
use super::{Vectors, VectorsError};
use std::io::BufRead;
use std::path::Path;

/// More dimensions than anyone uses: a larger number is a damaged or foreign file.
const MOST_DIMENSIONS: usize = 1 << 20;

/// What a header promises; nothing is reserved for it before it is there.
pub(super) struct Header {
    pub(super) words: u64,
    pub(super) dimensions: usize,
}

impl Header {
    pub(super) fn read(reader: &mut impl BufRead, path: &Path) -> Result<Self, VectorsError> {
        let error = |problem: String| VectorsError::format(path, "line 1", problem);
        let line = read_line(reader, 64, path, 1)?.unwrap_or_default();
        let numbers: Option<Vec<u64>> =
            line.split_ascii_whitespace().map(|number| number.parse().ok()).collect();
        let Some([words, dimensions]) = numbers.as_deref() else {
            let expected = "the number of words and the number of dimensions are expected here";
            return Err(error(format!("{line:?}: {expected}")));
        };
        let dimensions = usize::try_from(*dimensions).unwrap_or(usize::MAX);
        if *words > u64::from(u32::MAX) || dimensions == 0 || dimensions > MOST_DIMENSIONS {
            return Err(error(format!(
                "{line:?}: at most {} words and from 1 to {MOST_DIMENSIONS} dimensions are possible",
                u32::MAX
            )));
        }
        Ok(Self { words: *words, dimensions })
    }

    /// The vectors that were read, if they are as many as promised.
    pub(super) fn finish(
        self,
        words: Vec<String>,
        matrix: Vec<f32>,
        path: &Path,
    ) -> Result<Vectors, VectorsError> {
        if words.len() as u64 != self.words {
            return Err(self.wrong_count(path, &format!("ends after {}", words.len())));
        }
        Vectors::new(words, self.dimensions, matrix).map_err(|error| match error {
            VectorsError::File { .. } | VectorsError::Format { .. } => error,
            other => VectorsError::format(path, "words", other.to_string()),
        })
    }

    pub(super) fn wrong_count(&self, path: &Path, instead: &str) -> VectorsError {
        let problem = format!("{} words were promised, the file {instead}", self.words);
        VectorsError::format(path, "line 1", problem)
    }
}
