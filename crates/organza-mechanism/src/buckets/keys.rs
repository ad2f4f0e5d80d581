//! The keys of buckets: what whoever holds their units needs to draw a batch, and no more.

use super::BUCKETS;
use crate::random::{NumberedKeys, Purpose, RandomSource, StepRandom};
use std::ops::Range;

/// The keys of some buckets, by which their units join batches and draw what chance decides of them.
///
/// # Privacy
/// They are as secret as the batches of these units, and say nothing about others' or about noise: see
/// [`buckets`](crate::buckets). Nothing can be drawn from them but by a [`BucketSampler`](crate::buckets::BucketSampler):
/// ```compile_fail,E0616
/// # use organza_mechanism::buckets::BucketKeys;
/// # fn noise(keys: BucketKeys) {
/// keys.0.source(0);
/// # }
/// ```
#[derive(Clone)]
pub struct BucketKeys(NumberedKeys);

impl BucketKeys {
    /// Those of `buckets`, below the key of a purpose.
    pub(super) fn of(purpose: &RandomSource, buckets: Range<u16>) -> Self {
        let buckets = buckets.start..buckets.end.min(BUCKETS);
        Self(NumberedKeys::of(purpose, "units of bucket", buckets))
    }

    /// The buckets.
    pub fn buckets(&self) -> Range<u16> {
        self.0.places()
    }

    /// The keys one after another, to be handed to whoever holds the units of these buckets and to nobody else.
    pub fn expose(&self) -> Vec<u8> {
        self.0.expose()
    }

    /// Keys that were handed over; `None` if these are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        NumberedKeys::from_bytes(bytes, BUCKETS).map(Self)
    }

    /// The randomness of a bucket in a step; `None` if the key of the bucket is not here.
    pub(super) fn step(&self, bucket: u16, purpose: Purpose, step: u64) -> Option<StepRandom> {
        Some(self.0.source(bucket)?.step(purpose, step))
    }
}

impl std::fmt::Debug for BucketKeys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "BucketKeys({:?})", self.buckets())
    }
}
