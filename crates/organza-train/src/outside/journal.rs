//! The journal since the last checkpoint: what is made again has to be made in the same way.

use crate::folder::{FolderError, RunFolder};
use crate::notes::Notes;
use std::collections::BTreeMap;

const FILE: &str = "journal.txt";

/// What the program that computes gradients did in each step since the last checkpoint, in the private part of the folder: which
/// rows it read, and what sum it made.
///
/// # Privacy
/// A run that goes on after it was killed makes these steps again with the same noise. That is a copy of what was released
/// as long as the sums under the noise are the same. Gradients come from a program that may have changed since, or that adds
/// numbers up in another order: sums that differ are refused before the noise, since two sums with one noise show their
/// difference.
///
/// Rows that were read belong to it, because noise that was left for later is drawn when a row is read, by a name that holds
/// the step: a row that is read at another step than before would have other noise on the same sum, and two noises on one
/// sum show more of it than one does. So each reading is noted before its values are handed out, and is made again at the
/// same place in the same order, or refused.
///
/// One process at a time has the journal: that which has the ledger of the run, whose lock ends with the process.
#[derive(Debug)]
pub(super) struct Journal {
    notes: Notes,
    /// What was done in each step, in its order.
    done: BTreeMap<u64, Vec<u64>>,
    /// How much of a step this process has done.
    now: (u64, usize),
}

impl Journal {
    /// What was written since the checkpoint after `steps` steps.
    pub(super) fn open(folder: &RunFolder, steps: u64) -> Result<Self, FolderError> {
        let (notes, lines) = Notes::open(folder, FILE, steps)?;
        let mut done = BTreeMap::<u64, Vec<u64>>::new();
        for line in lines {
            let Some((step, digest)) = line.split_once(' ') else { continue };
            if let (Ok(step), Ok(digest)) = (step.parse(), u64::from_str_radix(digest, 16)) {
                done.entry(step).or_default().push(digest);
            }
        }
        Ok(Self { notes, done, now: (0, 0) })
    }

    /// Notes what is done next in a step; false if something else was done there before.
    pub(super) fn note(&mut self, step: u64, digest: u64) -> Result<bool, FolderError> {
        let place = if self.now.0 == step { self.now.1 } else { 0 };
        let done = self.done.entry(step).or_default();
        match done.get(place) {
            Some(before) if *before != digest => return Ok(false),
            Some(_) => {}
            None => {
                self.notes.add(&format!("{step} {digest:016x}"))?;
                done.push(digest);
            }
        }
        self.now = (step, place + 1);
        Ok(true)
    }

    /// Forgets all steps, beside a checkpoint after `steps` steps that holds them.
    pub(super) fn clear(&mut self, steps: u64) -> Result<(), FolderError> {
        self.done.clear();
        self.notes.clear(steps)
    }
}

/// A number that tells readings apart.
pub(super) fn digest_of_rows(table: usize, rows: &[i64]) -> u64 {
    const MIX: u64 = 0xd6e8_feb8_6659_fd93;
    let words = rows.iter().map(|row| row.cast_unsigned());
    words.fold(MIX ^ table as u64, |sum, word| (sum.rotate_left(29) ^ word).wrapping_mul(MIX))
}
