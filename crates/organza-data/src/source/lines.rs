//! A stream of bytes as lines of text, in bounded memory.

use super::{Line, Visit};
use crate::{DataError, LineProblem, Place};
use flate2::bufread::MultiGzDecoder;
use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::rc::Rc;

/// The longest line that is read, in bytes. A document of this length is a library, so a longer line
/// is a file of another kind, and memory stays bounded.
pub const LONGEST_LINE: usize = 16 << 20;

/// What unpacks to so many times its size is refused, once it is a gigabyte. Text packs 3 to 20 times.
const MOST_PACKED: u64 = 500;
const LEAST_BOMB: u64 = 1 << 30;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A file to read: where it is and what its text is called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedFile<'a> {
    pub(crate) file: &'a Path,
    pub(crate) name: &'a str,
}

/// Shows every line of `input`, decompressed if it begins like gzip or zstd.
pub(crate) fn each_line(
    input: impl Read,
    named: NamedFile<'_>,
    visit: &mut Visit<'_>,
) -> Result<(), DataError> {
    each_line_within(input, named, LONGEST_LINE, visit)
}

fn each_line_within(
    input: impl Read,
    named: NamedFile<'_>,
    longest: usize,
    visit: &mut Visit<'_>,
) -> Result<(), DataError> {
    let mut input = unpacked(input).map_err(DataError::read(named.file))?;
    let mut place = Place { file: named.file.to_owned(), line: 0 };
    let mut bytes = Vec::new();
    loop {
        place.line += 1;
        bytes.clear();
        // Room for the longest line and its end, and one byte more to notice a longer one.
        let mut bounded = input.by_ref().take(longest as u64 + 2);
        let read = bounded
            .read_until(b'\n', &mut bytes)
            .map_err(|source| DataError::ReadLine { place: place.clone(), source })?;
        if read == 0 {
            return Ok(());
        }
        let ended = bytes.ends_with(b"\n");
        match text(&bytes, place.line == 1, longest) {
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => visit(Line::of(text, named.name, &place))?,
            Err(problem) => {
                let problem = Some(&problem);
                visit(Line { problem, ..Line::of("", named.name, &place) })?;
            }
        }
        if bytes.len() > longest && !ended {
            // What is left of a line that is too long.
            input
                .skip_until(b'\n')
                .map_err(|source| DataError::ReadLine { place: place.clone(), source })?;
        }
    }
}

/// What `input` holds, decompressed if it begins like gzip or zstd.
pub(crate) fn unpacked<'a>(mut input: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    const BUFFER: usize = 1 << 16;
    let mut head = Vec::with_capacity(ZSTD.len());
    input.by_ref().take(ZSTD.len() as u64).read_to_end(&mut head)?;
    let (gzip, zstd) = (head.starts_with(GZIP), head == ZSTD);
    let packed = Rc::new(Cell::new(0));
    let whole = Counted { input: Cursor::new(head).chain(input), read: packed.clone() };
    let whole = BufReader::with_capacity(BUFFER, whole);
    let bounded = |input| BufReader::with_capacity(BUFFER, Unpacked { input, packed, unpacked: 0 });
    Ok(match (gzip, zstd) {
        (true, _) => Box::new(bounded(Box::new(MultiGzDecoder::new(whole)))),
        #[cfg(feature = "parquet")]
        (_, true) => Box::new(bounded(Box::new(zstd::Decoder::with_buffer(whole)?))),
        _ => Box::new(whole),
    })
}

/// Says how much was read.
struct Counted<R> {
    input: R,
    read: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.read.set(self.read.get() + read as u64);
        Ok(read)
    }
}

/// What was packed, as long as it is not absurdly more than it was packed into.
///
/// # Privacy
/// A refusal is seen by everybody. A unit can bring this one about only if it fills most of a gigabyte by itself, with next to
/// nothing but repetitions; the sharp edges say so.
struct Unpacked<'a> {
    input: Box<dyn Read + 'a>,
    packed: Rc<Cell<u64>>,
    unpacked: u64,
}

impl Read for Unpacked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.unpacked += read as u64;
        if self.unpacked > LEAST_BOMB && self.unpacked / MOST_PACKED > self.packed.get() {
            let problem = format!(
                "it unpacks to more than {MOST_PACKED} times its size, so it seems made to fill memory: unpack \
                 it yourself if you trust it"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(read)
    }
}

/// The line as text, without its end.
fn text(bytes: &[u8], first: bool, longest: usize) -> Result<&str, LineProblem> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    // A long line without an end is most likely binary, and then that is what is wrong with it.
    if bytes.contains(&0) {
        return Err(LineProblem::Binary);
    }
    if bytes.len() > longest {
        return Err(LineProblem::TooLong { longest });
    }
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let bytes = if first { bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes) } else { bytes };
    std::str::from_utf8(bytes)
        .map_err(|error| LineProblem::InvalidUtf8 { byte: error.valid_up_to() + 1 })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;
    use std::io::Write;

    const LIMIT: usize = 1000;

    fn lines(input: impl Read) -> Result<Vec<(u64, String)>, DataError> {
        let mut all = Vec::new();
        let named = NamedFile { file: Path::new("some.txt"), name: "some.txt" };
        each_line_within(input, named, LIMIT, &mut |line| {
            if let Some(problem) = line.problem {
                return Err(DataError::line(line.place, problem.clone()));
            }
            all.push((line.place.line, line.text.to_owned()));
            Ok(())
        })?;
        Ok(all)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn message(input: impl Read) -> String {
        lines(input).unwrap_err().to_string()
    }

    #[test]
    fn line_ends_blank_lines_and_a_byte_order_mark_are_no_text() {
        let text = "\u{feff}one\r\n\n  \t\ntwo words\nlast";
        let expected = [(1, "one".into()), (4, "two words".into()), (5, "last".into())];
        assert_eq!(lines(text.as_bytes()).unwrap(), expected);
        assert_eq!(lines(&b""[..]).unwrap(), []);
        assert_eq!(lines(&b"x"[..]).unwrap(), [(1, "x".into())]);
    }

    #[test]
    fn gzip_is_known_by_its_first_bytes_and_may_have_several_members() {
        let both = [gzip(b"one\ntw"), gzip(b"o\n")].concat();
        assert_eq!(lines(&both[..]).unwrap(), [(1, "one".into()), (2, "two".into())]);
        let cut = gzip("line\n".repeat(5000).as_bytes());
        let error = message(&cut[..cut.len() - 10]);
        assert!(error.starts_with("cannot go on reading at `some.txt` line "), "{error}");
    }

    #[test]
    fn a_line_without_an_end_is_refused_early() {
        // A reader without an end: only a bound makes this return.
        let endless = b"one\n".chain(io::repeat(b'a'));
        assert!(
            message(endless).starts_with("`some.txt` line 2: the line is longer than 1000 bytes")
        );
        assert!(message(io::repeat(0)).contains("line 1: the line holds a zero byte"));
        let packed = gzip(&vec![b'a'; 10_000_000]);
        assert!(message(&packed[..]).contains("longer than 1000 bytes"));
    }

    #[test]
    fn the_longest_line_is_read_whole_and_one_more_byte_is_too_much() {
        let fits = format!("{}\nx", "a".repeat(LIMIT));
        assert_eq!(lines(fits.as_bytes()).unwrap().len(), 2);
        let exceeds = format!("{}\nx", "a".repeat(LIMIT + 1));
        assert!(lines(exceeds.as_bytes()).is_err());
    }

    /// What one line is decides about that line alone.
    #[test]
    fn a_line_that_is_no_text_takes_no_other_with_it() {
        let long = "a".repeat(3 * LIMIT);
        let input = format!("one\n{long}\ntwo\n\0\nthree\n{long}");
        let input = [b"\xff\n", input.as_bytes()].concat();
        let (mut texts, mut problems) = (Vec::new(), Vec::new());
        let named = NamedFile { file: Path::new("some.txt"), name: "some.txt" };
        each_line_within(&input[..], named, LIMIT, &mut |line| {
            match line.problem {
                Some(_) => problems.push(line.place.line),
                None => texts.push((line.place.line, line.text.to_owned())),
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(texts, [(2, "one".into()), (4, "two".into()), (6, "three".into())]);
        assert_eq!(problems, [1, 3, 5, 7]);
    }

    #[test]
    fn what_is_no_text_is_named_with_its_line() {
        let error = message(&b"good\nbad \xff byte\n"[..]);
        assert!(
            error.starts_with("`some.txt` line 2: byte 5 of the line is not valid UTF-8"),
            "{error}"
        );
        assert!(message(&b"\x7fELF\0\0"[..]).contains("line 1: the line holds a zero byte"));
        let utf16 = b"\xff\xfeo\0n\0";
        assert!(message(&utf16[..]).contains("UTF-16 has to be converted"));
    }

    proptest! {
        #[test]
        fn any_bytes_give_lines_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = lines(&bytes[..]);
        }

        #[test]
        fn all_lines_come_through(wanted in proptest::collection::vec("[a-zé ]{0,8}x", 0..20)) {
            let text = wanted.join("\n");
            let found: Vec<_> = lines(text.as_bytes()).unwrap().into_iter().map(|(_, line)| line).collect();
            prop_assert_eq!(&found, &wanted);
            let packed: Vec<_> = lines(&gzip(text.as_bytes())[..]).unwrap().into_iter().map(|(_, line)| line).collect();
            prop_assert_eq!(packed, wanted);
        }
    }

    /// A gigabyte and more of one byte in a megabyte ends in an error; the same of less, or packed less well, is read.
    #[test]
    fn a_bomb_is_refused() {
        let unpack = |packed: u64, bytes: u64| {
            let input = Box::new(io::repeat(b'a').take(bytes));
            let packed = Rc::new(Cell::new(packed));
            let mut unpacked = BufReader::new(Unpacked { input, packed, unpacked: 0 });
            io::copy(&mut unpacked, &mut io::sink())
        };
        let (bytes, small) = (LEAST_BOMB + (1 << 20), 1 << 20);
        let refused = unpack(small, bytes).unwrap_err().to_string();
        assert!(refused.contains("500 times its size"), "{refused}");
        assert_eq!(unpack(small, LEAST_BOMB).ok(), Some(LEAST_BOMB));
        assert_eq!(unpack(4 * small, bytes).ok(), Some(bytes));
    }
}
