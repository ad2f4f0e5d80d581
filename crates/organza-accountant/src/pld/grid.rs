//! Putting losses on a uniform grid without ever understating them.

use super::Pair;
use super::pair::LOWEST_LOSS;

/// Nodes of the four-point Gauss-Legendre rule on \[0, 1\].
pub(super) const NODES: [f64; 4] = [
    0.069_431_844_202_973_71,
    0.330_009_478_207_571_87,
    0.669_990_521_792_428_1,
    0.930_568_155_797_026_3,
];
/// Their weights.
pub(super) const WEIGHTS: [f64; 4] = [
    0.173_927_422_568_726_93,
    0.326_072_577_431_273_07,
    0.326_072_577_431_273_07,
    0.173_927_422_568_726_93,
];

/// The grid index j below `loss` and the share of its P-mass that goes there; the rest goes to j+1.
///
/// With w = expm1((j+1)h - loss) / expm1(h) both P's and Q's mass are kept, so dP/dQ is replaced by
/// a two-point variable of the same mean under Q: a mean-preserving spread, hence pessimistic. It
/// adds at most h^2/4 to the variance of the loss, where rounding up would add h to the loss itself.
pub(crate) fn split(loss: f64, step: f64) -> (i64, f64) {
    let index = (loss / step).floor();
    let left = libm::expm1((index + 1.0) * step - loss) / libm::expm1(step);
    (index as i64, left.clamp(0.0, 1.0))
}

/// The P-masses at the grid points `lowest..=highest` of a loss that has the P-density `density`
/// between the first and the last of them.
///
/// Every loss is split onto the two grid points around it as in [`split`]. Both shares are integrals
/// of positive functions, so there is no cancellation and each mass is relatively accurate. The
/// four-point rule is applied to pieces no longer than `smooth`: with a density whose logarithm has
/// a derivative of at most D there, its relative error is below 1e-9 (D `smooth`)^8.
pub(super) fn discretise(
    step: f64,
    lowest: i64,
    highest: i64,
    smooth: f64,
    density: impl Fn(f64) -> f64,
) -> Vec<f64> {
    let pieces = (step / smooth).ceil().max(1.0) as usize;
    let width = step / pieces as f64;
    let scale = libm::expm1(step);
    let nodes: Vec<_> = (0..pieces)
        .flat_map(|piece| {
            NODES.iter().zip(WEIGHTS).map(move |(node, weight)| (piece, node, weight))
        })
        .map(|(piece, node, weight)| {
            let offset = (piece as f64 + node) * width;
            let left = libm::expm1(step - offset) / scale;
            let right = libm::exp(step - offset) * libm::expm1(offset) / scale;
            (offset, weight * width * left, weight * width * right)
        })
        .collect();
    let mut masses = vec![0.0; (highest - lowest + 1) as usize];
    for cell in 0..masses.len() - 1 {
        let start = (lowest + cell as i64) as f64 * step;
        let (mut left, mut right) = (0.0, 0.0);
        for (offset, to_left, to_right) in &nodes {
            let mass = density(start + offset);
            left += to_left * mass;
            right += to_right * mass;
        }
        masses[cell] += left;
        masses[cell + 1] += right;
    }
    masses
}

/// The symmetric pair whose curve runs through `curve[i]` = H at exp(i `step`), i = 0, 1, ..., in
/// straight lines between these points, with `curve`'s last value as infinite mass.
///
/// A curve that is convex in a = e^epsilon and bounds a mechanism at the grid points bounds it
/// between them too, as the chord of a convex function lies above it. The P-mass at a point is a
/// times the change of slope; for negative losses p(-l) = p(l) e^{-l} (both directions have the same
/// curve). Second differences lose digits, so the curve of the result is computed back by sums of
/// positive terms and, where it fell below what was asked, all positive losses are made that much
/// heavier at the expense of loss zero.
pub(crate) fn symmetric_from_curve(step: f64, curve: &[f64]) -> Pair {
    let last = curve.len() - 1;
    let (up, down) = (libm::expm1(step), -libm::expm1(-step));
    let infinite = curve[last];
    let mut masses: Vec<f64> = (0..=last)
        .map(|index| {
            let after = if index < last { (curve[index + 1] - curve[index]) / up } else { 0.0 };
            let before = if index > 0 { (curve[index] - curve[index - 1]) / down } else { 0.0 };
            if index == 0 { 0.0 } else { (after - before).max(0.0) }
        })
        .collect();
    let (mut reached, mut shortfall) = (infinite, 1.0_f64);
    let mut discounted = 0.0;
    for index in (0..last).rev() {
        discounted += masses[index + 1];
        reached += down * discounted;
        discounted *= 1.0 - down;
        if reached > infinite {
            shortfall = shortfall.max((curve[index] - infinite) / (reached - infinite));
        }
    }
    masses.iter_mut().for_each(|mass| *mass *= shortfall);
    // The mirror images of the largest losses are lower than a pair can hold.
    let mirrored = last.min((-LOWEST_LOSS / step) as usize);
    let mut both = vec![0.0; mirrored + last + 1];
    let (mut elsewhere, mut only_without) = (infinite, infinite);
    for index in 1..=last {
        let image = masses[index] * libm::exp(-(index as f64) * step);
        both[mirrored + index] = masses[index];
        elsewhere += masses[index];
        if index <= mirrored {
            both[mirrored - index] = image;
            elsewhere += image;
        } else {
            only_without += masses[index];
        }
    }
    both[mirrored] = (1.0 - elsewhere).max(0.0);
    Pair { step, lowest: -(mirrored as i64), masses: both, infinite, only_without }
}
