//! Batches whose units are in many places: units fall into fixed buckets, each with a key of its own.
//!
//! ```text
//! whoever holds the key of the run               whoever holds units, and the keys of their buckets
//! Sampler ─worker_settings(), bucket_keys()─▶    BucketSampler
//!         ─open(step, &Charged)─▶ PaidStep ─order()─▶ BucketBatch ─(gradients, clip S1)─▶ bytes
//! ```
//!
//! The bytes go to whoever holds the rows: see [`ranges`](crate::ranges).
//!
//! # Privacy
//! **The law.** A unit's bucket is a public hash of its name. Within a bucket the units are in the order of their names,
//! and join by [`poisson_subset`](crate::sample::poisson_subset) with the rate q of the plan: each of them independently
//! with probability q. Each bucket and step has a stream of its own, which shares no bits with any other. So with units
//! u of buckets c(u) and streams R_c that are independent,
//!
//! ```text
//! P(batch = B) = product over buckets c of P(members of c = B within c)
//!              = product over c of  product over u in c of  q^[u in B] (1 - q)^[u not in B]
//!              = q^|B| (1 - q)^(n - |B|),
//! ```
//!
//! which is Poisson sampling with rate q of all n units, whatever the names are: what the plan's event states. Names
//! decide which stream a unit is drawn from, and where in it, and the law is the same from every place. One unit more or
//! less moves those after it in its bucket to other places of the same stream, as it moves all units after it in a
//! [`Sampler`](crate::Sampler), and leaves their law as it was.
//!
//! **The keys.** The key of a bucket is [named](crate::RandomSource::named) under the key of the purpose, by a function
//! that is pseudorandom under that key (a CBC-MAC of AES-256, on blocks that give no substream). So keys of some buckets tell
//! nothing of another bucket's, of the key of the purpose, or of the noise, which is drawn under blocks of its own: whoever
//! computes gradients can neither see who joins elsewhere nor take noise off. A type for each holder says so: a
//! [`BucketSampler`] has no way to select or to draw noise, and hands out bytes that only a [`GatheredBatch`](crate::ranges::GatheredBatch) takes, which
//! in turn is made for a step that was paid for alone.
//!
//! **What is not hidden.** Whoever has the key of a bucket knows who of its units joined each batch. Toward
//! him steps are not amplified by sampling for these units, whose data he has. And a part is a sum without noise: as private as the
//! data.
//!
//! **Bits.** Who joins and what chance decides of a unit follow the unit's bucket and its place there; parts are whole numbers
//! and are joined as such. So the joined sum does not depend on how many workers there were, how many threads each had,
//! or which part came first.

mod bytes;
mod keys;
mod sampler;
#[cfg(test)]
mod tests;
mod units;

pub use bytes::{PartError, parts_of};
pub(crate) use bytes::{PartHeader, Reader, behind_length, read_part};
pub use keys::BucketKeys;
pub use sampler::{BatchOrder, BucketBatch, BucketSampler, WorkerSettings};
pub use units::BucketUnits;

/// How many buckets there are: many more than workers, so that they can be divided evenly.
pub const BUCKETS: u16 = 4_096;

/// The bucket of the unit with this name: FNV-1a over its bytes, stirred by the finalizer of SplitMix64. It is public, and
/// the same for ever.
pub fn bucket(name: &[u8]) -> u16 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    let hash = name.iter().fold(BASIS, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
    let stirred = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let stirred = (stirred ^ stirred >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((stirred ^ stirred >> 31) % u64::from(BUCKETS)) as u16
}
