//! How likely a phrase is under a model of word vectors.

use crate::phrases::{Continuations, Phrases};
use organza_model::kernels::dot;
use organza_model::{ModelError, WordVectors};

/// Up to so many logits are kept for all pairs of words; beyond, those of an input are computed anew.
const MOST_KEPT: usize = 1 << 23;
/// Below this a sum of products of halves may have lost its largest terms to underflow.
const SMALLEST_SUM: f64 = 1e-200;

/// The probabilities that a model of word vectors gives to the words of a phrase.
///
/// # Definition
/// A model of word vectors has a logit for a word w beside input words I,
///
/// ```text
/// z(w | I) = x . y_w + b_w,   x the mean of the input vectors u_i, i in I
/// ```
///
/// with two tables u, y and the bias b, or, in the tied layout, y = u and b = 0. The mean is the one
/// that CBOW is trained with; a skip-gram model is trained on single inputs. The probabilities are the
/// softmax over the whole vocabulary,
///
/// ```text
/// Pr(w | I) = e^z(w | I) / sum over v of e^z(v | I)
/// ```
///
/// which is what negative sampling with uniform negatives estimates: its optimum has e^z proportional to
/// the probability of the word beside the input. Because logits are linear in x, z(w | a, b) is the mean
/// of z(w | a) and z(w | b): two inputs give the geometric mean of what each gives, normalised.
#[derive(Debug)]
pub(crate) struct PhraseModel<'a> {
    words: usize,
    dimensions: usize,
    target: &'a [f32],
    output: &'a [f32],
    bias: Option<&'a [f32]>,
    kept: Option<Vec<Input>>,
}

/// The logits of all words beside one input word.
#[derive(Debug)]
struct Input {
    logits: Vec<f32>,
    /// The largest logit.
    peak: f64,
    /// e^((logit - peak) / 2): the normaliser of two inputs is the inner product of their halves.
    halves: Vec<f64>,
}

impl<'a> PhraseModel<'a> {
    /// Probabilities by a model and its parameters.
    ///
    /// # Errors
    /// When the parameters belong to another model.
    pub(crate) fn new(model: &WordVectors, parameters: &'a [f32]) -> Result<Self, ModelError> {
        let target = model.target(parameters)?;
        let mut made = Self {
            words: model.words() as usize,
            dimensions: model.dimensions(),
            target,
            output: model.context(parameters)?.unwrap_or(target),
            bias: model.bias(parameters)?,
            kept: None,
        };
        if made.words.saturating_mul(made.words) <= MOST_KEPT {
            made.kept = Some((0..made.words as u32).map(|word| made.compute(word)).collect());
        }
        Ok(made)
    }

    fn with<Result>(&self, word: u32, use_it: impl FnOnce(&Input) -> Result) -> Result {
        match &self.kept {
            Some(kept) => use_it(&kept[word as usize]),
            None => use_it(&self.compute(word)),
        }
    }

    fn compute(&self, word: u32) -> Input {
        let row =
            |table: &'a [f32], word: usize| &table[word * self.dimensions..][..self.dimensions];
        let input = row(self.target, word as usize);
        let logit = |word: usize| {
            dot(input, row(self.output, word)) + self.bias.map_or(0.0, |bias| bias[word])
        };
        let logits: Vec<f32> = (0..self.words).map(logit).collect();
        let peak = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        let halves = logits.iter().map(|logit| (0.5 * (f64::from(*logit) - peak)).exp()).collect();
        Input { logits, peak, halves }
    }
}

impl Phrases for PhraseModel<'_> {
    type Continuations<'a>
        = VectorContinuations<'a>
    where
        Self: 'a;

    fn words(&self) -> u32 {
        self.words as u32
    }

    fn continuations(&self, first: u32) -> VectorContinuations<'_> {
        let (logits, halves, peak) =
            self.with(first, |input| (input.logits.clone(), input.halves.clone(), input.peak));
        let sum: f64 = halves.iter().map(|half| half * half).sum();
        let normaliser = peak + sum.ln();
        let seconds = vec![None; self.words];
        VectorContinuations { model: self, logits, halves, peak, normaliser, seconds }
    }
}

/// The phrases that begin with one word: what does not depend on the others is computed once.
#[derive(Debug)]
pub(crate) struct VectorContinuations<'a> {
    model: &'a PhraseModel<'a>,
    logits: Vec<f32>,
    halves: Vec<f64>,
    peak: f64,
    normaliser: f64,
    /// For each second word that came up: its part of the log-perplexity, whatever the third.
    seconds: Vec<Option<f64>>,
}

impl Continuations for VectorContinuations<'_> {
    fn log_perplexity(&mut self, second: u32, third: u32) -> f64 {
        let base = self.second(second);
        self.model.with(second, |input| base - third_logit(&self.logits, input, third as usize))
    }

    fn each_third(&mut self, second: u32, mut visit: impl FnMut(f64)) {
        let base = self.second(second);
        self.model.with(second, |input| {
            (0..self.logits.len())
                .for_each(|third| visit(base - third_logit(&self.logits, input, third)));
        });
    }
}

impl VectorContinuations<'_> {
    /// - ln Pr(second | first) + ln of the normaliser of both together.
    fn second(&mut self, second: u32) -> f64 {
        if let Some(known) = self.seconds[second as usize] {
            return known;
        }
        let both = self.model.with(second, |input| {
            let sum = inner_product(&self.halves, &input.halves);
            if sum > SMALLEST_SUM {
                return 0.5 * (self.peak + input.peak) + sum.ln();
            }
            log_sum_of_exponentials(
                (0..self.logits.len()).map(|third| third_logit(&self.logits, input, third)),
            )
        });
        let part = self.normaliser - f64::from(self.logits[second as usize]) + both;
        self.seconds[second as usize] = Some(part);
        part
    }
}

/// z(third | first, second).
#[inline(always)]
fn third_logit(first: &[f32], second: &Input, third: usize) -> f64 {
    0.5 * (f64::from(first[third]) + f64::from(second.logits[third]))
}

fn inner_product(left: &[f64], right: &[f64]) -> f64 {
    // Eight sums side by side, which the compiler turns into vectors.
    let mut sums = [0.0; 8];
    let (left_blocks, left_rest) = left.as_chunks::<8>();
    let (right_blocks, right_rest) = right.as_chunks::<8>();
    for (left, right) in left_blocks.iter().zip(right_blocks) {
        for lane in 0..8 {
            sums[lane] += left[lane] * right[lane];
        }
    }
    let rest: f64 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    sums.iter().sum::<f64>() + rest
}

fn log_sum_of_exponentials(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let peak = values.clone().fold(f64::NEG_INFINITY, f64::max);
    peak + values.map(|value| (value - peak).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::tests::{model, parameters};
    use organza_data::Phrase;
    use organza_model::Layout;

    impl PhraseModel<'_> {
        /// The log-perplexity of a phrase; infinite if a word is not in the vocabulary.
        pub(crate) fn log_perplexity(&self, phrase: Phrase) -> f64 {
            let [first, second, third] = phrase;
            if phrase.iter().any(|word| *word as usize >= self.words) {
                return f64::INFINITY;
            }
            self.continuations(first).log_perplexity(second, third)
        }
    }

    /// The definition, word by word and in double precision.
    fn naive(model: &WordVectors, parameters: &[f32], phrase: Phrase) -> f64 {
        let dimensions = model.dimensions();
        let row = |table: &[f32], word: u32| -> Vec<f64> {
            table[word as usize * dimensions..][..dimensions]
                .iter()
                .map(|it| f64::from(*it))
                .collect()
        };
        let target = model.target(parameters).unwrap();
        let output = model.context(parameters).unwrap().unwrap_or(target);
        let bias = model.bias(parameters).unwrap();
        let log_probability = |inputs: &[u32], word: u32| {
            let mut mean = vec![0.0; dimensions];
            for input in inputs {
                let share = 1.0 / inputs.len() as f64;
                mean.iter_mut().zip(row(target, *input)).for_each(|(mean, it)| *mean += share * it);
            }
            let logit = |word: u32| {
                let product: f64 = mean.iter().zip(row(output, word)).map(|(x, y)| x * y).sum();
                product + bias.map_or(0.0, |bias| f64::from(bias[word as usize]))
            };
            logit(word) - log_sum_of_exponentials((0..model.words()).map(logit))
        };
        let [first, second, third] = phrase;
        -log_probability(&[first], second) - log_probability(&[first, second], third)
    }

    #[test]
    fn both_layouts_follow_the_definition() {
        for layout in [Layout::Tied, Layout::TwoTables] {
            // Large vectors make halves underflow, and must not change the result.
            for scale in [0.3, 2.0, 30.0] {
                let model = model(layout, 40, 7);
                let parameters = parameters(&model, scale, 11);
                let phrases = PhraseModel::new(&model, &parameters).unwrap();
                for phrase in [[0, 1, 2], [5, 5, 5], [39, 0, 39], [7, 20, 31], [31, 20, 7]] {
                    let (found, wanted) =
                        (phrases.log_perplexity(phrase), naive(&model, &parameters, phrase));
                    let error = (found - wanted).abs() / wanted.abs().max(1.0);
                    assert!(error < 2e-5, "{layout:?} {scale} {phrase:?}: {found} {wanted}");
                }
                assert_eq!(phrases.log_perplexity([0, 40, 0]), f64::INFINITY);
            }
        }
    }

    #[test]
    fn probabilities_of_all_continuations_add_up_to_one() {
        for layout in [Layout::Tied, Layout::TwoTables] {
            let model = model(layout, 30, 5);
            let parameters = parameters(&model, 1.0, 3);
            let phrases = PhraseModel::new(&model, &parameters).unwrap();
            let mut continuations = phrases.continuations(4);
            let mut sum = 0.0;
            for second in 0..30 {
                continuations.each_third(second, |perplexity| sum += (-perplexity).exp());
            }
            assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        }
    }

    #[test]
    fn what_is_kept_and_what_is_computed_anew_agree() {
        let model = model(Layout::TwoTables, 25, 6);
        let parameters = parameters(&model, 1.0, 8);
        let kept = PhraseModel::new(&model, &parameters).unwrap();
        let anew = PhraseModel { kept: None, ..PhraseModel::new(&model, &parameters).unwrap() };
        for phrase in [[0, 1, 2], [24, 24, 24], [3, 9, 12]] {
            assert_eq!(kept.log_perplexity(phrase), anew.log_perplexity(phrase));
        }
    }
}
