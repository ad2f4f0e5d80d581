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

mod adam_state;
mod update;

use super::adam::{AdamSettings, SMALLEST};
use super::aligned::Aligned;
use super::lent::{LENT, Lent, give_back};
use super::parts::{FETCHED, each_few_parts, fetch};
use super::powers::{power_of_two, running_power};
use super::regions::{Borders, Region, each_region};
use super::series::Series;
use super::{List, RowRequest, SavedTables, Standing, Storage, TableState, WEIGHTS, Weights};
use crate::optimizer::{Optimizer, Runs};
use adam_state::AdamState;
use organza_mechanism::Shape;
use pulp::{Arch, Simd, WithSimd};
use std::io;
use std::ops::Range;
use update::{Constants, Lanes, Piece, Stage, Update, copy};

/// Marks a coordinate near which `eps` is felt.
const MARK: u32 = 1 << 31;
/// Steps are counted in 31 bits here.
pub(crate) const MOST_STEPS: u64 = (1 << 31) - 1;
/// Coordinates that are updated together.
const LANES: usize = 64;
/// Numbers of a page of memory.
const PAGE: usize = 1_024;
/// Where the state begins, in lines after a page: apart from the weights.
const LINES: usize = 21;
/// What the short form may err by, relative to the distance.
const SHORT_FORM: f64 = 3e-6;

/// Coordinates at their resting places, and what Adam knows of each besides.
#[derive(Debug, PartialEq)]
pub(crate) struct Resting {
    adam: AdamState,
    /// The largest s in each row.
    newest: Vec<u32>,
    /// The rows that are being read, by region.
    lent: Vec<Lent>,
    borders: Borders,
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

    fn weights(self) -> Range<usize> {
        self.weights_from(0)
    }

    /// The same among the weights from `first` on.
    fn weights_from(self, first: usize) -> Range<usize> {
        self.first - first..self.first - first + self.length
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
    pub(crate) fn new(
        settings: AdamSettings,
        shape: &Shape,
        storage: Storage<'_>,
    ) -> io::Result<Option<Self>> {
        let Some(mut series) = Series::new(settings) else { return Ok(None) };
        series.prepare(0);
        let mut bits = storage.zeros(PARTS * shape.coordinates() as usize, LINES)?;
        if bits.file().is_none() {
            // Memory of zeros is given out page by page when it is first written to, which would be within steps.
            bits.chunks_mut(PAGE).for_each(|page| page[0] = std::hint::black_box(0));
        }
        let newest = vec![0; shape.rows() as usize];
        let exponent = settings.ratio().log2() as f32;
        let adam = AdamState { settings, series, exponent, bits };
        let (lent, borders) = (vec![Lent::default()], Borders::default());
        Ok(Some(Self { adam, newest, lent, borders }))
    }

    /// Puts the state of a run that goes on in place; false if it does not fit.
    fn put(&mut self, shape: &Shape, steps: u64, state: Vec<u32>) -> bool {
        if state.len() != self.adam.bits.len() || steps > MOST_STEPS {
            return false;
        }
        for (row, newest) in (0..).zip(&mut self.newest) {
            let Some(place) = Place::of(shape, row) else { return false };
            let moved = &state[place.part(MOVED, 0)..place.part(MOVED, place.length)];
            *newest = moved.iter().map(|moved| moved & !MARK).max().unwrap_or(0);
        }
        self.adam.bits = Aligned::new(state, LINES);
        self.adam.series.prepare(steps);
        self.newest.iter().all(|newest| u64::from(*newest) <= steps)
    }

    /// `soon` says whether those that stay as they are should be fetched, because they will be read at once.
    fn lend_some(
        &mut self,
        weights: Weights<'_>,
        rows: impl Iterator<Item = u32> + Clone + Send + Sync,
        soon: bool,
    ) {
        let Weights { shape, steps: time, values: weights } = weights;
        self.lent.resize(self.borders.regions().max(self.lent.len()), Lent::default());
        let (live, time_now) = (self.adam.series.live(), time as u32);
        self.each_region(shape, weights, &|adam, region| {
            let rows = region.rows(rows.clone());
            let Region { by_row: newest, first, weights, memory, .. } = region;
            let Lent { rows: lent, kept } = &mut memory[0];
            let begun = lent.len();
            for (row, number) in rows {
                if soon {
                    fetch(std::iter::once(&weights[Place::at(shape, row).weights_from(first)]));
                }
                // A row that never moved, is lent already, or is at its resting place stays as it is.
                let newest = &mut newest[number];
                let age = time_now.wrapping_sub(*newest & !LENT);
                if *newest != 0 && *newest & LENT == 0 && u64::from(age) < live {
                    *newest |= LENT;
                    lent.push(row);
                }
            }
            for rows in lent[begun..].chunks(FETCHED / 2) {
                let places = rows.iter().map(|row| Place::at(shape, *row));
                fetch(places.clone().map(|place| adam.moved(place)));
                for place in places {
                    let weights = &mut weights[place.weights_from(first)];
                    kept.extend_from_slice(weights);
                    adam.bring(weights, time, place);
                }
            }
        });
    }

    /// Calls `visit` with each region, its `newest` by row and its lent rows, and all else that is here.
    fn each_region(
        &mut self,
        shape: &Shape,
        weights: &mut [f32],
        visit: &(impl Fn(&AdamState, Region<'_, Lent>) + Sync),
    ) {
        let Self { adam, newest, lent, borders } = self;
        let memory = &mut lent[..borders.regions()];
        let whole = Region { first_row: 0, by_row: newest, first: 0, weights, memory };
        each_region(borders, shape, whole, &|region| visit(adam, region));
    }
}

const RESTING: &str = "resting";

impl Optimizer for Resting {
    fn step(&mut self, weights: Weights<'_>, gradient: &mut Runs<'_>) {
        let Weights { shape, steps, values: weights } = weights;
        let Self { adam, newest, .. } = self;
        let step = steps + 1;
        adam.series.prepare(step);
        let constants = Constants::new(&adam.settings, &adam.series, step);
        let mut stage = Stage::new();
        gradient(&mut |first, mut gradient| {
            let mut first = first;
            // A run may reach over the end of a row.
            while let Some((row, inside)) = shape.place(first).filter(|_| !gradient.is_empty()) {
                let Some(place) = Place::of(shape, row) else { return };
                newest[row as usize] = step as u32;
                let room = (place.length - inside).min(LANES - stage.filled);
                let (now, later) = gradient.split_at(gradient.len().min(room));
                stage.take(&adam.bits, weights, Piece { place, inside, length: now.len() }, now);
                (first, gradient) = (first + now.len() as u64, later);
                if stage.filled == LANES {
                    adam.flush(&mut stage, &constants, weights);
                }
            }
        });
        adam.flush(&mut stage, &constants, weights);
    }

    fn state<'a>(&'a self, weights: &'a [f32]) -> Vec<TableState<'a>> {
        let state = (RESTING, List::Counts(&self.adam.bits));
        vec![(WEIGHTS, List::Floats(weights)), state]
    }

    fn resume(
        &mut self,
        shape: &Shape,
        steps: u64,
        saved: &mut dyn SavedTables,
    ) -> Option<Vec<f32>> {
        let fits = self.put(shape, steps, saved.counts(RESTING)?);
        saved.floats(WEIGHTS).filter(|_| fits)
    }

    /// Those that never moved, or moved so long ago that they are at rest.
    fn standing(&self, steps: u64) -> Option<Standing<'_>> {
        let at_rest = (steps + 1).saturating_sub(self.adam.series.live()).max(1) as u32;
        Some(Standing { by_row: &self.newest, at_rest })
    }

    /// Moves rows from their resting places to where they are now. The same bits in any order and on any number
    /// of threads.
    fn lend(&mut self, weights: Weights<'_>, rows: RowRequest<'_>) {
        let count = self.newest.len();
        let has_nothing_lent = self.lent.iter().all(|lent| lent.rows.is_empty());
        match rows {
            RowRequest::Of(units) => {
                let rows = units.iter().flat_map(|units| &units.rows).copied();
                if has_nothing_lent {
                    self.borders.place(rows.clone(), count);
                }
                self.lend_some(weights, rows, true);
            }
            RowRequest::All => {
                if has_nothing_lent {
                    self.borders.place_evenly(count);
                }
                self.lend_some(weights, 0..count as u32, false);
            }
        }
    }

    /// What belongs to one row stands together.
    fn fetch(&mut self, shape: &Shape, places: &mut dyn Iterator<Item = Range<usize>>) {
        let row = |coordinate: usize| {
            let (row, _) = shape.place(coordinate as u64)?;
            Place::of(shape, row)
        };
        self.adam.bits.fetch(places.filter_map(|place| {
            let (first, last) = (row(place.start)?, row(place.end.checked_sub(1)?)?);
            Some(first.part(0, 0)..last.part(PARTS, 0))
        }));
    }

    /// Puts all lent rows back to their resting places, bit for bit. Those that were worked out left nothing.
    fn give_back(&mut self, weights: Weights<'_>, _: &[u32]) {
        let shape = weights.shape;
        self.each_region(shape, weights.values, &|_, region| give_back(shape, region));
    }

    fn value(&self, shape: &Shape, steps: u64, weights: &[f32], row: u32) -> Vec<f32> {
        let place = Place::at(shape, row);
        let mut weights = weights[place.weights()].to_vec();
        self.adam.bring(&mut weights, steps, place);
        weights
    }

    fn finish(&mut self, weights: Weights<'_>) {
        let Weights { shape, steps, values } = weights;
        let place = |row: usize| Place::at(shape, row as u32);
        let weights_of = |row: usize| place(row).weights();
        each_few_parts(self.newest.len(), values, &weights_of, &|rows, first, weights| {
            for row in rows {
                let weights = &mut weights[place(row).weights_from(first)];
                self.adam.bring(weights, steps, place(row));
            }
        });
    }
}
