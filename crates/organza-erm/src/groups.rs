//! Groups of records: by a column, runs of so many rows, or contiguous blocks.

use crate::design::Design;
use crate::fit::FitError;
use crate::settings::{Method, SettingError, Settings};
use organza_mechanism::NoisyCount;
use serde::Serialize;
use std::collections::HashSet;

/// How many rows make a group where the unit is a group and nothing names it.
const GROUP_ROWS: u64 = 10;

/// Which records belong to which group.
#[derive(Clone, Debug)]
pub struct Groups {
    starts: Vec<usize>,
    records: Vec<u32>,
    /// How many consecutive rows a group is, if that is what it is.
    each: Option<u64>,
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
        Self { starts, records, each: None }
    }

    /// Runs of `each` consecutive records, the last one shorter.
    ///
    /// # Privacy
    /// Which records make a group does not depend on how many there are: a data set without one whole group has all the
    /// others as they were. That is what makes a group a unit that can be added or removed; contiguous blocks of a number
    /// that is given ([`Self::blocks`]) would all be cut anew.
    pub fn runs(records: usize, each: u64) -> Self {
        let size = usize::try_from(each.max(1)).unwrap_or(usize::MAX);
        let starts = (0..records).step_by(size).chain([records]).collect();
        Self { starts, records: (0..records as u32).collect(), each: Some(each) }
    }

    /// `count` contiguous blocks of equal size, within one record: for relations that leave the number of records as it is.
    pub fn blocks(records: usize, count: usize) -> Self {
        let starts = (0..=count).map(|block| block * records / count.max(1)).collect();
        Self { starts, records: (0..records as u32).collect(), each: None }
    }

    /// What a guarantee for groups takes for granted about them, where nothing names them.
    pub(crate) fn statement(&self) -> Option<String> {
        let each = self.each?;
        Some(format!("a group is {each} consecutive rows of the data, as they stand"))
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

/// The groups that a method visits, if it does.
///
/// # Errors
/// If a setting makes no sense, or there are too few rows, where that is no secret.
pub(crate) fn visited(
    settings: &Settings,
    rows: usize,
    named: Option<&[u32]>,
) -> Result<Option<Groups>, FitError> {
    settings.check()?;
    let Settings { method, groups, group_rows, .. } = *settings;
    // Where one record more or less is to be hidden, so is whether there is any.
    let is_secret = method != Method::None && !NoisyCount::is_public(method.neighbouring());
    if rows == 0 && !is_secret {
        return Err(FitError::NoRows);
    }
    if let (Some(_), Some(each)) = (named, group_rows) {
        let expected = "left away where the rows name their groups";
        let value = each.to_string();
        return Err(SettingError { setting: "--group-rows", value, expected }.into());
    }
    Ok(match (method, named, groups) {
        (Method::PoissonGroups, None, _) => {
            Some(Groups::runs(rows, group_rows.unwrap_or(GROUP_ROWS)))
        }
        (_, Some(named), None) if method.has_groups() => Some(Groups::by_column(named)),
        (Method::Corrected | Method::Printed, _, count) => {
            let usual = if method == Method::Printed { 100 } else { 10 };
            let count = count.unwrap_or(usual.min(rows as u64));
            if count > rows as u64 {
                return Err(FitError::EmptyGroups { groups: count });
            }
            Some(Groups::blocks(rows, count as usize))
        }
        _ => None,
    })
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

    /// What rows make the groups, without group `missing`.
    fn contents(groups: &Groups, rows: &[u32], missing: Option<usize>) -> Vec<Vec<u32>> {
        let kept = (0..groups.len()).filter(|group| Some(*group) != missing);
        kept.map(|group| groups.records(group).iter().map(|at| rows[*at as usize]).collect())
            .collect()
    }

    #[test]
    fn a_group_leaves_and_all_others_stay_as_they_were() {
        let rows: Vec<u32> = (0..42).collect();
        let survives = |cut: &dyn Fn(usize) -> Groups, missing: usize| {
            let all = cut(rows.len());
            let left: Vec<u32> = contents(&all, &rows, Some(missing)).concat();
            contents(&cut(left.len()), &left, None) == contents(&all, &rows, Some(missing))
        };
        for missing in 0..5 {
            assert!(survives(&|count| Groups::runs(count, 10), missing), "{missing}");
        }
        let blocks = |count: usize| Groups::blocks(count, count / 10);
        assert!(
            !(0..4).all(|missing| survives(&blocks, missing)),
            "blocks cut anew have to be seen"
        );
        assert_eq!(Groups::runs(42, 10).records(4).len(), 2);
        assert!(Groups::runs(0, 10).is_empty());
        assert_eq!(Groups::runs(3, u64::MAX).len(), 1);
    }
}
