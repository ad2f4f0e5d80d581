//! Tables that owe noise: dense DP-SGD with plain gradient descent, at the cost of the touched rows.

use super::parts::{FETCHED, each_few_parts, fetch};
use super::regions::{Borders, Region, each_region};
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
    /// The debts that are settled together, by region.
    debts: Vec<Vec<Debt>>,
    borders: Borders,
}

/// Where the values of `row` stand: nowhere, beyond the last row.
fn place(shape: &Shape, row: u32) -> Range<usize> {
    shape.row(row).map_or(0..0, |(first, length)| first as usize..first as usize + length)
}

impl Owed {
    pub(crate) fn new(rate: f32, noise: OwedNoise, shape: &Shape) -> Self {
        let settled = vec![0; shape.rows() as usize];
        Self {
            rate,
            noise,
            settled,
            settling: None,
            debts: Vec::new(),
            borders: Borders::default(),
        }
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
        rows: impl Iterator<Item = u32> + Clone + Send + Sync,
    ) {
        let Self { rate, noise, settled, settling, debts, borders } = self;
        let steps_now = steps as u32;
        let is_settled = |row: u32| settled.get(row as usize).is_none_or(|it| *it == steps_now);
        if rows.clone().all(is_settled) {
            return;
        }
        let settling = match settling {
            Some((at, settling)) if *at == steps => &*settling,
            stale => &stale.insert((steps, noise.settling(steps))).1,
        };
        let squared_rate = f64::from(*rate).powi(2);
        borders.place(rows.clone(), settled.len());
        debts.resize(borders.regions().max(debts.len()), Vec::new());
        let memory = &mut debts[..borders.regions()];
        let whole = Region { first_row: 0, by_row: settled, first: 0, weights, memory };
        each_region(borders, shape, whole, &|region| {
            let rows = region.rows(rows.clone());
            let Region { by_row: settled, first, weights, memory, .. } = region;
            let debts = &mut memory[0];
            debts.clear();
            for (row, number) in rows {
                let owes = steps_now - settled[number];
                if owes > 0 {
                    settled[number] = steps_now;
                    let squared_rates = f64::from(owes) * squared_rate;
                    debts.push(Debt { row, squared_rates, place: place(shape, row) });
                }
            }
            for debts in debts.chunks(FETCHED) {
                let places = debts.iter().map(|debt| &debt.place);
                fetch(places.map(|place| &weights[place.start - first..place.end - first]));
                settling.add(debts, first, weights);
            }
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
