//! Draws from fixed weights in constant time.

use organza_mechanism::random::PrivateRandom;
use organza_mechanism::sample::{below, unit};

/// Walker's alias table, built by Vose's method: column i is drawn uniformly, and kept with
/// probability `keep[i]`, else `other[i]` is taken. Each column holds the mass 1 / n, filled up from
/// one outcome that has more than that.
#[derive(Clone, Debug)]
pub(crate) struct AliasTable {
    keep: Vec<f64>,
    other: Vec<u32>,
}

impl AliasTable {
    /// A table for weights that are finite, not negative, with a positive finite sum, and at most
    /// 2^32 in number; nothing otherwise.
    pub(crate) fn new(weights: &[f64]) -> Option<Self> {
        let count = u32::try_from(weights.len()).ok()?;
        let sum: f64 = weights.iter().sum();
        let sound = weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0);
        if !(sound && sum > 0.0 && sum.is_finite()) {
            return None;
        }
        let mut keep: Vec<f64> =
            weights.iter().map(|weight| weight / sum * f64::from(count)).collect();
        let mut other: Vec<u32> = (0..count).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..count).partition(|&index| keep[index as usize] < 1.0);
        while let (Some(&less), Some(&more)) = (small.last(), large.last()) {
            small.pop();
            other[less as usize] = more;
            keep[more as usize] -= 1.0 - keep[less as usize];
            if keep[more as usize] < 1.0 {
                large.pop();
                small.push(more);
            }
        }
        // What is left is full but for rounding. A weight of 0 must stay impossible, so a small one
        // that is left over points to the heaviest outcome instead.
        for index in large {
            keep[index as usize] = 1.0;
        }
        let heaviest = (0..count)
            .max_by(|&one, &other| weights[one as usize].total_cmp(&weights[other as usize]))?;
        for index in small {
            if weights[index as usize] > 0.0 {
                keep[index as usize] = 1.0;
            } else {
                other[index as usize] = heaviest;
            }
        }
        Some(Self { keep, other })
    }

    #[inline]
    pub(crate) fn draw(&self, random: &mut PrivateRandom) -> u32 {
        let column = below(self.keep.len() as u64, random) as usize;
        if unit(random) < self.keep[column] { column as u32 } else { self.other[column] }
    }

    /// The probability of each outcome, as it is drawn.
    #[cfg(test)]
    pub(crate) fn probabilities(&self) -> Vec<f64> {
        let count = self.keep.len() as f64;
        let mut all = vec![0.0; self.keep.len()];
        for (column, (&keep, &other)) in self.keep.iter().zip(&self.other).enumerate() {
            all[column] += keep / count;
            all[other as usize] += (1.0 - keep) / count;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::AliasTable;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn probabilities_are_the_weights(weights in proptest::collection::vec(prop_oneof![Just(0.0), 1e-9..1e3_f64], 1..50)) {
            let sum: f64 = weights.iter().sum();
            match AliasTable::new(&weights) {
                None => prop_assert!(sum == 0.0),
                Some(table) => for (found, weight) in table.probabilities().iter().zip(&weights) {
                    prop_assert!((found - weight / sum).abs() < 1e-12);
                    prop_assert!(*weight > 0.0 || *found == 0.0);
                }
            }
        }
    }

    #[test]
    fn weights_that_are_none_are_refused() {
        for weights in
            [&[][..], &[0.0], &[1.0, -1.0], &[f64::NAN], &[f64::INFINITY], &[f64::MAX, f64::MAX]]
        {
            assert!(AliasTable::new(weights).is_none(), "{weights:?}");
        }
    }
}
