//! What driver and workers tell each other, as bytes.

use organza_mechanism::Shape;
use organza_mechanism::buckets::{BatchOrder, BucketKeys, PartError, WorkerSettings};
use thiserror::Error;

/// A message that makes no sense where it came.
#[derive(Debug, Error)]
pub enum MessageError {
    /// It is not a message of this kind.
    #[error("the message is not a whole {0}: driver and workers have to be of the same version")]
    Damaged(&'static str),
    /// It is about another step.
    #[error("the message is about another step than the one under way: it is left out")]
    OtherStep,
    /// A part, or an order for one.
    #[error(transparent)]
    Part(#[from] PartError),
    /// Units without a name of their own.
    #[error(
        "there are {names} names for {units} units: each unit has one, by which it is known wherever it is"
    )]
    Names {
        /// How many names there are.
        names: u64,
        /// How many units.
        units: u64,
    },
}

impl MessageError {
    /// Whether it came too late or twice, and can be left out: whoever sent it, or its successor, has sent or will send another.
    pub(super) fn is_late(&self) -> bool {
        use PartError::{Double, OtherStep};
        matches!(self, Self::OtherStep | Self::Part(OtherStep { .. } | Double { .. }))
    }
}

/// What a worker needs once: what the plan says, and the keys of its buckets.
///
/// # Privacy
/// The keys are as private as the data of these buckets: see [`BucketKeys`]. They belong to whoever has that data, and into no
/// command line, environment or log.
#[derive(Clone, Debug)]
pub struct Job {
    pub(super) settings: WorkerSettings,
    pub(super) keys: BucketKeys,
}

impl Job {
    /// The job as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        push(&mut bytes, &serde_json::to_vec(&self.settings).unwrap_or_default());
        bytes.extend(self.keys.expose());
        bytes
    }

    /// A job that came as bytes.
    ///
    /// # Errors
    /// If it is none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MessageError> {
        let (settings, keys) = pull(bytes, "job")?;
        match (serde_json::from_slice(settings), BucketKeys::from_bytes(keys)) {
            (Ok(settings), Some(keys)) => Ok(Self { settings, keys }),
            _ => Err(MessageError::Damaged("job")),
        }
    }
}

/// Adds something behind its length.
pub(super) fn push(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend((bytes.len() as u64).to_le_bytes());
    to.extend_from_slice(bytes);
}

/// What stands behind its length, and what comes after it.
pub(super) fn pull<'a>(
    bytes: &'a [u8],
    what: &'static str,
) -> Result<(&'a [u8], &'a [u8]), MessageError> {
    let split = || {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
    };
    split().ok_or(MessageError::Damaged(what))
}

/// What a worker answers.
#[derive(Clone, PartialEq, Eq)]
pub enum Reply {
    /// It asks for rows: for [`StepDriver::rows`](super::StepDriver::rows), or [`StepLead::rows`](super::StepLead::rows).
    Asks(Vec<u8>),
    /// It is done with its part: for [`StepDriver::add`](super::StepDriver::add), or [`part_for_holders`](super::part_for_holders). *Not private.*
    Part(Vec<u8>),
}

/// Without sums and rows.
impl std::fmt::Debug for Reply {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Asks(_) => "Asks(..)",
            Self::Part(_) => "Part(..)",
        })
    }
}

const ROW: usize = size_of::<u32>();
/// Bytes of an order.
const ORDER: usize = 32;

/// Which rows a worker asks for in a step. *Not private.*
pub(super) fn asks(order: &BatchOrder, rows: &[u32]) -> Vec<u8> {
    let mut bytes = order.to_bytes();
    bytes.extend(rows.iter().flat_map(|row| row.to_le_bytes()));
    bytes
}

/// Reads which rows a worker asks for.
pub(super) fn read_asks(bytes: &[u8]) -> Result<(BatchOrder, Vec<u32>), MessageError> {
    let (order, rows) = split_order(bytes, "list of rows")?;
    match rows.as_chunks::<ROW>() {
        (rows, []) => Ok((order, rows.iter().map(|row| u32::from_le_bytes(*row)).collect())),
        _ => Err(MessageError::Damaged("list of rows")),
    }
}

/// The values of rows in a step, to be filled.
pub(super) fn begin_rows(order: &BatchOrder, rows: &[u32]) -> Vec<u8> {
    let mut bytes = order.to_bytes();
    bytes.extend((rows.len() as u64).to_le_bytes());
    bytes.extend(rows.iter().flat_map(|row| row.to_le_bytes()));
    bytes
}

/// Calls `visit` with each row and its values.
pub(super) fn read_rows(
    bytes: &[u8],
    expected: &BatchOrder,
    shape: &Shape,
    mut visit: impl FnMut(u32, &mut dyn Iterator<Item = f32>),
) -> Result<(), MessageError> {
    let damaged = || MessageError::Damaged("message with rows");
    let (order, rest) = split_order(bytes, "message with rows")?;
    if order != *expected {
        return Err(MessageError::OtherStep);
    }
    let (count, rest) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
    let length =
        usize::try_from(u64::from_le_bytes(*count)).ok().and_then(|it| it.checked_mul(ROW));
    let (rows, mut values) =
        length.and_then(|length| rest.split_at_checked(length)).ok_or_else(damaged)?;
    for row in rows.as_chunks::<ROW>().0 {
        let row = u32::from_le_bytes(*row);
        let (_, length) = shape.row(row).ok_or_else(damaged)?;
        let (own, after) =
            values.split_at_checked(length * size_of::<f32>()).ok_or_else(damaged)?;
        values = after;
        visit(row, &mut own.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)));
    }
    if values.is_empty() { Ok(()) } else { Err(damaged()) }
}

fn split_order<'a>(
    bytes: &'a [u8],
    what: &'static str,
) -> Result<(BatchOrder, &'a [u8]), MessageError> {
    let (order, rest) = bytes.split_at_checked(ORDER).ok_or(MessageError::Damaged(what))?;
    Ok((BatchOrder::from_bytes(order)?, rest))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use organza_ledger::KeyFingerprint;

    #[test]
    fn rows_come_back_and_damaged_messages_are_refused() {
        let order = BatchOrder { run: KeyFingerprint::new([7; 16]), step: 9, clip: 0.5 };
        let shape = Shape::tables(&[(10, 2), (3, 1)]).unwrap();
        let asked = asks(&order, &[2, 11]);
        assert_eq!(read_asks(&asked).unwrap(), (order, vec![2, 11]));
        assert!(read_asks(&asked[..asked.len() - 1]).is_err() && read_asks(&asked[..8]).is_err());
        let mut rows = begin_rows(&order, &[2, 11]);
        rows.extend([1.5_f32, -2.0, 0.25].iter().flat_map(|value| value.to_le_bytes()));
        let read = |bytes: &[u8], order: &BatchOrder| {
            let mut found = Vec::new();
            read_rows(bytes, order, &shape, |row, values| {
                found.push((row, values.collect::<Vec<f32>>()));
            })
            .map(|()| found)
        };
        assert_eq!(read(&rows, &order).unwrap(), [(2, vec![1.5, -2.0]), (11, vec![0.25])]);
        for end in 0..rows.len() {
            assert!(read(&rows[..end], &order).is_err(), "{end}");
        }
        let late = BatchOrder { step: 8, ..order };
        assert!(matches!(read(&rows, &late), Err(MessageError::OtherStep)));
    }
}
