//! The keys of buckets: what whoever holds their units needs to draw a batch, and no more.

use super::BUCKETS;
use crate::random::{Origin, Purpose, RandomSource, StepRandom, StreamKey};
use std::ops::Range;

/// Bytes of a key.
const KEY: usize = 32;

/// The keys of some buckets, by which their units join batches and draw what chance decides of them.
///
/// # Privacy
/// They are as secret as the batches of these units, and say nothing about others' or about noise: see
/// [`buckets`](crate::buckets). Nothing can be drawn from them but by a [`BucketSampler`](crate::buckets::BucketSampler):
/// ```compile_fail,E0616
/// # use organza_mechanism::buckets::BucketKeys;
/// # fn noise(keys: BucketKeys) {
/// keys.sources[0].named("noise");
/// # }
/// ```
#[derive(Clone)]
pub struct BucketKeys {
    first: u16,
    sources: Vec<RandomSource>,
}

impl BucketKeys {
    /// Those of `buckets`, below the key of a purpose.
    pub(super) fn of(purpose: &RandomSource, buckets: Range<u16>) -> Self {
        let named = |bucket| purpose.named(&format!("units of bucket {bucket}"));
        Self {
            first: buckets.start,
            sources: (buckets.start..buckets.end.min(BUCKETS)).map(named).collect(),
        }
    }

    /// The buckets.
    pub fn buckets(&self) -> Range<u16> {
        self.first..self.first + self.sources.len() as u16
    }

    /// The keys one after another, to be handed to whoever holds the units of these buckets and to nobody else.
    pub fn expose(&self) -> Vec<u8> {
        let first = self.first.to_le_bytes();
        let keys = self.sources.iter().flat_map(|source| source.key().expose());
        first.iter().chain(keys).copied().collect()
    }

    /// Keys that were handed over; `None` if these are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (first, keys) = bytes.split_first_chunk::<2>()?;
        let first = u16::from_le_bytes(*first);
        let (keys, rest) = keys.as_chunks::<KEY>();
        if !rest.is_empty() || usize::from(first) + keys.len() > usize::from(BUCKETS) {
            return None;
        }
        // Where the key of the run came from is told to nobody by those of buckets.
        let source = |key: &[u8; KEY]| {
            RandomSource::resume(StreamKey::from_bytes(*key), Origin::OperatingSystem)
        };
        Some(Self { first, sources: keys.iter().map(source).collect() })
    }

    /// The randomness of a bucket in a step; `None` if the key of the bucket is not here.
    pub(super) fn step(&self, bucket: u16, purpose: Purpose, step: u64) -> Option<StepRandom> {
        let place = bucket.checked_sub(self.first)?;
        Some(self.sources.get(usize::from(place))?.step(purpose, step))
    }
}

impl std::fmt::Debug for BucketKeys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "BucketKeys({:?})", self.buckets())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bucket_has_a_key_of_its_own_whoever_holds_it() {
        let purpose = RandomSource::from_seed(7).named("training");
        let all = BucketKeys::of(&purpose, 0..BUCKETS);
        let mut keys: Vec<[u8; KEY]> = all.sources.iter().map(|it| *it.key().expose()).collect();
        keys.extend([*purpose.key().expose(), *RandomSource::from_seed(7).key().expose()]);
        let few = BucketKeys::from_bytes(&BucketKeys::of(&purpose, 90..93).expose()).expect("keys");
        assert_eq!(few.buckets(), 90..93);
        assert_eq!(few.expose()[2..], keys[90..93].concat());
        let word =
            |keys: &BucketKeys, bucket| Some(keys.step(bucket, Purpose::Batch, 3)?.shard(0).word());
        assert_eq!(word(&few, 91), word(&all, 91));
        assert!(word(&few, 93).is_none() && word(&few, 89).is_none());
        keys.sort_unstable();
        assert!(keys.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn what_are_no_keys_is_refused() {
        let good = BucketKeys::of(&RandomSource::from_seed(7), 4_090..BUCKETS).expose();
        assert!(BucketKeys::from_bytes(&good).is_some());
        assert!(BucketKeys::from_bytes(&good[..good.len() - 1]).is_none());
        let beyond = [&[0xfb, 0x0f], &good[2..]].concat();
        assert!(BucketKeys::from_bytes(&beyond).is_none(), "4091 + 6 keys");
        assert!(BucketKeys::from_bytes(&[]).is_none());
    }
}
