//! The text format of word2vec: `words dimensions`, then a word and its numbers on each line.

use super::header::Header;
use super::vocabulary::{LONGEST_WORD, read_line};
use super::{Vectors, VectorsError};
use organza_ledger::atomic::{Readers, write};
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;

/// No way to write a number in single precision needs more bytes.
const LONGEST_NUMBER: usize = 64;

impl Vectors {
    /// Writes the text format of word2vec, which gensim and many others read. Numbers are as short
    /// as they can be while reading them gives the same bits.
    ///
    /// # Errors
    /// When the disk has one; what was at `path` is as it was then.
    pub fn write_text(&self, path: &Path) -> Result<(), VectorsError> {
        write(path, Readers::Usual, |writer| {
            writeln!(writer, "{} {}", self.words.len(), self.dimensions)?;
            for (word, vector) in self.words.iter().zip(self.matrix.chunks_exact(self.dimensions)) {
                writer.write_all(word.as_bytes())?;
                for value in vector {
                    write!(writer, " {value}")?;
                }
                writer.write_all(b"\n")?;
            }
            Ok(())
        })
        .map_err(VectorsError::file("write", path))
    }

    /// Reads the text format of word2vec.
    ///
    /// # Errors
    /// When the file cannot be read, or is not in this format, with the line; NaN and infinities are
    /// refused. Memory grows with what is in the file, not with what its header promises.
    pub fn read_text(path: &Path) -> Result<Self, VectorsError> {
        let file = File::open(path).map_err(VectorsError::file("open", path))?;
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let header = Header::read(&mut reader, path)?;
        let (mut words, mut matrix) = (Vec::new(), Vec::new());
        let longest = LONGEST_WORD + header.dimensions * LONGEST_NUMBER;
        for number in 2.. {
            let Some(line) = read_line(&mut reader, longest, path, number)? else { break };
            if words.len() as u64 == header.words {
                if line.trim().is_empty() {
                    continue;
                }
                return Err(header.wrong_count(path, &format!("goes on in line {number}")));
            }
            let error = |problem| VectorsError::format(path, format!("line {number}"), problem);
            let mut fields = line.split_ascii_whitespace();
            let Some(word) = fields.next() else {
                return Err(error("the line is empty".to_owned()));
            };
            let start = matrix.len();
            for field in fields {
                match field.parse::<f32>() {
                    Ok(value) if value.is_finite() => matrix.push(value),
                    _ => return Err(error(format!("{field:?} is not a finite number"))),
                }
            }
            let found = matrix.len() - start;
            if found != header.dimensions {
                let expected = header.dimensions;
                return Err(error(format!("{expected} numbers are expected, not {found}")));
            }
            words.push(word.to_owned());
        }
        header.finish(words, matrix, path)
    }
}
