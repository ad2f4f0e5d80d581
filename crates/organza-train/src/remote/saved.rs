//! The rows of all holders at the last checkpoint, in files of the private part of a folder.

use super::error::RemoteError;
use super::holder_messages::HolderState;
use super::messages::MessageError;
use crate::folder::{FolderError, RunFolder};
use organza_mechanism::ReleasedClip;
use organza_mechanism::buckets::PartError;
use organza_mechanism::ranges::RowRanges;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

/// What says which files are the checkpoint.
const FILE: &str = "rows.json";
const VERSION: u64 = 1;
/// How the files are named.
const ROWS: &str = "rows-";
const ENDING: &str = ".bin";

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
    coming: BTreeMap<u16, Range<u16>>,
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
        let saved = Self { folder: folder.clone(), cut, listed, coming: BTreeMap::new() };
        saved.clean();
        Ok((saved, clip))
    }

    /// Deletes files that are of no checkpoint, or no longer. What cannot be deleted now is deleted with the private part of the folder.
    pub(super) fn clean(&self) {
        let listed: Vec<PathBuf> =
            self.listed.files.iter().map(|first| self.file(self.listed.steps, *first)).collect();
        let files = std::fs::read_dir(self.folder.private("")).into_iter().flatten().flatten();
        for path in files.map(|file| file.path()).filter(|path| !listed.contains(path)) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with(ROWS) && name.ends_with(ENDING) {
                std::fs::remove_file(&path).ok();
            }
        }
    }

    /// The steps that were made before the checkpoint; none without one.
    pub(super) fn steps(&self) -> u64 {
        self.listed.steps
    }

    /// Keeps the state of a holder after `steps` steps, which are those of no checkpoint yet; true if it was the last of all.
    pub(super) fn keep(
        &mut self,
        state: &HolderState,
        steps: u64,
        clip: Option<ReleasedClip>,
    ) -> Result<bool, RemoteError> {
        let damaged = || MessageError::Damaged("state");
        let ranges = &state.ranges;
        if state.steps != Some(steps) {
            return Err(MessageError::OtherStep.into());
        }
        let (first, last) = (ranges.keys().next(), ranges.keys().next_back());
        let own = *first.ok_or_else(damaged)?..last.ok_or_else(damaged)? + 1;
        if !ranges.keys().copied().eq(own.clone()) || own.end > self.cut.count() {
            return Err(damaged().into());
        }
        let is_there = |other: &Range<u16>| other.start < own.end && own.start < other.end;
        if self.coming.values().any(is_there) {
            return Err(MessageError::from(PartError::DoubleRange { range: own.start }).into());
        }
        self.folder.write(&self.file(steps, own.start), &state.to_bytes())?;
        self.coming.insert(own.start, own);
        if self.coming.values().map(Range::len).sum::<usize>() < usize::from(self.cut.count()) {
            return Ok(false);
        }
        let files = self.coming.keys().copied().collect();
        let clip = clip.map(|clip| clip.value().to_bits());
        let listed = Listed { version: VERSION, steps, clip, files };
        let text = serde_json::to_vec(&listed).map_err(|_| damaged())?;
        self.folder.write(&self.folder.private(FILE), &text)?;
        self.listed = listed;
        self.coming.clear();
        Ok(true)
    }

    /// What was saved of these ranges.
    pub(super) fn read(&self, ranges: Range<u16>) -> Result<HolderState, RemoteError> {
        let steps = self.steps();
        let mut state = HolderState { steps: Some(steps), ..HolderState::default() };
        let ends = self.listed.files.iter().skip(1).copied().chain([self.cut.count()]);
        let files = self.listed.files.iter().zip(ends);
        for (first, _) in files.filter(|(first, end)| **first < ranges.end && ranges.start < *end) {
            let path = self.file(steps, *first);
            let lost = || io::Error::other("it is missing, damaged or of another checkpoint");
            let bytes = self.folder.read(&path)?.unwrap_or_default();
            let saved = HolderState::from_bytes(&bytes).ok();
            let saved = saved.filter(|saved| saved.steps == Some(steps)).ok_or_else(lost);
            let saved = saved.map_err(FolderError::file("go on with", &path))?;
            state.run = saved.run;
            let own = saved.ranges.into_iter().filter(|(range, _)| ranges.contains(range));
            state.ranges.extend(own);
        }
        Ok(state)
    }

    fn file(&self, steps: u64, first: u16) -> PathBuf {
        self.folder.private(&format!("{ROWS}{steps}-{first}{ENDING}"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use organza_mechanism::Shape;

    fn state(steps: u64, ranges: Range<u16>) -> HolderState {
        let of = |range: u16| (range, vec![steps as u8, range as u8]);
        HolderState { run: [7; 16], steps: Some(steps), ranges: ranges.map(of).collect() }
    }

    fn files(folder: &RunFolder) -> Vec<String> {
        let files = std::fs::read_dir(folder.private("")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.starts_with("rows")).collect();
        names.sort();
        names
    }

    /// Killed at any point, a run goes on from the last checkpoint that was whole; what was written of another is deleted.
    #[test]
    fn a_checkpoint_is_whole_or_none() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&place.path().join("run")).unwrap();
        let cut = RowRanges::of(&Shape::table(5_000, 1).unwrap());
        assert_eq!(cut.count(), 4);
        let open = || SavedRows::open(&folder, cut).unwrap();
        let clip = Some(ReleasedClip::saved(0.25));
        let (mut saved, _) = open();
        assert!(!saved.keep(&state(3, 2..4), 3, clip).unwrap());
        // Nothing but the ranges that are missing, at this step, and whole.
        for (wrong, steps) in [(2..4, 3), (1..3, 3), (0..2, 4), (0..0, 3), (1..5, 3)] {
            assert!(saved.keep(&state(steps, wrong), 3, clip).is_err());
        }
        drop(saved);
        let (mut saved, before) = open();
        assert_eq!((saved.steps(), before, files(&folder)), (0, None, Vec::new()));
        assert!(!saved.keep(&state(3, 1..4), 3, clip).unwrap());
        assert!(saved.keep(&state(3, 0..1), 3, clip).unwrap());
        let listed = ["rows-3-0.bin", "rows-3-1.bin", "rows.json"];
        assert_eq!(files(&folder), listed);
        assert!(!saved.keep(&state(6, 0..2), 6, None).unwrap());
        drop(saved);
        let (mut saved, before) = open();
        assert_eq!((saved.steps(), before), (3, clip));
        assert_eq!(files(&folder), listed, "another number of holders had begun to save");
        assert!(saved.read(1..3).unwrap() == state(3, 1..3));
        assert!(saved.keep(&state(6, 0..4), 6, None).unwrap());
        // The journal is cleared in between; the old files are in nobody's way.
        saved.clean();
        assert_eq!(files(&folder), ["rows-6-0.bin", "rows.json"]);
        std::fs::remove_file(folder.private("rows-6-0.bin")).unwrap();
        assert!(saved.read(0..4).is_err(), "it is missing");
        std::fs::write(folder.private("rows.json"), "{").unwrap();
        assert!(SavedRows::open(&folder, cut).is_err());
    }
}
