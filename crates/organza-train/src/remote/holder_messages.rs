//! What a lead and holders of rows tell each other, as bytes.
//!
//! ```text
//! to a holder   1 │ length │ sealed opening of a step │ rows that were read in it before      nothing back
//!               2 │ asks of a worker                                                          the rows
//!               3 │ parts of its ranges                                                       nothing, or with the last its offers
//!               4 │ sealed decision                                                           nothing
//!               5                                                                             its state
//!               6                                                                             its weights, at the end
//! ```

use super::messages::{MessageError, pull, push};
use crate::optimizer::OptimizerSettings;
use organza_mechanism::buckets::parts_of;
use organza_mechanism::ranges::{RangeKeys, RangeSettings, ranges_of_place};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// When the rows of a holder are brought up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Upkept {
    EveryStep,
    WhenRead,
    Owed,
}

/// What a holder has to know of a run. It is public.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HolderSettings {
    pub(super) ranges: RangeSettings,
    pub(super) optimizer: OptimizerSettings,
    pub(super) upkeep: Upkept,
    pub(super) average: bool,
    /// All steps of the run.
    pub(super) steps: u64,
}

/// What a holder of rows needs once, beside these: settings, and the keys of its ranges.
///
/// # Privacy
/// The keys take the noise off these rows: they are for whoever holds them alone, and belong into no command line, environment or log.
#[derive(Clone)]
pub struct HolderJob {
    pub(super) settings: HolderSettings,
    pub(super) keys: RangeKeys,
}

impl HolderJob {
    /// The job as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let settings = serde_json::to_vec(&self.settings).unwrap_or_default();
        let mut bytes = Vec::new();
        push(&mut bytes, &settings);
        bytes.extend(self.keys.expose());
        bytes
    }

    /// A job that came as bytes.
    ///
    /// # Errors
    /// If it is none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MessageError> {
        let (settings, keys) = pull(bytes, "job")?;
        match (serde_json::from_slice(settings), RangeKeys::from_bytes(keys)) {
            (Ok(settings), Some(keys)) => Ok(Self { settings, keys }),
            _ => Err(MessageError::Damaged("job")),
        }
    }
}

/// Without keys and rows.
impl std::fmt::Debug for HolderJob {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "HolderJob({:?})", self.keys)
    }
}

/// The rows of some ranges: weights as they are before the first step or after the last, or what a checkpoint keeps after a number of steps.
/// *Not private.*
#[derive(Clone, Default, PartialEq)]
pub struct HolderState {
    /// The public name of the key of the run.
    pub(super) run: [u8; 16],
    /// None for weights alone.
    pub(super) steps: Option<u64>,
    pub(super) ranges: BTreeMap<u16, Vec<u8>>,
}

impl HolderState {
    /// The rows as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.run.to_vec();
        bytes.push(u8::from(self.steps.is_some()));
        bytes.extend(self.steps.unwrap_or(0).to_le_bytes());
        for (range, state) in &self.ranges {
            bytes.extend(range.to_le_bytes());
            push(&mut bytes, state);
        }
        bytes
    }

    /// Rows that came as bytes.
    ///
    /// # Errors
    /// If they are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MessageError> {
        const WHAT: &str = "state";
        let damaged = || MessageError::Damaged(WHAT);
        let (run, rest) = bytes.split_first_chunk::<16>().ok_or_else(damaged)?;
        let (is_saved, rest) = rest.split_first().ok_or_else(damaged)?;
        let (steps, mut rest) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
        let steps = (*is_saved != 0).then_some(u64::from_le_bytes(*steps));
        let mut ranges = BTreeMap::new();
        while !rest.is_empty() {
            let (range, after) = rest.split_first_chunk::<2>().ok_or_else(damaged)?;
            let (state, after) = pull(after, WHAT)?;
            ranges.insert(u16::from_le_bytes(*range), state.to_vec());
            rest = after;
        }
        Ok(Self { run: *run, steps, ranges })
    }
}

/// Without rows.
impl std::fmt::Debug for HolderState {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "HolderState({:?} steps)", self.steps)
    }
}

/// What a holder is told to hand over its state.
pub(super) const SAVE: u8 = 5;
/// What a holder is told to hand over its weights, after the last step.
pub(super) const END: u8 = 6;

/// What a holder is told.
#[derive(Debug)]
pub(super) enum HolderMessage<'a> {
    Open { opening: &'a [u8], read: Vec<u32> },
    Rows(&'a [u8]),
    Parts(&'a [u8]),
    Decision(&'a [u8]),
    Save,
    End,
}

impl<'a> HolderMessage<'a> {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let of = |kind: u8, message: &[u8]| [&[kind], message].concat();
        match self {
            Self::Open { opening, read } => {
                let mut bytes = vec![1];
                push(&mut bytes, opening);
                bytes.extend(read.iter().flat_map(|row| row.to_le_bytes()));
                bytes
            }
            Self::Rows(asks) => of(2, asks),
            Self::Parts(parts) => of(3, parts),
            Self::Decision(decision) => of(4, decision),
            Self::Save => vec![SAVE],
            Self::End => vec![END],
        }
    }

    pub(super) fn from_bytes(bytes: &'a [u8]) -> Result<Self, MessageError> {
        const WHAT: &str = "message to a holder of rows";
        let (kind, message) = bytes.split_first().ok_or(MessageError::Damaged(WHAT))?;
        Ok(match *kind {
            1 => {
                let (opening, rows) = pull(message, WHAT)?;
                let (rows, []) = rows.as_chunks::<4>() else {
                    return Err(MessageError::Damaged(WHAT));
                };
                let read = rows.iter().map(|row| u32::from_le_bytes(*row)).collect();
                Self::Open { opening, read }
            }
            2 => Self::Rows(message),
            3 => Self::Parts(message),
            4 => Self::Decision(message),
            SAVE => Self::Save,
            END => Self::End,
            _ => return Err(MessageError::Damaged(WHAT)),
        })
    }
}

/// What each of `of` holders is told of the part of a worker. *Not private.*
///
/// # Errors
/// If the part is damaged.
pub fn part_for_holders(part: &[u8], of: usize) -> Result<Vec<Vec<u8>>, MessageError> {
    let parts = parts_of(part)?;
    let of_place = |number: usize| {
        let own = ranges_of_place(parts.len() as u16, number, of);
        let own = parts.iter().filter(|(range, _)| own.contains(range)).map(|(_, part)| *part);
        HolderMessage::Parts(&own.collect::<Vec<&[u8]>>().concat()).to_bytes()
    };
    Ok((0..of).map(of_place).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn states_and_messages_come_back_and_damaged_ones_are_refused() {
        let ranges = BTreeMap::from([(3, vec![1, 2, 3]), (7, Vec::new())]);
        for steps in [None, Some(9)] {
            let state = HolderState { run: [3; 16], steps, ranges: ranges.clone() };
            let bytes = state.to_bytes();
            assert!(HolderState::from_bytes(&bytes).unwrap() == state);
            // Without its last entry it is whole: whoever reads it looks for the ranges of the keys.
            let ends = [25, bytes.len() - 10, bytes.len()];
            for end in (0..=bytes.len()).filter(|end| !ends.contains(end)) {
                assert!(HolderState::from_bytes(&bytes[..end]).is_err(), "{end}");
            }
        }
        let open = HolderMessage::Open { opening: &[5; 48], read: vec![1, 70_000] }.to_bytes();
        let HolderMessage::Open { opening, read } = HolderMessage::from_bytes(&open).unwrap()
        else {
            panic!("it is the same")
        };
        assert_eq!((opening, read), (&[5; 48][..], vec![1, 70_000]));
        assert!(HolderMessage::from_bytes(&open[..open.len() - 1]).is_err());
        assert!(
            HolderMessage::from_bytes(&[]).is_err() && HolderMessage::from_bytes(&[9]).is_err()
        );
    }
}
