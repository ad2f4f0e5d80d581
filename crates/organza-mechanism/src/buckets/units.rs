//! Which units of a shard are in which bucket, and where in it.

use super::{BUCKETS, bucket};
use std::ops::Range;

/// The units of some buckets, in each bucket in the order of their names. *Not private.*
#[derive(Clone)]
pub struct BucketUnits {
    buckets: Range<u16>,
    /// The numbers of the units, bucket after bucket.
    units: Vec<u64>,
    /// The buckets that are not empty, with the place after their last unit.
    filled: Vec<(u16, usize)>,
    left_out: u64,
}

impl BucketUnits {
    /// The units that fall into `buckets`, of those whose names these are: unit 0 has the first name. All others are left
    /// out, and so is any but the first of several units of one name.
    ///
    /// # Privacy
    /// A name is one unit: if it joined twice, it would be clipped twice, and move the sum by twice what the noise is for. Which
    /// of them counts follows its own rows alone.
    pub fn by_name<N: AsRef<[u8]>>(
        names: impl IntoIterator<Item = N>,
        buckets: Range<u16>,
    ) -> Self {
        let buckets = buckets.start..buckets.end.min(BUCKETS);
        let mut named = Vec::new();
        let mut left_out = 0;
        for (unit, name) in (0..).zip(names) {
            let bucket = bucket(name.as_ref());
            match buckets.contains(&bucket) {
                true => named.push((bucket, name, unit)),
                false => left_out += 1,
            }
        }
        named.sort_by(|one, other| {
            let of_name = || one.1.as_ref().cmp(other.1.as_ref());
            one.0.cmp(&other.0).then_with(of_name).then(one.2.cmp(&other.2))
        });
        let all = named.len();
        named.dedup_by(|later, first| later.1.as_ref() == first.1.as_ref());
        left_out += (all - named.len()) as u64;
        let units = named.iter().map(|(_, _, unit)| *unit).collect();
        let mut filled: Vec<(u16, usize)> = Vec::new();
        for (place, (bucket, ..)) in named.iter().enumerate() {
            match filled.last_mut().filter(|(last, _)| last == bucket) {
                Some((_, end)) => *end = place + 1,
                None => filled.push((*bucket, place + 1)),
            }
        }
        Self { buckets, units, filled, left_out }
    }

    /// The buckets.
    pub fn buckets(&self) -> Range<u16> {
        self.buckets.clone()
    }

    /// How many units there are in them.
    pub fn count(&self) -> u64 {
        self.units.len() as u64
    }

    /// How many units were left out, as others have their buckets or an earlier one has their name: none, where a shard was made
    /// of just these buckets.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The buckets that are not empty, each with the numbers of its units in order.
    pub(super) fn filled(&self) -> impl Iterator<Item = (u16, &[u64])> {
        let starts = std::iter::once(0).chain(self.filled.iter().map(|(_, end)| *end));
        starts.zip(&self.filled).map(|(start, (bucket, end))| (*bucket, &self.units[start..*end]))
    }
}

/// Without who is in it.
impl std::fmt::Debug for BucketUnits {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "BucketUnits({:?})", self.buckets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn listed(units: &BucketUnits, names: &[String]) -> BTreeMap<u16, Vec<String>> {
        let named =
            |units: &[u64]| units.iter().map(|unit| names[*unit as usize].clone()).collect();
        units.filled().map(|(bucket, units)| (bucket, named(units))).collect()
    }

    /// Whoever has which buckets, and whatever the order of the units: the same lists.
    #[test]
    fn lists_follow_names_alone() {
        let names: Vec<String> = (0..20_000).map(|unit| format!("unit {unit}")).collect();
        let mut turned = names.clone();
        turned.reverse();
        let all = listed(&BucketUnits::by_name(&names, 0..BUCKETS), &names);
        assert!(all.values().all(|units| units.is_sorted()));
        assert_eq!(all.values().map(Vec::len).sum::<usize>(), names.len());
        let mut parts = BTreeMap::new();
        for range in [0..17, 17..4_000, 4_000..BUCKETS] {
            let units = BucketUnits::by_name(&turned, range);
            assert_eq!(units.count() + units.left_out(), 20_000);
            parts.extend(listed(&units, &turned));
        }
        assert!(all == parts);
    }

    #[test]
    fn a_unit_that_leaves_moves_no_other_bucket() {
        let names: Vec<String> = (0..9_000).map(|unit| format!("unit {unit}")).collect();
        let before = listed(&BucketUnits::by_name(&names, 0..BUCKETS), &names);
        let left: Vec<String> = names.iter().filter(|name| *name != "unit 77").cloned().collect();
        let after = listed(&BucketUnits::by_name(&left, 0..BUCKETS), &left);
        let moved =
            before.iter().filter(|(bucket, units)| after.get(bucket) != Some(units)).count();
        assert_eq!(moved, 1);
    }

    /// In the twin, where names are not compared, whoever has two units joins twice.
    #[test]
    fn a_name_is_one_unit() {
        let names = ["ann", "bob", "ann", "cid", "ann"].map(str::to_owned);
        let units = BucketUnits::by_name(&names, 0..BUCKETS);
        let kept: Vec<u64> = {
            let mut kept: Vec<u64> = units.filled().flat_map(|(_, units)| units.to_vec()).collect();
            kept.sort_unstable();
            kept
        };
        assert_eq!((kept, units.left_out()), (vec![0, 1, 3], 2));
    }

    /// The hash is a promise: a change of it makes other batches of the same seed.
    #[test]
    fn buckets_are_stable() {
        let found = ["", "a", "unit 77"].map(|name| bucket(name.as_bytes()));
        assert_eq!(found, [2_203, 248, 121]);
    }
}
