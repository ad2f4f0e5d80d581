//! Agreement with people's judgement of similarity: rank correlation over a list of word pairs.

use super::vocabulary::read_line;
use super::{Vectors, VectorsError};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Two words and how similar people find them.
#[derive(Clone, Debug, PartialEq)]
pub struct WordPair {
    /// One word.
    pub first: String,
    /// The other word.
    pub second: String,
    /// The score, on whatever scale.
    pub score: f64,
}

/// How well vectors agree with a list of word pairs.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Similarity {
    /// Spearman's rank correlation between the cosines and the scores, from -1 to 1.
    pub spearman: f64,
    /// The pairs that count: both words have vectors.
    pub known: usize,
    /// All pairs of the list.
    pub all: usize,
}

/// Reads a list of word pairs: word, word and score, separated by tabs; further columns, empty lines
/// and lines that begin with # are passed over. WordSim-353 comes in this form with gensim.
///
/// # Errors
/// When the file cannot be read, or a line is not of this form, with its number.
pub fn read_pairs(path: &Path) -> Result<Vec<WordPair>, VectorsError> {
    let file = File::open(path).map_err(VectorsError::file("open", path))?;
    let mut reader = BufReader::new(file);
    let mut pairs = Vec::new();
    for number in 1.. {
        let Some(line) = read_line(&mut reader, 1 << 16, path, number)? else { break };
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let error = |problem| VectorsError::format(path, format!("line {number}"), problem);
        let mut fields = line.split('\t').map(str::trim);
        let (Some(first), Some(second), Some(score)) =
            (fields.next(), fields.next(), fields.next())
        else {
            return Err(error("word, word and score are expected, separated by tabs".to_owned()));
        };
        let score = match score.parse::<f64>() {
            Ok(score) if score.is_finite() => score,
            _ => return Err(error(format!("{score:?} is not a score; begin headings with #"))),
        };
        pairs.push(WordPair { first: first.to_owned(), second: second.to_owned(), score });
    }
    Ok(pairs)
}

impl Vectors {
    /// The rank correlation between the cosines of word pairs and their scores.
    ///
    /// A word is looked up as it stands and, failing that, in lower case. Pairs with a word that has no vector
    /// are left out and counted.
    ///
    /// # Errors
    /// When fewer than two pairs have vectors, or all cosines or all scores are equal.
    pub fn similarity(&self, pairs: &[WordPair]) -> Result<Similarity, VectorsError> {
        let number = |word: &str| self.find(word).or_else(|| self.find(&word.to_lowercase()));
        let (mut cosines, mut scores) = (Vec::new(), Vec::new());
        for pair in pairs {
            if let (Some(first), Some(second)) = (number(&pair.first), number(&pair.second)) {
                cosines.push(self.cosine_of(first, second));
                scores.push(pair.score);
            }
        }
        let (known, all) = (cosines.len(), pairs.len());
        match spearman(&cosines, &scores) {
            Some(spearman) => Ok(Similarity { spearman, known, all }),
            None => Err(VectorsError::TooFewPairs { known, all }),
        }
    }
}

/// Spearman's rank correlation: Pearson's correlation of the ranks, equal values sharing the mean of
/// their ranks. `None` when the lists differ in length or one of them has no two different values.
pub fn spearman(left: &[f64], right: &[f64]) -> Option<f64> {
    if left.len() != right.len() {
        return None;
    }
    let (left, right) = (ranks(left), ranks(right));
    // Ranks always have this mean, shared or not.
    let mean = (left.len() as f64 + 1.0) / 2.0;
    let (mut both, mut left_square, mut right_square) = (0.0, 0.0, 0.0);
    for (left, right) in left.iter().zip(&right) {
        both += (left - mean) * (right - mean);
        left_square += (left - mean).powi(2);
        right_square += (right - mean).powi(2);
    }
    let scale = (left_square * right_square).sqrt();
    (scale > 0.0).then(|| (both / scale).clamp(-1.0, 1.0))
}

/// The ranks from 1, in the order of the values; equal ones get the mean of the ranks they take up.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|left, right| values[*left].total_cmp(&values[*right]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equal in order.chunk_by(|left, right| values[*left] == values[*right]) {
        let rank = before as f64 + (equal.len() as f64 + 1.0) / 2.0;
        for place in equal {
            ranks[*place] = rank;
        }
        before += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The rank of a value as the definition has it: how many are smaller, and half of its equals.
    fn naive_ranks(values: &[f64]) -> Vec<f64> {
        let rank = |value: &f64| {
            let smaller = values.iter().filter(|other| *other < value).count();
            let equal = values.iter().filter(|other| *other == value).count();
            smaller as f64 + (equal as f64 + 1.0) / 2.0
        };
        values.iter().map(rank).collect()
    }

    fn naive(left: &[f64], right: &[f64]) -> f64 {
        let (left, right) = (naive_ranks(left), naive_ranks(right));
        let count = left.len() as f64;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
        let product = |left: &[f64], right: &[f64]| {
            let both: Vec<f64> = left.iter().zip(right).map(|(left, right)| left * right).collect();
            mean(&both) - mean(left) * mean(right)
        };
        product(&left, &right) / (product(&left, &left) * product(&right, &right)).sqrt()
    }

    proptest! {
        #[test]
        fn spearman_agrees_with_the_definition(
            pairs in prop::collection::vec((-5i32..5, -5i32..5), 2..40),
        ) {
            let left: Vec<f64> = pairs.iter().map(|pair| f64::from(pair.0)).collect();
            let right: Vec<f64> = pairs.iter().map(|pair| f64::from(pair.1)).collect();
            match spearman(&left, &right) {
                Some(found) => prop_assert!((found - naive(&left, &right)).abs() < 1e-9),
                None => {
                    let constant = |values: &[f64]| values.iter().all(|value| *value == values[0]);
                    prop_assert!(constant(&left) || constant(&right));
                }
            }
        }
    }

    #[test]
    fn zeros_of_both_signs_are_equal() {
        assert_eq!(ranks(&[0.0, 1.0, -0.0, -1.0]), [2.5, 4.0, 2.5, 1.0]);
        assert_eq!(spearman(&[1.0], &[1.0]), None);
        assert_eq!(spearman(&[], &[]), None);
        assert_eq!(spearman(&[1.0, 2.0], &[1.0]), None);
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[5.0, 7.0, 9.0]), Some(1.0));
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[9.0, 7.0, 5.0]), Some(-1.0));
    }
}
