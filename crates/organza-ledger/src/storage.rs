//! Where the lines of a ledger go: a file, nowhere, or in tests a disk that can crash.

use std::fmt::Debug;
use std::fs::File;
use std::io::{Result, Write};
use std::path::Path;

/// Somewhere to append to.
pub(crate) trait Storage: Debug + Send {
    /// Appends all of `bytes`. They may be lost until [`Storage::sync`] has returned.
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Returns once all that was appended survives a crash of the machine.
    fn sync(&mut self) -> Result<()>;
}

impl Storage for File {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes)
    }

    fn sync(&mut self) -> Result<()> {
        self.sync_data()
    }
}

/// Nothing beside the ledger itself, which remembers its charges while it lives.
#[derive(Debug)]
pub(crate) struct Memory;

impl Storage for Memory {
    fn append(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Makes the name of a file that was just created survive a crash.
#[cfg(unix)]
pub(crate) fn sync_folder(path: &Path) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    File::open(folder)?.sync_all()
}

/// Elsewhere a folder cannot be opened as a file, and the file's own sync covers its name.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_path: &Path) -> Result<()> {
    Ok(())
}
