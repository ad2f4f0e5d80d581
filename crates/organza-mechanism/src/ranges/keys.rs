//! The keys of ranges of rows, and seals of what was paid for.

use super::MOST_RANGES;
use crate::buckets::{BatchOrder, PartError};
use crate::random::{NumberedKeys, RandomSource};
use organza_ledger::KeyFingerprint;
use std::ops::Range;

/// Bytes of a seal.
const SEAL: usize = 16;

/// The keys of some ranges, by which whoever holds their rows draws the noise on them.
///
/// # Privacy
/// Whoever has them can take the noise off the rows of these ranges, and off no others: see [`ranges`](crate::ranges).
///
/// What the driver tells whoever has them is sealed: with the [public name](RandomSource::fingerprint) of the key that the message
/// [names](RandomSource::named) under a key of the first of the ranges, which is 128 pseudorandom bits that nobody without that key can give.
#[derive(Clone)]
pub struct RangeKeys(pub(super) NumberedKeys);

impl RangeKeys {
    /// Those of `ranges`, below the key of a purpose.
    pub(super) fn of(purpose: &RandomSource, ranges: Range<u16>) -> Self {
        Self(NumberedKeys::of(purpose, "rows of range", ranges))
    }

    /// The ranges.
    pub fn ranges(&self) -> Range<u16> {
        self.0.places()
    }

    /// The keys one after another, to be handed to whoever holds the rows of these ranges and to nobody else.
    pub fn expose(&self) -> Vec<u8> {
        self.0.expose()
    }

    /// Keys that were handed over; `None` if these are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        NumberedKeys::from_bytes(bytes, MOST_RANGES as u16).map(Self)
    }

    fn seal_of(&self, message: &[u8]) -> Option<KeyFingerprint> {
        let first = self.0.source(self.ranges().start)?;
        Some(first.named("seal of steps").named_by(message).fingerprint())
    }

    /// The message with its seal.
    pub(super) fn seal(&self, mut message: Vec<u8>) -> Vec<u8> {
        if let Some(seal) = self.seal_of(&message) {
            message.extend(seal.bytes());
        }
        message
    }

    /// The message, if it was sealed.
    pub(super) fn unsealed<'a>(&self, sealed: &'a [u8]) -> Result<&'a [u8], PartError> {
        let (message, seal) = sealed.split_last_chunk::<SEAL>().ok_or(PartError::NotSealed)?;
        match self.seal_of(message) == Some(KeyFingerprint::new(*seal)) {
            true => Ok(message),
            false => Err(PartError::NotSealed),
        }
    }

    /// The step that a driver opens.
    ///
    /// # Errors
    /// If no driver of this run sealed it.
    pub fn opened(&self, opening: &[u8]) -> Result<PaidOrder, PartError> {
        Ok(PaidOrder(BatchOrder::from_bytes(self.unsealed(opening)?)?))
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
