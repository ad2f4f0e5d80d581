//! Where the lines of a ledger go: a file, nowhere, or in tests a disk that can crash.

use std::fmt::Debug;
use std::fs::File;
use std::io::{Result, Write};

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
