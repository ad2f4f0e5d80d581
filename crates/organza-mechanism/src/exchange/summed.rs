//! What all sums have in common, wherever they are made: one way from units to noise.

use super::bytes::{Reader, Writer};
use super::{Round, Sums, Turn};
use crate::due::NotPaid;
use crate::random::StepRandom;
use crate::release::Release;
use organza_ledger::{Charged, Event};
use sha2::{Digest, Sha256};

/// The sums of units in a release that is made at once.
pub(crate) trait Summed: Sized {
    /// What is released.
    type Released;

    /// What it costs.
    fn event(&self) -> Event;

    /// All that says what the sums are, and how units are bounded: machines of other plans have no sums in common.
    fn plan(&self) -> String;

    /// The sums, for another machine.
    fn into_sums(self) -> Sums;

    /// The units of all shards beside its own; none if they are no such sums.
    fn with_sums(self, sums: Sums) -> Option<Self>;

    /// The noise.
    fn drawn(self, random: &StepRandom, private: bool) -> Self::Released;

    /// What was released, as other machines get it.
    fn told(released: &Self::Released) -> ReleasedNumbers;

    /// What was released, from what another machine was told; none if it is something else.
    fn with_told(self, told: ReleasedNumbers, private: bool) -> Option<Self::Released>;
}

/// Released numbers: by cell, in their order, or all in their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReleasedNumbers {
    /// Cells that were released, each once, with whole numbers.
    Cells(Vec<(u64, i64)>),
    /// All of them, in bits.
    Places(Vec<u32>),
}

impl ReleasedNumbers {
    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        match self {
            Self::Cells(cells) => {
                writer.bytes(&[0]);
                writer.number(cells.len() as u64);
                let mut next = 0;
                for (cell, count) in cells {
                    writer.number(cell - next);
                    writer.signed(*count);
                    next = cell.saturating_add(1);
                }
            }
            Self::Places(places) => {
                writer.bytes(&[1]);
                places.iter().for_each(|place| writer.bytes(&place.to_le_bytes()));
            }
        }
        writer.into_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let [kind] = reader.array()?;
        match kind {
            0 => {
                let count = reader.count()?;
                let (mut cells, mut next) = (Vec::with_capacity(count), Some(0_u64));
                for _ in 0..count {
                    let cell = next?.checked_add(reader.number()?)?;
                    cells.push((cell, reader.signed()?));
                    next = cell.checked_add(1);
                }
                reader.is_at_end().then_some(Self::Cells(cells))
            }
            1 => {
                let mut places = Vec::with_capacity(bytes.len() / 4);
                while !reader.is_at_end() {
                    places.push(u32::from_le_bytes(reader.array()?));
                }
                Some(Self::Places(places))
            }
            _ => None,
        }
    }
}

/// By which a plan is known on other machines.
pub(crate) fn digest(plan: &str) -> [u8; 32] {
    Sha256::digest(plan.as_bytes()).into()
}

impl Release {
    fn round(&self) -> Round {
        Round { purpose: self.purpose().to_owned(), look: 0 }
    }

    /// Whether the units are looked at. Where they are counted elsewhere, or were, their sums are of nobody, and making them is
    /// a waste of time.
    pub fn looks_at_units(&self) -> bool {
        self.exchange().is_none_or(|exchange| exchange.looks_at_units(&self.round()))
    }

    /// From sums to what is released: with noise on them; or on those of all shards; or as it was released before. A worker
    /// hands its sums on and goes no further.
    ///
    /// # Errors
    /// If the charge is not for this release, it was released before, or it is not released here.
    pub(crate) fn of_sum<S: Summed>(&self, sum: S, paid: Charged) -> Result<S::Released, NotPaid> {
        let (event, private) = (sum.event(), self.is_private());
        let Some(exchange) = self.exchange() else {
            return Ok(sum.drawn(&self.random(paid, &event)?, private));
        };
        let round = self.round();
        let plan = digest(&sum.plan());
        let other = || NotPaid::OtherPlan { purpose: round.purpose.clone() };
        match exchange.turn(&round, plan)? {
            Turn::Released(bytes) => {
                let told = ReleasedNumbers::from_bytes(&bytes).ok_or_else(other)?;
                sum.with_told(told, private).ok_or_else(other)
            }
            Turn::Count => {
                exchange.hand_on(&round, plan, sum.into_sums());
                Err(self.elsewhere())
            }
            Turn::Wait => Err(self.elsewhere()),
            Turn::Merge(partial) => {
                let digest = partial.noted_as();
                let sum = sum.with_sums(partial.sums).ok_or_else(other)?;
                let noted = exchange.note(&digest, self.purpose())?;
                let released = sum.drawn(&self.random_of_merge(paid, &event, noted)?, private);
                exchange.keep(&round, S::told(&released).to_bytes());
                Ok(released)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_is_the_same_elsewhere() {
        for told in [
            ReleasedNumbers::Cells(vec![(0, -3), (1, i64::MAX), (70_000, i64::MIN), (u64::MAX, 0)]),
            ReleasedNumbers::Cells(Vec::new()),
            ReleasedNumbers::Places(vec![0, 7, u32::MAX]),
        ] {
            let bytes = told.to_bytes();
            assert_eq!(ReleasedNumbers::from_bytes(&bytes), Some(told));
            assert_eq!(ReleasedNumbers::from_bytes(&bytes[..bytes.len().saturating_sub(1)]), None);
        }
    }
}
