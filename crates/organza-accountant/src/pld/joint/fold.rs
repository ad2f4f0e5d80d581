//! Many draws in a row: the k-fold product of a symmetric pair, by squaring.

use crate::pld::Pair;

/// The losses and P-masses of `times` copies of `pair`, on a grid of its step times a power of two:
/// where more than `most` losses remain, the grid is coarsened.
///
/// Only the P-masses are kept up: mass of up to `tail` in all is moved to higher losses at either
/// end, so [`Pair::delta`] bounds that of the product from threshold 1 on, and the pair of the
/// product is the symmetric one with that curve.
pub(super) fn fold(pair: &Pair, times: u64, tail: f64, most: usize) -> Pair {
    // A mass cut from a factor is cut from every later product with it.
    let cut = tail / (2.0 * times.max(1) as f64);
    let mut product = Pair::identity(pair.step);
    let mut power = pair.clone();
    let mut left = times;
    while left > 0 {
        if left & 1 == 1 {
            product = times_once(product, &power, cut, most);
        }
        left >>= 1;
        if left > 0 {
            power = times_once(power.clone(), &power, cut, most);
        }
    }
    product
}

fn times_once(mut left: Pair, right: &Pair, cut: f64, most: usize) -> Pair {
    let mut right = right.clone();
    while left.step < 0.75 * right.step {
        left = coarser(&left);
    }
    while right.step < 0.75 * left.step {
        right = coarser(&right);
    }
    let mut product = trimmed(left.convolve(&right), cut);
    while product.masses.len() > most {
        product = coarser(&product);
    }
    product
}

/// The pair on a grid twice as coarse: a loss between two points is split so that both its P-mass
/// and its Q-mass stay, a mean-preserving spread of the ratio.
pub(super) fn coarser(pair: &Pair) -> Pair {
    let lowest = pair.lowest.div_euclid(2);
    let highest = (pair.lowest + pair.masses.len() as i64).div_euclid(2);
    let mut masses = vec![0.0; (highest - lowest + 1) as usize];
    let left = 1.0 / (1.0 + libm::exp(pair.step));
    for (index, mass) in (pair.lowest..).zip(&pair.masses) {
        let place = (index.div_euclid(2) - lowest) as usize;
        if index.rem_euclid(2) == 0 {
            masses[place] += mass;
        } else {
            masses[place] += mass * left;
            masses[place + 1] += mass * (1.0 - left);
        }
    }
    Pair { step: 2.0 * pair.step, lowest, masses, ..*pair }
}

/// Moves P-mass of up to `cut` at each end: from the top to infinity, from the bottom up to the
/// lowest loss that is kept.
fn trimmed(mut pair: Pair, cut: f64) -> Pair {
    let mut above = 0.0;
    while pair.masses.len() > 1 && above + pair.masses[pair.masses.len() - 1] <= cut {
        above += pair.masses.pop().unwrap_or(0.0);
    }
    pair.infinite += above;
    let (mut first, mut below) = (0, 0.0);
    while first + 1 < pair.masses.len() && below + pair.masses[first] <= cut {
        below += pair.masses[first];
        first += 1;
    }
    pair.masses.drain(..first);
    pair.lowest += first as i64;
    pair.masses[0] += below;
    pair
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(epsilon_steps: i64, step: f64) -> Pair {
        let likely = 1.0 / (1.0 + (-(epsilon_steps as f64) * step).exp());
        let mut masses = vec![0.0; 2 * epsilon_steps as usize + 1];
        masses[0] = 1.0 - likely;
        masses[2 * epsilon_steps as usize] = likely;
        Pair { step, lowest: -epsilon_steps, masses, infinite: 0.0, only_without: 0.0 }
    }

    #[test]
    fn folding_is_repeated_convolution_and_coarsening_only_adds() {
        let pair = response(7, 0.01);
        let mut plain = Pair::identity(0.01);
        for _ in 0..300 {
            plain = plain.convolve(&pair);
        }
        let folded = fold(&pair, 300, 1e-25, 1024);
        assert!(folded.step > pair.step);
        for epsilon in [0.0, 0.5, 2.0, 5.0, 8.0] {
            let (exact, claimed) = (plain.delta(epsilon), folded.delta(epsilon));
            assert!(claimed >= exact * (1.0 - 1e-11) && claimed <= exact * 1.02, "{epsilon}");
        }
    }

    #[test]
    fn mass_is_kept_and_losses_stay_few() {
        for times in [0, 1, 2, 5, 1000, 1_000_000] {
            for width in [3, 300] {
                let folded = fold(&response(width, 0.01), times, 1e-25, 1024);
                let with: f64 = folded.masses.iter().sum::<f64>() + folded.infinite;
                assert!((with - 1.0).abs() < 1e-9, "{with}");
                assert!(folded.infinite <= 1e-25 && folded.masses.len() <= 1024);
            }
        }
    }
}
