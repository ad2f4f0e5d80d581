//! The loss with negatives in expectation instead of sampled.

use super::{ModelError, WordVectors, total};
use crate::kernels::logistic::{LANES, softplus_and_sigmoid};
use organza_mechanism::ReadRows;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// Distinct inputs that go through the output table together, so that its rows are read from memory
/// once for all of them.
const INPUTS_AT_ONCE: usize = 16;
/// Up to so many words the sum over negatives is exact for every input; beyond that each input has about
/// so many of them.
const WORDS_AT_MOST: usize = 4096;

/// HeldOutSample-out text: input words, the word seen beside them, and how often that was so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldOutSample<'a> {
    /// The words on the input side: for skip-gram one.
    pub inputs: &'a [u32],
    /// The word that was seen beside them.
    pub positive: u32,
    /// How much it counts: 1, or the number of times it was seen.
    pub weight: f64,
}

/// The loss of held-out text under a public law of negatives, without the noise of sampling them.
///
/// For a sample with input x and positive w, k negatives drawn from q:
///
/// ```text
/// E loss = softplus(-z_w) + k sum over words v of q_v softplus(z_v),   z_v = x . y_v + b_v
/// ```
///
/// The sum over the vocabulary depends on the input alone and is computed once for each distinct
/// input, so the cost is (distinct inputs) x (words) x (dimensions) however many samples there are:
/// cheap for skip-gram, dear for CBOW, where nearly every context is distinct.
///
/// With more than 4,096 words an input meets only every s-th block of words, s so that about 4,096 are
/// left, and their sum is scaled up to the whole law. Sixteen inputs at a time start at another block, by
/// a fixed rule: over many inputs every word has its turn, and the estimate is close to the exact mean
/// at a cost that no longer grows with the vocabulary.
#[derive(Clone, Debug)]
pub struct ExpectedLoss<'a> {
    model: &'a WordVectors,
    /// k q_v, padded with zeros to whole blocks.
    negatives: Vec<[f64; LANES]>,
    /// Their sum, k.
    total: f64,
}

impl<'a> ExpectedLoss<'a> {
    /// With `negatives` negatives a sample, drawn in proportion to `weights` (one for each word).
    ///
    /// # Errors
    /// When the weights do not fit the model or are no weights.
    pub fn new(
        model: &'a WordVectors,
        weights: &[f64],
        negatives: u32,
    ) -> Result<Self, ModelError> {
        let scale =
            f64::from(negatives) / model.check_weights("the weights of negatives", weights)?;
        let mut blocks = vec![[0.0; LANES]; weights.len().div_ceil(LANES)];
        for (place, weight) in blocks.as_flattened_mut().iter_mut().zip(weights) {
            *place = weight * scale;
        }
        Ok(Self { model, negatives: blocks, total: f64::from(negatives) })
    }

    /// The weighted mean of the expected losses.
    ///
    /// Runs on the threads of the current `rayon` pool; the result has the same bits whatever their
    /// number, and whatever the order of `held`, except among samples with equal inputs.
    ///
    /// # Errors
    /// When samples belong to another model, or all of them weigh nothing.
    pub fn mean(
        &self,
        weights: &dyn ReadRows,
        held: &[HeldOutSample<'_>],
    ) -> Result<f64, ModelError> {
        for sample in held {
            if sample.inputs.is_empty() {
                return Err(ModelError::NoInput);
            }
            self.model.check_words(sample.inputs)?;
            self.model.check_words(&[sample.positive])?;
        }
        let weight = total("the weights of samples", held.iter().map(|sample| sample.weight))?;
        let mut sorted: Vec<&HeldOutSample<'_>> = held.iter().collect();
        sorted.par_sort_by_key(|sample| sample.inputs);
        let groups: Vec<&[&HeldOutSample<'_>]> =
            sorted.chunk_by(|left, right| left.inputs == right.inputs).collect();
        // Each sum has its own place, so they are added in the same order on any number of threads.
        let sums: Vec<[f64; INPUTS_AT_ONCE]> = groups
            .par_chunks(INPUTS_AT_ONCE)
            .enumerate()
            .map(|(turn, groups)| {
                Arch::new().dispatch(Groups { expected: self, weights, groups, turn })
            })
            .collect();
        Ok(sums.as_flattened().iter().sum::<f64>() / weight)
    }
}

/// A few distinct inputs, each with all that was seen beside it.
struct Groups<'a> {
    expected: &'a ExpectedLoss<'a>,
    weights: &'a dyn ReadRows,
    groups: &'a [&'a [&'a HeldOutSample<'a>]],
    /// The number of this group of inputs, which says where it starts in a wide vocabulary.
    turn: usize,
}

impl Groups<'_> {
    /// The weighted sum over the samples of a group of softplus(-z), and their weight.
    #[inline(always)]
    fn positives<S: Simd>(
        &self,
        simd: S,
        group: &[&HeldOutSample<'_>],
        input: &[f32],
    ) -> (f64, f64) {
        let (mut sum, mut weight) = (0.0, 0.0);
        for block in group.chunks(LANES) {
            let mut margins = [0.0; LANES];
            for (margin, sample) in margins.iter_mut().zip(block) {
                *margin = -self.expected.model.logit(simd, self.weights, input, sample.positive);
            }
            let (softplus, _) = softplus_and_sigmoid(&margins);
            for (term, sample) in softplus.iter().zip(block) {
                sum += sample.weight * f64::from(*term);
                weight += sample.weight;
            }
        }
        (sum, weight)
    }

    /// The part of one block of the vocabulary in the sum of k q_v softplus(z_v).
    #[inline(always)]
    fn block<S: Simd>(&self, simd: S, input: &[f32], first: u32, negatives: &[f64; LANES]) -> f64 {
        let mut logits = [0.0; LANES];
        let words = self.expected.model.words() - first;
        for (lane, logit) in logits.iter_mut().enumerate().take(words as usize) {
            *logit = self.expected.model.logit(simd, self.weights, input, first + lane as u32);
        }
        let (softplus, _) = softplus_and_sigmoid(&logits);
        let mut sum = 0.0;
        for (term, negative) in softplus.iter().zip(negatives) {
            sum += negative * f64::from(*term);
        }
        sum
    }
}

impl WithSimd for Groups<'_> {
    type Output = [f64; INPUTS_AT_ONCE];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; INPUTS_AT_ONCE] {
        let dimensions = self.expected.model.dimensions();
        let mut inputs = Vec::with_capacity(self.groups.len() * dimensions);
        let mut mean = Vec::new();
        for group in self.groups {
            self.expected.model.mean_of_inputs(simd, self.weights, group[0].inputs, &mut mean);
            inputs.extend_from_slice(&mean);
        }
        let mut negatives = [0.0; INPUTS_AT_ONCE];
        let all = &self.expected.negatives;
        let every = all.len().div_ceil(WORDS_AT_MOST / LANES).max(1);
        let mut met = 0.0;
        for (block, weights) in all.iter().enumerate().skip(self.turn % every).step_by(every) {
            met += weights.iter().sum::<f64>();
            for (sum, input) in negatives.iter_mut().zip(inputs.chunks_exact(dimensions)) {
                *sum += self.block(simd, input, (block * LANES) as u32, weights);
            }
        }
        if every > 1 && met > 0.0 {
            let scale = self.expected.total / met;
            negatives.iter_mut().for_each(|sum| *sum *= scale);
        }
        let mut sums = [0.0; INPUTS_AT_ONCE];
        for (place, (group, input)) in
            self.groups.iter().zip(inputs.chunks_exact(dimensions)).enumerate()
        {
            let (positives, weight) = self.positives(simd, group, input);
            sums[place] = positives + weight * negatives[place];
        }
        sums
    }
}
