//! Reading a ledger back, line by line.

use crate::line::{LONGEST_LINE, Line, goes_on_after_checksum, stated_version};
use crate::{Charge, Header, LEDGER_VERSION, LedgerError, LineError};
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// All that a ledger holds.
///
/// # Privacy
/// Every charge that was ever confirmed is in it, or reading fails: a bad line is passed over only
/// at the very end of the file, where a write that was cut short leaves one, and is then named in
/// [`Replay::torn`]. Such a write was never confirmed, so nothing was released on its account.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// What the charges are relative to.
    pub header: Header,
    /// The charges, in the order in which they were made.
    pub charges: Vec<Charge>,
    /// A last line that was cut short, if there is one.
    pub torn: Option<TornLine>,
    /// The length of all good lines together, in bytes.
    pub(crate) good_bytes: u64,
    /// The checksum that the next line continues.
    pub(crate) checksum: u32,
}

/// A last line that was cut short. It does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornLine {
    /// The number of the line, counted from 1.
    pub line: u64,
    /// What stands in it. If it looks like a whole charge, the file may have been damaged later.
    pub text: Vec<u8>,
    /// Whether a line end follows it, so that it is not simply the beginning of a line.
    pub ended: bool,
}

impl fmt::Display for TornLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "line {} of the ledger was cut short after {} bytes, before its charge was confirmed; \
             it does not count",
            self.line,
            self.text.len()
        )
    }
}

impl Replay {
    /// Reads the ledger at `path` and changes nothing, also while a run writes to it.
    ///
    /// # Errors
    /// If the file cannot be read, or if any line but a torn last one is bad, naming the line.
    pub fn read(path: &Path) -> Result<Self, LedgerError> {
        let file = File::open(path).map_err(LedgerError::file(path, "open"))?;
        Self::from_reader(&mut BufReader::new(file), path)
    }

    pub(crate) fn from_reader(source: &mut impl BufRead, path: &Path) -> Result<Self, LedgerError> {
        let bad = |line, source| LedgerError::Line { path: path.to_owned(), line, source };
        let mut next_line = || read_line(source).map_err(LedgerError::file(path, "read"));

        let Some(first) = next_line()?.filter(|raw| raw.ended || raw.is_too_long()) else {
            return Err(LedgerError::NoHeader(path.to_owned()));
        };
        let (header, mut checksum) = first.header().map_err(|error| bad(1, error))?;
        let mut good_bytes = first.length();
        let mut charges = Vec::new();
        let mut number = 1;
        while let Some(raw) = next_line()? {
            number += 1;
            match raw.charge(checksum) {
                Ok((charge, next_checksum)) => {
                    checksum = next_checksum;
                    good_bytes += raw.length();
                    charges.push(charge);
                }
                Err(error) if raw.is_torn(&error) => {
                    let torn = Some(TornLine { line: number, text: raw.text, ended: raw.ended });
                    return Ok(Self { header, charges, torn, good_bytes, checksum });
                }
                Err(error) => return Err(bad(number, error)),
            }
        }
        Ok(Self { header, charges, torn: None, good_bytes, checksum })
    }
}

/// A line as it stands in the file.
struct RawLine {
    /// The text without the line end.
    text: Vec<u8>,
    /// Whether a line end follows.
    ended: bool,
    /// Whether the file ends here.
    last: bool,
}

/// The next line, at most one byte longer than is allowed, or none at the end of the file.
fn read_line(source: &mut impl BufRead) -> std::io::Result<Option<RawLine>> {
    let mut text = Vec::new();
    let limit = LONGEST_LINE as u64 + 1;
    if source.by_ref().take(limit).read_until(b'\n', &mut text)? == 0 {
        return Ok(None);
    }
    let ended = text.last() == Some(&b'\n');
    if ended {
        text.pop();
    }
    Ok(Some(RawLine { text, ended, last: source.fill_buf()?.is_empty() }))
}

impl RawLine {
    fn length(&self) -> u64 {
        self.text.len() as u64 + u64::from(self.ended)
    }

    fn is_too_long(&self) -> bool {
        self.length() > LONGEST_LINE as u64
    }

    /// Whether a write that was cut short explains why this line is bad.
    fn is_torn(&self, error: &LineError) -> bool {
        self.last && error.may_be_torn() && !goes_on_after_checksum(&self.text)
    }

    fn header(&self) -> Result<(Header, u32), LineError> {
        if self.is_too_long() {
            return Err(LineError::TooLong);
        }
        if let Some(version) = stated_version(&self.text)
            && version != u64::from(LEDGER_VERSION)
        {
            return Err(LineError::UnknownVersion(version));
        }
        match Line::decode(&self.text, 0)? {
            (Line::Header(header), checksum) => Ok((header, checksum)),
            (Line::Charge(_), _) => Err(LineError::Misplaced),
        }
    }

    fn charge(&self, checksum: u32) -> Result<(Charge, u32), LineError> {
        if self.is_too_long() {
            return Err(LineError::TooLong);
        }
        if !self.ended {
            // The line end is part of what is written: without it the write was cut short.
            return Err(LineError::NoChecksum);
        }
        match Line::decode(&self.text, checksum)? {
            (Line::Charge(charge), checksum) => Ok((charge, checksum)),
            (Line::Header(_), _) => Err(LineError::Misplaced),
        }
    }
}
