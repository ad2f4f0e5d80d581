//! CSV and TSV with a header line, plain or packed.

use super::{Reading, TableForm, TableRow, VisitRow};
use crate::source::{LONGEST_LINE, unpacked};
use crate::sparse::RowProblem;
use crate::{DataError, LineProblem};
use csv::{ByteRecord, ErrorKind, ReaderBuilder};
use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, BufRead, Cursor, Read};
use std::path::Path;
use std::rc::Rc;

/// What may part the fields of a CSV file: that which its header has most of.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// A header line is no longer than this.
const LONGEST_HEADER: u64 = 1 << 20;
/// What is read ahead of a record.
const AHEAD: u64 = 1 << 17;

/// A reader of records, and the names of its columns.
pub(super) struct Separated<'a> {
    reader: csv::Reader<Bounded<'a>>,
    pub(super) header: Vec<String>,
    left: Rc<Cell<u64>>,
}

/// Hands out so many bytes and fails beyond: a record without an end must not fill the memory.
struct Bounded<'a> {
    input: Box<dyn BufRead + 'a>,
    left: Rc<Cell<u64>>,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.get();
        if left == 0 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let read = self.input.read(&mut buffer[..])?;
        self.left.set(left.saturating_sub(read as u64));
        Ok(read)
    }
}

impl<'a> Separated<'a> {
    pub(super) fn new(
        input: &'a mut dyn Read,
        file: &Path,
        form: TableForm,
        given: Option<&[String]>,
    ) -> Result<Self, DataError> {
        let mut input = unpacked(input).map_err(DataError::read(file))?;
        let mut first = Vec::new();
        let mut bounded = input.by_ref().take(LONGEST_HEADER);
        bounded.read_until(b'\n', &mut first).map_err(DataError::read(file))?;
        let count = |separator: &u8| first.iter().filter(|byte| *byte == separator).count();
        let separator = match form {
            TableForm::Tabs => b'\t',
            _ => SEPARATORS.into_iter().rev().max_by_key(count).unwrap_or(b','),
        };
        let left = Rc::new(Cell::new(LONGEST_HEADER + AHEAD));
        let whole =
            Bounded { input: Box::new(Cursor::new(first).chain(input)), left: left.clone() };
        let mut reader = ReaderBuilder::new()
            .delimiter(separator)
            .quoting(form != TableForm::Tabs)
            .has_headers(given.is_none())
            .flexible(true)
            .from_reader(whole);
        if let Some(given) = given {
            return Ok(Self { reader, header: given.to_vec(), left });
        }
        let header = reader.byte_headers().map_err(|error| unreadable(file, error))?;
        let name = |field: &[u8]| {
            let text = String::from_utf8_lossy(field);
            unquoted(text.trim().trim_start_matches('\u{feff}'), form).into_owned()
        };
        let header = header.iter().map(name).collect();
        Ok(Self { reader, header, left })
    }
}

impl Reading<'_> {
    /// Shows every record; one that is endless is the last.
    pub(super) fn each_record(
        mut self,
        form: TableForm,
        input: &mut dyn Read,
        visit: &mut VisitRow<'_>,
    ) -> Result<(), DataError> {
        let Separated { mut reader, header, left } =
            Separated::new(input, &self.place.file, form, self.header)?;
        let places = self.places(&header)?;
        let mut record = ByteRecord::new();
        loop {
            left.set(LONGEST_LINE as u64 + AHEAD);
            let line = reader.position().line();
            let endless = match reader.read_byte_record(&mut record) {
                Ok(false) => return Ok(()),
                Ok(true) => false,
                Err(_) if left.get() == 0 => true,
                Err(error) => return Err(unreadable(&self.place.file, error)),
            };
            self.place.line = record.position().map_or(line, csv::Position::line);
            let texts = if endless {
                Err(LineProblem::TooLong { longest: LONGEST_LINE })
            } else if record.len() != header.len() {
                let (found, expected) = (record.len(), header.len());
                Err(RowProblem::Ragged { found, expected }.into())
            } else {
                let text = |place: &usize| {
                    std::str::from_utf8(&record[*place]).map(|text| unquoted(text, form))
                };
                places
                    .iter()
                    .map(text)
                    .collect::<Result<Vec<_>, _>>()
                    .map_err(|error| LineProblem::InvalidUtf8 { byte: error.valid_up_to() + 1 })
            };
            let fields = match &texts {
                Ok(texts) => {
                    Ok(texts.iter().map(|text: &Cow<'_, str>| Some(text.as_ref())).collect())
                }
                Err(problem) => Err(problem.clone()),
            };
            visit(TableRow { name: self.name, place: &self.place, fields })?;
            if endless {
                // What is packed to fill memory is an error, wherever it stands.
                left.set(u64::MAX);
                let rest = io::copy(&mut reader.into_inner(), &mut io::sink());
                return rest.map(drop).map_err(DataError::read(&self.place.file));
            }
        }
    }
}

/// A field of a table of tabs without the quotation marks around it.
///
/// # Privacy
/// Where tabs part the fields a mark quotes nothing, so that one that somebody wrote and did not close takes no rows of others
/// along: what a field is depends on it alone.
fn unquoted(field: &str, form: TableForm) -> Cow<'_, str> {
    let inner = field.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner.filter(|_| form == TableForm::Tabs) {
        Some(inner) if inner.contains('"') => inner.replace("\"\"", "\"").into(),
        Some(inner) => inner.into(),
        None => field.into(),
    }
}

fn unreadable(file: &Path, error: csv::Error) -> DataError {
    match error.into_kind() {
        ErrorKind::Io(source) => DataError::Read { path: file.to_owned(), source },
        other => DataError::table(file, format!("not readable: {other:?}")),
    }
}
