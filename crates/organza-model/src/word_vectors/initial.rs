//! Where training begins.

use super::{Layout, ModelError, WordVectors};

impl WordVectors {
    /// Vectors from N(0, deviation^2), biases zero.
    ///
    /// Deviation 1 is PyTorch's default for an embedding, 0.1 a milder start of the same law.
    /// `fill_with_normals` is called once for each table of vectors, in their order, and fills it with
    /// standard normals.
    pub fn initial_normal(
        &self,
        deviation: f32,
        mut fill_with_normals: impl FnMut(&mut [f32]),
    ) -> Vec<f32> {
        let mut parameters = vec![0.0; self.parameters()];
        let vectors = match self.layout {
            Layout::Tied => self.table(),
            Layout::TwoTables => 2 * self.table(),
        };
        for table in parameters[..vectors].chunks_mut(self.table()) {
            fill_with_normals(table);
            for value in table {
                *value *= deviation;
            }
        }
        parameters
    }

    /// Input vectors uniform on (-1/2D, 1/2D) for D dimensions, output vectors and biases zero, as in
    /// word2vec.
    ///
    /// `fill_with_uniforms` is called once and fills the input table with numbers from (0, 1).
    pub fn initial_uniform(&self, mut fill_with_uniforms: impl FnMut(&mut [f32])) -> Vec<f32> {
        let mut parameters = vec![0.0; self.parameters()];
        let table = &mut parameters[..self.table()];
        fill_with_uniforms(table);
        for value in table {
            *value = (*value - 0.5) / self.dimensions as f32;
        }
        parameters
    }

    /// Sets the biases, one for each word: for instance [`frequency_bias`] of public counts.
    ///
    /// # Errors
    /// When the layout has no bias, or there is not one for each word.
    pub fn set_bias(&self, parameters: &mut [f32], bias: &[f32]) -> Result<(), ModelError> {
        self.check_parameters(parameters)?;
        if self.layout == Layout::Tied {
            return Err(ModelError::NoBias);
        }
        if bias.len() != self.words as usize {
            let (found, words) = (bias.len(), self.words);
            return Err(ModelError::Length { what: "the biases", found, words });
        }
        parameters[2 * self.table()..].copy_from_slice(bias);
        Ok(())
    }
}

/// The biases that word frequencies alone call for, given how often each word stood on the output
/// side (`counts`) and the law of the `negatives` negatives of each sample (any positive weights).
///
/// With zero vectors the expected loss of a sample is the sum over words w of
/// p_w softplus(-b_w) + k q_w softplus(b_w), p the share of a word among the positives, q its
/// probability as a negative and k the number of negatives. Its derivative
/// -p_w (1 - sigmoid(b_w)) + k q_w sigmoid(b_w) vanishes where exp(b_w) = p_w / (k q_w). A word that was
/// not seen counts as seen once, since b = -infinity would make its first sight infinitely costly.
///
/// # Errors
/// When the lists differ in length, hold something that is no count or weight, or there are no
/// negatives; a word that is never a negative has no finite bias and is an error as well.
pub fn frequency_bias(
    counts: &[f64],
    negative_weights: &[f64],
    negatives: u32,
) -> Result<Vec<f32>, ModelError> {
    let words = u64::try_from(counts.len()).unwrap_or(u64::MAX);
    let model = WordVectors::new(Layout::TwoTables, words, 1)?;
    model.check_weights("the counts", counts)?;
    let what = "the weights of negatives";
    let negative_total = model.check_weights(what, negative_weights)?;
    if negatives == 0 || negative_weights.contains(&0.0) {
        return Err(ModelError::Weights { what: "the number and the weights of negatives" });
    }
    let positive_total: f64 = counts.iter().map(|count| count.max(1.0)).sum();
    let bias = counts.iter().zip(negative_weights).map(|(count, weight)| {
        let positive = count.max(1.0) / positive_total;
        let negative = f64::from(negatives) * weight / negative_total;
        (positive / negative).ln() as f32
    });
    Ok(bias.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExpectedLoss, HeldOutSample};

    #[test]
    fn starts_fill_the_right_tables() {
        let model = WordVectors::new(Layout::TwoTables, 5, 4).expect("a good size");
        let uniform = model.initial_uniform(|table| table.fill(0.75));
        assert!(uniform[..20].iter().all(|value| *value == 0.0625));
        assert!(uniform[20..].iter().all(|value| *value == 0.0));
        let mut calls = 0.0;
        let normal = model.initial_normal(0.1, |table| {
            calls += 1.0;
            table.fill(calls);
        });
        assert_eq!((normal[0], normal[20], normal[40]), (0.1, 0.2, 0.0));
        assert_eq!(normal.len(), 45);

        let tied = WordVectors::new(Layout::Tied, 5, 4).expect("a good size");
        assert_eq!(tied.initial_normal(1.0, |table| table.fill(2.0)), vec![2.0; 20]);
        assert_eq!(tied.set_bias(&mut [0.0; 20], &[0.0; 5]), Err(ModelError::NoBias));
    }

    /// No other bias does better on the counts it was made from.
    #[test]
    fn the_frequency_bias_is_the_best_one() {
        let counts = [7.0, 1.0, 20.0, 4.0];
        let negative_weights = [2.0, 1.0, 1.0, 3.0];
        let model = WordVectors::new(Layout::TwoTables, 4, 2).expect("a good size");
        let held: Vec<HeldOutSample<'_>> = (0..4)
            .map(|word| HeldOutSample {
                inputs: &[0],
                positive: word,
                weight: counts[word as usize],
            })
            .collect();
        let loss = |bias: &[f32]| {
            let mut parameters = vec![0.0; model.parameters()];
            model.set_bias(&mut parameters, bias).expect("one for each word");
            let expected = ExpectedLoss::new(&model, &negative_weights, 8).expect("good weights");
            let rows = model.rows(&parameters).expect("as many as there are");
            expected.mean(&rows, &held).expect("good samples")
        };
        let best = frequency_bias(&counts, &negative_weights, 8).expect("good counts");
        for word in 0..4 {
            for step in [-0.05, 0.05] {
                let mut other = best.clone();
                other[word] += step;
                assert!(loss(&other) > loss(&best) + 1e-6);
            }
        }
    }

    #[test]
    fn frequencies_without_sense_are_refused() {
        assert!(frequency_bias(&[], &[], 8).is_err());
        assert!(frequency_bias(&[1.0], &[1.0, 1.0], 8).is_err());
        assert!(frequency_bias(&[1.0, f64::NAN], &[1.0, 1.0], 8).is_err());
        assert!(frequency_bias(&[1.0, 1.0], &[1.0, 0.0], 8).is_err());
        assert!(frequency_bias(&[1.0, 1.0], &[1.0, 1.0], 0).is_err());
        let unseen = frequency_bias(&[0.0, 3.0], &[1.0, 1.0], 8).expect("good counts");
        assert!(unseen.iter().all(|bias| bias.is_finite()));
    }
}
