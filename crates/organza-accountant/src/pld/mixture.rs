//! Gaussian noise on a Poisson batch, for a group of records: the Binomial mixture.

use super::binomial::Binomial;
use super::cells::{Cells, Point};
use super::grid::{NODES, WEIGHTS};
use crate::normal;

/// The widest cell, in standard deviations of the noise.
const WIDEST: f64 = 0.0625;
/// How much the loss of one joined record may change within the widest cell.
const STEEPEST: f64 = 0.25;
/// How much the loss may change within the widest cell.
const HIGHEST_CELL: f64 = 0.125;
/// Losses above this are given to plus infinity, in either direction.
const HIGHEST_LOSS: f64 = 650.0;
/// Shifts beyond this are taken to show for certain whether someone joined.
const LARGEST_SHIFT: f64 = 1e4;
/// Numbers of joined records that are less likely than exp of this, relative to the likeliest, are
/// left out of a ratio; what that takes off is below its rounding.
const NEGLIGIBLE: f64 = -48.0;
/// What tails may lose to rounding, relative to them.
const ROUNDING: f64 = 1e-9;
/// The most terms that a set of cells may take.
const MOST_TERMS: f64 = 1.5e7;

/// The pair of a step that adds Gaussian noise to a Poisson batch, for a group of m records.
///
/// P = sum over j of b_j N(j mu, 1) over Q = N(0, 1), with b the law Binomial(m, q) of how many of
/// the group join and mu = 1 / noise multiplier.
///
/// # Proof
/// Condition on all that was released before and on who else is in the batch; both are the same with
/// and without the group. The subset S of the group joins with probability p_S, and then the value
/// under the noise is moved by some vector v_S, which the sensitivity bounds by |v_S| <= |S|: add the
/// records of S one after the other. Nothing else is known of v_S; a clip may bend it. The ratio of
/// the two outputs is R = sum of p_S r_S, where r_S is, under Q, that of two Gaussians |v_S| mu apart.
/// For every a and any a_S with sum of p_S a_S = a,
///
///   H_a = E(R - a)+ <= sum of p_S E(r_S - a_S)+ <= sum of p_S V(a_S; |S| mu),
///
/// V(.; d) the profile of two Gaussians d apart, which rises with d. Choose a_S = e^{j mu z - (j mu)^2 / 2}
/// for j = |S|, with the one z at which they sum to a: the right-hand side is then *equal* to the
/// profile of the pair above at a, since all its terms exceed their thresholds together, for normals
/// above z. (Where a <= b_0 there is no such z, and both profiles are 1 - a.) By joint convexity the
/// average over the others in the batch is no more. So the pair dominates, for vectors of any dimension and a group of m records *or fewer*
/// (let the others have v = 0); the worst case is that all pull one way with all their norm. A
/// profile that holds for every fixed past composes adaptively, and exchanging the two laws, which
/// adds the group instead of removing it, keeps domination. (Choquette-Choo, Ganesh, Steinke, Thakurta
/// 2023, Corollary 4.7, have the same pair for fixed v_S by another way.)
///
/// # Numerics
/// The ratio R(z) rises with z. The line is cut into cells; within a cell R is replaced by its
/// values at the two ends such that P and Q keep their mass, a mean-preserving spread as in
/// [`super::grid::split`]. Both shares are integrals of positive functions, with
/// (R(z + d) - R(z)) / R(z) = sum of w_j (e^{j mu d} - 1), w the law of j given z.
#[derive(Clone, Debug)]
pub(super) struct Mixture {
    shift: f64,
    /// -ln b_0.
    absent: f64,
    joined: Vec<Joined>,
    bottom: Bottom,
    top: f64,
    /// The terms of the widest cells.
    terms: f64,
}

/// Where the cells begin.
#[derive(Clone, Copy, Debug)]
enum Bottom {
    /// Where Q has almost nothing below, or losses are next to endless in the other direction.
    Cut(f64),
    /// Where the ratio below is as good as b_0.
    Flat(f64),
}

/// That j records join.
#[derive(Clone, Copy, Debug)]
struct Joined {
    /// b_j.
    mass: f64,
    /// ln(b_j / b_0) - (j mu)^2 / 2: the logarithm of a ratio's term at z = 0, over that of j = 0.
    level: f64,
    /// The size of the numbers that the level was computed from.
    size: f64,
}

/// The ratio at one place.
struct Local {
    /// ln R.
    loss: f64,
    /// A bound on the rounding of the loss.
    error: f64,
    /// The first number of joined records that is in `weights`, at least one.
    first: usize,
    /// The law of the number of joined records given the place, from `first` on.
    weights: Vec<f64>,
    /// Its mean.
    mean: f64,
}

impl Mixture {
    /// For a `rate` above zero and below one; less than `tail` of either law is cut off at either end.
    pub(super) fn new(shift: f64, rate: f64, records: u64, tail: f64) -> Self {
        let binomial = Binomial::new(records, rate);
        let joined = (0..=records as usize)
            .map(|joined| {
                let moved = 0.5 * (joined as f64 * shift) * (joined as f64 * shift);
                Joined {
                    mass: binomial.mass(joined),
                    level: binomial.odds[joined] - moved,
                    size: binomial.sizes[joined] + moved,
                }
            })
            .collect();
        let absent = binomial.absent;
        let nowhere = Bottom::Cut(0.0);
        let mut mixture = Self { shift, absent, joined, bottom: nowhere, top: 0.0, terms: 0.0 };
        if shift > LARGEST_SHIFT {
            return mixture;
        }
        mixture.top = mixture.place_above(tail);
        mixture.bottom = mixture.find_bottom(tail);
        let mut terms = 0.0;
        mixture.walk(1.0, |local, _, _| terms += 8.0 + local.weights.len() as f64);
        mixture.terms = terms;
        mixture
    }

    /// The finest grid no finer than `wanted`, relative to the widest cells.
    pub(super) fn fitting(&self, wanted: f64) -> f64 {
        wanted.clamp((self.terms / MOST_TERMS).min(1.0), 1.0)
    }

    /// The probability under P of a value beyond `place`.
    fn above(&self, place: f64) -> f64 {
        self.weighed(|mean| normal::above(place - mean))
    }

    fn weighed(&self, probability: impl Fn(f64) -> f64) -> f64 {
        self.joined
            .iter()
            .enumerate()
            .filter(|(_, joined)| joined.mass > 0.0)
            .map(|(count, joined)| joined.mass * probability(count as f64 * self.shift))
            .sum()
    }

    /// The place above which P has no more than `tail`.
    fn place_above(&self, tail: f64) -> f64 {
        let last = (self.joined.len() - 1) as f64 * self.shift;
        bisect(0.0, normal::exceeded_with(tail) + last, |place| self.above(place) <= tail)
    }

    fn find_bottom(&self, tail: f64) -> Bottom {
        let lowest = -normal::exceeded_with(tail);
        let loss = |place: f64| self.local(place, &mut 1).loss;
        if loss(lowest) < -HIGHEST_LOSS {
            return Bottom::Cut(bisect(lowest, self.top, |place| loss(place) >= -HIGHEST_LOSS));
        }
        let flat = (NEGLIGIBLE - self.joined[1].level) / self.shift;
        if flat > lowest { Bottom::Flat(flat) } else { Bottom::Cut(lowest) }
    }

    /// Visits the cells from the bottom up, each with the ratio at its lower end, that end and its
    /// width, and returns the upper end of the last.
    fn walk(&self, step: f64, mut visit: impl FnMut(&Local, f64, f64)) -> f64 {
        let (Bottom::Cut(mut place) | Bottom::Flat(mut place)) = self.bottom;
        let mut likeliest = 1;
        while place < self.top {
            let local = self.local(place, &mut likeliest);
            if local.loss > HIGHEST_LOSS {
                break;
            }
            let narrow = (STEEPEST / self.shift).min(HIGHEST_CELL / (self.shift * local.mean));
            let width = step * WIDEST.min(narrow);
            visit(&local, place, width);
            place += width;
        }
        place
    }

    /// The ratio at `place`. `likeliest` is the likeliest number of joined records above zero at a
    /// place below, from where on it is looked for.
    fn local(&self, place: f64, likeliest: &mut usize) -> Local {
        let level = |count: usize| self.joined[count].level + count as f64 * self.shift * place;
        // Levels are concave in the count, so they rise up to the likeliest and fall from there.
        while *likeliest + 1 < self.joined.len() && level(*likeliest + 1) > level(*likeliest) {
            *likeliest += 1;
        }
        let peak = level(*likeliest);
        let counts = |count: &usize| level(*count) > peak + NEGLIGIBLE;
        let first = (1..=*likeliest).rev().take_while(counts).last().unwrap_or(*likeliest);
        let last = (*likeliest..self.joined.len()).take_while(counts).last().unwrap_or(*likeliest);
        let scale = peak.max(0.0);
        let mut weights: Vec<f64> =
            (first..=last).map(|count| libm::exp(level(count) - scale)).collect();
        let some: f64 = weights.iter().sum();
        let all = some + libm::exp(-scale);
        // ln(R / b_0), which is never negative, and accurate where it is small.
        let excess = if scale > 0.0 { scale + libm::log(all) } else { libm::log1p(some) };
        let mean =
            weights.iter().zip(first..).map(|(weight, count)| weight * count as f64).sum::<f64>()
                / all;
        weights.iter_mut().for_each(|weight| *weight /= all);
        let size = self.joined[last].size + last as f64 * self.shift * place.abs();
        let relative = 4.0 * f64::EPSILON * (16.0 + size + weights.len() as f64);
        let error = if scale > 0.0 { relative } else { relative * some }
            + 4.0 * f64::EPSILON * (excess + self.absent);
        Local { loss: excess - self.absent, error, first, weights, mean }
    }

    /// The pair on cells `step` times as wide as the widest.
    pub(super) fn cells(&self, step: f64) -> Cells {
        if self.shift > LARGEST_SHIFT {
            return self.told();
        }
        let mut points: Vec<Point> = Vec::new();
        let (Bottom::Cut(bottom) | Bottom::Flat(bottom)) = self.bottom;
        let with = self.weighed(|mean| normal::below(bottom - mean)) * (1.0 + ROUNDING);
        let without = normal::below(bottom) * (1.0 + ROUNDING);
        let (mut from_below, only_without) = match self.bottom {
            // What lies below has at the most the loss of the first cell. For the other direction it
            // is given to infinity: as a loss, large and rare, it would rule all moments.
            Bottom::Cut(_) => ((with, 0.0), without),
            Bottom::Flat(_) => {
                let error = 2.0 * libm::exp(NEGLIGIBLE) + 4.0 * f64::EPSILON * self.absent;
                points.push(Point { loss: -self.absent, error, with, without, width: 0.0 });
                ((0.0, 0.0), 0.0)
            }
        };
        let end = self.walk(step, |local, place, width| {
            let split = self.split(local, place, width);
            let change = libm::log1p(split.rise);
            points.push(Point {
                loss: local.loss,
                error: local.error,
                with: from_below.0 + split.left.0,
                without: from_below.1 + split.left.1,
                width: change / step,
            });
            from_below = split.right;
        });
        let last = self.local(end, &mut 1);
        points.push(Point {
            loss: last.loss,
            error: last.error,
            with: from_below.0,
            without: from_below.1 + normal::above(end),
            width: points.last().map_or(0.0, |point| point.width),
        });
        Cells { points, infinite: self.above(end) * (1.0 + ROUNDING), only_without }
    }

    /// The pair of someone who is told whether any of the group joined.
    fn told(&self) -> Cells {
        let error = 4.0 * f64::EPSILON * self.absent;
        let nobody = libm::exp(-self.absent) * (1.0 + ROUNDING);
        let point = Point { loss: -self.absent, error, with: nobody, without: 1.0, width: 0.0 };
        let infinite = -libm::expm1(-self.absent) * (1.0 + ROUNDING);
        Cells { points: vec![point], infinite, only_without: 0.0 }
    }

    /// What of a cell goes to either end, under P and under Q, from above.
    ///
    /// The four-point rule has an error of 5.6e-10 width^9 times an eighth derivative of the integrand,
    /// which is a Gaussian times what vanishes at one end; with D a bound on the logarithmic
    /// derivatives of both factors that is below 1e-8 (D width)^7 (1 + D width) of the integral.
    fn split(&self, local: &Local, place: f64, width: f64) -> Split {
        let rise = self.rise(local, width);
        let mut split = Split { rise, left: (0.0, 0.0), right: (0.0, 0.0) };
        for (node, weight) in NODES.iter().zip(WEIGHTS) {
            let offset = node * width;
            let at = place + offset;
            let weight = weight * width * normal::density(0.0);
            let without = weight * libm::exp(-0.5 * at * at);
            let with = weight * libm::exp(local.loss - 0.5 * at * at);
            // A ratio that does not move has the same value at both ends.
            let share = if rise > 1e-290 { self.rise(local, offset) / rise } else { *node };
            split.left.0 += (1.0 - share) * with;
            split.left.1 += (1.0 - share) * without;
            split.right.0 += share * with * (1.0 + rise);
            split.right.1 += share * without;
        }
        let far = place.abs().max((place + width).abs());
        let steep = width * (far + 3.0 + 2.0 * self.shift * (local.mean + 1.0));
        let rounding = f64::EPSILON * (64.0 + far * far + 4.0 * local.weights.len() as f64);
        let raised = 1.0 + 1e-8 * steep.powi(7) * (1.0 + steep) + local.error + rounding;
        for (with, without) in [&mut split.left, &mut split.right] {
            *with *= raised;
            *without *= raised;
        }
        split
    }

    /// By how much the ratio is larger at `offset` from where it is `local`, relative to it.
    fn rise(&self, local: &Local, offset: f64) -> f64 {
        let one = libm::expm1(self.shift * offset);
        let mut growth = libm::expm1(local.first as f64 * self.shift * offset);
        let mut sum = 0.0;
        for weight in &local.weights {
            sum += weight * growth;
            growth += one * (1.0 + growth);
        }
        sum
    }
}

/// The place between `low` and `high` from which on `reached` holds, from above.
fn bisect(low: f64, high: f64, reached: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (low, high);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if reached(middle) { high = middle } else { low = middle }
    }
    high
}

/// The masses of a cell, under P and under Q.
struct Split {
    rise: f64,
    left: (f64, f64),
    right: (f64, f64),
}

#[cfg(test)]
mod tests {
    use super::super::sample::Atoms;
    use super::super::{Direction, gaussian};
    use super::*;

    const TAIL: f64 = 1e-25;

    fn delta(atoms: &Atoms, epsilon: f64) -> f64 {
        let above = atoms.losses.iter().zip(&atoms.masses).filter(|(loss, _)| **loss > epsilon);
        above.map(|(loss, mass)| -libm::expm1(epsilon - loss) * mass).sum::<f64>() + atoms.infinite
    }

    #[test]
    fn one_record_is_the_sampled_gaussian() {
        for (multiplier, rate) in [(0.3, 1e-6), (0.5, 1e-4), (1.0, 0.01), (2.0, 0.5), (100.0, 0.2)]
        {
            let cells = Mixture::new(1.0 / multiplier, rate, 1, TAIL).cells(1.0 / 64.0);
            let pair = gaussian::pair(multiplier, 1e-3 / multiplier, TAIL);
            for direction in [Direction::Remove, Direction::Add] {
                let ours = cells.atoms(direction);
                let theirs = Atoms::sampled(&pair, rate, direction);
                for level in [0.0, 0.3, 1.0, 3.0] {
                    let epsilon = libm::log1p(rate * libm::expm1(level / multiplier));
                    let (one, other) = (delta(&ours, epsilon), delta(&theirs, epsilon));
                    let near = 1e-3 * other + 1e-7 * rate;
                    assert!(
                        (one - other).abs() < near,
                        "{multiplier} {rate} {level} {one} {other}"
                    );
                }
            }
        }
    }

    #[test]
    fn both_laws_keep_their_mass_and_their_ratio() {
        for (multiplier, rate, records) in [
            (0.3, 1e-6, 1000),
            (1.0, 0.01, 20),
            (100.0, 0.5, 1000),
            (30.0, 0.999, 40),
            (5.0, 0.3, 3),
        ] {
            let mixture = Mixture::new(1.0 / multiplier, rate, records, TAIL);
            for (step, raised) in [(1.0, 1e-8), (0.1, 1e-11)] {
                let cells = mixture.cells(step);
                let (mut with, mut without) = (cells.infinite, cells.only_without);
                for point in &cells.points {
                    with += point.with;
                    without += point.without;
                    let told = point.without * libm::exp(point.loss);
                    // Only at the ends, where each direction rounds up on its own, they may differ.
                    assert!((told - point.with).abs() <= 1e-11 * point.with + 1e-24, "{point:?}");
                }
                assert!(
                    (-1e-12..raised).contains(&(with - 1.0)),
                    "{multiplier} {rate} {records}: {with}"
                );
                assert!(
                    (-1e-12..raised).contains(&(without - 1.0)),
                    "{multiplier} {rate} {records}: {without}"
                );
            }
        }
    }
}
