//! The loss of one sample and its gradient.

use super::{ModelError, WordVectors};
use crate::kernels::logistic::{LANES, softplus_and_sigmoid};
use crate::kernels::rows::{add_scaled, dot};
use organza_mechanism::{ReadRows, WriteRows};
use pulp::{Arch, Simd, WithSimd};

/// One training example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    /// The words on the input side: for skip-gram the target alone, for CBOW its context.
    pub inputs: &'a [u32],
    /// The word that was seen beside them.
    pub positive: u32,
    /// Words drawn at random. They may equal each other, the positive and the inputs.
    pub negatives: &'a [u32],
}

/// Memory that is used again from sample to sample.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    mean: Vec<f32>,
    upstream: Vec<f32>,
}

impl WordVectors {
    /// Adds the gradient of `weight` times the loss of a sample to the rows of `gradient`, and returns the loss (without
    /// the weight): summed over the positive and the negatives, not averaged.
    ///
    /// With x the mean of the vectors of the input words, y_w the output vector and b_w the bias of
    /// a word w (zero in the tied layout, where y_w is also the input vector of w),
    ///
    /// ```text
    /// loss = - ln sigmoid(x . y_positive + b_positive) - sum over negatives ln sigmoid(-(x . y_negative + b_negative))
    /// ```
    ///
    /// # Derivation
    /// Let the outputs j = 0, 1, ... be the positive and the negatives, w_j their words, and
    ///
    /// ```text
    /// x   = 1/n sum over inputs i of u_i          z_j = x . y_{w_j} + b_{w_j}
    /// t_0 = -z_0,  t_j = z_j for j > 0            loss = sum over j of softplus(t_j)
    /// ```
    ///
    /// because -ln sigmoid(z) = ln(1 + exp(-z)) = softplus(-z). The derivative of softplus is the
    /// sigmoid, so
    ///
    /// ```text
    /// c_0 = d loss / d z_0 = -sigmoid(t_0) = sigmoid(z_0) - 1,     c_j = d loss / d z_j = sigmoid(t_j)
    /// ```
    ///
    /// and by the chain rule, each place where a parameter occurs adding its part,
    ///
    /// ```text
    /// d loss / d b_w = sum over j with w_j = w of c_j
    /// d loss / d y_w = sum over j with w_j = w of c_j x
    /// d loss / d x   = sum over j of c_j y_{w_j}
    /// d loss / d u_i = 1/n (d loss / d x), once for every time that i occurs among the inputs
    /// ```
    ///
    /// The sums over equal words come about in `gradient`, which returns the same row again. In the
    /// tied layout y and u are one table, so a word on both sides collects both parts in one row, as
    /// the product rule asks: the weights are only read here, so all parts are taken at the same
    /// point.
    ///
    /// # Errors
    /// When the sample belongs to another model, or no input word is given. Nothing was added then.
    pub fn gradient(
        &self,
        weights: &dyn ReadRows,
        sample: Sample<'_>,
        weight: f32,
        scratch: &mut Scratch,
        gradient: &mut dyn WriteRows,
    ) -> Result<f64, ModelError> {
        self.check(sample)?;
        let loss = Loss { model: self, weights, sample, scratch };
        Ok(Arch::new().dispatch(Gradient { loss, weight, gradient }))
    }

    /// Calls `visit` with every row that [`WordVectors::gradient`] of a sample reads and adds to, perhaps more
    /// than once.
    pub fn rows_of(&self, sample: Sample<'_>, mut visit: impl FnMut(u32)) {
        sample.inputs.iter().for_each(|input| visit(*input));
        for word in sample.negatives.iter().chain([&sample.positive]) {
            visit(self.output_row(*word));
            if let Some(row) = self.bias_row(*word) {
                visit(row);
            }
        }
    }

    #[inline]
    fn check(&self, sample: Sample<'_>) -> Result<(), ModelError> {
        if sample.inputs.is_empty() {
            return Err(ModelError::NoInput);
        }
        self.check_words(sample.inputs)?;
        self.check_words(&[sample.positive])?;
        self.check_words(sample.negatives)
    }

    /// The mean of the input vectors, in `mean`.
    #[inline(always)]
    pub(super) fn mean_of_inputs<S: Simd>(
        &self,
        simd: S,
        weights: &dyn ReadRows,
        inputs: &[u32],
        mean: &mut Vec<f32>,
    ) {
        mean.clear();
        if let [input] = inputs {
            mean.extend_from_slice(weights.row(*input));
            return;
        }
        mean.resize(self.dimensions, 0.0);
        let share = 1.0 / inputs.len() as f32;
        for input in inputs {
            add_scaled(simd, mean, share, weights.row(*input));
        }
    }

    /// x . y_word + b_word.
    #[inline(always)]
    pub(super) fn logit<S: Simd>(
        &self,
        simd: S,
        weights: &dyn ReadRows,
        input: &[f32],
        word: u32,
    ) -> f32 {
        self.logit_of(simd, weights, input, word, weights.row(self.output_row(word)))
    }

    /// The same with the word's output vector at hand.
    #[inline(always)]
    fn logit_of<S: Simd>(
        &self,
        simd: S,
        weights: &dyn ReadRows,
        input: &[f32],
        word: u32,
        output: &[f32],
    ) -> f32 {
        let product = dot(simd, input, output);
        match self.bias_row(word).and_then(|row| weights.row(row).first()) {
            Some(bias) => product + bias,
            None => product,
        }
    }
}

struct Loss<'a> {
    model: &'a WordVectors,
    weights: &'a dyn ReadRows,
    sample: Sample<'a>,
    scratch: &'a mut Scratch,
}

/// Some outputs of a sample: their words and vectors, and c_j, the derivatives of the loss by their logits.
struct Outputs<'a> {
    words: [u32; LANES],
    vectors: [&'a [f32]; LANES],
    coefficients: [f32; LANES],
    count: usize,
}

impl<'a> Loss<'a> {
    /// Puts the input x into the scratch.
    #[inline(always)]
    fn input<S: Simd>(&mut self, simd: S) {
        let mean = &mut self.scratch.mean;
        self.model.mean_of_inputs(simd, self.weights, self.sample.inputs, mean);
    }

    /// The outputs from number `first` on, as many as fit, and their part of the loss. No function that is handed
    /// over stands between this and the loop around it: it would not have the processor's vectors.
    #[inline(always)]
    fn outputs<S: Simd>(&self, simd: S, first: usize) -> (f64, Outputs<'a>) {
        let Self { model, weights, sample, .. } = *self;
        let mean = &self.scratch.mean;
        let count = (1 + sample.negatives.len() - first).min(LANES);
        let (words, vectors, coefficients) = ([0; LANES], [&[][..]; LANES], [0.0; LANES]);
        let mut outputs = Outputs { words, vectors, coefficients, count };
        for place in 0..count {
            let word = match first + place {
                0 => sample.positive,
                number => sample.negatives[number - 1],
            };
            let vector = weights.row(model.output_row(word));
            (outputs.words[place], outputs.vectors[place]) = (word, vector);
            outputs.coefficients[place] = model.logit_of(simd, weights, mean, word, vector);
        }
        // The positive comes first: t_0 = -z_0, c_0 = -sigmoid(t_0).
        let sign = if first == 0 { -1.0 } else { 1.0 };
        outputs.coefficients[0] *= sign;
        let (softplus, sigmoid) = softplus_and_sigmoid(&outputs.coefficients);
        outputs.coefficients = sigmoid;
        outputs.coefficients[0] *= sign;
        let mut loss = 0.0;
        for term in &softplus[..count] {
            loss += f64::from(*term);
        }
        (loss, outputs)
    }
}

struct Gradient<'a> {
    loss: Loss<'a>,
    weight: f32,
    gradient: &'a mut dyn WriteRows,
}

impl WithSimd for Gradient<'_> {
    type Output = f64;

    /// Adds c x to the row of each output and c to its bias, and the sum of c y to the rows of the inputs.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self { mut loss, weight, gradient } = self;
        let (model, sample) = (loss.model, loss.sample);
        loss.input(simd);
        loss.scratch.upstream.clear();
        loss.scratch.upstream.resize(model.dimensions, 0.0);
        let mut value = 0.0;
        for first in (0..=sample.negatives.len()).step_by(LANES) {
            let (part, outputs) = loss.outputs(simd, first);
            value += part;
            let Scratch { mean, upstream } = &mut *loss.scratch;
            for place in 0..outputs.count {
                let coefficient = weight * outputs.coefficients[place];
                let word = outputs.words[place];
                add_scaled(simd, upstream, coefficient, outputs.vectors[place]);
                add_scaled(simd, gradient.row(model.output_row(word)), coefficient, mean);
                if let Some(row) = model.bias_row(word) {
                    for bias in gradient.row(row) {
                        *bias += coefficient;
                    }
                }
            }
        }
        let share = 1.0 / sample.inputs.len() as f32;
        for input in sample.inputs {
            add_scaled(simd, gradient.row(*input), share, &loss.scratch.upstream);
        }
        value
    }
}
