//! Groups of records: by a column, or contiguous blocks.

use crate::data::FitError;
use crate::design::Design;
use crate::settings::{Method, Settings};
use organza_mechanism::{Groups, NoisyCount};
use serde::Serialize;
use std::collections::HashSet;

/// Why groups are refused where they would change nothing: who names them expects a promise for them.
pub const GROUPS_IGNORED: &str = "left out, because only dpsgd, sparse and poisson-groups promise something for each group \
                                  (--unit group), and only corrected and printed visit groups: every other method \
                                  promises something for each record, whatever group it is in";

/// How many coordinates the gradients of groups touch (c1). *Not private*: it comes from the data, and
/// no charge covers it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GroupSparsity {
    /// The most coordinates that one group touches.
    pub most: u64,
    /// The mean over groups.
    pub mean: f64,
}

impl GroupSparsity {
    /// That of the groups that rows name, or of so many blocks. *Not private.*
    pub(crate) fn of(design: &Design<'_>, named: Option<&Groups>, blocks: u64) -> Self {
        let count = named.map_or(blocks as usize, Groups::len);
        let mut seen = HashSet::new();
        let (mut most, mut sum) = (0, 0);
        for group in 0..count {
            seen.clear();
            let bound = |block: usize| block * design.len() / count;
            let block = bound(group)..if named.is_some() { bound(group) } else { bound(group + 1) };
            let own = named.map_or(&[][..], |groups| groups.units(group));
            for record in block.chain(own.iter().map(|record| *record as usize)) {
                seen.extend(design.entries(record).map(|(column, _)| column));
            }
            most = most.max(seen.len() as u64);
            sum += seen.len();
        }
        Self { most, mean: sum as f64 / count.max(1) as f64 }
    }
}

/// How many groups there are, where a step visits one of them.
///
/// # Errors
/// If rows name no groups that the method needs, or there are too few rows, where that is no secret.
pub(crate) fn visited(
    settings: &Settings,
    rows: usize,
    named: Option<&[u32]>,
) -> Result<Option<u64>, FitError> {
    let Settings { method, groups, .. } = *settings;
    // Where one record more or less is to be hidden, so is whether there is any.
    let is_secret = method != Method::None && !NoisyCount::is_public(method.neighbouring());
    if rows == 0 && !is_secret {
        return Err(FitError::NoRows);
    }
    match (method, named) {
        (_, None) if rows > 0 && settings.by_group() => Err(FitError::NoGroups),
        (Method::Corrected | Method::Printed, None) => {
            let usual = if method == Method::Printed { 100 } else { 10 };
            let count = groups.unwrap_or(usual.min(rows as u64));
            match count > rows as u64 {
                true => Err(FitError::EmptyGroups { groups: count }),
                false => Ok(Some(count)),
            }
        }
        (Method::Corrected | Method::Printed, Some(named)) => {
            Ok(Some(named.iter().max().map_or(0, |last| u64::from(*last) + 1)))
        }
        _ => Ok(None),
    }
}
