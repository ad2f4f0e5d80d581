//! SGD and Adam, on gradients that are private already.

use organza_mechanism::Noised;
use pulp::{Arch, Simd, WithSimd};
use serde::{Deserialize, Serialize};

/// Moments below this are set to zero: decaying ones would become denormal, and those are slow.
const SMALLEST: f32 = 1e-30;

/// Which optimizer, with which constants.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum OptimizerSettings {
    /// Plain gradient descent.
    Sgd {
        /// The step size.
        learning_rate: f32,
    },
    /// Adam (Kingma and Ba 2015), with PyTorch's conventions.
    Adam {
        /// The step size.
        learning_rate: f32,
        /// The decay of the first moment.
        beta1: f32,
        /// The decay of the second moment.
        beta2: f32,
        /// What keeps the division finite.
        epsilon: f32,
    },
}

impl OptimizerSettings {
    /// Adam with its usual decays.
    pub fn adam(learning_rate: f32) -> Self {
        Self::Adam { learning_rate, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }
}

/// An optimizer and its state: a post-processing of what was released.
///
/// Adam has dense semantics: the moments of all coordinates decay at every step, and all
/// coordinates move, whether or not they were selected.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimizer {
    settings: OptimizerSettings,
    steps: u64,
    first: Vec<f32>,
    second: Vec<f32>,
}

impl Optimizer {
    /// A fresh optimizer for `coordinates` parameters.
    pub fn new(settings: OptimizerSettings, coordinates: usize) -> Self {
        let moments = match settings {
            OptimizerSettings::Sgd { .. } => 0,
            OptimizerSettings::Adam { .. } => coordinates,
        };
        Self { settings, steps: 0, first: vec![0.0; moments], second: vec![0.0; moments] }
    }

    /// The optimizer of a run that goes on; `None` if the state does not fit.
    pub fn resume(
        settings: OptimizerSettings,
        coordinates: usize,
        steps: u64,
        first: Vec<f32>,
        second: Vec<f32>,
    ) -> Option<Self> {
        let fresh = Self::new(settings, coordinates);
        let fits = fresh.first.len() == first.len() && fresh.second.len() == second.len();
        fits.then_some(Self { settings, steps, first, second })
    }

    /// The first and second moments, for a checkpoint.
    pub fn moments(&self) -> (&[f32], &[f32]) {
        (&self.first, &self.second)
    }

    /// Moves the parameters by one private gradient.
    pub fn apply(&mut self, parameters: &mut [f32], gradient: &Noised) {
        self.step(parameters, |visit| gradient.visit(visit));
    }

    /// Moves the parameters by a gradient given as ascending runs of coordinates.
    pub(crate) fn step(
        &mut self,
        parameters: &mut [f32],
        runs: impl FnOnce(&mut dyn FnMut(u64, &[f32])),
    ) {
        self.steps += 1;
        match self.settings {
            OptimizerSettings::Sgd { learning_rate } => runs(&mut |first, gradient| {
                let first = first as usize;
                let targets = parameters[first..first + gradient.len()].iter_mut();
                targets.zip(gradient).for_each(|(weight, slope)| *weight -= learning_rate * slope);
            }),
            OptimizerSettings::Adam { .. } => {
                let mut done = 0;
                runs(&mut |first, gradient| {
                    let first = first as usize;
                    self.adam(parameters, done..first, None);
                    self.adam(parameters, first..first + gradient.len(), Some(gradient));
                    done = first + gradient.len();
                });
                self.adam(parameters, done..parameters.len(), None);
            }
        }
    }

    fn adam(
        &mut self,
        parameters: &mut [f32],
        range: std::ops::Range<usize>,
        gradient: Option<&[f32]>,
    ) {
        let OptimizerSettings::Adam { learning_rate, beta1, beta2, epsilon } = self.settings else {
            return;
        };
        if range.is_empty() {
            return;
        }
        let time = self.steps as f64;
        let correction = |beta: f32| 1.0 - f64::from(beta).powf(time);
        Arch::new().dispatch(Adam {
            parameters: &mut parameters[range.clone()],
            first: &mut self.first[range.clone()],
            second: &mut self.second[range],
            gradient,
            beta1,
            beta2,
            step_size: (f64::from(learning_rate) / correction(beta1)) as f32,
            root_correction: correction(beta2).sqrt().recip() as f32,
            epsilon,
        });
    }
}

/// m <- b1 m + (1 - b1) g, v <- b2 v + (1 - b2) g^2, w <- w - step m / (sqrt(v) c + epsilon).
struct Adam<'a> {
    parameters: &'a mut [f32],
    first: &'a mut [f32],
    second: &'a mut [f32],
    gradient: Option<&'a [f32]>,
    beta1: f32,
    beta2: f32,
    step_size: f32,
    root_correction: f32,
    epsilon: f32,
}

impl WithSimd for Adam<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { parameters, first, second, gradient, beta1, beta2, .. } = self;
        let flushed = |value: f32| if value.abs() < SMALLEST { 0.0 } else { value };
        let moments = first.iter_mut().zip(second.iter_mut());
        match gradient {
            Some(gradient) => {
                for ((weight, (first, second)), slope) in
                    parameters.iter_mut().zip(moments).zip(gradient)
                {
                    *first = flushed(beta1 * *first + (1.0 - beta1) * slope);
                    *second = flushed(beta2 * *second + (1.0 - beta2) * (slope * slope));
                    let root = second.sqrt() * self.root_correction + self.epsilon;
                    *weight -= self.step_size * *first / root;
                }
            }
            None => {
                for (weight, (first, second)) in parameters.iter_mut().zip(moments) {
                    *first = flushed(beta1 * *first);
                    *second = flushed(beta2 * *second);
                    let root = second.sqrt() * self.root_correction + self.epsilon;
                    *weight -= self.step_size * *first / root;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adam as in the paper of Kingma and Ba, in double precision, one coordinate at a time.
    fn plain_adam(gradients: &[Vec<f64>]) -> Vec<f64> {
        let size = gradients[0].len();
        let (mut weights, mut first, mut second) =
            (vec![1.0; size], vec![0.0; size], vec![0.0; size]);
        for (time, gradient) in gradients.iter().enumerate() {
            let time = time as i32 + 1;
            for index in 0..size {
                first[index] = 0.9 * first[index] + 0.1 * gradient[index];
                second[index] = 0.999 * second[index] + 0.001 * gradient[index].powi(2);
                let corrected_first = first[index] / (1.0 - 0.9_f64.powi(time));
                let corrected_second: f64 = second[index] / (1.0 - 0.999_f64.powi(time));
                weights[index] -= 0.01 * corrected_first / (corrected_second.sqrt() + 1e-8);
            }
        }
        weights
    }

    #[test]
    fn sparse_runs_give_dense_adam() {
        let mut optimizer = Optimizer::new(OptimizerSettings::adam(0.01), 50);
        let mut weights = vec![1.0_f32; 50];
        let mut gradients = Vec::new();
        for step in 0..300_usize {
            // Two runs that wander; everything else has no gradient in this step.
            let (one, other) = (step % 17, 20 + step % 23);
            let slope = |index: usize| ((index * 31 + step * 7) % 13) as f32 / 6.0 - 1.0;
            let runs = [(one, vec![slope(one), slope(one + 1)]), (other, vec![slope(other)])];
            let mut dense = vec![0.0; 50];
            for (first, values) in &runs {
                for (place, value) in values.iter().enumerate() {
                    dense[first + place] = f64::from(*value);
                }
            }
            gradients.push(dense);
            optimizer.step(&mut weights, |visit| {
                runs.iter().for_each(|(first, values)| visit(*first as u64, values));
            });
        }
        for (weight, expected) in weights.iter().zip(plain_adam(&gradients)) {
            assert!((f64::from(*weight) - expected).abs() < 2e-4, "{weight} {expected}");
        }
    }

    #[test]
    fn moments_never_become_denormal() {
        let mut optimizer = Optimizer::new(OptimizerSettings::adam(0.01), 4);
        let mut weights = vec![0.0; 4];
        optimizer.step(&mut weights, |visit| visit(0, &[1e-10, 1.0, -1.0, 1e-20]));
        for _ in 0..2_000 {
            optimizer.step(&mut weights, |_| {});
            let (first, second) = optimizer.moments();
            assert!(first.iter().chain(second).all(|moment| *moment == 0.0 || moment.is_normal()));
        }
    }
}
