//! Which losses of a run to compute, on which grid, under which tilt.

use super::run::Run;

/// The logarithm of what may be lost beyond the window, relative to delta.
const NEGLIGIBLE: f64 = -16.0;
/// The longest transform.
const LONGEST: usize = 1 << 20;
/// The shortest transform.
const SHORTEST: usize = 1 << 10;

/// A window on the total loss of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// The exponential tilt under which the loss is computed.
    pub(super) theta: f64,
    /// The tilt that gives the Chernoff bound at the upper end.
    pub(super) upper_theta: f64,
    /// The distance between losses.
    pub(super) step: f64,
    /// The index of the first loss.
    pub(super) first: i64,
    /// The number of losses.
    pub(super) cells: usize,
}

impl Window {
    /// The window around `epsilon`, whose delta is about exp(`level`), for a `precision` relative to
    /// epsilon.
    ///
    /// It reaches up to where Chernoff leaves less than 1e-7 of delta. What lies below the window
    /// wraps around to its upper part, where it only adds to delta: under the tilt it is e^{-theta
    /// length} times as heavy, so the window is long enough for that factor, or for all of the
    /// lower side, to be small beside delta. `rough` is the same run on a coarser grid, for moments.
    pub(super) fn choose(
        rough: &Run,
        run: &Run,
        epsilon: f64,
        theta: f64,
        level: f64,
        precision: f64,
    ) -> Self {
        let at = rough.cumulants(theta);
        let spread = at.variance.sqrt();
        let level = level.max(-80.0);
        let upper_theta = rough.tilt_below(level + NEGLIGIBLE).max(theta);
        let upper = rough.cumulants(upper_theta).mean.min(run.largest()).max(epsilon);
        let lower = epsilon - (spread + 0.02 * (upper - epsilon)).max(1e-9 * (1.0 + epsilon));
        let safe = if theta > 0.0 { -(level + NEGLIGIBLE) / theta } else { f64::INFINITY };
        let mut length = upper - lower;
        if safe > length {
            let below = rough.lower_end(level + NEGLIGIBLE).min(lower);
            length = safe.min(upper - below);
        }
        let lower = upper - length;
        let allowed = precision * epsilon.max(0.05 * spread);
        let step = choose_step(run, theta, length, allowed);
        let cells = transform_length((length / step).ceil() as usize + 8);
        Self { theta, upper_theta, step, first: (lower / step).floor() as i64 - 2, cells }
    }

    /// The distance between its ends.
    pub(super) fn length(&self) -> f64 {
        self.cells as f64 * self.step
    }
}

/// The coarsest of a sequence of grids that moves epsilon by less than `allowed`, or the finest.
///
/// A split adds (l - g)(g + h - l) to the variance of a loss, and a variance v moves epsilon by
/// about (theta + 1) v / 2 at the tilt theta.
fn choose_step(run: &Run, theta: f64, length: f64, allowed: f64) -> f64 {
    if let Some(lattice) = common_lattice(run)
        && length / lattice <= LONGEST as f64 * 0.9
    {
        return lattice;
    }
    let weights: Vec<(f64, Vec<f64>)> = run
        .uses
        .iter()
        .map(|part| {
            let one = Run { uses: vec![super::run::Use { times: 1.0, ..part.clone() }] };
            let value = one.cumulants(theta).value;
            let tilted = part.atoms.losses.iter().zip(&part.atoms.masses);
            (part.times, tilted.map(|(loss, mass)| mass * (theta * loss - value).exp()).collect())
        })
        .collect();
    let mut cells = SHORTEST;
    loop {
        let step = length / (cells - 16) as f64;
        let mut added = 0.0;
        for (part, (times, weights)) in run.uses.iter().zip(&weights) {
            let split: f64 = part
                .atoms
                .losses
                .iter()
                .zip(weights)
                .map(|(loss, weight)| {
                    let place = loss / step;
                    let share = place - place.floor();
                    weight * share * (1.0 - share)
                })
                .sum();
            added += times * split * step * step;
        }
        let error = 0.5 * (theta + 1.0) * added;
        if (error <= allowed && (theta + 1.0) * step < 0.5) || cells >= LONGEST {
            return step;
        }
        cells = next_length(cells);
    }
}

/// The grid on which all losses of the run lie, if it is the same for all uses.
fn common_lattice(run: &Run) -> Option<f64> {
    let first = run.uses.first()?.atoms.lattice?;
    run.uses.iter().all(|part| part.atoms.lattice == Some(first)).then_some(first)
}

/// The next longer length of the form 2^i or 3 2^i.
fn next_length(cells: usize) -> usize {
    if cells.is_power_of_two() { cells / 2 * 3 } else { cells / 3 * 4 }
}

fn transform_length(cells: usize) -> usize {
    let mut length = SHORTEST;
    while length < cells && length < 2 * LONGEST {
        length = next_length(length);
    }
    length
}
