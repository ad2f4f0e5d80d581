//! Which losses of a run to compute, on which grid, under which tilt.

use super::run::Run;

/// What may wrap around, relative to delta and to the precision that is asked for.
const NEGLIGIBLE: f64 = 0.02;
/// The shortest window, relative to the largest loss in it.
const SHORTEST_LENGTH: f64 = 1e-6;
/// The logarithm of what round-off may make up, relative to what may wrap around.
const ROUND_OFF: f64 = 4.0;
/// The tilts that are tried, relative to the saddle point.
const TILTS: [f64; 5] = [1.0, 0.75, 0.5, 0.25, 0.0];
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
    /// epsilon; `saddle` is the tilt at which the mean loss is epsilon.
    ///
    /// It reaches up to a loss u that Chernoff leaves a negligible part of delta above. What wraps
    /// around only adds to delta, and the length D is such that it adds little:
    ///
    /// * a loss above the window comes down by D and weighs e^{tD} times what it did under the tilt t,
    ///   in all at most e^{tD} Pr\[L > epsilon + D\];
    /// * a loss below the window goes up by D and weighs e^{-tD}, in all at most
    ///   e^{-tD} Pr\[L <= u - D\].
    ///
    /// A large tilt makes the first costly, a small one the second, and also round-off, which is
    /// relative to e^{K(t) - t epsilon}. Of a few tilts up to the saddle point the one with the
    /// shortest window is taken. `rough` is the same run on a coarser grid, for the moments.
    pub(super) fn choose(
        rough: &Run,
        run: &Run,
        epsilon: f64,
        saddle: f64,
        level: f64,
        precision: f64,
    ) -> Self {
        let at = rough.cumulants(saddle);
        let spread = at.variance.sqrt();
        let level = level.max(-80.0) + libm::log(NEGLIGIBLE * precision);
        let upper_theta = rough.upper_tilt(0.0, level);
        let upper = rough.cumulants(upper_theta).mean.min(run.largest()).max(epsilon);
        let lower = epsilon - (spread + 0.02 * (upper - epsilon)).max(1e-12 * epsilon);
        let round_off = libm::log(rough.count() * 400.0 * f64::EPSILON);
        let (mut theta, mut length) = (saddle, f64::INFINITY);
        for share in TILTS {
            let tilt = share * saddle;
            if share < 1.0
                && round_off + rough.cumulants(tilt).value - tilt * epsilon > level + ROUND_OFF
            {
                continue;
            }
            let beyond = rough.upper_tilt(tilt, level + tilt * epsilon);
            let from_above = rough.cumulants(beyond).mean.min(run.largest()) - epsilon;
            let below = rough.lower_end(tilt, level + tilt * upper);
            let from_below = (upper - below).min(-level / tilt);
            let needed = from_above.max(from_below).max(upper - lower);
            if needed < 0.8 * length {
                (theta, length) = (tilt, needed);
            }
        }
        // Where the loss hardly varies, the window would shrink below what its losses can be told apart
        // by, and their places on the grid would exceed the integers; a longer one costs nothing.
        let losses = run.uses.iter().flat_map(|part| &part.atoms.losses);
        let extent = losses.fold(upper.abs().max(epsilon), |extent, loss| extent.max(loss.abs()));
        let length = if length.is_finite() { length } else { 4.0 * extent };
        let length = length.max(SHORTEST_LENGTH * extent).max(f64::MIN_POSITIVE.sqrt());
        let allowed = precision * epsilon.max(0.05 * spread);
        let step = choose_step(run, saddle, length, allowed);
        let cells = transform_length((length / step).ceil() as usize + 8);
        Self {
            theta,
            upper_theta,
            step,
            first: ((upper - length) / step).floor() as i64 - 2,
            cells,
        }
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
        && length / lattice <= 1.9 * LONGEST as f64
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
