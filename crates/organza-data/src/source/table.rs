//! Columns of a table: JSON lines, CSV, TSV or Parquet.

use super::lines::{Named, each_line};
use super::path::{files, inner_name};
use super::{Line, TextSource, Visit, unpacked};
use crate::{DataError, LineProblem, Place};
use csv::{ByteRecord, ReaderBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Names by which a column of text, or of users, is guessed.
const TEXTS: [&str; 8] =
    ["text", "review", "body", "content", "message", "comment", "sentence", "description"];
/// What may part the fields of a CSV file: that which its header has most of.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// A header line is no longer than this.
const LONGEST_HEADER: u64 = 1 << 20;
const PARQUET: &[u8] = b"PAR1";

/// The columns of a table that are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextColumns {
    /// The column that holds the text.
    pub text: String,
    /// The column that names whose text it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// The form of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableForm {
    JsonLines,
    Commas,
    Tabs,
    Parquet,
}

impl TableForm {
    /// What the name of a file says, or that it begins and ends as Parquet does.
    ///
    /// # Privacy
    /// What stands in lines is not looked at: whether a run is refused must not follow any of them.
    pub(crate) fn of(file: &Path) -> Option<Self> {
        let name = file.file_name()?.to_string_lossy().to_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        match name.rsplit_once('.').map(|(_, end)| end) {
            Some("jsonl" | "ndjson" | "json") => Some(Self::JsonLines),
            Some("csv") => Some(Self::Commas),
            Some("tsv") => Some(Self::Tabs),
            Some("parquet") => Some(Self::Parquet),
            _ => is_parquet(file).then_some(Self::Parquet),
        }
    }
}

fn is_parquet(file: &Path) -> bool {
    let ends = || {
        let mut file = File::open(file).ok()?;
        let (mut head, mut tail) = ([0; 4], [0; 4]);
        file.read_exact(&mut head).ok()?;
        file.seek(SeekFrom::End(-4)).ok()?;
        file.read_exact(&mut tail).ok()?;
        Some(head == PARQUET && tail == PARQUET)
    };
    ends().unwrap_or(false)
}

/// Refuses a table of which nobody said what to read; one of tabs may be `user <tab> text`, if `takes_users`.
///
/// # Errors
/// Names its columns, and the one that looks like text.
pub fn refuse_table(path: &Path, takes_users: bool) -> Result<(), DataError> {
    if path == Path::new("-") {
        return Ok(());
    }
    for file in files(path)? {
        let form = TableForm::of(&file);
        if let Some(form) = form.filter(|form| !(takes_users && *form == TableForm::Tabs)) {
            let columns = header(&file, form)?;
            let guess =
                columns.iter().find(|column| TEXTS.contains(&column.to_lowercase().as_str()));
            let guess = guess.or(columns.first()).cloned();
            let of = match form {
                TableForm::JsonLines => " in its first line (not private)",
                _ => "",
            };
            return Err(DataError::ColumnsNeeded { path: file, columns, of, guess });
        }
    }
    Ok(())
}

/// The names of the columns; those of JSON lines stand in the first.
fn header(file: &Path, form: TableForm) -> Result<Vec<String>, DataError> {
    match form {
        TableForm::JsonLines => {
            let mut first = String::new();
            let open = File::open(file).and_then(unpacked).map_err(DataError::read(file))?;
            open.take(LONGEST_HEADER).read_line(&mut first).map_err(DataError::read(file))?;
            let object: Option<Map<String, Value>> = serde_json::from_str(&first).ok();
            Ok(object.map(|object| object.keys().cloned().collect()).unwrap_or_default())
        }
        TableForm::Commas | TableForm::Tabs => Ok(separated(file, form)?.1),
        TableForm::Parquet => parquet_header(file),
    }
}

/// A table with text in one of its columns, at a path or in the files of a folder.
#[derive(Clone, Debug)]
pub(crate) struct TextTable {
    pub(crate) path: PathBuf,
    pub(crate) columns: TextColumns,
}

impl TextSource for TextTable {
    /// Shows the rows; one without text is passed over, as a blank line is.
    ///
    /// # Privacy
    /// Where no column names users, a row is nobody's: what stands before a tab in its text is text, and must not pass for
    /// the person whose rows are to be protected as one.
    fn each_line(&self, visit: &mut Visit<'_>) -> Result<(), DataError> {
        let TextColumns { text, user } = &self.columns;
        let columns: Vec<&str> = std::iter::once(text).chain(user).map(String::as_str).collect();
        each_row(&self.path, &columns, &mut |row| {
            let Row { name, place, fields } = row;
            let fields = match fields {
                Ok(fields) => fields,
                Err(problem) => {
                    return visit(Line { problem: Some(problem), ..Line::of("", name, place) });
                }
            };
            let field = |at: usize| fields.get(at).and_then(Option::as_deref);
            let Some(text) = field(0).filter(|text| !text.trim().is_empty()) else {
                return Ok(());
            };
            let user = Some(field(1).unwrap_or_default().trim());
            visit(Line { user, ..Line::of(text, name, place) })
        })
    }
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The name of its file.
    pub name: &'a str,
    /// Where it stands.
    pub place: &'a Place,
    /// What stands in the columns that were asked for, in their order; or why the row cannot be read.
    pub fields: Result<&'a [Option<Cow<'a, str>>], &'a LineProblem>,
}

/// What is called with each row; an error stops the reading.
pub type VisitRow<'a> = dyn FnMut(Row<'_>) -> Result<(), DataError> + 'a;

/// Shows the named columns of every row of the table at `path`: JSON lines, CSV, TSV or Parquet, or a folder of such.
///
/// # Errors
/// When a file cannot be read or has no such column, and whatever `visit` returns.
pub fn each_row(path: &Path, columns: &[&str], visit: &mut VisitRow<'_>) -> Result<(), DataError> {
    for file in files(path)? {
        let table = TableFile { name: &inner_name(path, &file), file: &file, columns };
        match TableForm::of(&file).unwrap_or(TableForm::JsonLines) {
            TableForm::JsonLines => table.each_object(visit)?,
            form @ (TableForm::Commas | TableForm::Tabs) => table.each_record(form, visit)?,
            TableForm::Parquet => table.each_parquet_row(visit)?,
        }
    }
    Ok(())
}

/// A file of a table, and what is read of it.
#[derive(Clone, Copy)]
struct TableFile<'a> {
    name: &'a str,
    file: &'a Path,
    columns: &'a [&'a str],
}

impl TableFile<'_> {
    fn each_object(&self, visit: &mut VisitRow<'_>) -> Result<(), DataError> {
        let Self { name, file, columns } = *self;
        let input = File::open(file).map_err(DataError::read(file))?;
        each_line(input, Named { file, name }, &mut |line| {
            let place = line.place;
            if let Some(problem) = line.problem {
                return visit(Row { name, place, fields: Err(problem) });
            }
            let Ok(object) = serde_json::from_str::<Map<String, Value>>(line.text) else {
                return visit(Row { name, place, fields: Err(&LineProblem::NoObject) });
            };
            let field = |column: &&str| match object.get(*column) {
                None | Some(Value::Null) => None,
                Some(Value::String(text)) => Some(Cow::Borrowed(text.as_str())),
                Some(other) => Some(Cow::Owned(other.to_string())),
            };
            let fields: Vec<Option<Cow<'_, str>>> = columns.iter().map(field).collect();
            visit(Row { name, place, fields: Ok(&fields) })
        })
    }

    fn each_record(&self, form: TableForm, visit: &mut VisitRow<'_>) -> Result<(), DataError> {
        let Self { name, file, .. } = *self;
        let (mut reader, header) = separated(file, form)?;
        let places = self.places(&header)?;
        let mut record = ByteRecord::new();
        let mut place = Place { file: file.to_owned(), line: 0 };
        while reader.read_byte_record(&mut record).map_err(unreadable(file))? {
            place.line = record.position().map_or(0, csv::Position::line);
            let field = |at: &usize| {
                record
                    .get(*at)
                    .map(|bytes| std::str::from_utf8(bytes).map(Cow::Borrowed))
                    .transpose()
            };
            let fields: Result<Vec<_>, _> = places.iter().map(field).collect();
            let problem = fields
                .as_ref()
                .err()
                .map(|error| LineProblem::InvalidUtf8 { byte: error.valid_up_to() + 1 });
            let fields = match (&fields, &problem) {
                (Ok(fields), _) => Ok(fields.as_slice()),
                (_, Some(problem)) => Err(problem),
                (Err(_), None) => continue,
            };
            visit(Row { name, place: &place, fields })?;
        }
        Ok(())
    }

    /// Where the columns stand.
    fn places(&self, header: &[String]) -> Result<Vec<usize>, DataError> {
        let find = |column: &&str| {
            header.iter().position(|name| name == column).ok_or_else(|| DataError::Table {
                path: self.file.to_owned(),
                problem: format!("there is no column `{column}`, but {}", header.join(", ")),
            })
        };
        self.columns.iter().map(find).collect()
    }

    #[cfg(feature = "parquet")]
    fn each_parquet_row(&self, visit: &mut VisitRow<'_>) -> Result<(), DataError> {
        use crate::sparse::{open_parquet, parquet_text, unreadable_parquet};
        use parquet::file::reader::FileReader;
        let Self { name, file, .. } = *self;
        let reader = open_parquet(file)?;
        let places = self.places(&parquet_header(file)?)?;
        let rows = reader.get_row_iter(None).map_err(unreadable_parquet(file))?;
        for (line, row) in (1..).zip(rows) {
            let row = row.map_err(unreadable_parquet(file))?;
            let field = |at: &usize| {
                row.get_column_iter()
                    .nth(*at)
                    .and_then(|(_, field)| parquet_text(field))
                    .map(Cow::from)
            };
            let fields: Vec<Option<Cow<'_, str>>> = places.iter().map(field).collect();
            visit(Row {
                name,
                place: &Place { file: file.to_owned(), line },
                fields: Ok(&fields),
            })?;
        }
        Ok(())
    }

    #[cfg(not(feature = "parquet"))]
    fn each_parquet_row(&self, _: &mut VisitRow<'_>) -> Result<(), DataError> {
        parquet_header(self.file).map(|_| ())
    }
}

#[cfg(feature = "parquet")]
fn parquet_header(file: &Path) -> Result<Vec<String>, DataError> {
    use parquet::file::reader::FileReader;
    let reader = crate::sparse::open_parquet(file)?;
    let fields = reader.metadata().file_metadata().schema().get_fields();
    Ok(fields.iter().map(|field| field.name().to_owned()).collect())
}

#[cfg(not(feature = "parquet"))]
fn parquet_header(file: &Path) -> Result<Vec<String>, DataError> {
    let problem = "this build reads no Parquet: build it with the feature `parquet`".to_owned();
    Err(DataError::Table { path: file.to_owned(), problem })
}

type Separated = csv::Reader<Box<dyn BufRead>>;

/// A reader of the rows of a file, and the names of its columns.
fn separated(file: &Path, form: TableForm) -> Result<(Separated, Vec<String>), DataError> {
    let mut input = File::open(file).and_then(unpacked).map_err(DataError::read(file))?;
    let mut first = Vec::new();
    let mut bounded = input.by_ref().take(LONGEST_HEADER);
    bounded.read_until(b'\n', &mut first).map_err(DataError::read(file))?;
    let count = |separator: &u8| first.iter().filter(|byte| *byte == separator).count();
    let separator = match form {
        TableForm::Tabs => b'\t',
        _ => SEPARATORS.into_iter().rev().max_by_key(count).unwrap_or(b','),
    };
    let whole: Box<dyn BufRead> = Box::new(Cursor::new(first).chain(input));
    let mut reader = ReaderBuilder::new().delimiter(separator).flexible(true).from_reader(whole);
    let header = reader.byte_headers().map_err(unreadable(file))?;
    let name = |field: &[u8]| {
        String::from_utf8_lossy(field).trim().trim_start_matches('\u{feff}').to_owned()
    };
    let header = header.iter().map(name).collect();
    Ok((reader, header))
}

fn unreadable(file: &Path) -> impl Fn(csv::Error) -> DataError {
    let path = file.to_owned();
    move |error| DataError::Table { path: path.clone(), problem: format!("not readable: {error}") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::TextPath;
    use super::*;
    use crate::{Layout, StopWords, TokenisedText, Tokeniser, Words};
    use std::fs;

    type Said = (String, Option<String>);

    /// (text, user) of every row, and how many rows are no text.
    fn rows(path: &Path, user: Option<&str>) -> Result<(Vec<Said>, usize), DataError> {
        let columns = TextColumns { text: "text".into(), user: user.map(str::to_owned) };
        let (mut rows, mut problems) = (Vec::new(), 0);
        TextTable { path: path.to_owned(), columns }.each_line(&mut |line| {
            match line.problem {
                Some(_) => problems += 1,
                None => rows.push((line.text.to_owned(), line.user.map(str::to_owned))),
            }
            Ok(())
        })?;
        Ok((rows, problems))
    }

    #[test]
    fn the_same_table_in_any_form_is_the_same_text() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).unwrap();
            folder.path().join(name)
        };
        let said = [("good, \"really\"", Some("ann")), ("bad", Some("bob")), ("lost", Some(""))];
        let expected: Vec<Said> =
            said.iter().map(|(text, user)| (text.to_string(), user.map(str::to_owned))).collect();
        for (name, text) in [
            (
                "a.csv",
                "\u{feff}id,text,who\r\n1,\"good, \"\"really\"\"\",ann\r\n2,bad,bob\r\n3,lost,\r\n4,,eve\r\n",
            ),
            ("b.csv", "id;text;who\n1;\"good, \"\"really\"\"\";ann\n2;bad;bob\n3;lost;\n"),
            ("c.tsv", "id\ttext\twho\n1\t\"good, \"\"really\"\"\"\tann\n2\tbad\tbob\n3\tlost\t\n"),
            (
                "d.jsonl",
                "{\"text\": \"good, \\\"really\\\"\", \"who\": \"ann\"}\n{\"who\": \"bob\", \"text\": \"bad\"}\n{\"text\": \"lost\", \
                 \"who\": null}\n{\"who\": \"eve\"}\n",
            ),
        ] {
            let path = write(name, text);
            assert_eq!(rows(&path, Some("who")).unwrap(), (expected.clone(), 0), "{name}");
            let refused = refuse_table(&path, false).unwrap_err().to_string();
            assert!(
                refused.contains("say which holds the text by --text-column (perhaps `text`)"),
                "{refused}"
            );
            assert!(
                rows(&path, None).unwrap().0.iter().all(|(_, user)| user.as_deref() == Some(""))
            );
        }
        assert!(refuse_table(&write("plain.txt", "{\"text\": 1}\n"), false).is_ok());
        assert!(refuse_table(&folder.path().join("c.tsv"), true).is_ok(), "user <tab> text");
        assert!(refuse_table(folder.path(), false).is_err(), "a folder with a table in it");
        let missing = rows(&folder.path().join("a.csv"), Some("whom")).unwrap_err().to_string();
        assert!(missing.contains("there is no column `whom`, but id, text, who"), "{missing}");
        let torn = write("torn.jsonl", "{\"text\": \"one\"}\nno\n[1]\n{\"text\": \"two\"}\n");
        let (found, problems) = rows(&torn, None).unwrap();
        assert_eq!((found.len(), problems), (2, 2));
        let bytes = b"text\nfine\nbad \xff\nfine\n";
        fs::write(folder.path().join("bytes.csv"), bytes).unwrap();
        assert_eq!(rows(&folder.path().join("bytes.csv"), None).unwrap().1, 1);
    }

    /// A tab in a text makes nobody a user. The broken twin reads the same rows as plain lines, and finds one.
    #[test]
    fn without_a_column_of_users_rows_are_nobodys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.jsonl");
        fs::write(&path, "{\"text\": \"one\\ttwo three\"}\n").unwrap();
        let columns = TextColumns { text: "text".into(), user: None };
        let users = |source: &dyn TextSource| {
            let tokeniser =
                Tokeniser { words: Words::Unicode, lower_case: true, stop_words: StopWords::Keep };
            let text = TokenisedText::read(source, &tokeniser, Layout::Users).unwrap();
            (text.lines().user_count(), text.left_out().is_empty())
        };
        assert_eq!(users(&TextTable { path, columns }), (Some(0), false));
        let plain = folder.path().join("plain.txt");
        fs::write(&plain, "one\ttwo three\n").unwrap();
        assert_eq!(users(&TextPath::new(plain)), (Some(1), true));
    }
}
