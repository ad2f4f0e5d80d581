//! The rows of all holders at the last checkpoint, in files of the private part of a folder.

use super::error::RemoteError;
use super::holder_messages::HolderState;
use super::messages::MessageError;
use crate::folder::{FolderError, RunFolder};
use organza_mechanism::ReleasedClip;
use organza_mechanism::ranges::RowRanges;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;

/// What says which files are the checkpoint.
const FILE: &str = "rows.json";
const VERSION: u64 = 1;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    version: u64,
    /// After how many steps.
    steps: u64,
    /// The bits of the next clip, where it adapts.
    clip: Option<u64>,
    /// The first range of each file.
    files: Vec<u16>,
}

/// What was saved of all ranges, one file a holder: a checkpoint is there when all files are, and a list of them is written then, at once.
///
/// # Privacy
/// As any checkpoint it tells which rows were touched lately, and lies in the private part of the folder.
#[derive(Debug)]
pub(super) struct SavedRows {
    folder: RunFolder,
    cut: RowRanges,
    listed: Listed,
    /// The files of a checkpoint that is not whole yet: the ranges of each, by the first.
    coming: BTreeMap<u16, BTreeSet<u16>>,
}

impl SavedRows {
    /// What there is in a folder, with the clip of the next step where it adapts.
    pub(super) fn open(
        folder: &RunFolder,
        cut: RowRanges,
    ) -> Result<(Self, Option<ReleasedClip>), FolderError> {
        let path = folder.private(FILE);
        let listed = match folder.read(&path)? {
            None => Listed::default(),
            Some(bytes) => {
                let listed: Option<Listed> = serde_json::from_slice(&bytes).ok();
                let wrong = || io::Error::other("it is damaged, or of another version of organza");
                let known = listed.filter(|listed| listed.version == VERSION);
                known.ok_or_else(wrong).map_err(FolderError::file("go on with", &path))?
            }
        };
        let clip = listed.clip.map(|bits| ReleasedClip::saved(f64::from_bits(bits)));
        Ok((Self { folder: folder.clone(), cut, listed, coming: BTreeMap::new() }, clip))
    }

    /// The steps that were made before the checkpoint; none without one.
    pub(super) fn steps(&self) -> u64 {
        self.listed.steps
    }

    /// Keeps the state of a holder after `steps` steps; true if it was the last of all.
    pub(super) fn keep(
        &mut self,
        state: &[u8],
        steps: u64,
        clip: Option<ReleasedClip>,
    ) -> Result<bool, RemoteError> {
        let damaged = || MessageError::Damaged("state");
        let HolderState { steps: found, ranges } = HolderState::from_bytes(state)?;
        if found != Some(steps) {
            return Err(MessageError::OtherStep.into());
        }
        let first = *ranges.keys().next().ok_or_else(damaged)?;
        self.folder.write(&self.file(steps, first), state)?;
        self.coming.insert(first, ranges.into_keys().collect());
        let all: BTreeSet<u16> = self.coming.values().flatten().copied().collect();
        if !all.iter().copied().eq(0..self.cut.count()) {
            return Ok(false);
        }
        let files = std::mem::take(&mut self.coming).into_keys().collect();
        let clip = clip.map(|clip| clip.value().to_bits());
        let listed = Listed { version: VERSION, steps, clip, files };
        let text = serde_json::to_vec(&listed).map_err(|_| damaged())?;
        self.folder.write(&self.folder.private(FILE), &text)?;
        let before = std::mem::replace(&mut self.listed, listed);
        for first in before.files {
            let path = self.file(before.steps, first);
            std::fs::remove_file(&path).map_err(FolderError::file("delete", &path))?;
        }
        Ok(true)
    }

    /// What was saved of these ranges.
    pub(super) fn read(&self, ranges: Range<u16>) -> Result<HolderState, RemoteError> {
        let steps = self.steps();
        let mut state = HolderState { steps: Some(steps), ranges: BTreeMap::new() };
        for first in &self.listed.files {
            let path = self.file(steps, *first);
            let lost = || io::Error::other("it is missing, damaged or of another checkpoint");
            let bytes = self.folder.read(&path)?.unwrap_or_default();
            let saved = HolderState::from_bytes(&bytes).ok();
            let saved = saved.filter(|saved| saved.steps == Some(steps)).ok_or_else(lost);
            let saved = saved.map_err(FolderError::file("go on with", &path))?;
            let own = saved.ranges.into_iter().filter(|(range, _)| ranges.contains(range));
            state.ranges.extend(own);
        }
        Ok(state)
    }

    fn file(&self, steps: u64, first: u16) -> std::path::PathBuf {
        self.folder.private(&format!("rows-{steps}-{first}.bin"))
    }
}
