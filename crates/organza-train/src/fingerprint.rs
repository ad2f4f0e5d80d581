//! A hash by which the data of a run is known again.

use serde::Serialize;
use sha2::{Digest, Sha256};
use std::io::{self, Write};

/// The SHA-256 of data, as JSON has it. *Not private.*
///
/// Numbers that are not finite are all `null` there, and a map without an order is another text in every process: keep both
/// out of data that a run shall go on with.
///
/// # Errors
/// If the data cannot be written as JSON.
pub fn fingerprint(data: &impl Serialize) -> Result<[u8; 32], serde_json::Error> {
    let mut hash = Hashed(Sha256::new());
    serde_json::to_writer(&mut hash, data)?;
    Ok(hash.0.finalize().into())
}

struct Hashed(Sha256);

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
