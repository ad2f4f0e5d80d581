//! The counts of one unit, and how they are bounded.

use super::plan::STEPS_OF_NORM;
use super::settings::Bound;

/// How much a vector is shrunk beyond its bound, to cover the rounding of its norm.
const MARGIN: f64 = 1.0 / (1_u64 << 30) as f64;

/// What one unit contributes, in any order; amounts for one cell add up.
///
/// # Privacy
/// What is put in for a unit may depend on that unit and on what was released before, and on no other
/// unit. A unit with an amount that is negative or no number counts as empty.
#[derive(Clone, Debug, Default)]
pub struct UnitCounts {
    counts: Vec<(u64, f64)>,
    /// Cells that are to be counted once more each: most units have nothing else.
    ones: Vec<u64>,
}

impl UnitCounts {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds to a cell.
    pub fn add(&mut self, cell: u64, amount: f64) {
        self.counts.push((cell, amount));
    }

    /// Counts a cell once more.
    pub fn add_one(&mut self, cell: u64) {
        self.ones.push(cell);
    }

    /// Nothing any more, in the same memory.
    pub fn clear(&mut self) {
        self.counts.clear();
        self.ones.clear();
    }

    /// The amount for each cell, in the order of the cells. Their order of arrival decides the rounding of a
    /// sum of real amounts, and is the unit's own.
    pub fn merge(&mut self) -> &mut [(u64, f64)] {
        self.ones.sort_unstable();
        let runs = self.ones.chunk_by(|one, other| one == other);
        self.counts.extend(runs.map(|run| (run[0], run.len() as f64)));
        self.ones.clear();
        self.counts.sort_by_key(|(cell, _)| *cell);
        self.counts.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        &mut self.counts
    }

    /// Hands out whole numbers of grid steps within `bound`, and empties the unit.
    ///
    /// # Proof
    /// Totals: each count is rounded toward zero and taken as far as the bound is not used up.
    /// Norms: with true norm N and computed norm M, M >= N (1 - n 2^-52) for n counts; the factor is at
    /// most 2^20 (1 - margin) / max(bound, M) and the margin at least n 2^-52 + 2^-49, which covers the
    /// rounding of norm, factor and products, and truncation toward zero only shrinks: the norm is at
    /// most 2^20 steps.
    pub(super) fn bounded(&mut self, bound: Bound, cells: u64, mut take: impl FnMut(u64, u64)) {
        self.merge();
        let good = |(_, amount): &(u64, f64)| amount.is_finite() && *amount >= 0.0;
        if !self.counts.iter().all(good) {
            self.counts.clear();
        }
        self.counts.retain(|(cell, _)| *cell < cells);
        match bound {
            Bound::Total(most) => {
                let mut left = most;
                for (cell, amount) in self.counts.drain(..) {
                    let steps = (amount as u64).min(left);
                    left -= steps;
                    if steps > 0 {
                        take(cell, steps);
                    }
                }
            }
            Bound::Norm(most) => {
                let square: f64 = self.counts.iter().map(|(_, amount)| amount * amount).sum();
                let margin = MARGIN.max((self.counts.len() as f64 + 8.0) * f64::EPSILON);
                let factor = STEPS_OF_NORM * (1.0 - margin) / libm::sqrt(square).max(most);
                for (cell, amount) in self.counts.drain(..) {
                    let steps = (amount * factor) as u64;
                    if steps > 0 {
                        take(cell, steps);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bounded(counts: &[(u64, f64)], bound: Bound) -> Vec<(u64, u64)> {
        let mut unit = UnitCounts::new();
        counts.iter().for_each(|(cell, amount)| unit.add(*cell, *amount));
        let mut taken = Vec::new();
        unit.bounded(bound, 100, |cell, steps| taken.push((cell, steps)));
        assert!(unit.counts.is_empty());
        taken
    }

    proptest! {
        #[test]
        fn no_unit_exceeds_its_bound(
            counts in proptest::collection::vec((0_u64..120, 0.0_f64..1e6), 0..60),
            clip in 1e-3_f64..1e4,
            most in 1_u64..1000,
        ) {
            let total: u64 = bounded(&counts, Bound::Total(most)).iter().map(|(_, steps)| steps).sum();
            prop_assert!(total <= most);
            let taken = bounded(&counts, Bound::Norm(clip));
            let square: u128 = taken.iter().map(|(_, steps)| u128::from(*steps).pow(2)).sum();
            prop_assert!(square <= 1 << 40);
            prop_assert!(taken.is_sorted_by(|one, other| one.0 < other.0));
            prop_assert!(taken.iter().all(|(cell, _)| *cell < 100));
        }
    }

    #[test]
    fn short_units_keep_their_counts() {
        let counts = [(3, 1.0), (1, 2.0), (3, 1.0)];
        assert_eq!(bounded(&counts, Bound::Total(9)), [(1, 2), (3, 2)]);
        assert_eq!(bounded(&counts, Bound::Total(3)), [(1, 2), (3, 1)]);
        let mut ones = UnitCounts::new();
        [3, 1, 3, 1, 7].into_iter().for_each(|cell| ones.add_one(cell));
        ones.add(7, 0.5);
        assert_eq!(ones.merge(), [(1, 2.0), (3, 2.0), (7, 1.5)]);
        ones.clear();
        assert!(ones.merge().is_empty());
        let steps = bounded(&counts, Bound::Norm(4.0));
        assert!(steps.iter().all(|(_, steps)| (524_287..=524_288).contains(steps)), "{steps:?}");
    }

    #[test]
    fn what_is_no_count_empties_the_unit() {
        for bad in [f64::NAN, f64::INFINITY, -1.0] {
            for bound in [Bound::Total(5), Bound::Norm(5.0)] {
                assert!(bounded(&[(1, 1.0), (2, bad)], bound).is_empty());
            }
        }
        assert!(bounded(&[(1, 1e200), (2, 1e200)], Bound::Norm(1.0)).is_empty());
    }
}
