//! The binary format of word2vec: a header line, then each word, a space, its numbers as bytes.

use super::{Vectors, VectorsError};
use organza_ledger::atomic::{Readers, write};
use std::io::Write;
use std::path::Path;

impl Vectors {
    /// Writes the binary format of word2vec: little-endian single precision, a line end after each
    /// vector as in the original program.
    ///
    /// # Errors
    /// When the disk has one; what was at `path` is as it was then.
    pub fn write_binary(&self, path: &Path) -> Result<(), VectorsError> {
        write(path, Readers::Usual, |writer| {
            writeln!(writer, "{} {}", self.words.len(), self.dimensions)?;
            for (word, vector) in self.words.iter().zip(self.matrix.chunks_exact(self.dimensions)) {
                writer.write_all(word.as_bytes())?;
                writer.write_all(b" ")?;
                for value in vector {
                    writer.write_all(&value.to_le_bytes())?;
                }
                writer.write_all(b"\n")?;
            }
            Ok(())
        })
        .map_err(VectorsError::file("write", path))
    }
}
