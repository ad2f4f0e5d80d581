//! Neighbours and analogies.

use super::{Vectors, VectorsError};

/// A word and how close it is.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Neighbour {
    /// The word.
    pub word: String,
    /// The cosine between its vector and the one asked for, from -1 to 1.
    pub cosine: f64,
}

impl Vectors {
    /// The cosine between the vectors of two words; 0 where one of them is zero.
    ///
    /// # Errors
    /// When a word is not in the vocabulary.
    pub fn cosine(&self, left: &str, right: &str) -> Result<f64, VectorsError> {
        Ok(self.cosine_of(self.number(left)?, self.number(right)?))
    }

    /// The `count` words nearest to `word` by cosine, without itself; equally near ones in the order of the
    /// vocabulary.
    ///
    /// # Errors
    /// When the word is not in the vocabulary.
    pub fn nearest(&self, word: &str, count: usize) -> Result<Vec<Neighbour>, VectorsError> {
        let number = self.number(word)?;
        Ok(self.nearest_to(&self.unit(number), &[number], count))
    }

    /// first is to second as third is to what? The `count` words nearest to
    /// second - first + third, all three at length 1, without the three themselves.
    ///
    /// # Errors
    /// When a word is not in the vocabulary.
    pub fn analogy(
        &self,
        [first, second, third]: [&str; 3],
        count: usize,
    ) -> Result<Vec<Neighbour>, VectorsError> {
        let numbers = [self.number(first)?, self.number(second)?, self.number(third)?];
        let [first, second, third] = numbers.map(|number| self.unit(number));
        let wanted: Vec<f64> = second
            .iter()
            .zip(&first)
            .zip(&third)
            .map(|((second, first), third)| second - first + third)
            .collect();
        Ok(self.nearest_to(&wanted, &numbers, count))
    }

    /// The number of a word, if need be without its capitals, or an error with the word of the vocabulary that is spelled
    /// most like it.
    pub(super) fn number(&self, word: &str) -> Result<usize, VectorsError> {
        self.find(word).or_else(|| self.find(&word.to_lowercase())).ok_or_else(|| {
            VectorsError::UnknownWord {
                word: word.to_owned(),
                words: self.words.len(),
                suggestion: self.most_like(word),
            }
        })
    }

    /// The same bits in either order, so that a pair and its mirror image have the same rank.
    pub(super) fn cosine_of(&self, left: usize, right: usize) -> f64 {
        let left: Vec<f64> = self.row(left).iter().map(|value| f64::from(*value)).collect();
        cosine(&left, self.row(right))
    }

    fn nearest_to(&self, wanted: &[f64], without: &[usize], count: usize) -> Vec<Neighbour> {
        let mut near: Vec<(usize, f64)> = (0..self.words.len())
            .filter(|number| !without.contains(number))
            .map(|number| (number, cosine(wanted, self.row(number))))
            .collect();
        near.sort_by(|left, right| right.1.total_cmp(&left.1));
        near.truncate(count);
        let neighbour =
            |(number, cosine): (usize, f64)| Neighbour { word: self.words[number].clone(), cosine };
        near.into_iter().map(neighbour).collect()
    }

    /// A word's vector at length 1, in double precision, where squares cannot overflow; zero stays zero.
    pub(super) fn unit(&self, number: usize) -> Vec<f64> {
        let row = self.row(number);
        let length = row.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
        row.iter().map(|value| f64::from(*value) * scale).collect()
    }

    /// The word with the fewest letters inserted, deleted, replaced or swapped, if these are at most
    /// a third of the letters; of equals the one that comes first.
    fn most_like(&self, word: &str) -> Option<String> {
        let wanted = word.to_lowercase();
        let letters = wanted.chars().count();
        let most = (letters / 3).max(1);
        self.words
            .iter()
            // Lengths in bytes differ by at most four bytes a change.
            .filter(|other| other.len().abs_diff(wanted.len()) <= 4 * most)
            .map(|other| (strsim::osa_distance(&wanted, &other.to_lowercase()), other))
            .filter(|(distance, _)| *distance <= most)
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, other)| other.clone())
    }
}

fn cosine(left: &[f64], right: &[f32]) -> f64 {
    let (mut product, mut left_square, mut right_square) = (0.0, 0.0, 0.0);
    for (left, right) in left.iter().zip(right) {
        let right = f64::from(*right);
        product += left * right;
        left_square += left * left;
        right_square += right * right;
    }
    let lengths = left_square.sqrt() * right_square.sqrt();
    if lengths > 0.0 { (product / lengths).clamp(-1.0, 1.0) } else { 0.0 }
}
