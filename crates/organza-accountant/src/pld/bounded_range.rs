//! Draws of bounded range: the exponential mechanism, peeled.

use super::{Pair, grid, pure};

/// The cells that one draw's range is divided into.
const CELLS: usize = 24;
/// The longest run of draws that the recursion treats at once; longer ones are composed of blocks.
const BLOCK: u64 = 1024;
/// Beyond this range a draw is charged as pure differential privacy, which differs no more.
const WIDEST: f64 = 24.0;
/// What one round of the recursion may have lost to rounding, relative to its value, apart from the
/// chords.
const ROUNDING: f64 = 1e-13;
/// A draw of smaller range is charged as one of this.
const NARROWEST: f64 = 1e-9;

/// The pair of `draws` adaptive draws, each of bounded range `range`: the log-ratios of its
/// probabilities on neighbouring inputs lie in an interval of that length.
///
/// This is the optimal adaptive curve (Dong, Durfee, Rogers 2020): V_0(e) = (1 - exp(e))+ and
///
///   V_j(e) = sup over t in \[0, range\] of p_t V_{j-1}(e - t) + (1 - p_t) V_{j-1}(e - t + range),
///   p_t = (1 - exp(t - range)) / (1 - exp(-range)),
///
/// since the extreme draws of bounded range have two outcomes, with losses t and t - range. See
/// [`curve`] for why the numbers are an upper bound. The grid is `range` / 24; a caller may regrid.
pub fn pair(range: f64, draws: u64, tail: f64) -> Pair {
    if range <= 0.0 || draws == 0 {
        return Pair::identity(range.max(1e-3) / CELLS as f64);
    }
    let range = range.max(NARROWEST);
    if range > WIDEST {
        let step = range / CELLS as f64;
        return pure::pair(range, step).power(draws, tail);
    }
    if draws <= BLOCK {
        return block(range, draws, tail);
    }
    let whole = block(range, BLOCK, tail).power(draws / BLOCK, tail);
    let rest = draws % BLOCK;
    if rest == 0 { whole } else { whole.convolve(&block(range, rest, tail)).trimmed(tail) }
}

fn block(range: f64, draws: u64, tail: f64) -> Pair {
    let step = range / CELLS as f64;
    grid::symmetric_from_curve(step, &curve(range, draws, CELLS, tail))
}

/// V_k at the losses 0, h, 2h, ... with h = `range` / `cells`, up to where less than `tail` is left.
///
/// Between grid points V_{j-1} is replaced by its chord in a = exp(e), which lies above it because
/// V_{j-1} is convex in a. On a segment t in \[ih, (i+1)h\] both arguments stay in one cell each, and
/// with x = exp(t) and the chords A + B a and C + D a the value is
///
///   \[(E - x)(A + B a/x) + (x - 1)(C + D a E/x)\] / (E - 1)
///     = \[E A - B a + E D a - C - x u - v/x\] / (E - 1),  u = A - C, v = (D - B) a E, E = exp(range),
///
/// whose supremum is at an end of the segment or, if u, v > 0, at x^2 = v/u, where it exceeds the
/// value at the start x_0 by (sqrt(u x_0) - sqrt(v/x_0))^2 / (E - 1). Chords lose digits like the
/// rounding unit over the range, and each round is raised by that. Negative losses follow from V(-e) = 1 - exp(-e) + exp(-e) V(e): the class of draws is
/// closed under exchange of the two inputs. Beyond the last grid point V is held constant, above its
/// true value. The end of the grid comes from concentrated differential privacy: `draws` draws have
/// rho = k range^2/8 (Cesar, Rogers 2021), so V(e) <= exp(-(e - rho)^2 / (4 rho)).
fn curve(range: f64, draws: u64, cells: usize, tail: f64) -> Vec<f64> {
    let step = range / cells as f64;
    let rho = draws as f64 * range * range / 8.0;
    let reach = rho + 2.0 * (rho * -libm::log(tail.max(1e-300))).sqrt();
    let last = ((reach / step).ceil() as usize + 1).min(draws as usize * cells);
    let pad = cells + 1;
    let widest = libm::exp(range);
    let up = libm::expm1(step);
    let powers: Vec<f64> = (0..=cells).map(|index| libm::exp(index as f64 * step)).collect();
    let whole = libm::expm1(range);
    let shares: Vec<f64> = (0..=cells)
        .map(|index| libm::expm1((index as f64 - cells as f64) * step) / libm::expm1(-range))
        .collect();
    let rounding = 1.0 + ROUNDING + 16.0 * f64::EPSILON / range;
    // Position p stands for the loss (p - pad) h.
    let mut values = vec![0.0; last + 2 * pad + 1];
    (0..pad).for_each(|place| values[place] = -libm::expm1((place as f64 - pad as f64) * step));
    let mut slopes = vec![0.0; values.len() - 1];
    let mut intercepts = vec![0.0; values.len() - 1];
    let mut next = vec![0.0; last + 1];
    for _ in 0..draws {
        for cell in 0..slopes.len() {
            // The slope times a at the cell's lower end: free of scale.
            slopes[cell] = (values[cell + 1] - values[cell]) / up;
            intercepts[cell] = values[cell] - slopes[cell];
        }
        for (index, value) in next.iter_mut().enumerate() {
            let place = index + pad;
            let mut before = values[place];
            let mut best = before;
            for turn in 1..=cells {
                let (low, high) = (place - turn, place - turn + cells);
                let (start, end) = (powers[turn - 1], powers[turn]);
                let u = intercepts[low] - intercepts[high];
                let v = end * (slopes[high] - widest * slopes[low]);
                if v > start * start * u && v < end * end * u {
                    let gap = (u * start).sqrt() - (v / start).sqrt();
                    best = best.max(before + gap * gap / whole);
                }
                before = shares[turn] * values[low] + (1.0 - shares[turn]) * values[high];
                best = best.max(before);
            }
            *value = best * rounding;
        }
        values[pad..=pad + last].copy_from_slice(&next);
        let end = next[last];
        values[pad + last + 1..].fill(end);
        for place in 0..pad {
            let loss = (pad - place) as f64 * step;
            let mirrored = values[2 * pad - place];
            values[place] = -libm::expm1(-loss) + libm::exp(-loss) * mirrored;
        }
    }
    next
}

/// The hockey stick of one draw at `threshold` (exact): (1 - exp((e - range)/2))^2 / (1 - exp(-range))
/// for |e| <= `range`, e = log `threshold`.
pub(super) fn hockey_stick(threshold: f64, range: f64) -> f64 {
    if threshold <= 0.0 || range <= 0.0 {
        return (1.0 - threshold).max(0.0);
    }
    let level = libm::log(threshold);
    if level <= -range {
        return 1.0 - threshold;
    }
    if level >= range {
        return 0.0;
    }
    let gap = -libm::expm1(0.5 * (level - range));
    gap * gap / -libm::expm1(-range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_draw_is_the_closed_form_from_above() {
        for range in [0.01, 0.5, 2.0, 9.0] {
            let pair = pair(range, 1, 1e-30);
            for share in [0.0, 0.1, 0.5, 0.9] {
                let truth = hockey_stick(libm::exp(share * range), range);
                let claim = pair.delta(share * range);
                assert!(claim >= truth * (1.0 - 1e-11) && claim <= truth * 1.01 + 1e-3 * range);
            }
        }
    }

    #[test]
    fn adaptive_draws_lie_between_the_lower_bound_and_a_coarser_recursion() {
        // range, draws, epsilon, non-adaptive lower bound, recursion with 16 cells
        for (range, draws, epsilon, lower, upper) in [
            (0.28, 100, 1.0, 0.281_626_379_519_108_96, 0.283_589_862_095_893_04),
            (0.28, 100, 3.0, 0.029_783_498_044_781_975, 0.030_525_292_675_484_254),
            (1.0, 10, 3.0, 0.064_355_388_045_622_37, 0.068_345_574_645_702_43),
            (0.1, 50, 0.5, 0.016_206_256_849_751_07, 0.016_524_566_415_343_247),
        ] {
            let pair = pair(range, draws, 1e-20);
            let (with, without) = pair.totals();
            assert!(
                (with - 1.0).abs() < 1e-12 && (without - 1.0).abs() < 1e-12,
                "{with} {without}"
            );
            let delta = pair.delta(epsilon);
            assert!(delta >= lower && delta <= upper, "{range} {draws} {delta}");
        }
    }

    #[test]
    fn blocks_and_wide_ranges_answer_from_above() {
        let blocks = pair(0.02, 2 * BLOCK + 5, 1e-20);
        let (with, without) = blocks.totals();
        assert!((with - 1.0).abs() < 1e-9 && (without - 1.0).abs() < 1e-9, "{with} {without}");
        assert!(blocks.delta(1.0) > pair(0.02, BLOCK, 1e-20).delta(1.0));
        assert!(pair(30.0, 3, 1e-20).delta(60.0) > 0.9);
        assert_eq!(pair(0.0, 10, 1e-20).delta(0.0), 0.0);
    }
}
