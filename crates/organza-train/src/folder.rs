//! The folder of a run: what is public in it, what is private, and how files are written.

use organza_ledger::atomic::{Readers, UNFINISHED, write};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The canaries of a run: the one private file that outlives it, because an audit comes later. They are
/// nobody's data, and say nothing about the key.
const CANARIES: &str = "canaries.json";

/// The folder of a run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
}

/// The folder cannot be used.
#[derive(Debug, Error)]
pub enum FolderError {
    /// There is something in it.
    #[error(
        "{0} is not empty: resume that run with `organza resume {0}`, or name another --out folder"
    )]
    NotEmpty(String),
    /// There is no run in it.
    #[error("{0} holds no run that can go on: it has no {1}")]
    NoRun(String, &'static str),
    /// The file system refuses.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: String,
        /// Why it failed.
        source: io::Error,
    },
}

impl FolderError {
    /// What the file system refused to do with a file.
    pub fn file<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::File { action, path: path.display().to_string(), source }
    }
}

impl RunFolder {
    /// Starts a run in `path`, which must be empty or not there yet.
    ///
    /// # Errors
    /// If there is something in it, or it cannot be written.
    pub fn create(path: &Path) -> Result<Self, FolderError> {
        Self::check_free(path)?;
        let folder = Self { path: path.to_owned() };
        fs::create_dir_all(path).map_err(FolderError::file("create the folder", path))?;
        for entry in fs::read_dir(path).map_err(FolderError::file("read", path))? {
            let file = entry.map_err(FolderError::file("read", path))?.path();
            if file.is_file() {
                fs::remove_file(&file).map_err(FolderError::file("delete", &file))?;
            }
        }
        let private = folder.private("");
        if private.is_dir() {
            fs::remove_dir_all(&private).map_err(FolderError::file("delete", &private))?;
        }
        fs::create_dir_all(&private).map_err(FolderError::file("create the folder", &private))?;
        restrict(&private, 0o700).map_err(FolderError::file("protect", &private))?;
        Ok(folder)
    }

    /// Whether a run can start in `path`: it is not there yet, or empty, or holds no more than the
    /// first files of a run that was killed before it could go on, hence before its first step.
    ///
    /// # Errors
    /// If there is something else in it.
    pub fn check_free(path: &Path) -> Result<(), FolderError> {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(FolderError::file("use as a folder", path)(error)),
        };
        for entry in entries {
            let entry = entry.map_err(FolderError::file("read", path))?;
            let is_leftover = match entry.file_name().to_str() {
                Some("private") => true,
                Some(name) if name.starts_with(UNFINISHED) => true,
                // Its first line says what charges would be relative to; a second one is a charge.
                Some("ledger.jsonl") => {
                    fs::read_to_string(entry.path()).is_ok_and(|ledger| ledger.lines().count() <= 1)
                }
                _ => false,
            };
            if !is_leftover {
                return Err(FolderError::NotEmpty(path.display().to_string()));
            }
        }
        Ok(())
    }

    /// Opens the folder of a run that was begun.
    ///
    /// # Errors
    /// If there is no run in it.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let folder = Self { path: path.to_owned() };
        if folder.file("settings.json").is_file() {
            return Ok(folder);
        }
        Err(FolderError::NoRun(path.display().to_string(), "settings.json"))
    }

    /// A file that may be shown to anyone.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A file of the private part: secret run state.
    pub fn private(&self, name: &str) -> PathBuf {
        self.path.join("private").join(name)
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a whole file: at any moment the old one is there or the new one, never a part.
    ///
    /// # Errors
    /// If the file system refuses; the old file is then still there.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
        self.write_with(path, |writer| writer.write_all(bytes))
    }

    /// As [`RunFolder::write`], with whatever `fill` writes.
    ///
    /// # Errors
    /// If the file system refuses; the old file is then still there.
    pub fn write_with(
        &self,
        path: &Path,
        fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> Result<(), FolderError> {
        let secret = path.starts_with(self.private(""));
        let readers = if secret { Readers::Owner } else { Readers::Usual };
        write(path, readers, fill).map_err(FolderError::file("write", path))
    }

    /// Opens a file to be read piece by piece, with its length; `None` if it is not there.
    ///
    /// # Errors
    /// If it is there and cannot be opened.
    pub fn open_file(&self, path: &Path) -> Result<Option<(BufReader<File>, u64)>, FolderError> {
        let opened = File::open(path).and_then(|file| {
            let length = file.metadata()?.len();
            Ok((BufReader::with_capacity(1 << 16, file), length))
        });
        match opened {
            Ok(opened) => Ok(Some(opened)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FolderError::file("read", path)(error)),
        }
    }

    /// Reads a whole file; `None` if it is not there.
    ///
    /// # Errors
    /// If it is there and cannot be read.
    pub fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, FolderError> {
        match fs::read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FolderError::file("read", path)(error)),
        }
    }

    /// Adds a line to a file.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn append(&self, path: &Path, line: &str) -> Result<(), FolderError> {
        let append = || {
            let mut file = OpenOptions::new().create(true).append(true).open(path)?;
            file.write_all(format!("{line}\n").as_bytes())
        };
        append().map_err(FolderError::file("write", path))
    }

    /// Writes the canaries of the run.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn write_canaries(&self, canaries: &impl Serialize) -> Result<(), FolderError> {
        let path = self.private(CANARIES);
        let text = serde_json::to_string_pretty(canaries).map_err(io::Error::from);
        let text = text.map_err(FolderError::file("write", &path))?;
        self.write(&path, (text + "\n").as_bytes())
    }

    /// What was put into the training data of the run, to be audited for; `None` if nothing was.
    ///
    /// # Errors
    /// If the file is there and cannot be read.
    pub fn canaries<C: DeserializeOwned>(&self) -> Result<Option<C>, FolderError> {
        let path = self.private(CANARIES);
        let Some(bytes) = self.read(&path)? else { return Ok(None) };
        let canaries = serde_json::from_slice(&bytes).map_err(io::Error::from);
        canaries.map(Some).map_err(FolderError::file("read", &path))
    }

    /// Deletes all that a run has written before it may release anything.
    ///
    /// # Errors
    /// If the file system refuses.
    pub(crate) fn discard(&self) -> Result<(), FolderError> {
        // The settings first: without them the rest is what a killed run leaves, and no hindrance.
        for file in ["settings.json", "ledger.jsonl"].map(|name| self.file(name)) {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(FolderError::file("delete", &file)(error));
                }
                _ => {}
            }
        }
        let private = self.private("");
        fs::remove_dir_all(&private).map_err(FolderError::file("delete", &private))
    }

    /// Deletes the private part but for the canaries, at the end of a run that is not kept.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn forget_private(&self) -> Result<(), FolderError> {
        let private = self.private("");
        // The key first: what is left without it cannot go on and is of no use to anyone.
        let _ = fs::remove_file(self.private("state.json"));
        let mut kept = false;
        for entry in fs::read_dir(&private).map_err(FolderError::file("read", &private))? {
            let entry = entry.map_err(FolderError::file("read", &private))?;
            if entry.file_name() == CANARIES {
                kept = true;
                continue;
            }
            let path = entry.path();
            let deleted =
                if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            deleted.map_err(FolderError::file("delete", &path))?;
        }
        if kept {
            return Ok(());
        }
        fs::remove_dir(&private).map_err(FolderError::file("delete", &private))
    }
}

/// Lets nobody but the owner in, where the system knows owners.
fn restrict(path: &Path, mode: u32) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    #[cfg(not(unix))]
    let _ = (path, mode);
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_with_something_in_it_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&place.path().join("run")).unwrap();
        assert!(RunFolder::open(folder.path()).is_err());
        folder.write(&folder.file("settings.json"), b"{}").unwrap();
        assert!(RunFolder::open(folder.path()).is_ok());
        let error = RunFolder::create(folder.path()).unwrap_err().to_string();
        assert!(error.contains("organza resume"), "{error}");
    }

    #[test]
    fn what_was_killed_before_its_first_step_is_no_hindrance() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run");
        let folder = RunFolder::create(&path).unwrap();
        folder.write(&folder.private("state.json"), b"{}").unwrap();
        fs::write(folder.file("ledger.jsonl"), "header\n").unwrap();
        let unfinished = folder.file(".organza-a1b2c3");
        fs::write(&unfinished, "{").unwrap();
        let folder = RunFolder::create(&path).unwrap();
        assert!(!unfinished.exists());
        assert!(!folder.file("ledger.jsonl").exists());
        assert!(!folder.private("state.json").exists());
        fs::write(folder.file("ledger.jsonl"), "header\ncharge\n").unwrap();
        assert!(matches!(RunFolder::create(&path), Err(FolderError::NotEmpty(_))));
    }

    #[cfg(unix)]
    #[test]
    fn the_private_part_is_for_the_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&place.path().join("run")).unwrap();
        folder.write(&folder.private("key"), b"secret").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder.private("")), 0o700);
        assert_eq!(mode(&folder.private("key")), 0o600);
        folder.forget_private().unwrap();
        assert!(folder.read(&folder.private("key")).unwrap().is_none());
        assert!(!folder.private("").exists());
    }

    #[test]
    fn canaries_outlive_the_run_and_nothing_else_does() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&place.path().join("run")).unwrap();
        for name in ["state.json", "checkpoint.safetensors", CANARIES] {
            folder.write(&folder.private(name), b"{}").unwrap();
        }
        folder.forget_private().unwrap();
        folder.forget_private().unwrap();
        let left: Vec<_> = fs::read_dir(folder.private("")).unwrap().collect();
        assert_eq!(left.len(), 1);
        assert!(folder.private(CANARIES).exists());
        let folder = RunFolder::create(folder.path()).unwrap();
        assert!(!folder.private(CANARIES).exists(), "a new run keeps nothing of an old one");
    }
}
