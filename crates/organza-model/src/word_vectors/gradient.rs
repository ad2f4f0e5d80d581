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
    margins: Vec<[f32; LANES]>,
}

impl WordVectors {
    /// The loss of a sample: summed over the positive and the negatives, not averaged.
    ///
    /// With x the mean of the vectors of the input words, y_w the output vector and b_w the bias of
    /// a word w (zero in the tied layout, where y_w is also the input vector of w),
    ///
    /// ```text
    /// loss = - ln sigmoid(x . y_positive + b_positive) - sum over negatives ln sigmoid(-(x . y_negative + b_negative))
    /// ```
    ///
    /// # Errors
    /// When the sample belongs to another model, or no input word is given.
    pub fn loss(
        &self,
        weights: &dyn ReadRows,
        sample: Sample<'_>,
        scratch: &mut Scratch,
    ) -> Result<f64, ModelError> {
        self.check(sample)?;
        Ok(Arch::new().dispatch(Loss { model: self, weights, sample, scratch }))
    }

    /// Adds the gradient of `weight` times the loss to the rows of `gradient`, and returns the loss
    /// (without the weight).
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
        let product = dot(simd, input, weights.row(self.output_row(word)));
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

impl Loss<'_> {
    /// The loss; leaves x in the scratch and turns the margins t_j there into sigmoid(t_j).
    #[inline(always)]
    fn forward<S: Simd>(&mut self, simd: S) -> f64 {
        let Scratch { mean, margins, .. } = &mut *self.scratch;
        self.model.mean_of_inputs(simd, self.weights, self.sample.inputs, mean);
        let outputs = 1 + self.sample.negatives.len();
        margins.clear();
        margins.resize(outputs.div_ceil(LANES), [0.0; LANES]);
        let flat = margins.as_flattened_mut();
        flat[0] = -self.model.logit(simd, self.weights, mean, self.sample.positive);
        for (margin, word) in flat[1..].iter_mut().zip(self.sample.negatives) {
            *margin = self.model.logit(simd, self.weights, mean, *word);
        }
        let mut loss = 0.0;
        let mut left = outputs;
        for block in margins {
            let (softplus, sigmoid) = softplus_and_sigmoid(block);
            *block = sigmoid;
            for term in &softplus[..left.min(LANES)] {
                loss += f64::from(*term);
            }
            left = left.saturating_sub(LANES);
        }
        loss
    }
}

impl WithSimd for Loss<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> f64 {
        self.forward(simd)
    }
}

struct Gradient<'a> {
    loss: Loss<'a>,
    weight: f32,
    gradient: &'a mut dyn WriteRows,
}

impl Gradient<'_> {
    /// Adds c x to the row of an output word and c to its bias, and c y to d loss / d x.
    #[inline(always)]
    fn output<S: Simd>(&mut self, simd: S, word: u32, coefficient: f32) {
        let Scratch { mean, upstream, .. } = &mut *self.loss.scratch;
        let row = self.loss.model.output_row(word);
        add_scaled(simd, upstream, coefficient, self.loss.weights.row(row));
        add_scaled(simd, self.gradient.row(row), coefficient, mean);
        if let Some(row) = self.loss.model.bias_row(word) {
            self.gradient.row(row).iter_mut().for_each(|bias| *bias += coefficient);
        }
    }
}

impl WithSimd for Gradient<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> f64 {
        let loss = self.loss.forward(simd);
        let sample = self.loss.sample;
        self.loss.scratch.upstream.clear();
        self.loss.scratch.upstream.resize(self.loss.model.dimensions, 0.0);
        self.output(
            simd,
            sample.positive,
            -self.weight * self.loss.scratch.margins.as_flattened()[0],
        );
        for (place, word) in sample.negatives.iter().enumerate() {
            let sigmoid = self.loss.scratch.margins.as_flattened()[place + 1];
            self.output(simd, *word, self.weight * sigmoid);
        }
        let share = 1.0 / sample.inputs.len() as f32;
        for input in sample.inputs {
            add_scaled(simd, self.gradient.row(*input), share, &self.loss.scratch.upstream);
        }
        loss
    }
}
