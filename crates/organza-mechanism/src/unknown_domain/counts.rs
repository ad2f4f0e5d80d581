//! Counts of items over the units, and their release.

use super::plan::{ItemsPlan, Law};
use super::rounds::{Numbered, Rounds};
use super::shards::{Counted, in_shards};
use crate::due::NotPaid;
use crate::random::{PrivateRandom, StepRandom};
use crate::release::Release;
use crate::sample::{IntegerNoise, uniform_subset};
use organza_ledger::Charged;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// So many units are looked at before what they have is added.
const UNITS_AT_ONCE: u64 = 1 << 12;

/// How much each item counts, before any noise: there is nothing to read.
///
/// # Privacy
/// Each unit is added once. Of its distinct items at most c count: a uniform choice among them by
/// randomness of the unit's own, so that what one unit contributes depends on no other. (A choice by
/// alphabet or by place in the text would always pass over the same words.) Where a unit has a name, that randomness is a keyed
/// function of it: so the choice is the same wherever the unit lies.
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
    gathered: Gathered<Item>,
}

/// What there is of the units.
enum Gathered<Item> {
    /// How many units have each item.
    Counts(BTreeMap<Item, u64>),
    /// The items of all units, one unit after another, and where each unit ends; for rounds, which look at them again.
    Units { items: Vec<Item>, ends: Vec<usize> },
}

impl<Item: Ord + Clone + Send + Sync> ItemCounts<Item> {
    pub(super) fn new(plan: ItemsPlan, release: Release) -> Self {
        let gathered = match plan.law {
            Law::Counts(_) => Gathered::Counts(BTreeMap::new()),
            Law::Rounds(_) => Gathered::Units { items: Vec::new(), ends: Vec::new() },
        };
        Self { plan, release, units: 0, gathered }
    }

    /// Whether the units are looked at: see [`Release::looks_at_units`].
    pub fn looks_at_units(&self) -> bool {
        match self.release.exchange() {
            None => true,
            Some(exchange) => exchange.counts(self.release.purpose(), self.plan.looks()),
        }
    }

    /// Adds a unit: all its items, in any order and as often as they come.
    pub fn add(&mut self, items: impl IntoIterator<Item = Item>) {
        let items = self.chosen(items, || self.release.choices(self.units));
        self.take(items);
    }

    /// Adds so many units, on the threads of the current pool: `items` gives those of each, and `name` by what it chooses among them if
    /// they are too many.
    pub fn add_units<Items: IntoIterator<Item = Item>>(
        &mut self,
        units: u64,
        name: impl Fn(u64) -> Vec<u8> + Sync,
        items: impl Fn(u64) -> Items + Sync,
    ) {
        for first in (0..units).step_by(UNITS_AT_ONCE as usize) {
            let last = units.min(first + UNITS_AT_ONCE);
            let chosen = |unit| self.chosen(items(unit), || self.release.choices_of(&name(unit)));
            let chosen: Vec<Vec<Item>> = (first..last).into_par_iter().map(chosen).collect();
            chosen.into_iter().for_each(|items| self.take(items));
        }
    }

    /// The items of a unit that count.
    fn chosen(
        &self,
        items: impl IntoIterator<Item = Item>,
        random: impl FnOnce() -> PrivateRandom,
    ) -> Vec<Item> {
        let mut items: Vec<Item> = items.into_iter().collect();
        items.sort_unstable();
        items.dedup();
        let most = self.plan.settings().items_per_unit;
        if items.len() as u64 > most {
            let kept = uniform_subset(items.len() as u64, most, &mut random());
            let mut kept = kept.into_iter().peekable();
            let mut place = 0;
            items.retain(|_| {
                place += 1;
                kept.next_if_eq(&(place - 1)).is_some()
            });
        }
        items
    }

    fn take(&mut self, mut items: Vec<Item>) {
        self.units += 1;
        match &mut self.gathered {
            Gathered::Counts(counts) => items.into_iter().for_each(|item| {
                let count = counts.entry(item).or_default();
                *count = count.saturating_add(1);
            }),
            Gathered::Units { items: all, ends } => {
                all.append(&mut items);
                ends.push(all.len());
            }
        }
    }

    /// The noise, and what reaches the threshold.
    ///
    /// # Errors
    /// If the charge is not for this release of this plan, or it was released before.
    pub fn noise(self, paid: Charged) -> Result<NoisyItems<Item>, NotPaid> {
        let random = self.release.random(paid, &self.plan.event())?;
        let law = &self.plan.law;
        let noisy = match (self.gathered, law) {
            (Gathered::Counts(counts), Law::Counts(noise)) => {
                counts.into_iter().map(one_by_one(noise, &random)).collect()
            }
            (Gathered::Units { items, ends }, Law::Rounds(rounds)) => {
                in_rounds(items, ends, rounds, &random)
            }
            // A plan gathers what its own law needs.
            _ => Vec::new(),
        };
        let items = above(&self.plan, noisy);
        Ok(NoisyItems::of_steps(&self.plan, items, self.release.is_private()))
    }

    /// The same of items that have names, in the order of these: by their names alone items are known on other machines, if that is where
    /// the sums come from or go to.
    ///
    /// # Errors
    /// As [`ItemCounts::noise`]; and where the sums are not made here, if they are not of this release.
    pub fn noise_by_name<'a>(
        self,
        paid: Charged,
        name: impl Fn(&Item) -> &'a str,
    ) -> Result<NoisyItems<Box<str>>, NotPaid> {
        let Some(exchange) = self.release.exchange().cloned() else {
            let NoisyItems { items, private } = self.noise(paid)?;
            let items = items.into_iter().map(|(item, count)| (name(&item).into(), count));
            return Ok(NoisyItems { items: items.collect(), private });
        };
        let Self { plan, release, gathered, .. } = self;
        let gathered = match gathered {
            Gathered::Counts(counts) => Counted::Once(
                counts
                    .into_iter()
                    .map(|(item, count)| (name(&item).as_bytes().into(), count))
                    .collect(),
            ),
            Gathered::Units { items, ends } => {
                let (names, units) = numbered(items, ends);
                let names = names.iter().map(|item| name(item).as_bytes().into()).collect();
                Counted::Units(names, units)
            }
        };
        let items = in_shards(&plan, &release, &exchange, gathered, paid)?;
        Ok(NoisyItems::of_steps(&plan, items, release.is_private()))
    }
}

/// Noise on counts, one after another.
pub(super) fn one_by_one<Item>(
    noise: &IntegerNoise,
    random: &StepRandom,
) -> impl FnMut((Item, u64)) -> (Item, i64) {
    let mut random = random.shard(0);
    move |(item, count)| {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        (item, count.saturating_add(noise.draw(&mut random)))
    }
}

/// What reaches the threshold, the largest first.
pub(super) fn above<Item>(plan: &ItemsPlan, noisy: Vec<(Item, i64)>) -> Vec<(Item, i64)> {
    let mut items: Vec<(Item, i64)> =
        noisy.into_iter().filter(|(_, noisy)| *noisy >= plan.threshold).collect();
    // Stable: items of equal noisy counts stay in their own order.
    items.sort_by_key(|(_, noisy)| std::cmp::Reverse(*noisy));
    items
}

/// The noisy sums of all items, in their own order.
fn in_rounds<Item: Ord + Clone + Send + Sync>(
    items: Vec<Item>,
    ends: Vec<usize>,
    rounds: &Rounds,
    random: &StepRandom,
) -> Vec<(Item, i64)> {
    let (names, units) = numbered(items, ends);
    let sums = rounds.sums(&units, random);
    names.into_iter().zip(sums).collect()
}

/// The distinct items in their order, and the units by the numbers of these.
fn numbered<Item: Ord + Clone + Send + Sync>(
    items: Vec<Item>,
    ends: Vec<usize>,
) -> (Vec<Item>, Numbered) {
    let mut names = items.clone();
    names.par_sort_unstable();
    names.dedup();
    // Every item is among the names.
    let number = |item: &Item| names.binary_search(item).unwrap_or_default() as u32;
    // Few items are not worth a second thread.
    let numbers = items.par_chunks(1 << 16).flat_map_iter(|items| items.iter().map(number));
    let numbers =
        if items.len() <= 1 << 16 { items.iter().map(number).collect() } else { numbers.collect() };
    drop(items);
    let units = Numbered { items: names.len(), numbers, ends };
    (names, units)
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
    fn of_steps(plan: &ItemsPlan, items: Vec<(Item, i64)>, private: bool) -> Self {
        let items = items.into_iter().map(|(item, noisy)| (item, noisy as f64 * plan.step));
        Self { items: items.collect(), private }
    }

    /// The items, the one of the largest noisy count first.
    pub fn items(&self) -> &[(Item, f64)] {
        &self.items
    }

    /// Whether nobody can know the noise.
    pub fn is_private(&self) -> bool {
        self.private
    }
}
