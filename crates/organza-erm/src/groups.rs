//! Groups of records: by a column, or contiguous blocks.

use crate::design::Design;
use serde::Serialize;
use std::collections::HashSet;

/// Which records belong to which group.
#[derive(Clone, Debug)]
pub struct Groups {
    starts: Vec<usize>,
    records: Vec<u32>,
}

/// How many coordinates the gradients of groups touch (c1). *Not private*: it comes from the data, and
/// no charge covers it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GroupSparsity {
    /// The most coordinates that one group touches.
    pub most: u64,
    /// The mean over groups.
    pub mean: f64,
}

impl Groups {
    /// The groups that rows name, numbered in order of appearance.
    pub fn by_column(groups: &[u32]) -> Self {
        let count = groups.iter().max().map_or(0, |last| *last as usize + 1);
        let mut sizes = vec![0_usize; count];
        groups.iter().for_each(|group| sizes[*group as usize] += 1);
        let mut starts = vec![0; count + 1];
        for (group, size) in sizes.iter().enumerate() {
            starts[group + 1] = starts[group] + size;
        }
        let mut next = starts.clone();
        let mut records = vec![0; groups.len()];
        for (record, group) in groups.iter().enumerate() {
            records[next[*group as usize]] = record as u32;
            next[*group as usize] += 1;
        }
        Self { starts, records }
    }

    /// `count` contiguous blocks of equal size, within one record.
    pub fn blocks(records: usize, count: usize) -> Self {
        let starts = (0..=count).map(|block| block * records / count.max(1)).collect();
        Self { starts, records: (0..records as u32).collect() }
    }

    /// The number of groups.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The records of a group.
    pub fn records(&self, group: usize) -> &[u32] {
        &self.records[self.starts[group]..self.starts[group + 1]]
    }

    /// How many coordinates the groups' gradients touch. *Not private.*
    pub fn sparsity(&self, design: &Design<'_>) -> GroupSparsity {
        let mut seen = HashSet::new();
        let (mut most, mut sum) = (0, 0);
        for group in 0..self.len() {
            seen.clear();
            for record in self.records(group) {
                seen.extend(design.entries(*record as usize).map(|(column, _)| column));
            }
            most = most.max(seen.len() as u64);
            sum += seen.len();
        }
        GroupSparsity { most, mean: sum as f64 / self.len().max(1) as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_record_is_in_one_group() {
        let groups = Groups::by_column(&[0, 1, 0, 2, 1]);
        assert_eq!(
            (groups.len(), groups.records(0), groups.records(1)),
            (3, &[0, 2][..], &[1, 4][..])
        );
        let blocks = Groups::blocks(10, 3);
        let all: Vec<u32> = (0..3).flat_map(|block| blocks.records(block).to_vec()).collect();
        assert_eq!(all, (0..10).collect::<Vec<u32>>());
        assert!((0..3).all(|block| (3..=4).contains(&blocks.records(block).len())));
    }
}
