//! Adam with dense semantics at sparse cost: where weights come to rest, and how far they are from it.
//!
//! Adam moves every coordinate at every step, also those without a gradient, whose moments decay. But
//! where such a coordinate comes to rest is known when it last got a gradient, at time s: with
//! [`Series::distance`] D(t, ...) = how far it still goes after time t, the weight at any time t is
//!
//! ```text
//! w_t = rest + D(t, m_s b1^(t-s), v_s b2^(t-s))  ~  rest + n r^(t-s) S_t,     n = m_s / (sqrt(v_s) + eps A_s).
//! ```
//!
//! So the table holds the resting places. A coordinate that gets a gradient gets a new one; every other is
//! left alone, and a row that is read is moved to where it is now for as long as it is read. The short form
//! on the right is good to 3e-6 of the distance unless `eps` is felt beside sqrt(v); such coordinates are
//! marked and take the long form.
//!
//! # Privacy
//! Which rows are read tells which units are in the batch. Reading stores nothing: the state changes with
//! released gradients only, at the released coordinates, and what a row reads as is a function of that
//! state and of the time. So no bit of the result depends on which rows were read, or when. (A row brought up
//! to date in two stages would differ in its last bits from one brought up to date in one, and that
//! would be a release without a charge.)

mod update;

use super::adam::{AdamSettings, SMALLEST};
use super::parts::{are_divided, each_part};
use super::powers::{power_of_two, running_power};
use super::series::Series;
use organza_mechanism::Shape;
use pulp::{Arch, Simd, WithSimd};
use update::{Constants, Lanes, Piece, Stage, Update, copy};

/// Marks a coordinate near which `eps` is felt.
const MARK: u32 = 1 << 31;
/// Marks a row that is being read.
const LENT: u32 = 1 << 31;
/// Steps are counted in 31 bits here.
pub(crate) const MOST_STEPS: u64 = (1 << 31) - 1;
/// Coordinates that are updated together.
const LANES: usize = 64;
/// Numbers of a page of memory.
const PAGE: usize = 1_024;
/// What the short form may err by, relative to the distance.
const SHORT_FORM: f64 = 3e-6;

/// What Adam knows of each coordinate besides its resting place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resting {
    settings: AdamSettings,
    series: Series,
    /// log2 r.
    exponent: f32,
    /// Row by row: all n, then all s with their marks, then all sqrt(v_s), as bits. What belongs to one row
    /// stands together, because far apart each would cost a translation of its address.
    pub(crate) state: Vec<u32>,
    /// The largest s in each row.
    newest: Vec<u32>,
    /// The rows that are being read, and their resting places.
    lent: Vec<Lent>,
    saved: Vec<f32>,
}

/// A row that is being read, and where its resting place is saved.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Lent {
    row: u32,
    saved: usize,
}

/// The numbers that are kept for each coordinate.
const PARTS: usize = 3;

/// A row of a table: its first coordinate and its length.
#[derive(Clone, Copy)]
struct Place {
    first: usize,
    length: usize,
}

impl Place {
    fn of(shape: &Shape, row: u32) -> Option<Self> {
        shape.row(row).map(|(first, length)| Self { first: first as usize, length })
    }

    /// The same for rows that are known to be there; none beyond the last.
    fn at(shape: &Shape, row: u32) -> Self {
        Self::of(shape, row).unwrap_or(Self { first: 0, length: 0 })
    }

    fn weights(self) -> std::ops::Range<usize> {
        self.first..self.first + self.length
    }

    /// Where part `part` of the state of coordinate `inside` of the row stands.
    fn part(self, part: usize, inside: usize) -> usize {
        PARTS * self.first + part * self.length + inside
    }
}

const SPEEDS: usize = 0;
const MOVED: usize = 1;
const ROOTS: usize = 2;

impl Resting {
    /// None if the decays have no series.
    pub(crate) fn new(settings: AdamSettings, shape: &Shape) -> Option<Self> {
        let mut series = Series::new(settings)?;
        series.prepare(0);
        let mut state = vec![0; PARTS * shape.coordinates() as usize];
        // Memory of zeros is given out page by page when it is first written to, which would be within steps.
        state.chunks_mut(PAGE).for_each(|page| page[0] = std::hint::black_box(0));
        let newest = vec![0; shape.rows() as usize];
        let exponent = settings.ratio().log2() as f32;
        Some(Self {
            settings,
            series,
            exponent,
            state,
            newest,
            lent: Vec::new(),
            saved: Vec::new(),
        })
    }

    /// Puts the state of a run that goes on in place; false if it does not fit.
    pub(crate) fn resume(&mut self, shape: &Shape, steps: u64, state: Vec<u32>) -> bool {
        if state.len() != self.state.len() || steps > MOST_STEPS {
            return false;
        }
        for (row, newest) in (0..).zip(&mut self.newest) {
            let Some(place) = Place::of(shape, row) else { return false };
            let moved = &state[place.part(MOVED, 0)..place.part(MOVED, place.length)];
            *newest = moved.iter().map(|moved| moved & !MARK).max().unwrap_or(0);
        }
        self.state = state;
        self.series.prepare(steps);
        self.newest.iter().all(|newest| u64::from(*newest) <= steps)
    }

    /// Marks `row` as lent; false if it is already, or is at its resting place at `time`.
    fn claim(&mut self, time: u64, row: u32) -> bool {
        let Some(newest) = self.newest.get_mut(row as usize) else { return false };
        let age = time as u32 - (*newest & !LENT);
        let moves = *newest != 0 && *newest & LENT == 0 && u64::from(age) < self.series.live();
        if moves {
            *newest |= LENT;
        }
        moves
    }

    /// Moves `rows` from their resting places to where they are at `time`, until they are given back. The same
    /// bits in any order and on any number of threads.
    pub(crate) fn lend(
        &mut self,
        shape: &Shape,
        weights: &mut [f32],
        time: u64,
        rows: impl Iterator<Item = u32>,
    ) {
        let begun = self.lent.len();
        for row in rows {
            if self.claim(time, row) {
                self.lent.push(Lent { row, saved: 0 });
            }
        }
        if !are_divided(self.lent.len() - begun) {
            for number in begun..self.lent.len() {
                let place = Place::at(shape, self.lent[number].row);
                let weights = &mut weights[place.weights()];
                self.lent[number].saved = self.saved.len();
                self.saved.extend_from_slice(weights);
                self.bring(weights, time, place);
            }
            return;
        }
        let lent = &mut self.lent[begun..];
        lent.sort_unstable_by_key(|lent| lent.row);
        let mut end = self.saved.len();
        for lent in lent.iter_mut() {
            lent.saved = end;
            end += Place::at(shape, lent.row).length;
        }
        self.saved.resize(end, 0.0);
        let lent = &self.lent[begun..];
        let place = |number: usize| {
            let Lent { row, saved } = lent[number];
            saved..saved + Place::at(shape, row).length
        };
        each_part(lent.len(), &mut self.saved, &place, &|number, saved| {
            saved.copy_from_slice(&weights[Place::at(shape, lent[number].row).weights()]);
        });
        let place = |number: usize| Place::at(shape, lent[number].row).weights();
        each_part(lent.len(), weights, &place, &|number, weights| {
            self.bring(weights, time, Place::at(shape, lent[number].row));
        });
    }

    /// Puts all lent rows back to their resting places, bit for bit.
    pub(crate) fn give_back(&mut self, shape: &Shape, weights: &mut [f32]) {
        let Self { newest, lent, saved, .. } = self;
        lent.iter().for_each(|lent| newest[lent.row as usize] &= !LENT);
        if are_divided(lent.len()) {
            lent.sort_unstable_by_key(|lent| lent.row);
        }
        let place = |number: usize| Place::at(shape, lent[number].row).weights();
        each_part(lent.len(), weights, &place, &|number, weights| {
            let start = lent[number].saved;
            weights.copy_from_slice(&saved[start..start + weights.len()]);
        });
        lent.clear();
        saved.clear();
    }

    /// Moves all coordinates to where they are at `time`, for good.
    pub(crate) fn finish(self, shape: &Shape, weights: &mut [f32], time: u64) {
        let place = |row: usize| Place::at(shape, row as u32).weights();
        each_part(self.newest.len(), weights, &place, &|row, weights| {
            self.bring(weights, time, Place::at(shape, row as u32));
        });
    }

    /// Adds to the resting places of a row, its `weights`, how far they are away at `time`.
    fn bring(&self, weights: &mut [f32], time: u64, place: Place) {
        let marked = Arch::new().dispatch(Bring {
            weights: &mut *weights,
            speeds: &self.state[place.part(SPEEDS, 0)..place.part(SPEEDS, place.length)],
            moved: &self.state[place.part(MOVED, 0)..place.part(MOVED, place.length)],
            time: time as u32,
            live: self.series.live() as u32,
            exponent: self.exponent,
            total: self.series.after(time).total as f32,
        });
        if !marked {
            return;
        }
        for (inside, weight) in weights.iter_mut().enumerate() {
            let moved = self.state[place.part(MOVED, inside)];
            if moved & MARK != 0 {
                let number = |part| f64::from(f32::from_bits(self.state[place.part(part, inside)]));
                let time_of_it = u64::from(moved & !MARK);
                let coordinate =
                    Coordinate { speed: number(SPEEDS), root: number(ROOTS), time: time_of_it };
                // The short form left marked ones where they were.
                let distance = self.distance(time, self.moments(coordinate, time));
                *weight = (f64::from(*weight) + distance) as f32;
            }
        }
    }

    /// m and sqrt(v) at `time`.
    fn moments(&self, coordinate: Coordinate, time: u64) -> (f64, f64) {
        let age = time - coordinate.time;
        let root = coordinate.root * (0.5 * age as f64 * self.settings.beta2().ln()).exp();
        if age >= self.series.live() {
            return (0.0, root);
        }
        let centre = self.series.after(coordinate.time).centre;
        let first =
            coordinate.speed * (coordinate.root + f64::from(self.settings.epsilon) * centre);
        (first * (age as f64 * self.settings.beta1().ln()).exp(), root)
    }

    fn distance(&self, time: u64, (first, root): (f64, f64)) -> f64 {
        self.series.distance(time, first, root)
    }

    /// Step `step`, which counts from 1, with a gradient given as ascending runs of coordinates.
    pub(crate) fn step(
        &mut self,
        shape: &Shape,
        step: u64,
        weights: &mut [f32],
        runs: impl FnOnce(&mut dyn FnMut(u64, &[f32])),
    ) {
        self.series.prepare(step);
        let constants = Constants::new(&self.settings, &self.series, step);
        let mut stage = Stage::new();
        runs(&mut |first, mut gradient| {
            let mut first = first;
            // A run may reach over the end of a row.
            while let Some((row, inside)) = shape.place(first).filter(|_| !gradient.is_empty()) {
                let Some(place) = Place::of(shape, row) else { return };
                self.newest[row as usize] = step as u32;
                let room = (place.length - inside).min(LANES - stage.filled);
                let (now, later) = gradient.split_at(gradient.len().min(room));
                stage.take(&self.state, weights, Piece { place, inside, length: now.len() }, now);
                (first, gradient) = (first + now.len() as u64, later);
                if stage.filled == LANES {
                    self.flush(&mut stage, &constants, weights);
                }
            }
        });
        self.flush(&mut stage, &constants, weights);
    }

    /// Updates what is on the stage and puts it back.
    fn flush(&mut self, stage: &mut Stage, constants: &Constants, weights: &mut [f32]) {
        if stage.filled == 0 {
            return;
        }
        let special = Arch::new().dispatch(Update { lanes: &mut stage.lanes, constants });
        if special {
            for lane in 0..stage.filled {
                if stage.lanes.special[lane] != 0 {
                    self.update_exactly(&mut stage.lanes, lane, constants);
                }
            }
        }
        let mut from = 0;
        for piece in &stage.pieces[..stage.count] {
            let lanes = from..from + piece.length;
            copy(&mut weights[piece.weights()], &stage.lanes.new_weights[lanes.clone()]);
            copy(&mut self.state[piece.part(SPEEDS)], &stage.lanes.new_speeds[lanes.clone()]);
            copy(&mut self.state[piece.part(ROOTS)], &stage.lanes.new_roots[lanes.clone()]);
            copy(&mut self.state[piece.part(MOVED)], &stage.lanes.new_moved[lanes]);
            from += piece.length;
        }
        (stage.filled, stage.count) = (0, 0);
    }

    /// The long form, in double precision.
    fn update_exactly(&self, lanes: &mut Lanes, lane: usize, constants: &Constants) {
        let settings = &self.settings;
        let (step, before) = (u64::from(constants.step), u64::from(constants.step) - 1);
        let coordinate = Coordinate {
            speed: f64::from(f32::from_bits(lanes.speeds[lane])),
            root: f64::from(f32::from_bits(lanes.roots[lane])),
            time: u64::from(lanes.moved[lane] & !MARK),
        };
        let (first, root) = self.moments(coordinate, before);
        let weight = f64::from(lanes.weights[lane]) + self.distance(before, (first, root));
        let gradient = f64::from(lanes.gradient[lane]);
        let (beta1, beta2) = (settings.beta1(), settings.beta2());
        let first = beta1 * first + (1.0 - beta1) * gradient;
        let root = (beta2 * root * root + (1.0 - beta2) * gradient * gradient).sqrt();
        let (weighting, inverse) = settings.corrections(step);
        let epsilon = f64::from(settings.epsilon);
        let rate = f64::from(settings.learning_rate);
        let moved = rate * weighting * first / (root + epsilon * inverse);
        lanes.new_weights[lane] = (weight - moved - self.distance(step, (first, root))) as f32;
        let divisor = (root + epsilon * self.series.after(step).centre).recip();
        let flushed =
            |value: f64| if value.abs() < f64::from(SMALLEST) { 0.0 } else { value as f32 };
        lanes.new_speeds[lane] = flushed(first * divisor).to_bits();
        lanes.new_roots[lane] = flushed(root).to_bits();
        let felt = epsilon * divisor > f64::from(constants.felt) && first != 0.0;
        lanes.new_moved[lane] = step as u32 | if felt { MARK } else { 0 };
    }
}

/// A coordinate as it was when it last got a gradient.
#[derive(Clone, Copy)]
struct Coordinate {
    speed: f64,
    root: f64,
    time: u64,
}

/// w += n r^age S for the unmarked ones; says whether some are marked.
struct Bring<'a> {
    weights: &'a mut [f32],
    speeds: &'a [u32],
    moved: &'a [u32],
    time: u32,
    live: u32,
    /// log2 r.
    exponent: f32,
    total: f32,
}

impl WithSimd for Bring<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let Self { weights, speeds, moved, time, live, exponent, total } = self;
        let mut marks = 0;
        for ((weight, speed), moved) in weights.iter_mut().zip(speeds).zip(moved) {
            marks |= moved;
            let age = time.wrapping_sub(moved & !MARK);
            // Marked coordinates look as old as can be.
            let age = age | (moved & MARK);
            let power = power_of_two(age as i32 as f32 * exponent);
            let distance = f32::from_bits(*speed) * (power * total);
            *weight += if age < live { distance } else { 0.0 };
        }
        marks & MARK != 0
    }
}
