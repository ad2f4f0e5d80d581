//! One line of the ledger file: JSON that ends in a checksum of all that stands before it.
//!
//! ```text
//! {"header":{"version":2,...},"check":"5f1c9a02"}
//! {"charge":{"purpose":"training","from_step":0,"steps":100,"event":{...}},"check":"90ab14de"}
//! ```
//!
//! `check` is the CRC-32 of the contents of this line *and of all lines before it* (each up to its
//! `,"check"`). A line thus vouches for its place as well: one that was torn, changed, lost, doubled
//! or moved does not match, and neither does any line after it.

use crate::checksum;
use crate::{Charge, ChargeError, Header, HeaderError, LEDGER_VERSION, SELECTED_FORM};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The longest line that is written or read, in bytes, so that no file can exhaust the memory.
pub(crate) const LONGEST_LINE: usize = 1 << 20;

/// Stands between the content of a line and its checksum.
const BEFORE_CHECK: &str = ",\"check\":\"";
/// Stands after the checksum.
const AFTER_CHECK: &str = "\"}";
/// The length of all that follows the content.
const TAIL: usize = BEFORE_CHECK.len() + 8 + AFTER_CHECK.len();

/// What to do about a line that is not what was written.
const RESTORE: &str = "bring back an undamaged copy of the ledger, since to go on without the line \
                       could spend more than the budget";

/// The content of a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// The first line.
    Header(Header),
    /// Every other line.
    Charge(Charge),
}

/// What changed its meaning since this version.
fn news_since(version: u64) -> String {
    if version != 1 {
        return String::new();
    }
    format!(" (noise on what a capped selection selected is {SELECTED_FORM} since then)")
}

/// Why a line cannot be read or written.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum LineError {
    /// The line does not end in a checksum.
    #[error("it does not end in a checksum; {RESTORE}")]
    NoChecksum,
    /// The line, or one before it, is not what was written.
    #[error("its checksum is {stated}, but its content gives {computed}; {RESTORE}")]
    Checksum {
        /// The checksum at the end of the line.
        stated: String,
        /// The checksum of the content.
        computed: String,
    },
    /// The file comes from another version of the program.
    #[error(
        "it is a ledger of version {0}, but this program knows version {LEDGER_VERSION} alone; use \
         a program that knows version {0}{news}", news = news_since(*.0)
    )]
    UnknownVersion(u64),
    /// The content is whole, but says nothing that is known.
    #[error("column {column}: {reason}")]
    Content {
        /// Where in the line, counted from 1.
        column: usize,
        /// What was found, and what was expected.
        reason: String,
    },
    /// A header stands below the first line, or none in it.
    #[error("the first line, and no other, must be a header")]
    Misplaced,
    /// The line exceeds what a ledger may hold.
    #[error("it is longer than {LONGEST_LINE} bytes")]
    TooLong,
    /// The header makes no sense.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The charge makes no sense.
    #[error(transparent)]
    Charge(#[from] ChargeError),
}

impl LineError {
    /// Whether a write that was cut short can look like this.
    pub(crate) fn may_be_torn(&self) -> bool {
        matches!(self, Self::NoChecksum | Self::Checksum { .. })
    }
}

impl Line {
    /// The text of this line with its line end, and the checksum that the next line continues.
    pub(crate) fn encode(&self, checksum: u32) -> Result<(Vec<u8>, u32), LineError> {
        self.check()?;
        let mut text = serde_json::to_vec(self).map_err(|error| content_error(&error))?;
        // The closing brace moves behind the checksum.
        text.pop();
        let checksum = checksum::extend(checksum, &text);
        text.extend_from_slice(tail(checksum).as_bytes());
        text.push(b'\n');
        if text.len() > LONGEST_LINE {
            return Err(LineError::TooLong);
        }
        Ok((text, checksum))
    }

    /// Reads one line, without its line end, and yields the checksum that the next line continues.
    pub(crate) fn decode(text: &[u8], checksum: u32) -> Result<(Self, u32), LineError> {
        let split = text.len().checked_sub(TAIL).ok_or(LineError::NoChecksum)?;
        let (content, end) = text.split_at(split);
        let end = String::from_utf8_lossy(end);
        let stated = end
            .strip_prefix(BEFORE_CHECK)
            .and_then(|end| end.strip_suffix(AFTER_CHECK))
            .ok_or(LineError::NoChecksum)?;
        let checksum = checksum::extend(checksum, content);
        if end != tail(checksum) {
            let computed = format!("{checksum:08x}");
            return Err(LineError::Checksum { stated: stated.to_owned(), computed });
        }
        let line: Self = serde_json::from_slice(&[content, b"}"].concat())
            .map_err(|error| content_error(&error))?;
        line.check()?;
        Ok((line, checksum))
    }

    fn check(&self) -> Result<(), LineError> {
        match self {
            Self::Header(header) => Ok(header.check()?),
            Self::Charge(charge) => Ok(charge.check()?),
        }
    }
}

/// The version that the first line names, whatever else it holds.
///
/// It is read before the checksum, since another version may have another checksum.
pub(crate) fn stated_version(text: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct AnyFirstLine {
        header: AnyHeader,
    }
    #[derive(Deserialize)]
    struct AnyHeader {
        version: u64,
    }
    serde_json::from_slice::<AnyFirstLine>(text).ok().map(|line| line.header.version)
}

/// Whether more follows where a line should have ended.
///
/// A write that was cut short leaves a piece of *one* line. Two lines that a damaged line end has
/// joined look like a bad last line as well, but the first of them was confirmed.
pub(crate) fn goes_on_after_checksum(text: &[u8]) -> bool {
    // The content of a line never holds this: within JSON strings a quote is escaped.
    let place = text.windows(BEFORE_CHECK.len()).position(|piece| piece == BEFORE_CHECK.as_bytes());
    place.is_some_and(|place| place + TAIL < text.len())
}

fn tail(checksum: u32) -> String {
    format!("{BEFORE_CHECK}{checksum:08x}{AFTER_CHECK}")
}

/// The error without the position "at line 1", which would pass for a line of the file.
fn content_error(error: &serde_json::Error) -> LineError {
    let position = format!(" at line {} column {}", error.line(), error.column());
    let text = error.to_string();
    let reason = text.strip_suffix(&position).unwrap_or(&text).to_owned();
    LineError::Content { column: error.column(), reason }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{LONGEST_LINE, Line, LineError, stated_version};
    use crate::{Charge, Event, Header, KeyFingerprint, Neighbouring, Replay, Unit};
    use std::path::Path;

    fn header() -> Line {
        let header = Header::new(Neighbouring::AddRemove, Unit::Line, 1e-6);
        Line::Header(header.declare_public("units", "200000"))
    }

    fn charge() -> Line {
        let step = Event::Gaussian { noise_multiplier: 0.5 }.poisson(1e-4);
        let key = KeyFingerprint::new([0xab; 16]);
        Line::Charge(Charge::block("training", 100..200, step).with_key(key))
    }

    #[test]
    fn the_text_is_stable() {
        let (first, checksum) = header().encode(0).unwrap();
        let (second, _) = charge().encode(checksum).unwrap();
        assert_eq!(
            String::from_utf8(first).unwrap(),
            "{\"header\":{\"version\":2,\"neighbouring\":\"add-remove\",\"unit\":\"line\",\
             \"delta\":1e-6,\"public\":[{\"name\":\"units\",\"value\":\"200000\"}]},\
             \"check\":\"998e2028\"}\n"
        );
        assert_eq!(
            String::from_utf8(second).unwrap(),
            "{\"charge\":{\"purpose\":\"training\",\"from_step\":100,\"steps\":100,\
             \"event\":{\"poisson\":{\"rate\":0.0001,\"event\":{\"gaussian\":\
             {\"noise_multiplier\":0.5}}}},\"key\":\"abababababababababababababababab\"},\
             \"check\":\"7b78bfff\"}\n"
        );
    }

    #[test]
    fn a_line_comes_back_and_is_ordinary_json() {
        let (text, written) = charge().encode(17).unwrap();
        let text = text.strip_suffix(b"\n").unwrap();
        assert_eq!(Line::decode(text, 17), Ok((charge(), written)));
        assert!(serde_json::from_slice::<serde_json::Value>(text).is_ok());
    }

    #[test]
    fn a_line_vouches_for_its_place() {
        let (text, _) = charge().encode(17).unwrap();
        let moved = Line::decode(text.strip_suffix(b"\n").unwrap(), 18);
        assert!(matches!(moved, Err(LineError::Checksum { .. })));
    }

    #[test]
    fn what_makes_no_sense_is_not_written() {
        // JSON has no word for it: unchecked, it would be written as `null`.
        let charge = Charge::once("training", Event::Pure { epsilon: f64::NAN });
        assert!(matches!(Line::Charge(charge).encode(0), Err(LineError::Charge(_))));
        let event = Event::Compose(vec![Event::Pure { epsilon: 0.1 }; 100_000]);
        let charge = Charge::once("training", event);
        assert_eq!(Line::Charge(charge).encode(0), Err(LineError::TooLong));
    }

    #[test]
    fn the_longest_line_that_is_written_is_read() {
        let header = |length: usize| match header() {
            Line::Header(header) => Line::Header(header.declare_public("note", "x".repeat(length))),
            other => other,
        };
        let room = LONGEST_LINE - header(0).encode(0).unwrap().0.len();
        assert_eq!(header(room + 1).encode(0), Err(LineError::TooLong));
        let (text, _) = header(room).encode(0).unwrap();
        let found = Replay::from_reader(&mut &text[..], Path::new("ledger.jsonl")).unwrap();
        assert_eq!(Line::Header(found.header), header(room));
    }

    #[test]
    fn the_deepest_event_that_is_written_is_read() {
        let event = |depth: usize| {
            (0..depth).fold(Event::Pure { epsilon: 0.1 }, |event, level| match level % 2 {
                0 => Event::Compose(vec![event]),
                _ => event.poisson(0.5),
            })
        };
        let charge = |depth| Line::Charge(Charge::once("training", event(depth)));
        let deepest = (0..100).rev().find(|depth| charge(*depth).encode(0).is_ok()).unwrap();
        assert_eq!(deepest, 31);
        let (text, checksum) = charge(deepest).encode(0).unwrap();
        let text = text.strip_suffix(b"\n").unwrap();
        assert_eq!(Line::decode(text, 0), Ok((charge(deepest), checksum)));
    }

    #[test]
    fn the_version_is_read_from_any_header() {
        let future = b"{\"header\":{\"version\":7,\"shape\":[1]},\"sha\":\"00\"}";
        assert_eq!(stated_version(future), Some(7));
        assert_eq!(stated_version(b"{\"charge\":{}}"), None);
    }
}
