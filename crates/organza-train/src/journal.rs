//! The journal since the last checkpoint: a step that is made again has to be made of the same sum, from the same rows.

use crate::folder::{FolderError, RunFolder};
use crate::notes::Notes;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const FILE: &str = "steps.txt";

/// What each step since the last checkpoint was made of, in the private part of the folder, where gradients come from a program
/// that may be another one when the run goes on: workers, or whoever hands them over.
///
/// # Privacy
/// A run that goes on after it was killed makes these steps again with the same noise. That is a copy of what was
/// released as long as the sums under the noise are the same. Whoever computes gradients may have other data since, or another program:
/// a sum that differs is refused before the noise, since two sums with one noise show their difference.
///
/// Where tables owe noise, that of a row is drawn when the row is read, by a name that holds the step. A row that was read
/// at a step, and at a later one instead when the step is made again, would have two noises on one sum. So rows are noted
/// before their values are handed out, and those that were read at a step are read there again, whoever asks.
///
/// It is there from before the first charge for steps on: a run that has paid for some, and has lost it, does not go on.
///
/// One process at a time has it: the one that has locked the ledger of the run.
#[derive(Debug)]
pub(crate) struct Journal {
    notes: Notes,
    made: BTreeMap<u64, u64>,
    read: BTreeMap<u64, BTreeSet<u32>>,
}

impl Journal {
    /// What was written since the checkpoint after `steps` steps; `begun` if steps were paid for.
    pub(crate) fn open(folder: &RunFolder, steps: u64, begun: bool) -> Result<Self, FolderError> {
        let (notes, lines) = Notes::open(folder, FILE, steps, begun)?;
        let (mut made, mut read) = (BTreeMap::new(), BTreeMap::<u64, BTreeSet<u32>>::new());
        for line in lines {
            let mut words = line.split(' ');
            let Some(step) = words.next().and_then(|word| word.parse().ok()) else { continue };
            match words.next() {
                Some("sum") => {
                    let digest = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
                    made.extend(digest.map(|digest| (step, digest)));
                }
                Some("rows") => {
                    let rows = words.filter_map(run_of).flatten();
                    read.entry(step).or_default().extend(rows);
                }
                _ => {}
            }
        }
        Ok(Self { notes, made, read })
    }

    /// The rows that were read at a step.
    pub(crate) fn rows(&self, step: u64) -> Vec<u32> {
        self.read.get(&step).into_iter().flatten().copied().collect()
    }

    /// Notes rows that are about to be read; false if the step was made without some of them before.
    pub(crate) fn note_rows(&mut self, step: u64, rows: &[u32]) -> Result<bool, FolderError> {
        let known = self.read.entry(step).or_default();
        let mut fresh: Vec<u32> = rows.iter().copied().filter(|row| !known.contains(row)).collect();
        if fresh.is_empty() {
            return Ok(true);
        }
        if self.made.contains_key(&step) {
            return Ok(false);
        }
        fresh.sort_unstable();
        fresh.dedup();
        self.notes.add(&format!("{step} rows{}", runs(&fresh)))?;
        known.extend(fresh);
        Ok(true)
    }

    /// Notes what a step is made of; false if it was made of something else before.
    pub(crate) fn note_sum(&mut self, step: u64, digest: u64) -> Result<bool, FolderError> {
        match self.made.get(&step) {
            Some(before) => Ok(*before == digest),
            None => {
                self.notes.add(&format!("{step} sum {digest:016x}"))?;
                self.made.insert(step, digest);
                Ok(true)
            }
        }
    }

    /// Forgets all steps, beside a checkpoint after `steps` steps that holds them.
    pub(crate) fn clear(&mut self, steps: u64) -> Result<(), FolderError> {
        self.made.clear();
        self.read.clear();
        self.notes.clear(steps)
    }
}

/// Rows in words: those that follow each other as the first and the last, since whole tables are read as well.
fn runs(rows: &[u32]) -> String {
    let mut words = String::new();
    for run in rows.chunk_by(|one, next| one + 1 == *next) {
        // Nothing that is written to a string fails.
        let _ = match run {
            [first, .., last] => write!(words, " {first}-{last}"),
            [row] => write!(words, " {row}"),
            [] => Ok(()),
        };
    }
    words
}

/// The rows of such a word.
fn run_of(word: &str) -> Option<std::ops::RangeInclusive<u32>> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_was_done_is_done_again_or_refused() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&place.path().join("run")).unwrap();
        let mut journal = Journal::open(&folder, 0, false).unwrap();
        assert!(journal.note_rows(3, &[7, 1]).unwrap());
        assert!(journal.note_rows(3, &[1, 9, 8, 9]).unwrap());
        assert!(journal.note_sum(3, 77).unwrap());
        assert!(journal.note_rows(4, &[2]).unwrap());
        drop(journal);
        // Killed while it noted another row.
        let file = folder.private(FILE);
        let whole = std::fs::read_to_string(&file).unwrap();
        assert!(whole.contains("3 rows 8-9\n"), "{whole}");
        std::fs::write(&file, format!("{whole}4 rows 1")).unwrap();
        let mut journal = Journal::open(&folder, 0, true).unwrap();
        assert_eq!((journal.rows(3), journal.rows(4)), (vec![1, 7, 8, 9], vec![2]));
        assert!(journal.note_rows(3, &[9, 7]).unwrap());
        assert!(!journal.note_rows(3, &[6]).unwrap(), "it was made without this row");
        assert!(!journal.note_sum(3, 78).unwrap(), "it was made of another sum");
        assert!(journal.note_sum(3, 77).unwrap());
        assert!(journal.note_rows(4, &[12]).unwrap(), "it was not made");
        journal.clear(5).unwrap();
        drop(journal);
        assert!(Journal::open(&folder, 5, true).unwrap().rows(4).is_empty());
    }
}
