//! Counts of items over the units, and their release.

use super::plan::ItemsPlan;
use crate::due::NotPaid;
use crate::release::Release;
use crate::sample::uniform_subset;
use organza_ledger::Charged;
use std::collections::BTreeMap;

/// How much each item counts, before any noise: there is nothing to read.
///
/// # Privacy
/// Each unit is added once. Of its distinct items at most c count: a uniform choice among them by
/// randomness of the unit's own, so that what one unit contributes depends on no other. (A choice by
/// alphabet or by place in the text would always pass over the same words.)
///
/// ```compile_fail,E0599
/// # fn read(counts: organza_mechanism::ItemCounts<&str>) {
/// counts.items();
/// # }
/// ```
pub struct ItemCounts<Item> {
    plan: ItemsPlan,
    release: Release,
    units: u64,
    /// In steps.
    counts: BTreeMap<Item, u64>,
}

impl<Item: Ord> ItemCounts<Item> {
    pub(super) fn new(plan: ItemsPlan, release: Release) -> Self {
        Self { plan, release, units: 0, counts: BTreeMap::new() }
    }

    /// Adds a unit: all its items, in any order and as often as they come.
    pub fn add(&mut self, items: impl IntoIterator<Item = Item>) {
        let mut items: Vec<Item> = items.into_iter().collect();
        items.sort_unstable();
        items.dedup();
        let most = self.plan.settings().items_per_unit;
        let unit = self.units;
        self.units += 1;
        if items.len() as u64 > most {
            let mut random = self.release.choices(unit);
            let kept = uniform_subset(items.len() as u64, most, &mut random);
            let mut kept = kept.into_iter().peekable();
            let mut place = 0;
            items.retain(|_| {
                place += 1;
                kept.next_if_eq(&(place - 1)).is_some()
            });
        }
        let weight = items.len().checked_sub(1).and_then(|place| self.plan.weights.get(place));
        for item in items {
            let count = self.counts.entry(item).or_default();
            *count = count.saturating_add(weight.copied().unwrap_or_default());
        }
    }

    /// The noise, and what reaches the threshold.
    ///
    /// # Errors
    /// If the charge is not for this release of this plan, or it was released before.
    pub fn noise(self, paid: Charged) -> Result<NoisyItems<Item>, NotPaid> {
        let mut random = self.release.random(paid, &self.plan.event())?.shard(0);
        let ItemsPlan { noise, threshold, step, .. } = &self.plan;
        let mut items: Vec<(Item, i64)> = self
            .counts
            .into_iter()
            .map(|(item, count)| {
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                (item, count.saturating_add(noise.draw(&mut random)))
            })
            .filter(|(_, noisy)| noisy >= threshold)
            .collect();
        // Stable: items of equal noisy counts stay in their own order.
        items.sort_by_key(|(_, noisy)| std::cmp::Reverse(*noisy));
        let items = items.into_iter().map(|(item, noisy)| (item, noisy as f64 * step)).collect();
        Ok(NoisyItems { items, private: self.release.is_private() })
    }
}

/// Without anything of the counts.
impl<Item> std::fmt::Debug for ItemCounts<Item> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "ItemCounts({})", self.release.purpose())
    }
}

/// Items with their noisy counts: a released result, the largest count first.
#[derive(Clone, Debug, PartialEq)]
pub struct NoisyItems<Item> {
    items: Vec<(Item, f64)>,
    private: bool,
}

impl<Item> NoisyItems<Item> {
    /// The items, the one of the largest noisy count first.
    pub fn items(&self) -> &[(Item, f64)] {
        &self.items
    }

    /// Whether nobody can know the noise.
    pub fn is_private(&self) -> bool {
        self.private
    }
}
