//! Tables that owe noise: dense DP-SGD with plain gradient descent, at the cost of the touched rows.

use organza_mechanism::{Indebted, OwedNoise, Settling, Shape, TouchedRows};

/// Up to which step each row has its noise.
///
/// # Privacy
/// A row that no unit of a batch touched gets noise and nothing else in the dense loop. Here it gets the sum
/// of what it owes, drawn at once, before it is next read: after t steps a row that was settled after s
/// owes a normal of variance (t - s) (rate deviation)^2, for each coordinate. [`OwedNoise`] proves that all
/// that is read has the law of the dense loop. It asks that every reader settles first, which the
/// [`Reading`](super::Reading) of a table does, the only way to its values; that all rows are settled at scheduled
/// steps only; and that what is here stays private: which rows were read lately tells who was in the batch.
#[derive(Debug)]
pub(crate) struct Owed {
    rate: f32,
    noise: OwedNoise,
    /// The number of steps whose noise each row has.
    pub(crate) settled: Vec<u32>,
    /// Draws of the rows that are settled after so many steps.
    settling: Option<(u64, Settling)>,
    buffer: Vec<f32>,
}

impl Owed {
    pub(crate) fn new(rate: f32, noise: OwedNoise, shape: &Shape) -> Self {
        let settled = vec![0; shape.rows() as usize];
        let buffer = vec![0.0; shape.widest() as usize];
        Self { rate, noise, settled, settling: None, buffer }
    }

    pub(crate) fn noise(&self) -> &OwedNoise {
        &self.noise
    }

    /// Gives `row` all its noise of the first `steps` steps.
    pub(crate) fn settle(&mut self, shape: &Shape, weights: &mut [f32], steps: u64, row: u32) {
        let Some(settled) = self.settled.get_mut(row as usize) else { return };
        let owes = steps - u64::from(*settled);
        let Some((first, length)) = shape.row(row).filter(|_| owes > 0) else { return };
        *settled = steps as u32;
        let settling = match &mut self.settling {
            Some((at, settling)) if *at == steps => &*settling,
            stale => {
                let (_, settling) = stale.insert((steps, self.noise.settling(steps)));
                &*settling
            }
        };
        let noise = &mut self.buffer[..length];
        settling.draw(row, owes as f64 * f64::from(self.rate).powi(2), noise);
        let weights = &mut weights[first as usize..first as usize + length];
        weights.iter_mut().zip(noise).for_each(|(weight, noise)| *weight += *noise);
    }

    /// Moves the touched rows by the release of the step after `steps` steps; all others owe its noise.
    pub(crate) fn pay(
        &mut self,
        shape: &Shape,
        weights: &mut [f32],
        steps: u64,
        touched: &TouchedRows,
    ) {
        touched.pay_into(&mut Paying { owed: self, shape, weights, steps });
    }
}

/// A table in the step after `steps` steps.
struct Paying<'a> {
    owed: &'a mut Owed,
    shape: &'a Shape,
    weights: &'a mut [f32],
    steps: u64,
}

impl Indebted for Paying<'_> {
    fn take(&mut self, row: u32, first: u64, gradient: &[f32]) {
        self.owed.settle(self.shape, self.weights, self.steps, row);
        let weights = &mut self.weights[first as usize..first as usize + gradient.len()];
        let rate = self.owed.rate;
        weights.iter_mut().zip(gradient).for_each(|(weight, slope)| *weight -= rate * slope);
        self.owed.settled[row as usize] = self.steps as u32 + 1;
    }
}
