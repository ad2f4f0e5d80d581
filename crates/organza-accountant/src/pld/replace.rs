//! Replacing a unit of a Poisson batch by another.

use super::sample::Atoms;
use super::{Direction, Pair};
use crate::normal;

/// What the curve below may lose to rounding, relative to it.
const ROUNDING: f64 = 1e-12;

/// The values of t that are tried, relative to w.
const SPLITS: [f64; 9] = [0.0, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.8, 1.0];

/// The loss of `pair` when one unit is replaced by another, each in the batch with probability
/// `rate`: with it the batch differs by a replacement, without it not at all.
///
/// By joint convexity H_a <= (1-q) H_a(R||R) + q H_a(P||Q) for a >= 1, R the law without either unit:
/// an atom at loss zero that both laws share. Nothing smaller holds if only the sensitivity to
/// replacement is known: R may then be far from both, so that the output shows whether the unit was
/// sampled (take a count, which no replacement changes, beside the noise).
pub(super) fn replaced(pair: &Pair, rate: f64, direction: Direction) -> Atoms {
    if rate >= 1.0 {
        return Atoms::sampled(pair, 1.0, direction);
    }
    Atoms::sampled(&pair.diluted(rate), 1.0, direction)
}

/// The loss of Gaussian noise on a sum to which a present unit contributes a vector of norm at most
/// half of the sensitivity to replacement, and an absent one nothing, when the unit is replaced.
///
/// Let P, Q, R be the laws with one unit, with the other and with neither. With a = 1 + q (b - 1)
/// and w = a/b, identically
///
///   H_a((1-q)R + qP || (1-q)R + qQ) = q H_b(P || (1-w)R + wQ)
///
/// (Balle, Barthe, Gaboardi 2018, Theorem 2). As (x + y)+ <= (x)+ + (y)+, for every t in \[0, 1\]
///
///   H_b(P || (1-w)R + wQ) <= (1-t) H_{b(1-w)/(1-t)}(P||R) + t H_{bw/t}(P||Q),
///
/// where the second term is missing for t = 0. The means of P and R differ by at most half of what
/// those of P and Q may, `shift` standard deviations; the least over a few t is taken. The bound
/// holds with both units exchanged, so the curve is symmetric. It is tabulated at b = exp(i `step`);
/// the true curve is convex and below the table, hence below its convex hull.
pub(super) fn centred(shift: f64, rate: f64, step: f64, tail: f64) -> Atoms {
    let top = (0.5 * shift * shift + normal::exceeded_with(tail) * shift).min(650.0);
    let count = (top / step).ceil() as usize + 1;
    // Points (log a, a - 1, H, how much log a moves with log b).
    let points: Vec<[f64; 4]> = (0..=count)
        .map(|index| {
            let level = index as f64 * step;
            let (before, beyond) = (libm::exp(level), rate * libm::expm1(level));
            let weight = (1.0 + beyond) / before;
            // b (1 - w), without cancellation.
            let apart = (1.0 - rate) * libm::expm1(level);
            let height = SPLITS
                .iter()
                .map(|split| {
                    let share = weight * split;
                    if share >= 1.0 {
                        return normal::hockey_stick(before, shift);
                    }
                    let near =
                        (1.0 - share) * normal::hockey_stick(apart / (1.0 - share), 0.5 * shift);
                    if share <= 0.0 {
                        return near;
                    }
                    near + share * normal::hockey_stick((1.0 + beyond) / share, shift)
                })
                .fold(1.0, f64::min)
                * rate;
            let slope = rate * before / (1.0 + beyond);
            [libm::log1p(beyond), beyond, height * (1.0 + ROUNDING), slope]
        })
        .collect();
    let hull = lower_hull(&points);
    let infinite = hull[hull.len() - 1][2];
    let slopes: Vec<f64> = hull
        .windows(2)
        .map(|ends| (ends[1][2] - ends[0][2]) / (ends[1][1] - ends[0][1]))
        .chain([0.0])
        .collect();
    let mut masses: Vec<f64> = (0..hull.len())
        .map(|index| match index {
            0 => 0.0,
            _ => ((1.0 + hull[index][1]) * (slopes[index] - slopes[index - 1])).max(0.0),
        })
        .collect();
    // The curve of these masses, by sums of positive terms; where it fell short, all are raised.
    let (mut reached, mut without, mut shortfall) = (infinite, 0.0, 1.0_f64);
    for index in (0..hull.len() - 1).rev() {
        without += masses[index + 1] / (1.0 + hull[index + 1][1]);
        reached += (hull[index + 1][1] - hull[index][1]) * without;
        if reached > infinite {
            shortfall = shortfall.max((hull[index][2] - infinite) / (reached - infinite));
        }
    }
    masses.iter_mut().for_each(|mass| *mass *= shortfall);
    let mut atoms = Atoms { infinite, ..Atoms::default() };
    let mut elsewhere = infinite;
    for (point, mass) in hull.iter().zip(&masses).skip(1) {
        let image = mass / (1.0 + point[1]);
        atoms.push(point[0], *mass, point[3]);
        atoms.push(-point[0], image, point[3]);
        elsewhere += mass + image;
    }
    atoms.push(0.0, (1.0 - elsewhere).max(0.0), 0.0);
    atoms
}

/// The points of a falling table on its greatest convex minorant in the second coordinate.
fn lower_hull(points: &[[f64; 4]]) -> Vec<[f64; 4]> {
    let mut hull: Vec<[f64; 4]> = Vec::with_capacity(points.len());
    for point in points {
        while let [.., before, last] = hull.as_slice() {
            let straight = (point[2] - before[2]) * (last[1] - before[1]);
            if (last[2] - before[2]) * (point[1] - before[1]) < straight {
                break;
            }
            hull.pop();
        }
        hull.push(*point);
    }
    hull
}
