//! The keys of ranges of rows, and the seal of what was paid for.

use super::MOST_RANGES;
use crate::buckets::{BatchOrder, PartError};
use crate::random::{NumberedKeys, Origin, RandomSource, StreamKey};
use organza_ledger::KeyFingerprint;
use std::ops::Range;

/// Bytes of a key.
const KEY: usize = 32;
/// Bytes of a seal.
const SEAL: usize = 16;

/// By which a driver seals what whoever holds rows may draw noise for.
///
/// # Privacy
/// A seal is the [public name](RandomSource::fingerprint) of the key that the message [names](RandomSource::named) under a key of its own: 128
/// pseudorandom bits, which nobody without that key can give.
#[derive(Clone)]
pub(super) struct Seal(RandomSource);

impl Seal {
    /// That of a purpose.
    pub(super) fn of(purpose: &RandomSource) -> Self {
        Self(purpose.named("seal of steps"))
    }

    fn name(&self, message: &[u8]) -> KeyFingerprint {
        self.0.named_by(message).fingerprint()
    }

    /// The message with its seal.
    pub(super) fn seal(&self, mut message: Vec<u8>) -> Vec<u8> {
        message.extend(self.name(&message).bytes());
        message
    }

    /// The message, if it was sealed.
    pub(super) fn opened<'a>(&self, sealed: &'a [u8]) -> Result<&'a [u8], PartError> {
        let (message, name) = sealed.split_last_chunk::<SEAL>().ok_or(PartError::NotSealed)?;
        match self.name(message) == KeyFingerprint::new(*name) {
            true => Ok(message),
            false => Err(PartError::NotSealed),
        }
    }
}

/// The keys of some ranges, by which whoever holds their rows draws the noise on them.
///
/// # Privacy
/// Whoever has them can take the noise off the rows of these ranges, and off no others: see [`ranges`](crate::ranges).
#[derive(Clone)]
pub struct RangeKeys {
    pub(super) seal: Seal,
    pub(super) ranges: NumberedKeys,
}

impl RangeKeys {
    /// Those of `ranges`, below the key of a purpose.
    pub(super) fn of(purpose: &RandomSource, ranges: Range<u16>) -> Self {
        let ranges = NumberedKeys::of(purpose, "rows of range", ranges);
        Self { seal: Seal::of(purpose), ranges }
    }

    /// The ranges.
    pub fn ranges(&self) -> Range<u16> {
        self.ranges.places()
    }

    /// The keys one after another, to be handed to whoever holds the rows of these ranges and to nobody else.
    pub fn expose(&self) -> Vec<u8> {
        [&self.seal.0.key().expose()[..], &self.ranges.expose()].concat()
    }

    /// Keys that were handed over; `None` if these are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (seal, ranges) = bytes.split_first_chunk::<KEY>()?;
        let seal = RandomSource::resume(StreamKey::from_bytes(*seal), Origin::OperatingSystem);
        let ranges = NumberedKeys::from_bytes(ranges, MOST_RANGES as u16)?;
        Some(Self { seal: Seal(seal), ranges })
    }

    /// The step that a driver opens.
    ///
    /// # Errors
    /// If no driver of this run sealed it.
    pub fn opened(&self, opening: &[u8]) -> Result<PaidOrder, PartError> {
        Ok(PaidOrder(BatchOrder::from_bytes(self.seal.opened(opening)?)?))
    }
}

impl std::fmt::Debug for RangeKeys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "RangeKeys({:?})", self.ranges())
    }
}

/// The order of a step whose driver has seen the proof of its charge. Only [`RangeKeys::opened`] makes it, of what a
/// [`PaidStep`](super::PaidStep) sealed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaidOrder(BatchOrder);

impl PaidOrder {
    /// The order.
    pub fn order(&self) -> BatchOrder {
        self.0
    }
}
