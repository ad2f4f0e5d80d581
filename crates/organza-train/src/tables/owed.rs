//! Tables that owe noise: dense DP-SGD with plain gradient descent, at the cost of the touched rows.

use super::lent::{LENT, Lent, give_back};
use super::parts::{FETCHED, each_few_parts, fetch};
use super::place_of;
use super::regions::{Borders, Region, each_region};
use bytemuck::{cast_slice, cast_slice_mut};
use organza_mechanism::{Debt, Indebted, OwedNoise, Settling, Shape, Touched, TouchedRows};

/// The largest weight that a table must be able to hold, so that noise may be left for later: those of models that
/// learn are far below it.
const FARTHEST: f64 = 64.0;
/// Half of the numbers that 32 bits hold.
const HALF_OF_ALL: f64 = 2_147_483_648.0;

/// Up to which step each row has its noise.
///
/// The memory of the weights holds whole numbers, J, unless a row is being read: then it holds the weights
/// w = [`Owed::scale`] x J, and J is kept aside.
///
/// # Privacy
/// A row that no unit of a batch touched gets noise and nothing else in the dense loop. Here it gets what it owes,
/// drawn at once, before it is next read. [`OwedNoise`] proves that all that is read has the law of the dense
/// loop, but for what was charged. It asks that every reader settles first, which the
/// [`Reading`](super::Reading) of a table does, the only way to its values; that all rows are settled at scheduled
/// steps only; that numbers move by what was released alone, as whole numbers, wherever the data was; and that what is here
/// stays private: which rows were read lately tells who was in the batch. Weights are a function of the numbers, the same
/// for all rows, and no float of theirs comes back.
#[derive(Debug)]
pub(crate) struct Owed {
    /// The weight of one whole number: the learning rate in units of the noise.
    scale: f64,
    noise: OwedNoise,
    /// The number of steps whose noise each row has.
    pub(crate) settled: Vec<u32>,
    /// Draws of the rows that are settled after this number of steps.
    settling: Option<(u64, Settling)>,
    /// The rows that are being read, by region.
    lent: Vec<Lent>,
    borders: Borders,
}

/// What rows are brought up to date for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// To be moved: they stay whole numbers.
    Moving,
    /// To be read: they are weights until they are given back.
    Reading,
    /// To be handed out: they are weights for good.
    HandingOut,
}

/// Whether a table whose gradients come in steps of `unit` holds all weights that are likely, and the first ones
/// with room to spare.
pub(crate) fn has_room(learning_rate: f32, unit: f64, initial: &[f32]) -> bool {
    let farthest = HALF_OF_ALL * f64::from(learning_rate) * unit;
    farthest >= FARTHEST && initial.iter().all(|weight| 2.0 * f64::from(weight.abs()) <= farthest)
}

impl Owed {
    /// Turns the first weights into whole numbers.
    pub(crate) fn new(rate: f32, noise: OwedNoise, shape: &Shape, weights: &mut [f32]) -> Self {
        let scale = f64::from(rate) * noise.unit();
        for weight in weights {
            // Modulo 2^32, as everything that is added.
            let whole = (f64::from(*weight) / scale).round() as i64 as i32;
            *weight = f32::from_bits(whole.cast_unsigned());
        }
        let settled = vec![0; shape.rows() as usize];
        let (settling, borders) = (None, Borders::default());
        Self { scale, noise, settled, settling, lent: vec![Lent::default()], borders }
    }

    pub(crate) fn noise(&self) -> &OwedNoise {
        &self.noise
    }

    /// The largest weight that a number can stand for.
    pub(crate) fn farthest(&self) -> f64 {
        HALF_OF_ALL * self.scale
    }

    /// Moves `rows` from whole numbers to weights, with all their noise of the first `steps` steps, until they are given
    /// back: the same bits in any order and on any number of threads, because each row has its own draw.
    pub(crate) fn lend(
        &mut self,
        shape: &Shape,
        weights: &mut [f32],
        steps: u64,
        rows: impl Iterator<Item = u32> + Clone + Send + Sync,
    ) {
        self.place_borders(|borders, count| borders.place(rows.clone(), count));
        self.bring(shape, weights, steps, rows, Use::Reading);
    }

    /// The same for all rows.
    pub(crate) fn lend_all(&mut self, shape: &Shape, weights: &mut [f32], steps: u64) {
        self.place_borders(Borders::place_evenly);
        self.bring(shape, weights, steps, 0..shape.rows() as u32, Use::Reading);
    }

    /// Puts all lent rows back to their whole numbers.
    pub(crate) fn give_back(&mut self, shape: &Shape, weights: &mut [f32]) {
        let Self { settled, lent, borders, .. } = self;
        let memory = &mut lent[..borders.regions()];
        let whole = Region { first_row: 0, by_row: settled, first: 0, weights, memory };
        each_region(borders, shape, whole, &|region| give_back(shape, region));
    }

    /// Turns all rows into weights, with all their noise of the first `steps` steps, for good.
    pub(crate) fn finish(mut self, shape: &Shape, weights: &mut [f32], steps: u64) {
        self.place_borders(Borders::place_evenly);
        self.bring(shape, weights, steps, 0..shape.rows() as u32, Use::HandingOut);
    }

    /// Moves the touched rows by the release of the step after `steps` steps; all others owe its noise.
    pub(crate) fn pay(
        &mut self,
        shape: &Shape,
        weights: &mut [f32],
        steps: u64,
        touched: TouchedRows,
    ) {
        touched.pay_into(&mut Paying { owed: self, shape, weights, steps });
    }

    /// Divides the table anew, unless rows are lent, which are kept by region.
    fn place_borders(&mut self, place: impl FnOnce(&mut Borders, usize)) {
        if self.lent.iter().all(|lent| lent.rows.is_empty()) {
            place(&mut self.borders, self.settled.len());
            self.lent.resize(self.borders.regions().max(self.lent.len()), Lent::default());
        }
    }

    fn bring(
        &mut self,
        shape: &Shape,
        weights: &mut [f32],
        steps: u64,
        rows: impl Iterator<Item = u32> + Clone + Send + Sync,
        purpose: Use,
    ) {
        let Self { scale, noise, settled, settling, lent, borders } = self;
        let settling = match settling {
            Some((at, settling)) if *at == steps => &*settling,
            stale => &stale.insert((steps, noise.settling(steps))).1,
        };
        let (scale, steps_now) = (*scale, steps as u32);
        let memory = &mut lent[..borders.regions()];
        let whole = Region { first_row: 0, by_row: settled, first: 0, weights, memory };
        each_region(borders, shape, whole, &|region| {
            let mut rows = region.rows(rows.clone());
            let Region { by_row: settled, first, weights, memory, .. } = region;
            let Lent { rows: lent, kept } = &mut memory[0];
            let mut debts = [const { Debt { row: 0, steps: 0, place: 0..0 } }; FETCHED];
            loop {
                let mut count = 0;
                while count < FETCHED
                    && let Some((row, number)) = rows.next()
                {
                    let settled = &mut settled[number];
                    let owes = steps_now - (*settled & !LENT);
                    if *settled & LENT != 0 || owes == 0 && purpose == Use::Moving {
                        continue;
                    }
                    *settled = steps_now;
                    if purpose == Use::Reading {
                        *settled |= LENT;
                        lent.push(row);
                    }
                    debts[count] = Debt { row, steps: owes, place: place_of(shape, row) };
                    count += 1;
                }
                if count == 0 {
                    return;
                }
                let debts = &debts[..count];
                let within = |debt: &Debt| debt.place.start - first..debt.place.end - first;
                fetch(debts.iter().map(|debt| &weights[within(debt)]));
                settling.take_off(debts, first, cast_slice_mut(weights));
                for debt in debts {
                    let weights = &mut weights[within(debt)];
                    match purpose {
                        Use::Moving => continue,
                        Use::Reading => kept.extend_from_slice(weights),
                        Use::HandingOut => {}
                    }
                    for weight in weights {
                        *weight = (f64::from(weight.to_bits().cast_signed()) * scale) as f32;
                    }
                }
            }
        });
    }

    /// The whole numbers, where no row is lent.
    pub(crate) fn wholes(weights: &[f32]) -> &[u32] {
        cast_slice(weights)
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
        let Self { owed, shape, weights, steps } = self;
        let rows = (0..touched.count()).map(|place| touched.row(place));
        // Rows that were not read, if there are any.
        if rows.clone().any(|row| u64::from(owed.settled[row as usize]) != *steps) {
            owed.place_borders(|borders, count| borders.place(rows.clone(), count));
            owed.bring(shape, weights, *steps, rows.clone(), Use::Moving);
        }
        let place = |number: usize| place_of(shape, touched.row(number));
        each_few_parts(touched.count(), weights, &place, &|few, first, weights| {
            let wholes: &mut [i32] = cast_slice_mut(weights);
            touched.gradients(few, |number, start, gradient| {
                let wholes = wholes[place(number).start + start - first..].iter_mut();
                wholes.zip(gradient).for_each(|(whole, move_by)| {
                    *whole = whole.wrapping_sub(*move_by);
                });
            });
        });
        rows.for_each(|row| owed.settled[row as usize] = *steps as u32 + 1);
    }
}
