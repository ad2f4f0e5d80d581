//! Tables that owe noise: dense DP-SGD with plain gradient descent, at the cost of the touched rows.

use super::parts::{are_divided, each_few_parts};
use organza_mechanism::{Debt, Indebted, OwedNoise, Settling, Shape, Touched, TouchedRows};
use std::ops::Range;

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
    /// The debts that are settled together.
    debts: Vec<Debt>,
}

/// Where the values of `row` stand: nowhere, beyond the last row.
fn place(shape: &Shape, row: u32) -> Range<usize> {
    shape.row(row).map_or(0..0, |(first, length)| first as usize..first as usize + length)
}

impl Owed {
    pub(crate) fn new(rate: f32, noise: OwedNoise, shape: &Shape) -> Self {
        let settled = vec![0; shape.rows() as usize];
        Self { rate, noise, settled, settling: None, debts: Vec::new() }
    }

    pub(crate) fn noise(&self) -> &OwedNoise {
        &self.noise
    }

    /// Gives `rows` all their noise of the first `steps` steps: the same bits in any order and on any number of
    /// threads, because each row has its own draw.
    pub(crate) fn settle(
        &mut self,
        shape: &Shape,
        weights: &mut [f32],
        steps: u64,
        rows: impl Iterator<Item = u32>,
    ) {
        let Self { rate, noise, settled, settling, debts } = self;
        let squared_rate = f64::from(*rate).powi(2);
        debts.clear();
        for row in rows {
            let Some(settled) = settled.get_mut(row as usize) else { continue };
            let owes = steps as u32 - *settled;
            if owes > 0 {
                *settled = steps as u32;
                let squared_rates = f64::from(owes) * squared_rate;
                debts.push(Debt { row, squared_rates, place: place(shape, row) });
            }
        }
        if debts.is_empty() {
            return;
        }
        if are_divided(debts.len()) {
            debts.sort_unstable_by_key(|debt| debt.row);
        }
        let settling = match settling {
            Some((at, settling)) if *at == steps => &*settling,
            stale => &stale.insert((steps, noise.settling(steps))).1,
        };
        let place = |number: usize| debts[number].place.clone();
        each_few_parts(debts.len(), weights, &place, &|few, first, weights| {
            settling.add(&debts[few], first, weights);
        });
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
    fn take(&mut self, touched: &Touched<'_>) {
        let rows = (0..touched.count()).map(|place| touched.row(place));
        self.owed.settle(self.shape, self.weights, self.steps, rows.clone());
        let (rate, shape) = (self.owed.rate, self.shape);
        let place = |number: usize| place(shape, touched.row(number));
        each_few_parts(touched.count(), self.weights, &place, &|few, first, weights| {
            touched.gradients(few, |number, start, gradient| {
                let weights = weights[place(number).start + start - first..].iter_mut();
                weights.zip(gradient).for_each(|(weight, slope)| *weight -= rate * slope);
            });
        });
        rows.for_each(|row| self.owed.settled[row as usize] = self.steps as u32 + 1);
    }
}
