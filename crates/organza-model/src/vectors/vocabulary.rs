//! The words of a vocabulary, and the file with one of them a line.

use super::VectorsError;
use organza_ledger::atomic::{Readers, write};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

/// The longest word, in bytes. Files with longer ones are not what they seem.
pub(super) const LONGEST_WORD: usize = 4096;

/// The numbers of the words in the order of their spelling.
///
/// # Errors
/// Names the first word that cannot stand in word2vec files, which separate words by spaces and line ends: one that is
/// empty, holds white space or a control character, is longer than 4,096 bytes, or comes twice.
pub(super) fn order(words: &[String]) -> Result<Vec<u32>, VectorsError> {
    let error = |number: usize, problem| {
        let word = words[number].chars().take(100).collect();
        Err(VectorsError::Word { number: number + 1, word, problem })
    };
    for (number, word) in words.iter().enumerate() {
        if word.is_empty() {
            return error(number, "is empty");
        }
        if word.len() > LONGEST_WORD {
            return error(number, "is longer than 4096 bytes");
        }
        if word.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
            return error(number, "holds white space or a control character: replace it");
        }
    }
    let Ok(count) = u32::try_from(words.len()) else {
        return error(u32::MAX as usize, "is beyond the 2^32 - 1 words that are possible");
    };
    let mut order: Vec<u32> = (0..count).collect();
    order.sort_by_key(|number| &words[*number as usize]);
    for pair in order.windows(2) {
        if words[pair[0] as usize] == words[pair[1] as usize] {
            return error(pair[1] as usize, "comes twice");
        }
    }
    Ok(order)
}

/// Writes one word a line.
///
/// # Errors
/// When a word is empty, holds white space or a control character, is longer than 4,096 bytes or comes twice, or what
/// the disk says.
pub fn write_words(path: &Path, words: &[String]) -> Result<(), VectorsError> {
    order(words)?;
    write(path, Readers::Usual, |writer| {
        for word in words {
            writeln!(writer, "{word}")?;
        }
        Ok(())
    })
    .map_err(VectorsError::file("write", path))
}

/// Reads one word a line.
///
/// # Errors
/// When the file cannot be read, or its words are none: not UTF-8, or such as [`write_words`] refuses.
pub fn read_words(path: &Path) -> Result<Vec<String>, VectorsError> {
    let file = File::open(path).map_err(VectorsError::file("open", path))?;
    let mut reader = BufReader::new(file);
    let mut words = Vec::new();
    while let Some(line) = read_line(&mut reader, LONGEST_WORD, path, words.len() + 1)? {
        words.push(line);
    }
    order(&words).map_err(|error| match error {
        VectorsError::Word { number, word, problem } => {
            VectorsError::format(path, format!("line {number}"), format!("{word:?} {problem}"))
        }
        other => other,
    })?;
    Ok(words)
}

/// The next line without its end, at most `longest` bytes long; `None` at the end of the file.
pub(super) fn read_line(
    reader: &mut impl BufRead,
    longest: usize,
    path: &Path,
    line: usize,
) -> Result<Option<String>, VectorsError> {
    let place = || format!("line {line}");
    let mut bytes = Vec::new();
    // Two more for the line's end. What is read grows with the file, never with a promise in it.
    let mut limited = reader.take(longest as u64 + 2);
    limited.read_until(b'\n', &mut bytes).map_err(VectorsError::file("read", path))?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if bytes.pop_if(|last| *last == b'\n').is_some() {
        bytes.pop_if(|last| *last == b'\r');
    }
    if bytes.len() > longest {
        return Err(VectorsError::format(path, place(), format!("longer than {longest} bytes")));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| VectorsError::format(path, place(), "not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_and_come_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("vocabulary.txt");
        let words: Vec<String> = ["the", "naïve", "日本", "#", "'s"].map(String::from).to_vec();
        write_words(&path, &words).expect("written");
        assert_eq!(read_words(&path).expect("read"), words);
        std::fs::write(&path, "the\r\ncat").expect("written");
        assert_eq!(read_words(&path).expect("read"), ["the", "cat"]);
    }

    #[test]
    fn words_that_no_file_can_hold_are_refused() {
        let long = "x".repeat(LONGEST_WORD + 1);
        for bad in ["", "two words", "line\nend", "tab\t", "no\u{a0}break", "\u{7}", "the", &long] {
            let words = ["the".to_owned(), bad.to_owned()];
            let message = order(&words).expect_err("refused").to_string();
            assert!(message.starts_with("word 2 of the vocabulary"), "{message}");
        }
    }

    #[test]
    fn files_that_are_no_vocabulary_are_refused_by_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("vocabulary.txt");
        let long = [b'x'; 3 * LONGEST_WORD];
        for bad in [&b"the\n\ncat\n"[..], b"the\nthe\n", b"the\n\xff\n", b"the\na cat\n", &long] {
            std::fs::write(&path, bad).expect("written");
            let message = read_words(&path).expect_err("refused").to_string();
            let line = if bad == long { "line 1" } else { "line 2" };
            assert!(message.contains(line), "{message}");
        }
        assert!(matches!(read_words(folder.path()), Err(VectorsError::File { .. })));
    }
}
