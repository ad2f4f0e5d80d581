//! Groups of records: by a column, or contiguous blocks.

use crate::design::Design;
use crate::fit::FitError;
use crate::settings::{Method, Settings};
use organza_mechanism::NoisyCount;
use organza_train::SettingError;
use serde::Serialize;
use std::collections::HashSet;

/// Why groups are refused where they would change nothing: who names them expects a promise for them.
pub const GROUPS_IGNORED: &str = "left away, because only poisson-groups makes the group the unit of the promise, and only \
                                  corrected and printed visit groups: every other method promises something for each \
                                  record, whatever group it is in";

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
    ///
    /// # Privacy
    /// Which records make a group depends on what they name alone: a data set without one record, or without one whole
    /// group, has all the others as they were. That is what makes a group a unit that can be added or removed. Runs of so
    /// many rows would all shift where one record is missing, and [`Self::blocks`] would be cut anew.
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

    /// `count` contiguous blocks of equal size, within one record: for relations that leave the number of records as it is.
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

/// The groups that a method visits, if it does.
///
/// # Errors
/// If a setting makes no sense, a method by group has rows that name none or another method has rows that do, or there
/// are too few rows, where that is no secret.
pub(crate) fn visited(
    settings: &Settings,
    rows: usize,
    named: Option<&[u32]>,
) -> Result<Option<Groups>, FitError> {
    settings.check()?;
    let Settings { method, groups, .. } = *settings;
    // Where one record more or less is to be hidden, so is whether there is any.
    let is_secret = method != Method::None && !NoisyCount::is_public(method.neighbouring());
    if rows == 0 && !is_secret {
        return Err(FitError::NoRows);
    }
    if named.is_some() && !method.has_groups() {
        let (setting, value) = ("--group", "given".to_owned());
        return Err(SettingError { setting, value, expected: GROUPS_IGNORED }.into());
    }
    Ok(match (method, named, groups) {
        (Method::PoissonGroups, None, _) if rows > 0 => return Err(FitError::NoGroups),
        (Method::PoissonGroups, None, _) => Some(Groups::by_column(&[])),
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

    /// A record leaves, or a whole group: all other groups stay as they were. The broken twins, runs of ten rows and
    /// blocks of a number of groups, move others.
    #[test]
    fn what_leaves_moves_no_other_group() {
        let rows: Vec<u32> = (0..42).collect();
        let moves_others = |cut: &dyn Fn(&[u32]) -> Groups, gone: &dyn Fn(u32) -> bool| {
            let before = contents(&cut(&rows), &rows);
            let left: Vec<u32> = rows.iter().copied().filter(|row| !gone(*row)).collect();
            let after = contents(&cut(&left), &left);
            before.iter().filter(|group| !after.contains(group)).count() > 1
        };
        let by_column = |rows: &[u32]| {
            let users: Vec<u32> = rows.iter().map(|row| row / 10).collect();
            Groups::by_column(&users)
        };
        let runs = |rows: &[u32]| {
            let places: Vec<u32> = (0..rows.len() as u32).map(|place| place / 10).collect();
            Groups::by_column(&places)
        };
        let blocks = |rows: &[u32]| Groups::blocks(rows.len(), rows.len() / 10);
        let mut caught = [0, 0];
        for gone in 0..30 {
            assert!(!moves_others(&by_column, &|row| row == gone), "{gone}");
            assert!(!moves_others(&by_column, &|row| row / 10 == gone / 10), "{gone}");
            caught[0] += usize::from(moves_others(&runs, &|row| row == gone));
            caught[1] += usize::from(moves_others(&blocks, &|row| row / 10 == gone / 10));
        }
        assert_eq!(caught, [30, 30]);
    }

    /// What rows make the groups that have any.
    fn contents(groups: &Groups, rows: &[u32]) -> Vec<Vec<u32>> {
        let of = |group| groups.records(group).iter().map(|at| rows[*at as usize]).collect();
        (0..groups.len()).map(of).filter(|rows: &Vec<u32>| !rows.is_empty()).collect()
    }
}
