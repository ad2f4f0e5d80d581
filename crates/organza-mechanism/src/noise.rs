//! The second clip, and noise on what was selected.

use crate::grid::{Grid, STEPS_OF_CLIP};
use crate::plan::{NoiseSettings, PlanError, positive};
use crate::random::{PrivateRandom, Purpose, RandomSource};
use crate::sample::{fill_normal, laplace};
use crate::scores::By;
use crate::select::{Selection, Selector};
use crate::sum::ClippedSum;
use organza_ledger::{Event, Neighbouring};
use pulp::{Arch, Simd, WithSimd};

/// How many coordinates of a dense release share one substream.
const BLOCK: u64 = 8_192;
/// The widest dense release: substreams are numbered by 32 bits, and none may serve two blocks.
pub(crate) const WIDEST_DENSE: u64 = BLOCK << 32;
/// The finest that the grid gets below the sum's grid: 2^-20 of its step.
const FINEST: i32 = 20;
/// Integers stay below 2^62, noise of `TAIL` deviations included.
const ROOM: f64 = (1_u64 << 62) as f64;
/// More deviations than a normal can have here, and a Laplace variable with probability e^-64.
const TAIL: f64 = 64.0;

/// How much noise, on which grid, after which second clip.
///
/// # Privacy
/// The sum of a batch moves by at most L = S1 (add-remove) or 2 S1 (replace-one) in L2, and so does
/// what a *fixed* selection sees of it. The projection on the ball of radius S2 b is non-expansive
/// and bounds the norm, so the released vector moves by at most min(L, 2 S2 b); taking add-remove for
/// min(L, S2 b), as the paper's noise does, is short by up to a factor of two (take -g/2 and +g/2).
///
/// Truncation to the finer grid after a projection: if the selection misses what the unit changed,
/// both runs see the same integers. Otherwise they differ by at least one step of the sum's grid,
/// and truncation (toward zero, at most one fine step a coordinate) and the rounding of the factor
/// (at most one fine step in all, on either side) add at most sqrt(k) + 2 fine steps: a factor of at
/// most 1 + (sqrt(k) + 2) 2^-fine on whatever the selection saw of the change. `inflation` is that
/// factor, and the noise is scaled by it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Noise {
    grid: Grid,
    settings: NoiseSettings,
    /// S2 in steps of the sum's grid, or infinity.
    second_clip: f64,
    /// Bits of the released grid below the sum's grid.
    fine: i32,
    /// The standard deviation (the scale, for Laplace noise), in steps of the released grid.
    deviation: f64,
    /// What a unit moves the vector before the second clip, rounding included, in released steps.
    change: f64,
}

impl Noise {
    /// Noise in proportion to the sensitivity of what is released; `most` bounds the number of
    /// selected coordinates.
    pub(crate) fn new(
        grid: Grid,
        neighbouring: Neighbouring,
        settings: NoiseSettings,
        most: u64,
    ) -> Result<Self, PlanError> {
        let change = match neighbouring {
            Neighbouring::AddRemove => STEPS_OF_CLIP,
            Neighbouring::ReplaceOne => 2.0 * STEPS_OF_CLIP,
        };
        match settings {
            NoiseSettings::Gaussian { multiplier, second_clip: None } => {
                let deviation = positive("noise multiplier", multiplier)? * change;
                let noise = Self::without_second_clip(grid, settings, deviation, change);
                noise.fitting("noise multiplier", multiplier)
            }
            NoiseSettings::Laplace { epsilon } => {
                let scale = change / positive("value epsilon", epsilon)?;
                let noise = Self::without_second_clip(grid, settings, scale, change);
                noise.fitting("value epsilon", epsilon)
            }
            NoiseSettings::Gaussian { multiplier, second_clip: Some(length) } => {
                positive("noise multiplier", multiplier)?;
                let second_clip = grid.steps(positive("second clip", length)?);
                let deviation = multiplier * change.min(2.0 * second_clip);
                let largest = (second_clip + TAIL * deviation).max(1.0);
                let fine = (ROOM / largest).log2().floor().min(f64::from(FINEST)) as i32;
                let scale = libm::ldexp(1.0, fine);
                let inflation = 1.0 + ((most as f64).sqrt() + 2.0) / scale;
                let change = change * scale * inflation;
                let deviation = multiplier * change.min(2.0 * second_clip * scale);
                let noise = Self { grid, settings, second_clip, fine, deviation, change };
                if fine < 1 {
                    return Err(too_large("second clip", length));
                }
                Ok(noise)
            }
        }
    }

    fn without_second_clip(
        grid: Grid,
        settings: NoiseSettings,
        deviation: f64,
        change: f64,
    ) -> Self {
        Self { grid, settings, second_clip: f64::INFINITY, fine: 0, deviation, change }
    }

    fn fitting(self, setting: &'static str, value: f64) -> Result<Self, PlanError> {
        if TAIL * self.deviation < ROOM { Ok(self) } else { Err(too_large(setting, value)) }
    }

    /// The event of the noise after `selector`.
    pub(crate) fn event(&self, selector: &dyn Selector) -> Result<Event, PlanError> {
        match self.settings {
            // Where the event says that the noise lies on the selection alone, the account is
            // relative to what the selection sees of the change before the second clip.
            NoiseSettings::Gaussian { .. } if selector.joint() => {
                Ok(Event::Gaussian { noise_multiplier: self.deviation / self.change })
            }
            NoiseSettings::Gaussian { multiplier, .. } => {
                Ok(Event::Gaussian { noise_multiplier: multiplier })
            }
            NoiseSettings::Laplace { epsilon } if selector.values() => {
                Ok(Event::Laplace { noise_multiplier: 1.0 / epsilon })
            }
            NoiseSettings::Laplace { epsilon } => Err(PlanError::new(
                "noise",
                format!("Laplace with epsilon {epsilon}"),
                "Laplace noise is accounted for with sparse vector selection by coordinate only",
                "use that selection, or Gaussian noise",
            )),
        }
    }

    /// The standard deviation of the noise on the averaged gradient.
    pub(crate) fn deviation(&self) -> f64 {
        self.deviation * self.released_step()
    }

    /// One step of the released grid, in the averaged gradient.
    fn released_step(&self) -> f64 {
        libm::ldexp(self.grid.step(), -self.fine)
    }

    /// Projects on the ball of radius S2 and truncates toward zero to the released grid.
    fn second_clip(&self, values: &mut [i64]) {
        if self.second_clip.is_infinite() {
            return;
        }
        // Exact in integers, so that the norm errs by its square root's rounding alone.
        let squares: u128 =
            values.iter().map(|value| u128::from(value.unsigned_abs()).pow(2)).sum();
        let norm = (squares as f64).sqrt();
        if norm <= self.second_clip {
            values.iter_mut().for_each(|value| *value <<= self.fine);
            return;
        }
        let shrink = 1.0 - 4.0 * f64::EPSILON;
        let factor = libm::ldexp(self.second_clip * shrink / norm, self.fine);
        values.iter_mut().for_each(|value| *value = (*value as f64 * factor) as i64);
    }
}

impl Noise {
    /// Adds rounded noise, integer to integer.
    fn add(&self, values: &mut [i64], random: &mut PrivateRandom) {
        let arch = Arch::new();
        let mut draws = [0.0; 256];
        for values in values.chunks_mut(draws.len()) {
            let draws = &mut draws[..values.len()];
            match self.settings {
                NoiseSettings::Gaussian { .. } => fill_normal(draws, random),
                NoiseSettings::Laplace { .. } => draws.fill_with(|| laplace(random)),
            }
            arch.dispatch(AddRounded { values, draws, deviation: self.deviation });
        }
    }
}

fn too_large(setting: &'static str, value: f64) -> PlanError {
    PlanError::new(
        setting,
        value,
        "the noise does not fit into the integers that carry it",
        "keep the noise, and the second clip, below 2^25 times clip / expected_batch",
    )
}

/// Selected values with noise: the averaged gradient of this step, private and free to use.
///
/// Only [`Selected::noise`](crate::Selected::noise) makes it. It is in runs of consecutive
/// coordinates; a dense release is drawn block by block when it is read, so that it never takes the
/// space of a table, and reading a block again gives the same noise again.
#[derive(Debug)]
pub struct Noised {
    noise: Noise,
    source: RandomSource,
    step: u64,
    body: Body,
}

#[derive(Debug)]
enum Body {
    /// (first coordinate, start in `values`) of each run, and all values with noise.
    Sparse { runs: Vec<(u64, usize)>, values: Vec<i64> },
    /// (first coordinate, start in `values`) of each touched row, ascending; values without noise.
    Dense { runs: Vec<(u64, usize)>, values: Vec<i64>, coordinates: u64 },
}

impl Noised {
    pub(crate) fn release(
        noise: &Noise,
        sum: &ClippedSum,
        selection: &Selection,
        source: &RandomSource,
        step: u64,
    ) -> Self {
        let (runs, mut values) = gather(sum, selection);
        noise.second_clip(&mut values);
        let body = match selection {
            Selection::All => Body::Dense { runs, values, coordinates: sum.shape().coordinates() },
            Selection::Some { .. } => {
                let mut random = source.substream(Purpose::Noise, step, 0);
                noise.add(&mut values, &mut random);
                Body::Sparse { runs, values }
            }
        };
        Self { noise: *noise, source: source.clone(), step, body }
    }

    /// The number of blocks that [`Noised::block`] has.
    pub fn blocks(&self) -> u64 {
        match &self.body {
            Body::Sparse { runs, .. } => u64::from(!runs.is_empty()),
            Body::Dense { coordinates, .. } => coordinates.div_ceil(BLOCK),
        }
    }

    /// Calls `visit` with the first coordinate and the averaged, noised values of each run of block
    /// `block`, and not at all beyond the last. Blocks are independent, so they may be visited on
    /// different threads.
    pub fn block(&self, block: u64, mut visit: impl FnMut(u64, &[f32])) {
        if block >= self.blocks() {
            return;
        }
        let mut buffer = Vec::new();
        let step = self.noise.released_step();
        match &self.body {
            Body::Sparse { runs, values } => {
                to_floats(values, step, &mut buffer);
                for (place, (first, start)) in runs.iter().enumerate() {
                    let end = runs.get(place + 1).map_or(values.len(), |(_, start)| *start);
                    visit(*first, &buffer[*start..end]);
                }
            }
            Body::Dense { runs, values, coordinates } => {
                let first = block * BLOCK;
                let length = BLOCK.min(coordinates.saturating_sub(first)) as usize;
                let mut sums = vec![0; length];
                overlay(first, &mut sums, runs, values);
                let mut random = self.source.substream(Purpose::Noise, self.step, block as u32);
                self.noise.add(&mut sums, &mut random);
                to_floats(&sums, step, &mut buffer);
                visit(first, &buffer);
            }
        }
    }

    /// Calls `visit` with the first coordinate and the averaged, noised values of every run.
    pub fn visit(&self, mut visit: impl FnMut(u64, &[f32])) {
        for block in 0..self.blocks() {
            self.block(block, &mut visit);
        }
    }
}

/// The runs of selected coordinates and their sums, untouched ones included.
fn gather(sum: &ClippedSum, selection: &Selection) -> (Vec<(u64, usize)>, Vec<i64>) {
    let mut runs = Vec::new();
    let mut values = Vec::new();
    let mut push_row = |row: u32, values: &mut Vec<i64>| {
        let Some((first, dimensions)) = sum.shape().row(row) else { return };
        runs.push((first, values.len()));
        match sum.row(row) {
            Some(row) => values.extend_from_slice(row),
            None => values.resize(values.len() + dimensions, 0),
        }
    };
    match selection {
        Selection::All => {
            sum.sorted_rows().into_iter().for_each(|row| push_row(row, &mut values));
        }
        Selection::Some { by: By::Row, indices } => {
            indices.iter().for_each(|row| push_row(*row as u32, &mut values));
        }
        Selection::Some { by: By::Coordinate, indices } => {
            runs.extend(indices.iter().enumerate().map(|(place, index)| (*index, place)));
            values.extend(indices.iter().map(|index| sum.value(*index)));
        }
    }
    (runs, values)
}

/// Adds the parts of `runs` that lie in the block at `first`.
fn overlay(first: u64, sums: &mut [i64], runs: &[(u64, usize)], values: &[i64]) {
    let end = first + sums.len() as u64;
    // The run before the first that starts in the block may reach into it.
    let from = runs.partition_point(|(start, _)| *start < first).saturating_sub(1);
    for (place, (run, start)) in runs.iter().enumerate().skip(from) {
        if *run >= end {
            break;
        }
        let stop = runs.get(place + 1).map_or(values.len(), |(_, start)| *start);
        for (coordinate, value) in (*run..).zip(&values[*start..stop]) {
            if (first..end).contains(&coordinate) {
                sums[(coordinate - first) as usize] += value;
            }
        }
    }
}

struct AddRounded<'a> {
    values: &'a mut [i64],
    draws: &'a [f64],
    deviation: f64,
}

impl WithSimd for AddRounded<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (value, draw) in self.values.iter_mut().zip(self.draws) {
            *value = value.wrapping_add((draw * self.deviation).round_ties_even() as i64);
        }
    }
}

fn to_floats(values: &[i64], step: f64, floats: &mut Vec<f32>) {
    floats.clear();
    floats.extend(values.iter().map(|value| (*value as f64 * step) as f32));
}
