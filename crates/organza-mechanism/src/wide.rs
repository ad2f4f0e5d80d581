//! Whole numbers in their places, of which nearly all fit into 64 bits.

use std::collections::BTreeMap;

/// A list of sums modulo 2^128: what goes beyond 64 bits is kept beside them, at no cost where nothing does.
///
/// # Proof
/// Number i is low_i + 2^64 high_i modulo 2^128, always. An addition that overflows leaves low_i at the sum less 2^64 if what was added is
/// positive, and at the sum plus 2^64 if it is negative, which is what `high` gets. A `high` of zero is not kept, so equal
/// numbers are equal lists, whatever they were added up from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WideNumbers {
    low: Vec<i64>,
    high: BTreeMap<usize, i64>,
}

impl WideNumbers {
    pub(crate) fn zeros(count: usize) -> Self {
        Self { low: vec![0; count], high: BTreeMap::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.low.len()
    }

    /// The lowest 64 bits of each.
    pub(crate) fn low(&self) -> &[i64] {
        &self.low
    }

    /// How often a number goes beyond its lowest 64 bits.
    pub(crate) fn high(&self, place: usize) -> i64 {
        match self.high.is_empty() {
            true => 0,
            false => self.high.get(&place).copied().unwrap_or(0),
        }
    }

    pub(crate) fn get(&self, place: usize) -> i128 {
        i128::from(self.low[place]).wrapping_add(i128::from(self.high(place)) << 64)
    }

    /// Adds to a number.
    #[inline]
    pub(crate) fn add(&mut self, place: usize, more: i128) {
        let low = more as i64;
        let (sum, over) = self.low[place].overflowing_add(low);
        self.low[place] = sum;
        let carried = if over { low.signum() } else { 0 };
        let high = (more.wrapping_sub(i128::from(low)) >> 64) as i64;
        let high = high.wrapping_add(carried);
        if high != 0 {
            self.carry(place, high);
        }
    }

    #[cold]
    fn carry(&mut self, place: usize, more: i64) {
        let high = self.high.entry(place).or_default();
        *high = high.wrapping_add(more);
        if *high == 0 {
            self.high.remove(&place);
        }
    }

    /// Adds the numbers of another list of the same length.
    pub(crate) fn join(&mut self, other: &Self) {
        for (place, low) in other.low.iter().enumerate() {
            self.add(place, i128::from(*low));
        }
        other.high.iter().for_each(|(place, high)| self.carry(*place, *high));
    }

    /// Leaves out all numbers after the first ones.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.low.truncate(count);
        self.high.split_off(&count);
    }

    pub(crate) fn push(&mut self, number: i128) {
        self.low.push(0);
        self.add(self.low.len() - 1, number);
    }

    /// Adds so many zeros at the end.
    pub(crate) fn push_zeros(&mut self, count: usize) {
        self.low.resize(self.low.len() + count, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbers() -> impl Strategy<Value = i128> {
        let edges = [i64::MAX, i64::MIN, 1, -1].map(i128::from);
        prop_oneof![prop::sample::select(edges.to_vec()), -(1_i128 << 70)..1 << 70]
    }

    proptest! {
        #[test]
        fn sums_are_those_of_128_bits(
            more in prop::collection::vec((0_usize..3, numbers()), 0..40),
            parted in 0_usize..40,
        ) {
            let of = |more: &[(usize, i128)]| {
                let mut sums = WideNumbers::zeros(3);
                more.iter().for_each(|(place, more)| sums.add(*place, *more));
                sums
            };
            let (first, second) = more.split_at(parted.min(more.len()));
            let mut joined = of(second);
            joined.join(&of(first));
            prop_assert_eq!(&of(&more), &joined);
            for place in 0..3 {
                let all = more.iter().filter(|(at, _)| *at == place);
                prop_assert_eq!(joined.get(place), all.map(|(_, more)| more).sum::<i128>());
            }
        }
    }
}
