//! Whole-number sums of a shard, without a plan: what can be added up by whoever has them.

use super::bytes::{Reader, Writer};
use crate::wide::WideNumbers;

/// More cells in places of their own than any plan has.
const MOST_PLACES: u64 = 1 << 28;

/// The sums of the units of a shard.
///
/// # Proof
/// *Neither the order of the units nor how they are parted into shards matters, at any size of the sums.* Counts are not
/// negative and stop at the largest number M: with a + b short for min(a + b, M) both (a + b) + c and a + (b + c) are
/// min(a + b + c, M), by cases, whether or not the inner sum reaches M. Sums in places are numbers of 128 bits, which no data
/// fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sums {
    /// By cell, each once, in their order; not negative.
    Counts(Vec<(u64, u64)>),
    /// All cells in their places, of either sign.
    Places(WideNumbers),
    /// By name, each once, in their order; not negative.
    Named(Vec<(Box<[u8]>, Named)>),
}

/// The sum of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) sum: u64,
    /// The shards in which it occurs, in their order, where that is told: so that a worker gets nothing of the names of others.
    pub(crate) shards: Vec<u32>,
}

impl Sums {
    /// Of the units of both, which have none in common; none if they are not of one kind.
    pub(crate) fn joined(self, other: Self) -> Option<Self> {
        Some(match (self, other) {
            (Self::Counts(one), Self::Counts(other)) => {
                Self::Counts(merged(one, other, |sum, more| *sum = sum.saturating_add(more)))
            }
            (Self::Named(one), Self::Named(other)) => {
                Self::Named(merged(one, other, |one, mut other| {
                    one.sum = one.sum.saturating_add(other.sum);
                    one.shards.append(&mut other.shards);
                    one.shards.sort_unstable();
                    one.shards.dedup();
                }))
            }
            (Self::Places(mut one), Self::Places(other)) if one.len() == other.len() => {
                one.join(&other);
                Self::Places(one)
            }
            _ => return None,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        match self {
            Self::Counts(cells) => {
                writer.bytes(&[0]);
                writer.number(cells.len() as u64);
                let mut next = 0;
                for (cell, sum) in cells {
                    writer.number(cell - next);
                    writer.number(*sum);
                    next = cell.saturating_add(1);
                }
            }
            Self::Places(sums) => {
                writer.bytes(&[1]);
                writer.number(sums.len() as u64);
                let mut place = 0;
                while place < sums.len() {
                    let sum = sums.get(place);
                    writer.signed(sum);
                    // Of zeros, how many there are.
                    let zeros = (place..sums.len()).take_while(|at| sums.get(*at) == 0).count();
                    if sum == 0 {
                        writer.number(zeros as u64);
                    }
                    place += zeros.max(1);
                }
            }
            Self::Named(names) => {
                writer.bytes(&[2]);
                writer.number(names.len() as u64);
                for (name, Named { sum, shards }) in names {
                    writer.name(name);
                    writer.number(*sum);
                    write_shards(shards, writer);
                }
            }
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let [kind] = reader.array()?;
        Some(match kind {
            0 => {
                let mut next = Some(0_u64);
                let count = reader.count()?;
                let mut cells = Vec::with_capacity(count);
                for _ in 0..count {
                    let cell = next?.checked_add(reader.number()?)?;
                    cells.push((cell, reader.number()?));
                    next = cell.checked_add(1);
                }
                Self::Counts(cells)
            }
            1 => {
                let length = reader.number().filter(|length| *length <= MOST_PLACES)? as usize;
                let mut sums = WideNumbers::zeros(0);
                while sums.len() < length {
                    match reader.signed()? {
                        0 => {
                            let run = usize::try_from(reader.number()?).ok()?;
                            let left = length - sums.len();
                            sums.push_zeros((1..=left).contains(&run).then_some(run)?);
                        }
                        sum => sums.push(sum),
                    }
                }
                Self::Places(sums)
            }
            2 => {
                let count = reader.count()?;
                let mut names: Vec<(Box<[u8]>, Named)> = Vec::with_capacity(count);
                for _ in 0..count {
                    let name = reader.name()?;
                    if names.last().is_some_and(|(last, _)| **last >= *name) {
                        return None;
                    }
                    let named = Named { sum: reader.number()?, shards: read_shards(reader)? };
                    names.push((name.into(), named));
                }
                Self::Named(names)
            }
            _ => return None,
        })
    }
}

/// A list of shards in their order.
pub(crate) fn write_shards(shards: &[u32], writer: &mut Writer) {
    writer.number(shards.len() as u64);
    let mut next = 0;
    for shard in shards {
        writer.number(u64::from(*shard) - next);
        next = u64::from(*shard) + 1;
    }
}

pub(crate) fn read_shards(reader: &mut Reader<'_>) -> Option<Vec<u32>> {
    let mut next = 0_u64;
    let mut shards = Vec::new();
    for _ in 0..reader.count()? {
        let shard = next.checked_add(reader.number()?)?;
        shards.push(u32::try_from(shard).ok()?);
        next = shard + 1;
    }
    Some(shards)
}

/// Two lists in their orders as one.
fn merged<Key: Ord, Value>(
    one: Vec<(Key, Value)>,
    other: Vec<(Key, Value)>,
    join: impl Fn(&mut Value, Value),
) -> Vec<(Key, Value)> {
    let mut all = Vec::with_capacity(one.len() + other.len());
    let (mut one, mut other) = (one.into_iter().peekable(), other.into_iter().peekable());
    while let (Some((left, _)), Some((right, _))) = (one.peek(), other.peek()) {
        let order = left.cmp(right);
        let mut entry = if order.is_le() { one.next() } else { other.next() };
        if order.is_eq()
            && let (Some((_, sum)), Some((_, more))) = (&mut entry, other.next())
        {
            join(sum, more);
        }
        all.extend(entry);
    }
    all.extend(one);
    all.extend(other);
    all
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn again(sums: &Sums) -> Option<Sums> {
        let mut writer = Writer::default();
        sums.write(&mut writer);
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes);
        let read = Sums::read(&mut reader)?;
        reader.is_at_end().then_some(read)
    }

    fn wide(numbers: &[i128]) -> WideNumbers {
        let mut wide = WideNumbers::zeros(0);
        numbers.iter().for_each(|number| wide.push(*number));
        wide
    }

    /// Counts with sums near the largest number, so that they stop there.
    fn counts() -> impl Strategy<Value = Sums> {
        let sum = prop_oneof![0_u64..9, Just(u64::MAX - 3), Just(u64::MAX)];
        proptest::collection::btree_map(0_u64..12, sum, 0..8)
            .prop_map(|cells| Sums::Counts(cells.into_iter().collect()))
    }

    fn places() -> impl Strategy<Value = Sums> {
        let sum = prop_oneof![3 => Just(0), 1 => any::<i64>().prop_map(i128::from), 1 => -(1_i128 << 80)..1 << 80];
        proptest::collection::vec(sum, 9).prop_map(|sums| Sums::Places(wide(&sums)))
    }

    fn named() -> impl Strategy<Value = Sums> {
        let shards = proptest::collection::btree_set(0_u32..9, 0..4);
        let named = (any::<u64>(), shards)
            .prop_map(|(sum, shards)| Named { sum, shards: shards.into_iter().collect() });
        proptest::collection::btree_map("[ab]{0,2}", named, 0..6).prop_map(|names| {
            let names = names.into_iter();
            Sums::Named(names.map(|(name, named)| (name.into_bytes().into(), named)).collect())
        })
    }

    proptest! {
        /// The twin, which adds up modulo 2^64 what is not negative, is caught: see below.
        #[test]
        fn parts_are_joined_in_any_order(
            all in prop_oneof![
                proptest::collection::vec(counts(), 3),
                proptest::collection::vec(places(), 3),
                proptest::collection::vec(named(), 3),
            ],
        ) {
            let [one, two, three] = <[Sums; 3]>::try_from(all).unwrap();
            let left = one.clone().joined(two.clone()).unwrap().joined(three.clone()).unwrap();
            let right = three.joined(one).unwrap().joined(two).unwrap();
            prop_assert_eq!(&left, &right);
            prop_assert_eq!(again(&left), Some(right));
        }
    }

    #[test]
    fn counts_stop_at_the_largest_number() {
        let at = |sum| Sums::Counts(vec![(5, sum)]);
        let all = at(u64::MAX - 1).joined(at(3)).unwrap();
        assert_eq!(all, at(u64::MAX));
        // The twin would let a person take the others' counts away.
        assert_ne!(all, at((u64::MAX - 1).wrapping_add(3)));
    }

    #[test]
    fn sums_of_two_kinds_or_sizes_are_not_joined() {
        let (counts, places) = (Sums::Counts(Vec::new()), Sums::Places(wide(&[0; 3])));
        assert!(counts.joined(places.clone()).is_none());
        assert!(places.joined(Sums::Places(wide(&[0; 4]))).is_none());
    }

    #[test]
    fn names_out_of_order_and_zeros_without_end_are_refused() {
        let name = |name: &str| (name.as_bytes().into(), Named { sum: 1, shards: vec![0, 7] });
        assert!(again(&Sums::Named(vec![name("a"), name("b")])).is_some());
        assert!(again(&Sums::Named(vec![name("b"), name("a")])).is_none());
        assert!(again(&Sums::Named(vec![name("b"), name("b")])).is_none());
        let zeros = [1, 4, 0, 9];
        assert!(Sums::read(&mut Reader::new(&zeros)).is_none());
    }
}
