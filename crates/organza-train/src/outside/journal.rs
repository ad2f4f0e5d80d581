//! The journal of steps since the last checkpoint: a step that is made again has to be made of the same gradients.

use crate::folder::{FolderError, RunFolder};
use std::collections::BTreeMap;

const FILE: &str = "journal.txt";

/// What each step since the last checkpoint was made of, in the private part of the folder.
///
/// # Privacy
/// A run that goes on after it was killed makes these steps again with the same noise. That is a copy of what was released
/// as long as the sums under the noise are the same. Gradients come from a program that may have changed since, or that adds
/// numbers up in another order: sums that differ are refused before the noise, since two sums with one noise show their
/// difference.
#[derive(Debug, Default)]
pub(super) struct Journal {
    made: BTreeMap<u64, u64>,
}

impl Journal {
    /// What was written before the run was stopped. A torn last line is of a step whose noise was not drawn.
    pub(super) fn read(folder: &RunFolder) -> Result<Self, FolderError> {
        let bytes = folder.read(&folder.private(FILE))?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        if whole.len() < text.len() {
            folder.write(&folder.private(FILE), whole.as_bytes())?;
        }
        let made = whole.lines().filter_map(|line| {
            let (step, digest) = line.split_once(' ')?;
            Some((step.parse().ok()?, u64::from_str_radix(digest, 16).ok()?))
        });
        Ok(Self { made: made.collect() })
    }

    /// Notes what a step is made of; false if it was made of something else before.
    pub(super) fn note(
        &mut self,
        folder: &RunFolder,
        step: u64,
        digest: u64,
    ) -> Result<bool, FolderError> {
        match self.made.get(&step) {
            Some(before) => Ok(*before == digest),
            None => {
                folder.append(&folder.private(FILE), &format!("{step} {digest:016x}"))?;
                self.made.insert(step, digest);
                Ok(true)
            }
        }
    }

    /// Forgets all steps, after a checkpoint that holds them.
    pub(super) fn clear(&mut self, folder: &RunFolder) -> Result<(), FolderError> {
        self.made.clear();
        folder.write(&folder.private(FILE), b"")
    }
}
