//! What a run needs to go on: tables with their debts, and the average, after a number of steps.
//!
//! The file is a safetensors file without a time stamp. It is written and read list by list, so that saving
//! takes no memory of the size of a table.

use crate::average::Average;
use crate::folder::{FolderError, RunFolder};
use crate::tables::{List, SavedTables, Tables};
use organza_mechanism::ReleasedClip;
use organza_model::tensor_header;
use safetensors::tensor::{Dtype, Metadata};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use thiserror::Error;

/// The state of training after a number of steps.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    /// The parameters with the state of their optimizer, and the steps that were made.
    pub(crate) tables: Tables,
    /// The running average of the parameters.
    pub(crate) average: Average,
    /// The parameters that did best on validation data; kept without privacy only.
    pub(crate) best: Option<Best>,
    /// What the next step clips to, where the clip adapts.
    pub(crate) clip: Option<ReleasedClip>,
}

/// The parameters with the smallest validation loss so far.
///
/// *Not private*: the choice comes from the data. A private run never makes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Best {
    /// The validation loss.
    pub(crate) loss: f64,
    /// The parameters.
    pub(crate) parameters: Vec<f32>,
}

/// A checkpoint that cannot be used.
#[derive(Debug, Error)]
#[error("the checkpoint cannot be used: {0}")]
pub struct CheckpointError(String);

/// The file, in the private part of a folder.
pub(crate) const CHECKPOINT: &str = "checkpoint.safetensors";
const VERSION: u64 = 2;
const FACTS: &str = "organza";
const AVERAGE: &str = "average";
const BEST: &str = "best";
/// The largest header that is read. Ours have some hundred bytes.
const LARGEST_HEADER: u64 = 1 << 16;
/// Values that are turned into bytes, or back, at a time.
const BLOCK: usize = 1 << 13;

#[derive(Serialize, Deserialize)]
struct Facts {
    version: u64,
    steps: u64,
    snapshots: u64,
    best_loss: Option<f64>,
    /// The bits of the clip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clip: Option<u64>,
}

impl List<'_> {
    fn kind(&self) -> (Dtype, usize) {
        match self {
            Self::Floats(values) => (Dtype::F32, values.len()),
            Self::Counts(values) => (Dtype::U32, values.len()),
            Self::Doubles(values) => (Dtype::F64, values.len()),
        }
    }

    fn write(&self, to: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Floats(values) => write_all(to, values, |value| value.to_le_bytes()),
            Self::Counts(values) => write_all(to, values, |value| value.to_le_bytes()),
            Self::Doubles(values) => write_all(to, values, |value| value.to_le_bytes()),
        }
    }
}

fn write_all<T: Copy, const BYTES: usize>(
    to: &mut impl Write,
    values: &[T],
    bytes_of: impl Fn(T) -> [u8; BYTES],
) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(BLOCK.min(values.len()) * BYTES);
    for block in values.chunks(BLOCK) {
        bytes.clear();
        block.iter().for_each(|value| bytes.extend_from_slice(&bytes_of(*value)));
        to.write_all(&bytes)?;
    }
    Ok(())
}

/// Lists of numbers as they were read.
#[derive(Default)]
struct Lists {
    floats: BTreeMap<String, Vec<f32>>,
    counts: BTreeMap<String, Vec<u32>>,
    doubles: BTreeMap<String, Vec<f64>>,
}

impl SavedTables for Lists {
    fn floats(&mut self, name: &str) -> Option<Vec<f32>> {
        self.floats.remove(name)
    }

    fn counts(&mut self, name: &str) -> Option<Vec<u32>> {
        self.counts.remove(name)
    }

    fn doubles(&mut self, name: &str) -> Option<Vec<f64>> {
        self.doubles.remove(name)
    }
}

impl Checkpoint {
    /// Writes the checkpoint of a run.
    pub(crate) fn save(&self, folder: &RunFolder) -> Result<(), FolderError> {
        folder.write_with(&folder.private(CHECKPOINT), |file| self.write(file))
    }

    /// Adds the parameters to their average, if there shall be one of a run of so many steps, and they belong to it.
    pub(crate) fn add_to_average(&mut self, average: bool, steps: u64) {
        if average && Average::wants(self.tables.steps(), steps) {
            self.average.add(self.tables.read().all());
        }
    }

    /// The parameters, averaged if that was asked for.
    pub(crate) fn into_parameters(self, averaged: bool) -> Vec<f32> {
        let average = if averaged { self.average.into_mean() } else { None };
        average.unwrap_or_else(|| self.tables.into_parameters())
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Whatever the disk says.
    pub(crate) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let (sums, snapshots) = self.average.state();
        let best = self.best.as_ref();
        let mut lists = self.tables.state();
        lists.push((AVERAGE, List::Doubles(sums.into())));
        lists.push((BEST, List::Floats(best.map_or(&[], |best| &best.parameters))));
        // Wider values first, as the format asks for what is aligned; otherwise in this order.
        lists.sort_by_key(|(_, list)| std::cmp::Reverse(list.kind().0.bitsize()));

        let (steps, best_loss) = (self.tables.steps(), best.map(|best| best.loss));
        let clip = self.clip.map(|clip| clip.value().to_bits());
        let facts = Facts { version: VERSION, steps, snapshots, best_loss, clip };
        let facts = serde_json::to_string(&facts).map_err(io::Error::other)?;
        let metadata = BTreeMap::from([(FACTS.to_owned(), facts)]);
        let tensors = lists.iter().map(|(name, list)| {
            let (kind, length) = list.kind();
            (*name, kind, vec![length])
        });
        to.write_all(&tensor_header(&metadata, tensors))?;
        lists.iter().try_for_each(|(_, list)| list.write(to))
    }

    /// Reads a checkpoint of `length` bytes into fresh tables of the same settings. Nothing is reserved for
    /// a list before the file is known to be long enough.
    ///
    /// # Errors
    /// If it is damaged, or of another run.
    pub(crate) fn read(
        from: &mut impl Read,
        length: u64,
        fresh: Tables,
    ) -> Result<Self, CheckpointError> {
        let mut size = [0; 8];
        from.read_exact(&mut size).map_err(wrong)?;
        let size = u64::from_le_bytes(size);
        if size > LARGEST_HEADER.min(length) {
            return Err(wrong("it is not a checkpoint"));
        }
        let mut header = vec![0; size as usize];
        from.read_exact(&mut header).map_err(wrong)?;
        let header: Metadata = serde_json::from_slice(&header).map_err(wrong)?;
        if (size + 8).checked_add(header.data_len() as u64) != Some(length) {
            return Err(wrong("it is not whole"));
        }
        let facts = header.metadata().as_ref().and_then(|metadata| metadata.get(FACTS));
        let facts = facts.ok_or_else(|| wrong("it is not a checkpoint"))?;
        let facts: Facts = serde_json::from_str(facts).map_err(wrong)?;
        if facts.version != VERSION {
            return Err(wrong(format!("it is of version {}, not {VERSION}", facts.version)));
        }

        let mut lists = Lists::default();
        for name in header.offset_keys() {
            let info = header.info(&name).ok_or_else(|| wrong("it is not a checkpoint"))?;
            let length: usize = info.shape.iter().product();
            match info.dtype {
                Dtype::F32 => {
                    let values = read_all(from, length, f32::from_le_bytes)?;
                    lists.floats.insert(name, values);
                }
                Dtype::U32 => {
                    let values = read_all(from, length, u32::from_le_bytes)?;
                    lists.counts.insert(name, values);
                }
                Dtype::F64 => {
                    let values = read_all(from, length, f64::from_le_bytes)?;
                    lists.doubles.insert(name, values);
                }
                _ => return Err(wrong("it is not a checkpoint")),
            }
        }

        let coordinates = fresh.coordinates();
        let of_this_run = || wrong("it is of another model or optimizer");
        let tables = fresh.resume(facts.steps, &mut lists).ok_or_else(of_this_run)?;
        let sums = lists.doubles.remove(AVERAGE).unwrap_or_default();
        let best = lists.floats.remove(BEST).unwrap_or_default();
        let best = facts.best_loss.map(|loss| Best { loss, parameters: best });
        if !(sums.is_empty() || sums.len() == coordinates)
            || best.as_ref().is_some_and(|best| best.parameters.len() != coordinates)
            || !lists.floats.is_empty()
            || !lists.counts.is_empty()
            || !lists.doubles.is_empty()
        {
            return Err(of_this_run());
        }
        let average = Average::resume(sums, facts.snapshots);
        let clip = facts.clip.map(|bits| ReleasedClip::saved(f64::from_bits(bits)));
        Ok(Self { tables, average, best, clip })
    }
}

fn read_all<T, const BYTES: usize>(
    from: &mut impl Read,
    length: usize,
    value_of: impl Fn([u8; BYTES]) -> T,
) -> Result<Vec<T>, CheckpointError> {
    let mut values = Vec::with_capacity(length);
    let mut bytes = vec![0; BLOCK * BYTES];
    while values.len() < length {
        let bytes = &mut bytes[..BLOCK.min(length - values.len()) * BYTES];
        from.read_exact(bytes).map_err(wrong)?;
        values.extend(bytes.as_chunks::<BYTES>().0.iter().map(|value| value_of(*value)));
    }
    Ok(values)
}

fn wrong(error: impl std::fmt::Display) -> CheckpointError {
    CheckpointError(error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::optimizer::OptimizerSettings;
    use crate::tables::Upkeep;
    use organza_mechanism::Shape;

    fn fresh(rows: u64, optimizer: OptimizerSettings, upkeep: Upkeep) -> Tables {
        let weights = (0..rows).map(|row| row as f32 * 0.5 - 1.0).collect();
        Tables::new(Shape::table(rows, 1).unwrap(), optimizer, upkeep, weights).unwrap()
    }

    fn checkpoint(upkeep: Upkeep) -> Checkpoint {
        let mut tables = fresh(3, OptimizerSettings::adam(0.1), upkeep);
        tables.step(|visit| visit(0, &[1.0, 2.0, -3.0]));
        tables.step(|visit| visit(1, &[f32::MIN_POSITIVE]));
        let mut average = Average::new(3);
        average.add(tables.read().all());
        let best = Some(Best { loss: 1.5, parameters: vec![0.25, 0.5, -0.0] });
        let clip = Some(ReleasedClip::saved(0.1 + 0.2));
        Checkpoint { tables, average, best, clip }
    }

    fn bytes(checkpoint: &Checkpoint) -> Vec<u8> {
        let mut bytes = Vec::new();
        checkpoint.write(&mut bytes).unwrap();
        bytes
    }

    fn read(bytes: &[u8], fresh: Tables) -> Result<Checkpoint, CheckpointError> {
        Checkpoint::read(&mut &*bytes, bytes.len() as u64, fresh)
    }

    #[test]
    fn it_comes_back_bit_for_bit_and_goes_on() {
        for upkeep in [Upkeep::EveryStep, Upkeep::WhenRead] {
            let mut saved = checkpoint(upkeep.clone());
            let file = bytes(&saved);
            assert!(safetensors::SafeTensors::deserialize(&file).is_ok());
            let mut back = read(&file, fresh(3, OptimizerSettings::adam(0.1), upkeep)).unwrap();
            assert_eq!(bytes(&back), file);
            assert_eq!(
                (back.average, back.best, back.clip),
                (saved.average, saved.best, saved.clip)
            );
            for tables in [&mut saved.tables, &mut back.tables] {
                tables.step(|visit| visit(2, &[0.5]));
            }
            let parameters = back.tables.into_parameters();
            assert_eq!(parameters, saved.tables.into_parameters());
        }
    }

    #[test]
    fn a_damaged_or_foreign_one_is_refused() {
        let file = bytes(&checkpoint(Upkeep::EveryStep));
        let adam = OptimizerSettings::adam(0.1);
        let again = || fresh(3, adam, Upkeep::EveryStep);
        for end in 0..file.len() {
            assert!(read(&file[..end], again()).is_err(), "{end}");
        }
        assert!(read(&file, again()).is_ok());
        assert!(read(&file, fresh(4, adam, Upkeep::EveryStep)).is_err());
        assert!(read(&file, fresh(3, adam, Upkeep::WhenRead)).is_err());
        let sgd = OptimizerSettings::Sgd { learning_rate: 0.1 };
        assert!(read(&file, fresh(3, sgd, Upkeep::EveryStep)).is_err());
    }
}
