//! The binary format of word2vec: a header line, then each word, a space, its numbers as bytes.

use super::header::Header;
use super::vocabulary::LONGEST_WORD;
use super::{Vectors, VectorsError};
use organza_ledger::atomic::{Readers, write};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
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

    /// Reads the binary format of word2vec, with or without a line end after each vector.
    ///
    /// # Errors
    /// When the file cannot be read or is not in this format: too short, too long, not UTF-8, a
    /// value that is not finite. Memory grows with what is in the file, not with what its header
    /// promises.
    pub fn read_binary(path: &Path) -> Result<Self, VectorsError> {
        let file = File::open(path).map_err(VectorsError::file("open", path))?;
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let header = Header::read(&mut reader, path)?;
        let (mut words, mut matrix) = (Vec::new(), Vec::new());
        let mut bytes = vec![0; header.dimensions * size_of::<f32>()];
        while (words.len() as u64) < header.words {
            let number = words.len() + 1;
            let place = || format!("word {number}");
            let Some(word) = read_word(&mut reader, path, number)? else { break };
            reader.read_exact(&mut bytes).map_err(|source| match source.kind() {
                ErrorKind::UnexpectedEof => {
                    VectorsError::format(path, place(), "the file ends within its vector")
                }
                _ => VectorsError::file("read", path)(source),
            })?;
            for value in bytes.as_chunks::<4>().0 {
                let value = f32::from_le_bytes(*value);
                if !value.is_finite() {
                    return Err(VectorsError::format(path, place(), "a value is not finite"));
                }
                matrix.push(value);
            }
            words.push(word);
        }
        let mut rest = Vec::new();
        reader.take(2).read_to_end(&mut rest).map_err(VectorsError::file("read", path))?;
        if !matches!(rest.as_slice(), [] | [b'\n']) {
            return Err(header.wrong_count(path, "goes on after them"));
        }
        header.finish(words, matrix, path)
    }
}

/// The word before the next vector; `None` at the end of the file.
fn read_word(
    reader: &mut impl BufRead,
    path: &Path,
    number: usize,
) -> Result<Option<String>, VectorsError> {
    let mut bytes = Vec::new();
    // The line end of the vector before and the space after the word are read as well.
    let mut limited = reader.take(LONGEST_WORD as u64 + 2);
    limited.read_until(b' ', &mut bytes).map_err(VectorsError::file("read", path))?;
    if bytes.is_empty() || bytes == b"\n" {
        return Ok(None);
    }
    let error = |problem| VectorsError::format(path, format!("word {number}"), problem);
    if bytes.pop_if(|last| *last == b' ').is_none() {
        return Err(error("no space follows the word"));
    }
    let word = bytes.strip_prefix(b"\n").unwrap_or(&bytes);
    match std::str::from_utf8(word) {
        Ok(word) => Ok(Some(word.to_owned())),
        Err(_) => Err(error("not UTF-8")),
    }
}
