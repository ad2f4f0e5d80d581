//! Many draws in a row: the k-fold product of a symmetric pair, by squaring.

use crate::pld::Pair;

/// Tails below this mass are cut, pessimistically.
const CUT: f64 = 1e-27;

/// The most losses a pair keeps before its grid is coarsened: enough for 40 a standard deviation.
const MOST: usize = 1024;

/// The product of `times` copies of `pair`, on a grid of its step times a power of two.
pub(super) fn fold(pair: &Pair, times: u64) -> Pair {
    let mut product = Pair::identity(pair.step);
    let mut power = pair.clone();
    let mut left = times;
    while left > 0 {
        if left & 1 == 1 {
            product = times_once(product, &power);
        }
        left >>= 1;
        if left > 0 {
            power = times_once(power.clone(), &power);
        }
    }
    product
}

fn times_once(mut left: Pair, right: &Pair) -> Pair {
    let mut right = right.clone();
    while left.step < 0.75 * right.step {
        left = coarser(&left);
    }
    while right.step < 0.75 * left.step {
        right = coarser(&right);
    }
    let mut product = cut(convolve(&left, &right));
    while product.masses.len() > MOST {
        product = coarser(&product);
    }
    product
}

/// The product of two pairs on one grid: losses add.
fn convolve(left: &Pair, right: &Pair) -> Pair {
    let mut masses = vec![0.0; left.masses.len() + right.masses.len() - 1];
    for (offset, mass) in left.masses.iter().enumerate() {
        for (sum, other) in masses[offset..].iter_mut().zip(&right.masses) {
            *sum += mass * other;
        }
    }
    let either = |one: f64, other: f64| one + other - one * other;
    Pair {
        step: left.step,
        lowest: left.lowest + right.lowest,
        masses,
        infinite: either(left.infinite, right.infinite),
        only_without: either(left.only_without, right.only_without),
    }
}

/// The pair on a grid twice as coarse: a loss between two points is split so that both its P-mass
/// and its Q-mass stay, a mean-preserving spread of the ratio.
pub(super) fn coarser(pair: &Pair) -> Pair {
    let lowest = pair.lowest.div_euclid(2);
    let highest = (pair.lowest + pair.masses.len() as i64 - 1 + 1).div_euclid(2);
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

/// Cuts tails of mass below [`CUT`]: the upper P-mass goes to infinity, the lower one up to the
/// lowest loss that is kept, its Q-mass partly to where P has none.
pub(super) fn cut(mut pair: Pair) -> Pair {
    let mut tail = 0.0;
    while pair.masses.len() > 1 {
        let mass = pair.masses[pair.masses.len() - 1];
        if tail + mass > CUT {
            break;
        }
        tail += mass;
        pair.masses.pop();
    }
    pair.infinite += tail;
    let (mut first, mut below, mut without) = (0, 0.0, 0.0);
    while first + 1 < pair.masses.len() {
        let mass = pair.masses[first];
        let other = mass * libm::exp(-pair.loss(first));
        if without + other > CUT {
            break;
        }
        below += mass;
        without += other;
        first += 1;
    }
    pair.masses.drain(..first);
    pair.lowest += first as i64;
    pair.masses[0] += below;
    pair.only_without += (without - below * libm::exp(-pair.loss(0))).max(0.0);
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
            plain = convolve(&plain, &pair);
        }
        let folded = fold(&pair, 300);
        assert!(folded.step > pair.step);
        for epsilon in [0.0, 0.5, 2.0, 5.0, 8.0] {
            let (exact, claimed) = (plain.delta(epsilon), folded.delta(epsilon));
            assert!(claimed >= exact * (1.0 - 1e-11) && claimed <= exact * 1.02, "{epsilon}");
        }
    }

    #[test]
    fn both_laws_keep_their_mass() {
        for times in [0, 1, 2, 5, 1000, 1_000_000] {
            let folded = fold(&response(3, 0.001), times);
            let with: f64 = folded.masses.iter().sum::<f64>() + folded.infinite;
            let without: f64 = (0..folded.masses.len())
                .map(|index| folded.masses[index] * (-folded.loss(index)).exp())
                .sum::<f64>()
                + folded.only_without;
            assert!((with - 1.0).abs() < 1e-9 && (without - 1.0).abs() < 1e-9, "{with} {without}");
            assert!(folded.masses.len() <= MOST);
        }
    }
}
