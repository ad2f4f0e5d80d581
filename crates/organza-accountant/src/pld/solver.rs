//! Epsilon and delta of a list of phases, in the worse of the two directions.

use super::Direction;
use super::compose::{Composed, Until};
use super::plan::Phase;
use super::run::{Run, Use};
use super::source::{Gridded, Source};
use super::window::Window;
use organza_ledger::{AccountError, Neighbouring};

/// How often a window may be moved before a looser bound is taken.
const ATTEMPTS: usize = 8;

/// The share of the precision that the grids before sampling may use up: they cost little.
const BEFORE_SAMPLING: f64 = 0.05;

/// A run, ready to be asked.
pub(super) struct Solver {
    phases: Vec<Source>,
    times: Vec<f64>,
    precision: f64,
    neighbouring: Neighbouring,
}

impl Solver {
    /// `delta` is the smallest delta that matters: what is cut off stays far below it.
    pub(super) fn new(
        phases: &[Phase],
        records: u64,
        neighbouring: Neighbouring,
        precision: f64,
        delta: f64,
    ) -> Result<Self, AccountError> {
        // A pair is cut before sampling, which makes what was cut rarer, unless it is that of a group.
        let exposed = |phase: &Phase| if records > 1 { 1.0 } else { phase.rate };
        let exposures: f64 =
            phases.iter().map(|phase| phase.times as f64 * exposed(phase)).sum::<f64>().max(1e-3);
        let tail = (1e-7 * delta / exposures).clamp(1e-280, 1e-14);
        Ok(Self {
            phases: phases
                .iter()
                .map(|phase| Source::new(phase, records, tail))
                .collect::<Result<_, _>>()?,
            times: phases.iter().map(|phase| phase.times as f64).collect(),
            precision,
            neighbouring,
        })
    }

    fn on_grids(&self, steps: &[f64]) -> Vec<Gridded> {
        self.phases.iter().zip(steps).map(|(phase, step)| phase.gridded(*step)).collect()
    }

    fn run(&self, phases: &[Gridded], direction: Direction) -> Run {
        let uses = phases
            .iter()
            .zip(&self.times)
            .map(|(phase, times)| {
                let (atoms, rounding) = phase.atoms(self.neighbouring, direction);
                Use { times: *times, atoms, rounding }
            })
            .collect();
        Run { uses }
    }

    /// Grids so fine that they move epsilon by less than the precision: a grid of step h adds h^2/6
    /// to the variance of a loss before sampling.
    fn fine_steps(&self, coarse: &Run, steps: &[f64], theta: f64, epsilon: f64) -> Vec<f64> {
        let spread = coarse.cumulants(theta).variance.sqrt();
        let allowed = BEFORE_SAMPLING * self.precision * epsilon.max(0.05 * spread);
        let share = allowed / coarse.uses.len() as f64;
        self.phases
            .iter()
            .zip(steps)
            .zip(&coarse.uses)
            .map(|((phase, step), part)| {
                if phase.is_exact() {
                    return *step;
                }
                let (mut sum, mut moved) = (0.0, 0.0);
                let largest = part.atoms.largest() * theta;
                for index in 0..part.atoms.losses.len() {
                    let weight = part.atoms.masses[index]
                        * (theta * part.atoms.losses[index] - largest).exp();
                    sum += weight;
                    moved += weight * part.atoms.slopes[index].powi(2);
                }
                let error = 0.5 * (theta + 1.0) * part.times * moved / sum * step * step / 6.0;
                let wanted = if error > share { step * (share / error).sqrt() } else { *step };
                phase.fitting(wanted)
            })
            .collect()
    }

    /// An upper bound on epsilon at `delta`, and the direction that it comes from.
    pub(super) fn epsilon(&self, delta: f64) -> Result<(f64, Direction), AccountError> {
        let steps: Vec<f64> = self.phases.iter().map(Source::coarse_step).collect();
        let coarse = self.on_grids(&steps);
        let mut fine: Option<Vec<Gridded>> = None;
        let mut answer = (0.0, Direction::Remove);
        for direction in [Direction::Remove, Direction::Add] {
            let rough = self.run(&coarse, direction);
            if direction == Direction::Add && rough.moment_epsilon(delta) <= answer.0 {
                break;
            }
            let left = delta - rough.infinite();
            if left <= 0.0 {
                return Err(AccountError::OutOfRange(format!(
                    "no epsilon is finite at delta {delta:e}: exceptional events alone have \
                     probability {:e}",
                    rough.infinite()
                )));
            }
            let (epsilon, theta) = rough.guess(left);
            let phases = fine.get_or_insert_with(|| {
                self.on_grids(&self.fine_steps(&rough, &steps, theta, epsilon))
            });
            let run = self.run(phases, direction);
            let found = if run.count() == 1.0 {
                single_epsilon(&run, delta)
            } else {
                self.search(&rough, &run, epsilon, theta, delta)
            };
            if found > answer.0 {
                answer = (found, direction);
            }
        }
        Ok(answer)
    }

    fn search(&self, rough: &Run, run: &Run, epsilon: f64, theta: f64, delta: f64) -> f64 {
        let level = libm::log(delta);
        let (mut epsilon, mut theta) = (epsilon, theta);
        let mut best = f64::INFINITY;
        for _ in 0..ATTEMPTS {
            let window = Window::choose(rough, run, epsilon, theta, level, self.precision);
            let composed = Composed::new(run, &window, Until::Delta(delta));
            match composed.epsilon(delta) {
                Some(found) => {
                    best = best.min(found.max(0.0));
                    // A window chosen for a far larger epsilon has too coarse a grid.
                    if (composed.round_off < 1e-3 && found > 0.5 * epsilon) || best == 0.0 {
                        break;
                    }
                    epsilon = found.max(0.0);
                }
                None if composed.highest_delta() > delta => {
                    epsilon = composed.highest().max(1.5 * epsilon);
                }
                None => {
                    // Delta is met all over the window, so its lower end is a bound already.
                    best = best.min(composed.lowest().max(0.0));
                    if best == 0.0 {
                        break;
                    }
                    epsilon = (composed.lowest() - 0.5 * window.length()).max(0.0);
                }
            }
            theta = rough.tilt_to(epsilon);
        }
        best.min(rough.moment_epsilon(delta))
    }

    /// An upper bound on delta at `epsilon`, and the direction that it comes from.
    pub(super) fn delta(&self, epsilon: f64) -> (f64, Direction) {
        let steps: Vec<f64> = self.phases.iter().map(Source::coarse_step).collect();
        let coarse = self.on_grids(&steps);
        let mut fine: Option<Vec<Gridded>> = None;
        let mut answer = (0.0, Direction::Remove);
        for direction in [Direction::Remove, Direction::Add] {
            let rough = self.run(&coarse, direction);
            let loose = rough.moment_delta(epsilon);
            if direction == Direction::Add && loose <= answer.0 {
                break;
            }
            let theta = rough.tilt_to(epsilon);
            let phases = fine.get_or_insert_with(|| {
                self.on_grids(&self.fine_steps(&rough, &steps, theta, epsilon))
            });
            let run = self.run(phases, direction);
            let found = if run.count() == 1.0 {
                single_delta(&run, epsilon)
            } else if epsilon >= run.largest() {
                run.infinite()
            } else {
                let level = rough.rough_delta(theta).min(0.0);
                let window = Window::choose(&rough, &run, epsilon, theta, level, self.precision);
                Composed::new(&run, &window, Until::Loss(epsilon)).delta(epsilon)
            };
            let found = found.min(loose);
            if found > answer.0 {
                answer = (found, direction);
            }
        }
        answer
    }
}

/// Delta of a run that consists of one use.
fn single_delta(run: &Run, epsilon: f64) -> f64 {
    let atoms = &run.uses[0].atoms;
    let above: f64 = atoms
        .losses
        .iter()
        .zip(&atoms.masses)
        .filter(|(loss, _)| **loss > epsilon)
        .map(|(loss, mass)| -libm::expm1(epsilon - loss) * mass)
        .sum();
    ((above + atoms.infinite) * (1.0 + 2.0 * run.mass_error())).min(1.0)
}

/// Epsilon of a run that consists of one use.
fn single_epsilon(run: &Run, delta: f64) -> f64 {
    if single_delta(run, 0.0) <= delta {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, run.largest().max(0.0));
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if single_delta(run, middle) > delta {
            low = middle
        } else {
            high = middle
        }
        if high - low <= 1e-14 * high {
            break;
        }
    }
    high
}
