//! Lines of what was done since the last checkpoint: on the disk before anyone sees what they are about.

use crate::folder::{FolderError, RunFolder};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

/// A file of lines in the private part of a folder, whose first says after how many steps the checkpoint is that they follow.
///
/// # Privacy
/// A run that goes on after it was killed makes its last steps again, with the same noise. What was noted of them is what tells
/// whether their sums are the same too. So a line is on the disk, and not only with the operating system, before whatever
/// it is about is shown to anybody; and a run goes on from a checkpoint with the lines that belong to it, or not at
/// all: lines that are lost, or that follow a later checkpoint, are no licence to show another sum under one noise.
#[derive(Debug)]
pub(crate) struct Notes {
    folder: RunFolder,
    path: PathBuf,
    /// None after a write that failed: what stands there then is not known.
    file: Option<File>,
}

impl Notes {
    /// Opens the file `name` beside a checkpoint after `steps` steps, with the lines that were added since. A torn last line is
    /// of something that was not shown. There is none yet only where no step was made, nor `begun`: where none was paid for.
    pub(crate) fn open(
        folder: &RunFolder,
        name: &str,
        steps: u64,
        begun: bool,
    ) -> Result<(Self, Vec<String>), FolderError> {
        let path = folder.private(name);
        let lost = |what: &str| {
            let source = io::Error::other(format!(
                "{what}: steps would be made again, and nothing shows whether on the same sums; begin a new run, or bring \
                 back the whole folder as it was"
            ));
            FolderError::file("go on with", &path)(source)
        };
        let mut lines = Vec::new();
        match folder.read(&path)? {
            None if steps > 0 || begun => return Err(lost("it is missing")),
            None => {}
            Some(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
                let mut found = whole.lines();
                let after: Option<u64> =
                    found.next().and_then(|line| line.strip_prefix(AFTER)?.parse().ok());
                match after {
                    None => return Err(lost("it is damaged")),
                    Some(after) if after > steps => {
                        return Err(lost("it belongs to a later checkpoint"));
                    }
                    // Killed between a checkpoint and this file: all of it is in the checkpoint.
                    Some(after) if after < steps => {}
                    Some(_) => lines = found.map(str::to_owned).collect(),
                }
            }
        }
        let mut notes = Self { folder: folder.clone(), path, file: None };
        notes.write(steps, &lines)?;
        Ok((notes, lines))
    }

    /// Adds a line, which is on the disk when this returns.
    pub(crate) fn add(&mut self, line: &str) -> Result<(), FolderError> {
        let error = FolderError::file("write", &self.path);
        let Some(mut file) = self.file.take() else {
            return Err(error(io::Error::other("a line before could not be written")));
        };
        let added = file.write_all(format!("{line}\n").as_bytes()).and_then(|()| file.sync_data());
        added.map_err(error)?;
        self.file = Some(file);
        Ok(())
    }

    /// Forgets all lines, beside a checkpoint after `steps` steps that holds what they are about.
    pub(crate) fn clear(&mut self, steps: u64) -> Result<(), FolderError> {
        self.write(steps, &[])
    }

    fn write(&mut self, steps: u64, lines: &[String]) -> Result<(), FolderError> {
        self.file = None;
        let first = format!("{AFTER}{steps}");
        let lines = std::iter::once(&first).chain(lines);
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        self.folder.write(&self.path, text.as_bytes())?;
        let file = OpenOptions::new().append(true).open(&self.path);
        self.file = Some(file.map_err(FolderError::file("open", &self.path))?);
        Ok(())
    }
}

/// How the first line begins.
const AFTER: &str = "after ";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn place() -> (tempfile::TempDir, RunFolder) {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&place.path().join("run")).unwrap();
        (place, folder)
    }

    #[test]
    fn whole_lines_come_back_until_a_checkpoint_holds_them() {
        let (_place, folder) = place();
        let (mut notes, lines) = Notes::open(&folder, "notes.txt", 0, false).unwrap();
        assert!(lines.is_empty());
        notes.add("one").unwrap();
        notes.add("two").unwrap();
        drop(notes);
        let path = folder.private("notes.txt");
        let torn = std::fs::read_to_string(&path).unwrap() + "thr";
        std::fs::write(&path, torn).unwrap();
        let (mut notes, lines) = Notes::open(&folder, "notes.txt", 0, false).unwrap();
        assert_eq!(lines, ["one", "two"]);
        notes.add("three").unwrap();
        drop(notes);
        let (mut notes, lines) = Notes::open(&folder, "notes.txt", 0, false).unwrap();
        assert_eq!(lines, ["one", "two", "three"]);
        notes.clear(7).unwrap();
        notes.add("four").unwrap();
        drop(notes);
        assert_eq!(Notes::open(&folder, "notes.txt", 7, false).unwrap().1, ["four"]);
        // A checkpoint was saved, and the process killed before the lines were cleared.
        assert!(Notes::open(&folder, "notes.txt", 9, false).unwrap().1.is_empty());
        assert!(Notes::open(&folder, "notes.txt", 9, false).unwrap().1.is_empty());
    }

    /// The twin: a file that is taken for empty would let any sum follow.
    #[test]
    fn lines_that_are_lost_stop_the_run() {
        let (_place, folder) = place();
        let (mut notes, _) = Notes::open(&folder, "notes.txt", 0, false).unwrap();
        notes.clear(8).unwrap();
        drop(notes);
        let path = folder.private("notes.txt");
        let refused = |steps| {
            Notes::open(&folder, "notes.txt", steps, false).map(drop).unwrap_err().to_string()
        };
        assert!(refused(4).contains("a later checkpoint"), "an older checkpoint was put back");
        for damage in ["", "afte", "after \n", "after x\n3 rows 1\n"] {
            std::fs::write(&path, damage).unwrap();
            assert!(refused(8).contains("it is damaged"), "{damage:?}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(refused(8).contains("it is missing"));
        // Before the first checkpoint only what was paid for says that there were lines.
        let missing = Notes::open(&folder, "notes.txt", 0, true).map(drop).unwrap_err();
        assert!(missing.to_string().contains("it is missing"), "{missing}");
        Notes::open(&folder, "notes.txt", 0, false).unwrap();
    }
}
