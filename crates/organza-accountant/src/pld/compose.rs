//! The total loss of a run, by a Fourier transform of the exponentially tilted losses.
//!
//! With K(t) = log E\[e^{t l}\] of one use, the tilted masses p e^{t l - K} form a distribution whose
//! T-fold convolution sits around the losses that matter for delta, so that round-off is relative to
//! delta and not to one. Convolution on a cycle of N losses is a product of discrete transforms:
//!
//!   delta(epsilon) = e^{T K} sum_{l > epsilon} (1 - e^{epsilon - l}) e^{-t l} p_t(l) + infinite mass.
//!
//! Three things separate the computed sum from this, and each is bounded:
//!
//! * *wrap-around*: a cell holds the mass of its loss plus that of losses N cells away. These are
//!   not negative: they only raise delta.
//! * *losses above the window* are not in the sum (they wrapped around to low cells): the Chernoff
//!   bound e^{T K(s) - s u} on their mass is added.
//! * *round-off*: a transform of length N computes each output with an error of at most
//!   c u (log2 N + 2) times the sum of the moduli of its inputs, as each output is a sum in a tree of
//!   that depth with unit weights (Higham 2002, section 24.1; c = 8 covers twiddle factors and
//!   complex products). With e_i the error of use i's transform F_i, which includes that of the
//!   tilted masses, the product of powers is off by at most
//!   prod (|F_i| + e_i)^{T_i} sum T_i e_i / (|F_i| + e_i), and the inverse transform averages these
//!   over frequencies. The resulting bound on each cell is added to each cell.

use super::{grid, run::Run, window::Window};
use realfft::RealFftPlanner;
use std::cell::RefCell;

/// What one level of a transform may lose, relative to its inputs.
const LEVEL_ERROR: f64 = 8.0 * 0.5 * f64::EPSILON;
/// Frequencies with a smaller modulus than exp of this are taken to be zero, and charged as error.
const NOTHING: f64 = -75.0;
/// What sums and exponentials of the last pass may lose, relative to delta.
const PASS_ERROR: f64 = 1e-11;

thread_local! {
    /// Tables of transforms that were used before.
    static PLANNER: RefCell<RealFftPlanner<f64>> = RefCell::new(RealFftPlanner::new());
}

/// Delta at every loss of a window, from the top down.
pub(super) struct Composed {
    step: f64,
    first: i64,
    /// Delta at the losses `first + i`, for i from `start` on; it falls in i.
    deltas: Vec<f64>,
    start: usize,
    /// The share of the lowest delta that is owed to round-off.
    pub(super) round_off: f64,
}

/// Where the pass from the top may stop.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// As soon as delta is reached.
    Delta(f64),
    /// As soon as the loss is reached.
    Loss(f64),
}

/// A use with its losses on the window's grid.
struct Gridded {
    times: f64,
    indices: Vec<i64>,
    masses: Vec<f64>,
}

impl Gridded {
    fn log_moment(&self, theta: f64, step: f64) -> f64 {
        let scale = theta * step;
        let largest =
            self.indices.iter().fold(f64::NEG_INFINITY, |top, i| top.max(scale * *i as f64));
        let sum: f64 = self
            .indices
            .iter()
            .zip(&self.masses)
            .map(|(index, mass)| mass * (scale * *index as f64 - largest).exp())
            .sum();
        largest + libm::log(sum)
    }
}

fn on_grid(run: &Run, step: f64) -> Vec<Gridded> {
    run.uses
        .iter()
        .map(|part| {
            let on_lattice = part.atoms.lattice == Some(step);
            let mut gridded = Gridded {
                times: part.times,
                indices: Vec::with_capacity(2 * part.atoms.losses.len()),
                masses: Vec::with_capacity(2 * part.atoms.losses.len()),
            };
            for (loss, mass) in part.atoms.losses.iter().zip(&part.atoms.masses) {
                if on_lattice {
                    gridded.indices.push((loss / step).round() as i64);
                    gridded.masses.push(*mass);
                    continue;
                }
                let (index, left) = grid::split(*loss, step);
                gridded.indices.extend([index, index + 1]);
                gridded.masses.extend([mass * left, mass * (1.0 - left)]);
            }
            gridded
        })
        .collect()
}

impl Composed {
    /// Computes the deltas of `window`.
    pub(super) fn new(run: &Run, window: &Window, until: Until) -> Self {
        let Window { theta, step, cells, first, .. } = *window;
        let uses = on_grid(run, step);
        let (forward, inverse) = PLANNER.with_borrow_mut(|planner| {
            (planner.plan_fft_forward(cells), planner.plan_fft_inverse(cells))
        });
        let transform_error = LEVEL_ERROR * ((cells as f64).log2() + 2.0);

        // Modulus and phase of the product of powers, and how far rounding may have moved it.
        let bins = cells / 2 + 1;
        let mut log_modulus = vec![0.0; bins];
        let mut log_bound = vec![0.0; bins];
        let mut phase = vec![0.0; bins];
        let mut error = vec![0.0; bins];
        let mut total = 0.0;
        for part in &uses {
            let moment = part.log_moment(theta, step);
            total += part.times * moment;
            let mut tilted = forward.make_input_vec();
            let (mut mass_error, mut sum) = (0.0, 0.0);
            for (index, mass) in part.indices.iter().zip(&part.masses) {
                let exponent = theta * step * *index as f64 - moment;
                let weight = mass * exponent.exp();
                tilted[index.rem_euclid(cells as i64) as usize] += weight;
                sum += weight;
                mass_error += weight * (exponent.abs() + 8.0) * f64::EPSILON;
            }
            let mut spectrum = forward.make_output_vec();
            forward.process(&mut tilted, &mut spectrum).expect("lengths come from the planner");
            let lost = transform_error * sum + mass_error;
            let vanishing = libm::exp(2.0 * NOTHING / part.times);
            for (bin, value) in spectrum.iter().enumerate() {
                let square = value.norm_sqr();
                let bound = square.sqrt() + lost;
                if bound * bound < vanishing || log_bound[bin] < NOTHING {
                    log_bound[bin] = f64::NEG_INFINITY;
                    continue;
                }
                let modulus = 0.5 * square.ln();
                let angle = value.im.atan2(value.re);
                log_modulus[bin] += part.times * modulus;
                log_bound[bin] += part.times * bound.ln();
                phase[bin] += (part.times * angle).rem_euclid(std::f64::consts::TAU);
                let power = f64::EPSILON * (2.0 * modulus.abs().min(80.0) + angle.abs() + 8.0);
                error[bin] += part.times * (lost / bound + power);
            }
        }
        let mut spectrum = inverse.make_input_vec();
        let mut cell_error = 0.0;
        for bin in 0..bins {
            let copies = if bin == 0 || bin == bins - 1 { 1.0 } else { 2.0 };
            if log_bound[bin] < NOTHING {
                cell_error += copies * NOTHING.exp();
                continue;
            }
            let bound = log_bound[bin].exp();
            let modulus = log_modulus[bin].exp();
            cell_error += copies * bound * (error[bin] + transform_error).min(2.0);
            let (sine, cosine) = phase[bin].sin_cos();
            spectrum[bin].re = modulus * cosine;
            spectrum[bin].im = modulus * sine;
        }
        spectrum[0].im = 0.0;
        spectrum[bins - 1].im = 0.0;
        let mut output = inverse.make_output_vec();
        inverse.process(&mut spectrum, &mut output).expect("lengths come from the planner");
        let scale = 1.0 / cells as f64;
        cell_error *= scale;

        let upper = (first + cells as i64 - 1) as f64 * step;
        let above = if upper >= largest(&uses, step) {
            0.0
        } else {
            let chernoff: f64 = uses
                .iter()
                .map(|part| part.times * part.log_moment(window.upper_theta, step))
                .sum();
            (chernoff - window.upper_theta * upper).min(0.0).exp()
        };
        let factor = run.mass_error() + PASS_ERROR;
        let fixed = (run.infinite() + above) * factor.exp() + f64::MIN_POSITIVE * cells as f64;

        // delta_j = delta_{j+1} + (1 - e^{-h}) b_j with b_j = sum_{i > j} w_i e^{l_{j+1} - l_i}:
        // positive terms only.
        let (shrink, down) = ((-step).exp(), -libm::expm1(-step));
        let growth = (theta * step).exp();
        let anchor = (20.0 / (theta * step)).clamp(1.0, 256.0) as usize;
        let rotation = first.rem_euclid(cells as i64) as usize;
        let (mut delta, mut owed) = (fixed, 0.0);
        let (mut discounted, mut discounted_error) = (0.0, 0.0);
        let mut deltas = vec![delta];
        let mut start = cells - 1;
        let mut weight = 0.0;
        while start > 0 {
            let index = first + start as i64;
            let loss = index as f64 * step;
            // The weight e^{-theta l} is carried along by products, and anchored before these could
            // grow from nothing to something.
            if (cells - 1 - start).is_multiple_of(anchor) {
                weight = (total + factor - theta * loss).exp();
            }
            let place = rotation + start;
            let cell = output[if place < cells { place } else { place - cells }] * scale;
            discounted = shrink * discounted + weight * (cell.max(0.0) + cell_error);
            discounted_error = shrink * discounted_error + weight * cell_error;
            weight *= growth;
            delta += down * discounted;
            owed += down * discounted_error;
            start -= 1;
            deltas.push(delta);
            let reached = match until {
                Until::Delta(target) => delta > target,
                Until::Loss(target) => loss - step <= target,
            };
            if reached {
                break;
            }
        }
        deltas.reverse();
        let round_off = if delta > 0.0 { owed / delta } else { 0.0 };
        Self { step, first, deltas, start, round_off }
    }

    fn loss(&self, place: usize) -> f64 {
        (self.first + (self.start + place) as i64) as f64 * self.step
    }

    /// The smallest loss of the window that was computed.
    pub(super) fn lowest(&self) -> f64 {
        self.loss(0)
    }

    /// The largest loss of the window.
    pub(super) fn highest(&self) -> f64 {
        self.loss(self.deltas.len() - 1)
    }

    /// Delta at the lowest loss that was computed.
    pub(super) fn lowest_delta(&self) -> f64 {
        self.deltas[0]
    }

    /// Delta at the upper end of the window.
    pub(super) fn highest_delta(&self) -> f64 {
        self.deltas[self.deltas.len() - 1]
    }

    /// Delta at `epsilon`, between the lowest loss and the end of the window. Between grid points
    /// delta is linear in e^epsilon.
    pub(super) fn delta(&self, epsilon: f64) -> f64 {
        let place = ((epsilon / self.step).floor() as i64 - self.first - self.start as i64).max(0);
        let place = place as usize;
        if place + 1 >= self.deltas.len() {
            return self.highest_delta();
        }
        let share = libm::expm1((epsilon - self.loss(place)).max(0.0)) / libm::expm1(self.step);
        let (low, high) = (self.deltas[place], self.deltas[place + 1]);
        low - (low - high) * share.min(1.0) * (1.0 - 1e-12)
    }

    /// The smallest epsilon whose delta is at most `delta`, if it lies in the window.
    pub(super) fn epsilon(&self, delta: f64) -> Option<f64> {
        if self.lowest_delta() < delta || self.highest_delta() > delta {
            return None;
        }
        let place = self.deltas.partition_point(|value| *value > delta);
        if place == 0 {
            return Some(self.loss(0));
        }
        let (low, high) = (self.deltas[place - 1], self.deltas[place]);
        let share = (low - delta) / (low - high);
        Some(self.loss(place - 1) + libm::log1p(share * libm::expm1(self.step)))
    }
}

/// The largest finite loss of the whole run, on the grid.
fn largest(uses: &[Gridded], step: f64) -> f64 {
    uses.iter()
        .map(|part| part.times * step * part.indices.iter().copied().max().unwrap_or(0) as f64)
        .sum()
}
