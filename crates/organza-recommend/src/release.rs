//! What leaves the data: noisy counts of items, and a noisy table of their pairs. By the usual method nothing else does.
//!
//! # Privacy
//! A person is the unit: all of their events together. Counts: the row of a person is scaled to L2 norm 1, so that one person
//! moves the counts by at most 1 in L2; where which items occur is itself private, only counts above a bar that hides what a
//! single person has are released ([`ItemsPlan`]). The counts then choose the items of the table, their weights and the
//! direction of what everybody likes. The table: the cells of a person have L2 norm 1, whatever these are
//! ([`GramPlan`]). So both releases are Gaussian mechanisms of sensitivity 1, the second one chosen by the first among such
//! that all cost the same; they compose as if they were made at once. The number of persons is not released: nothing divides by
//! it.

use crate::fit::Released;
use crate::histories::{FULL_WEIGHT, Histories};
use faer::Mat;
use organza_ledger::{Charge, Charged, Event, Neighbouring};
use organza_mechanism::{
    Bound, CountNoise, GramPlan, GramSettings, HistogramPlan, HistogramSettings, ItemCounts,
    ItemRule, ItemSettings, ItemsPlan, LARGEST_DIRECTION, LARGEST_ENTRY, NotPaid, PlanError,
    RandomSource, UnitCounts,
};
use organza_progress::{Size, Stage};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Of a person more items than this do not count where items are private.
const MOST_PER_PERSON: u64 = 1 << 16;
/// The most threads that sum: each has a table of its own.
const MOST_SUMS: usize = 8;
/// How noise weighs against coverage.
const NOISE_SCALE: f64 = 6e-4;
const NOISE_POWER: f64 = 1.63;
/// Items beyond so many are in the table only if their counts are so many deviations of its cells: on Gowalla, the table is better
/// without more items where they are less clear, and with noise for twenty times as many persons 4,096 items are better by a third.
const USUAL_ITEMS: usize = 2_000;
const CLEAR: f64 = 20.0;
/// Halvings of a ratio, after which a weight is as good as exact.
const HALVINGS: usize = 40;

/// Public numbers by which a budget is split and items are weighted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The part of the budget for the counts of items, as a part of 1 / deviation^2.
    pub item_share: f64,
    /// The most items of the table.
    pub most_items: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self { item_share: 0.1, most_items: 4_096 }
    }
}

/// Whether the names of items are public.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Names {
    /// All of the catalogue was declared.
    Public,
    /// Which items occur is private; the chance that a person alone shows one is at most this.
    Private { delta: f64 },
}

/// The plan of both releases at a noise.
#[derive(Clone, Debug)]
pub(crate) struct ReleasePlan {
    rules: Rules,
    neighbouring: Neighbouring,
    items: ItemRelease,
    pair_noise: f64,
}

#[derive(Clone, Debug)]
enum ItemRelease {
    Public(CountNoise),
    Private(Box<ItemsPlan>),
}

/// Items with their noisy counts, the largest first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NoisyItems {
    pub(crate) items: Vec<u32>,
    pub(crate) counts: Vec<f64>,
    pub(crate) deviation: f64,
    /// The sum of all counts, also of those that are not kept.
    pub(crate) total: f64,
}

impl ReleasePlan {
    /// At a noise that all of it costs as much as: one Gaussian mechanism of this multiplier.
    pub(crate) fn new(
        rules: Rules,
        names: Names,
        neighbouring: Neighbouring,
        noise: f64,
    ) -> Result<Self, PlanError> {
        let item_noise = noise / rules.item_share.sqrt();
        let items = match names {
            Names::Public => {
                ItemRelease::Public(CountNoise::RoundedGaussian { multiplier: item_noise })
            }
            Names::Private { delta } => {
                ItemRelease::Private(Box::new(ItemsPlan::new(ItemSettings {
                    items_per_unit: MOST_PER_PERSON,
                    neighbouring,
                    rule: ItemRule::AdaptiveGaussian { multiplier: item_noise, delta },
                })?))
            }
        };
        let pair_noise = noise / (1.0 - rules.item_share).sqrt();
        Ok(Self { rules, neighbouring, items, pair_noise })
    }

    /// What the counts cost, whatever the items turn out to be.
    pub(crate) fn item_event(&self) -> Result<Event, PlanError> {
        Ok(match &self.items {
            ItemRelease::Public(_) => self.counts(1)?.event(),
            ItemRelease::Private(plan) => plan.event(),
        })
    }

    /// What the table costs, whatever the items turn out to be.
    pub(crate) fn pair_event(&self) -> Result<Event, PlanError> {
        Ok(self.pairs(1)?.event())
    }

    /// The items of the model.
    pub(crate) fn kept(&self, items: NoisyItems) -> NoisyItems {
        items.kept(self.rules.most_items, self.pair_noise)
    }

    /// The noise of what comes after the counts: one Gaussian mechanism of this multiplier.
    pub(crate) fn rest_noise(&self) -> f64 {
        self.pair_noise
    }

    fn counts(&self, cells: usize) -> Result<HistogramPlan, PlanError> {
        let ItemRelease::Public(noise) = self.items else {
            unreachable!("asked where the items are public")
        };
        HistogramPlan::new(HistogramSettings {
            dense: 0,
            cells: cells.max(1) as u64,
            neighbouring: self.neighbouring,
            bound: Bound::Norm(1.0),
            noise,
            bar: None,
        })
    }

    fn pairs(&self, columns: usize) -> Result<GramPlan, PlanError> {
        GramPlan::new(GramSettings {
            columns: columns.max(1) as u32,
            neighbouring: self.neighbouring,
            multiplier: self.pair_noise,
        })
    }

    /// Charges for the counts and releases them. Released items that nobody here has, where counts were made elsewhere, get their places after
    /// the `names` that are here.
    pub(crate) fn release_items<E: From<PlanError> + From<NotPaid>>(
        &self,
        histories: &Histories,
        names: &mut Vec<String>,
        source: &RandomSource,
        charge: impl FnOnce(Charge) -> Result<Charged, E>,
    ) -> Result<NoisyItems, E> {
        match &self.items {
            ItemRelease::Public(_) => {
                let plan = self.counts(histories.items())?;
                let release = plan.release("items", source);
                let charged = charge(release.charge())?;
                let mut histogram = plan.histogram();
                let mut unit = UnitCounts::new();
                let persons = if release.looks_at_units() { histories.persons() } else { 0 };
                let stage = Stage::begin("counting items", Size::Hidden(persons as u64));
                for row in histories.rows().take(persons) {
                    stage.add(1);
                    // Entries of at least 1, so that every row is longer than the bound and is scaled to it.
                    row.iter()
                        .for_each(|(item, weight)| unit.add(u64::from(*item), f64::from(*weight)));
                    histogram.add(&mut unit);
                }
                let noisy = histogram.noise(&release, charged)?;
                let mut all: Vec<(u32, f64)> =
                    noisy.cells().map(|(cell, count)| (cell as u32, count)).collect();
                all.truncate(histories.items());
                Ok(NoisyItems::sorted(all, plan.deviation()))
            }
            ItemRelease::Private(plan) => {
                let release = plan.release("items", source);
                let charged = charge(release.charge())?;
                let mut counts = plan.counts(release);
                if counts.looks_at_units() {
                    add_persons(histories, names, &mut counts);
                }
                let noisy = counts.noise_by_name(charged, |item| &names[*item as usize])?;
                Ok(NoisyItems::of_names(noisy.items(), names, plan.deviation()))
            }
        }
    }

    /// Charges for the table and releases it: of rests beside what everybody likes, or, if it is `plain`, of rows as they are.
    pub(crate) fn release_pairs<E: From<PlanError> + From<NotPaid>>(
        &self,
        histories: &Histories,
        items: &NoisyItems,
        plain: bool,
        source: &RandomSource,
        charge: impl FnOnce(Charge) -> Result<Charged, E>,
    ) -> Result<Released, E> {
        let plan = self.pairs(items.items.len())?;
        let deviation = plan.deviation();
        let (weights, mut direction) = match plain {
            true => (vec![1.0; items.items.len()], vec![0.0; items.items.len()]),
            false => {
                let weights = weights(&items.counts, breadth(items, deviation));
                let popular =
                    items.counts.iter().zip(&weights).map(|(count, weight)| count * weight);
                let popular = popular.collect();
                (weights, popular)
            }
        };
        let most = direction.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let steps: Vec<u32> = direction
            .iter()
            .map(|entry| (entry / most * f64::from(LARGEST_DIRECTION)).round() as u32)
            .collect();
        let release = plan.release("pairs", source);
        let charged = charge(release.charge())?;
        let columns = Columns::new(histories.items(), &items.items, &weights);
        let parts = rayon::current_num_threads().clamp(1, MOST_SUMS);
        let persons = if release.looks_at_units() { histories.persons() } else { 0 };
        let each = persons.div_ceil(parts).max(1);
        let stage = Stage::begin("counting pairs of items", Size::Hidden(persons as u64));
        let sums: Vec<_> = (0..parts)
            .into_par_iter()
            .map(|part| {
                let mut sum = plan.sum(&steps);
                let mut row = Vec::new();
                for person in (part * each..(part + 1) * each).take_while(|it| *it < persons) {
                    stage.add(1);
                    columns.row(&histories.person(person), &mut row);
                    sum.add(&row);
                }
                sum
            })
            .collect();
        drop(stage);
        let sum = sums.into_iter().reduce(|one, other| one.merge(other));
        let noisy = sum.unwrap_or_else(|| plan.sum(&steps)).noise(&release, charged)?;
        let size = items.items.len();
        let mut table = Mat::zeros(size, size);
        for row in 0..size {
            for (place, cell) in noisy.row(row).iter().enumerate() {
                table[(row, row + place)] = f64::from(*cell);
                table[(row + place, row)] = f64::from(*cell);
            }
        }
        let norm = direction.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
        direction.iter_mut().for_each(|entry| *entry /= norm.max(f64::MIN_POSITIVE));
        let along = items.counts.iter().zip(&direction).map(|(count, entry)| count * entry);
        let cosines: f64 = along.sum();
        let usual = cosines / items.counts.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        Ok(Released { table, deviation, weights, direction, cosines, usual })
    }
}

/// Adds every person. Which items of a long history count follows from what is in it, by the names of items: not from the place of the person
/// among the others, which moves with them, nor from the numbers of items, which are others in every shard.
fn add_persons(histories: &Histories, names: &[String], counts: &mut ItemCounts<u32>) {
    let items = |person: u64| {
        let row = histories.person(person as usize);
        row.iter().map(|(item, _)| *item).collect::<Vec<u32>>()
    };
    // No name has a line end.
    let content = |person: u64| {
        let names = items(person).into_iter().map(|item| names[item as usize].as_str());
        names.flat_map(|name| [name, "\n"]).collect::<String>().into_bytes()
    };
    counts.add_units(histories.persons() as u64, content, items);
}

/// How many items the table should be about. More items cover more of what people do, but also make more noise: of n items
/// the noise ends at 2 s sqrt(n), and what stands out of it is in proportion to the sum of all counts. This number maximises
///
/// (sum of the first n counts) / (1 + s sqrt(n) / ([`NOISE_SCALE`] sum of all counts))^[`NOISE_POWER`].
///
/// Both constants were found on public data: MovieLens-1M at three levels of noise, and Gowalla at two.
fn breadth(items: &NoisyItems, deviation: f64) -> f64 {
    let total = items.total.max(items.counts.iter().sum());
    let mut covered = 0.0;
    let gain = |(number, count): (usize, &f64)| {
        covered += count;
        let noise = deviation * (number as f64).sqrt() / (NOISE_SCALE * total);
        (covered.ln() - NOISE_POWER * noise.ln_1p(), number)
    };
    let best = (1..).zip(&items.counts).map(gain).max_by(|one, other| one.0.total_cmp(&other.0));
    best.map_or(0.0, |(_, number)| number as f64)
}

/// Weights min(1, count / full), with the smallest `full` at which their squares sum to no more than `breadth`.
fn weights(counts: &[f64], breadth: f64) -> Vec<f64> {
    let at = |full: f64| counts.iter().map(move |count| (count / full).min(1.0));
    let sum = |full: f64| at(full).map(|weight| weight * weight).sum::<f64>();
    let least = counts.last().copied().unwrap_or(1.0);
    let (mut low, mut high) = (least, counts.first().copied().unwrap_or(1.0) * 1e3);
    if sum(low) > breadth {
        for _ in 0..HALVINGS {
            let middle = (low * high).sqrt();
            if sum(middle) > breadth { low = middle } else { high = middle }
        }
        return at(high).collect();
    }
    at(low).collect()
}

impl NoisyItems {
    /// Those that were released by name, in their order: equal counts in that of their names.
    fn of_names(released: &[(Box<str>, f64)], names: &mut Vec<String>, deviation: f64) -> Self {
        let known: HashMap<String, u32> = names.iter().cloned().zip(0..).collect();
        let place = |(name, _): &(Box<str>, f64)| {
            known.get(&**name).copied().unwrap_or_else(|| {
                names.push(name.to_string());
                names.len() as u32 - 1
            })
        };
        let items = released.iter().map(place).collect();
        let counts: Vec<f64> = released.iter().map(|(_, count)| *count).collect();
        let total = counts.iter().sum();
        Self { items, counts, deviation, total }
    }

    pub(crate) fn sorted(mut all: Vec<(u32, f64)>, deviation: f64) -> Self {
        all.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        let total = all.iter().map(|(_, count)| count).sum();
        let (items, counts) = all.into_iter().unzip();
        Self { items, counts, deviation, total }
    }

    /// The first ones, as far as they stand out of the noise; many only if they do clearly, for the noise of a table whose cells
    /// have this deviation.
    pub(crate) fn kept(mut self, most: usize, deviation: f64) -> Self {
        let above = |bar: f64| self.counts.partition_point(|count| *count > bar);
        let usual = above(CLEAR * deviation).max(USUAL_ITEMS);
        let kept = above(self.deviation).min(usual).min(most);
        self.items.truncate(kept);
        self.counts.truncate(kept);
        self
    }
}

/// Which column an item has, and the entry of a full weight there.
struct Columns(Vec<Option<(u32, u32)>>);

impl Columns {
    fn new(items: usize, kept: &[u32], weights: &[f64]) -> Self {
        let mut columns = vec![None; items];
        for ((column, item), weight) in (0_u32..).zip(kept).zip(weights) {
            let entry = (weight * f64::from(LARGEST_ENTRY)).round() as u32;
            columns[*item as usize] = Some((column, entry));
        }
        Self(columns)
    }

    /// The row of a person: a function of the person and of what was released.
    fn row(&self, person: &[(u32, u16)], row: &mut Vec<(u32, u32)>) {
        row.clear();
        row.extend(person.iter().filter_map(|(item, weight)| {
            let (column, entry) = self.0.get(*item as usize).copied().flatten()?;
            let entry = u64::from(entry) * u64::from(*weight) / u64::from(FULL_WEIGHT);
            (entry > 0).then_some((column, entry as u32))
        }));
        row.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use organza_ledger::testing::paid;

    /// Forty persons have the same five items, of which two count: the same two of all, whoever else there is and however items are
    /// numbered. The twin chooses by the place of a person among the others: there somebody more moves what these choose.
    #[test]
    fn which_items_of_a_person_count_depends_on_that_person() {
        let neighbouring = Neighbouring::AddRemove;
        let rule = ItemRule::Laplace { epsilon: 40.0, delta: 1e-3 };
        let settings = ItemSettings { items_per_unit: 2, neighbouring, rule };
        let plan = ItemsPlan::new(settings).unwrap();
        let names: Vec<String> = (0..9).map(|number| format!("item {number}")).collect();
        let counted = |names: &[String], rows: &[Vec<u32>], by_place: bool| {
            let histories = Histories::of_rows(names.len(), rows.iter().cloned());
            let release = plan.release("items", &RandomSource::from_seed(3));
            let mut counts = plan.counts(release.clone());
            match by_place {
                true => histories.rows().for_each(|row| counts.add(row.iter().map(|it| it.0))),
                false => add_persons(&histories, names, &mut counts),
            }
            let name = |item: &u32| names[*item as usize].as_str();
            let noisy = counts.noise_by_name(paid(release.charge()), name).unwrap();
            let mut found: Vec<_> = noisy
                .items()
                .iter()
                .map(|(name, count)| (name.to_string(), *count as i64))
                .collect();
            found.sort();
            found
        };
        let same = vec![vec![4, 5, 6, 7, 8]; 40];
        let more = [vec![vec![0, 1]], same.clone()].concat();
        let alone = counted(&names, &same, false);
        assert_eq!(alone.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [40, 40]);
        assert_eq!(counted(&names, &more, false), alone);
        // A shard knows these items alone.
        let others = vec![vec![0, 1, 2, 3, 4]; 40];
        assert_eq!(counted(&names[4..], &others, false), alone);
        assert_ne!(counted(&names, &more, true), counted(&names, &same, true));
    }
}
