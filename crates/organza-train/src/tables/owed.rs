//! Tables that owe noise: dense DP-SGD with plain gradient descent, at the cost of the touched rows.

use super::lent::{LENT, Lent, give_back};
use super::parts::{FETCHED, each_few_parts, fetch};
use super::regions::{Borders, Region, each_region};
use super::{List, RowRequest, SavedTables, Standing, TableState, Weights};
use crate::optimizer::{Optimizer, Runs};
use bytemuck::{cast_slice, cast_slice_mut, cast_vec};
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
/// [rows](super::SettledRows) of a table do, the only way to its values; that all rows are settled at scheduled
/// steps only; that numbers move by what was released alone, as whole numbers, wherever the data was; and that what is here
/// stays private: which rows were read lately tells who was in the batch. Weights are a function of the numbers, the same
/// for all rows, and no float of theirs comes back.
#[derive(Debug)]
pub(crate) struct Owed {
    /// The weight of one whole number: the learning rate in units of the noise.
    scale: f64,
    noise: OwedNoise,
    /// The number of steps whose noise each row has.
    settled: Vec<u32>,
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
/// with room to spare: they are up to `largest`.
pub(crate) fn has_room(learning_rate: f32, unit: f64, largest: f32) -> bool {
    let farthest = HALF_OF_ALL * f64::from(learning_rate) * unit;
    farthest >= FARTHEST && 2.0 * f64::from(largest) <= farthest
}

impl Owed {
    /// Nothing is owed before the first step.
    pub(crate) fn new(rate: f32, noise: OwedNoise, shape: &Shape) -> Self {
        let scale = f64::from(rate) * noise.unit();
        let settled = vec![0; shape.rows() as usize];
        let (settling, borders) = (None, Borders::default());
        Self { scale, noise, settled, settling, lent: vec![Lent::default()], borders }
    }

    /// Divides the table anew, unless rows are lent, which are kept by region.
    fn place_borders(&mut self, place: impl FnOnce(&mut Borders, usize)) {
        if self.lent.iter().all(|lent| lent.rows.is_empty()) {
            place(&mut self.borders, self.settled.len());
            self.lent.resize(self.borders.regions().max(self.lent.len()), Lent::default());
        }
    }

    fn bring_all(&mut self, weights: Weights<'_>, purpose: Use) {
        self.place_borders(Borders::place_evenly);
        let rows = 0..weights.shape.rows() as u32;
        self.bring(weights, rows, purpose);
    }

    fn bring(
        &mut self,
        weights: Weights<'_>,
        rows: impl Iterator<Item = u32> + Clone + Send + Sync,
        purpose: Use,
    ) {
        let Weights { shape, steps, values: weights } = weights;
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
                    debts[count] = Debt { row, steps: owes, place: shape.range(row) };
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
                        *weight = Self::weight_of(scale, *weight);
                    }
                }
            }
        });
    }

    /// The weight of a whole number, which stands where weights stand.
    fn weight_of(scale: f64, whole: f32) -> f32 {
        (f64::from(whole.to_bits().cast_signed()) * scale) as f32
    }
}

const WHOLES: &str = "wholes";
const SETTLED: &str = "settled";

impl Optimizer for Owed {
    /// Turns the first weights into whole numbers.
    fn begin(&mut self, first: &mut [f32]) {
        for weight in first {
            // Modulo 2^32, as everything that is added.
            let whole = (f64::from(*weight) / self.scale).round() as i64 as i32;
            *weight = f32::from_bits(whole.cast_unsigned());
        }
    }

    /// Never: steps of such tables are paid.
    fn step(&mut self, _: Weights<'_>, _: &mut Runs<'_>) {
        unreachable!("tables that owe noise take touched rows");
    }

    fn state<'a>(&'a self, weights: &'a [f32]) -> Vec<TableState<'a>> {
        let wholes = (WHOLES, List::Counts(cast_slice(weights)));
        vec![wholes, (SETTLED, List::Counts(&self.settled))]
    }

    fn resume(&mut self, _: &Shape, steps: u64, saved: &mut dyn SavedTables) -> Option<Vec<f32>> {
        let fits = |settled: &Vec<u32>| {
            settled.len() == self.settled.len()
                && settled.iter().all(|settled| u64::from(*settled) <= steps)
        };
        self.settled = saved.counts(SETTLED).filter(fits)?;
        Some(cast_vec(saved.counts(WHOLES)?))
    }

    fn owed_noise(&self) -> Option<&OwedNoise> {
        Some(&self.noise)
    }

    fn pay(&mut self, weights: Weights<'_>, touched: TouchedRows) {
        let Weights { shape, steps, values: weights } = weights;
        touched.pay_into(&mut Paying { owed: self, shape, weights, steps });
    }

    fn farthest(&self) -> Option<f64> {
        Some(HALF_OF_ALL * self.scale)
    }

    /// None but those that are lent: the others are whole numbers.
    fn standing(&self, _: u64) -> Option<Standing<'_>> {
        Some(Standing { by_row: &self.settled, at_rest: 0 })
    }

    /// Moves rows from whole numbers to weights, with all their noise up to now: the same bits in any order and on any
    /// number of threads, because each row has its own draw.
    fn lend(&mut self, weights: Weights<'_>, rows: RowRequest<'_>) {
        match rows {
            RowRequest::Of(units) => {
                let rows = units.iter().flat_map(|units| &units.rows).copied();
                self.place_borders(|borders, count| borders.place(rows.clone(), count));
                self.bring(weights, rows, Use::Reading);
            }
            RowRequest::All => self.bring_all(weights, Use::Reading),
        }
    }

    /// Puts all lent rows back to their whole numbers. Those that were read without having been lent get the noise with
    /// which they were read, for good: the same draw, because nothing but the row and the step names it.
    fn give_back(&mut self, weights: Weights<'_>, late: &[u32]) {
        let Weights { shape, steps, values } = weights;
        let Self { settled, lent, borders, .. } = &mut *self;
        let memory = &mut lent[..borders.regions()];
        let whole = Region { first_row: 0, by_row: settled, first: 0, weights: values, memory };
        each_region(borders, shape, whole, &|region| give_back(shape, region));
        if !late.is_empty() {
            let rows = late.iter().copied();
            self.place_borders(|borders, count| borders.place(rows.clone(), count));
            self.bring(Weights { shape, steps, values }, rows, Use::Moving);
        }
    }

    fn value(&self, shape: &Shape, steps: u64, weights: &[f32], row: u32) -> Vec<f32> {
        let mut weights = weights[shape.range(row)].to_vec();
        let owes = steps as u32 - self.settled[row as usize];
        let debt = Debt { row, steps: owes, place: 0..weights.len() };
        self.noise.settling(steps).take_off(&[debt], 0, cast_slice_mut(&mut weights));
        weights.iter_mut().for_each(|weight| *weight = Self::weight_of(self.scale, *weight));
        weights
    }

    fn finish(&mut self, weights: Weights<'_>) {
        self.bring_all(weights, Use::HandingOut);
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
            let weights = Weights { shape, steps: *steps, values: weights };
            owed.bring(weights, rows.clone(), Use::Moving);
        }
        let place = |number: usize| shape.range(touched.row(number));
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
