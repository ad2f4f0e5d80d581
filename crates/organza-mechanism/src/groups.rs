//! Units in fixed groups.

use std::ops::Range;
use std::sync::Arc;

/// Which units belong to which group.
#[derive(Clone, Debug)]
pub struct Groups {
    starts: Vec<usize>,
    units: Vec<u32>,
}

impl Groups {
    /// The groups that units name by numbers from 0 on.
    ///
    /// # Privacy
    /// Which units make a group depends on what they name alone: a data set without one unit, or without one whole
    /// group, has all the others as they were. That is what makes a group something that can be added or removed. Runs
    /// of so many units would all shift where one is missing.
    pub fn by_name(names: &[u32]) -> Self {
        let count = names.iter().max().map_or(0, |last| *last as usize + 1);
        let mut sizes = vec![0_usize; count];
        names.iter().for_each(|group| sizes[*group as usize] += 1);
        let mut starts = vec![0; count + 1];
        for (group, size) in sizes.iter().enumerate() {
            starts[group + 1] = starts[group] + size;
        }
        let mut next = starts.clone();
        let mut units = vec![0; names.len()];
        for (unit, group) in (0..).zip(names) {
            units[next[*group as usize]] = unit;
            next[*group as usize] += 1;
        }
        Self { starts, units }
    }

    /// The number of groups.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The units of a group; none beyond the last.
    pub fn units(&self, group: usize) -> &[u32] {
        let bounds = self.starts.get(group).zip(self.starts.get(group + 1));
        bounds.map_or(&[], |(start, end)| &self.units[*start..*end])
    }
}

/// The units that a step may look at. *Not private* unless declared public.
#[derive(Clone, Debug)]
pub enum Units {
    /// So many.
    Count(u64),
    /// Those of these groups.
    Grouped(Arc<Groups>),
}

impl From<u64> for Units {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl Units {
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::Count(count) => *count,
            Self::Grouped(groups) => groups.units.len() as u64,
        }
    }

    /// The units of one of `of` groups: contiguous blocks of equal size, within one unit, where they name none.
    pub(crate) fn of_group(&self, group: u64, of: u64) -> impl Iterator<Item = u64> {
        let (block, named) = match self {
            Self::Count(count) => (block(*count, group, of), &[][..]),
            Self::Grouped(groups) => (0..0, groups.units(group as usize)),
        };
        block.chain(named.iter().map(|unit| u64::from(*unit)))
    }
}

fn block(units: u64, block: u64, of: u64) -> Range<u64> {
    let start = |block: u64| (u128::from(block) * u128::from(units) / u128::from(of)) as u64;
    start(block)..start(block + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_is_in_one_group() {
        let groups = Groups::by_name(&[0, 1, 0, 2, 1]);
        assert_eq!((groups.len(), groups.units(0), groups.units(1)), (3, &[0, 2][..], &[1, 4][..]));
        assert!(groups.units(3).is_empty());
        let blocks: Vec<Vec<u64>> =
            (0..3).map(|group| Units::Count(10).of_group(group, 3).collect()).collect();
        assert_eq!(blocks.concat(), (0..10).collect::<Vec<u64>>());
        assert!(blocks.iter().all(|block| (3..=4).contains(&block.len())));
    }

    /// A unit leaves, or a whole group: all other groups stay as they were. The broken twins, runs of ten units and
    /// blocks of a number of groups, move others.
    #[test]
    fn what_leaves_moves_no_other_group() {
        let units: Vec<u32> = (0..42).collect();
        let moves_others = |cut: &dyn Fn(&[u32]) -> Vec<Vec<u32>>, gone: &dyn Fn(u32) -> bool| {
            let before = cut(&units);
            let left: Vec<u32> = units.iter().copied().filter(|unit| !gone(*unit)).collect();
            let after = cut(&left);
            before.iter().filter(|group| !after.contains(group)).count() > 1
        };
        let named = |units: &[u32], names: &dyn Fn(usize) -> u32| {
            let groups = Groups::by_name(&(0..units.len()).map(names).collect::<Vec<u32>>());
            let of = |group| groups.units(group).iter().map(|at| units[*at as usize]).collect();
            (0..groups.len()).map(of).filter(|group: &Vec<u32>| !group.is_empty()).collect()
        };
        let by_user = |units: &[u32]| named(units, &|at| units[at] / 10);
        let runs = |units: &[u32]| named(units, &|at| at as u32 / 10);
        let blocks = |units: &[u32]| {
            let (count, of) = (Units::Count(units.len() as u64), units.len() as u64 / 10);
            let of_block = |group| count.of_group(group, of).map(|at| units[at as usize]).collect();
            (0..of).map(of_block).collect()
        };
        let mut caught = [0, 0];
        for gone in 0..30 {
            assert!(!moves_others(&by_user, &|unit| unit == gone), "{gone}");
            assert!(!moves_others(&by_user, &|unit| unit / 10 == gone / 10), "{gone}");
            caught[0] += usize::from(moves_others(&runs, &|unit| unit == gone));
            caught[1] += usize::from(moves_others(&blocks, &|unit| unit / 10 == gone / 10));
        }
        assert_eq!(caught, [30, 30]);
    }
}
