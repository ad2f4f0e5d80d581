//! Rows of a table, in whatever form it comes: CSV, TSV, JSON lines, Parquet or Arrow.
//!
//! ```text
//! CSV, TSV ───────┐
//! JSON lines ─────┼─▶ TableRow (a text or nothing for each column that was asked for) ─▶ text, features, events
//! Parquet, Arrow ─┘
//! ```
//!
//! Every application reads its tables here, so what one form can do all can: rows are shown one after another in
//! bounded memory, numbers and dates come as their texts, and a row that makes no sense is shown as one.
//!
//! # Privacy
//! What is read depends on the names of files and columns; what a row is depends on that row alone, with one exception
//! for CSV: a quotation mark that begins a field takes the rows up to the next one along.

#[cfg(feature = "parquet")]
mod batches;
mod form;
mod json_lines;
mod missing;
mod number;
mod separated;
mod write;

#[cfg(feature = "parquet")]
pub use batches::Batches;
pub use form::TableForm;
pub use missing::Missing;
pub use number::number;
pub use write::{Values, write_table};

use crate::source::{files, inner_name, reading};
use crate::{DataError, LineProblem, Place};
use organza_progress::Reader;
use std::fs::File;
use std::io::{Read, stdin};
use std::path::{Path, PathBuf};

/// What `-` is called.
const STANDARD_INPUT: &str = "standard input";
/// The path of data that a program hands over instead of naming a file.
pub const HANDED_OVER: &str = "(handed over)";

/// One row of a table.
#[derive(Clone, Debug)]
pub struct TableRow<'a> {
    /// The name of the file, or its path inside a folder.
    pub name: &'a str,
    /// Where the row stands.
    pub place: &'a Place,
    /// What stands in each column that was asked for, in their order; or why the row cannot be used.
    pub fields: Result<Vec<Option<&'a str>>, LineProblem>,
}

/// What is called with each row; an error stops the reading.
pub type VisitRow<'a> = dyn FnMut(TableRow<'_>) -> Result<(), DataError> + 'a;

/// A table at a path, in the files of a folder, or `-` for standard input; or one that a program hands over.
#[derive(Clone, Debug)]
pub struct Table {
    path: PathBuf,
    form: Option<TableForm>,
    /// What the columns are called, where files of CSV or TSV do not say it.
    header: Option<Vec<String>>,
    #[cfg(feature = "parquet")]
    handed: Option<batches::HandedBatches>,
}

impl Table {
    /// The table at `path`, of this form or of that which the names of its files say.
    ///
    /// # Errors
    /// When there is nothing at the path, or standard input comes without a form.
    pub fn open(path: &Path, form: Option<TableForm>) -> Result<Self, DataError> {
        if path == Path::new("-") {
            if form.is_none_or(TableForm::needs_a_file) {
                let problem = "say what it holds with --format csv, tsv or json (Parquet and Arrow have to be files)";
                return Err(DataError::table(Path::new(STANDARD_INPUT), problem));
            }
        } else if path == Path::new(HANDED_OVER) {
            let problem = "the data was handed over by a program, which has to hand it over again: `fit` goes on with a run";
            return Err(DataError::table(path, problem));
        } else {
            std::fs::metadata(path).map_err(DataError::read(path))?;
        }
        Ok(Self {
            path: path.to_owned(),
            form,
            header: None,
            #[cfg(feature = "parquet")]
            handed: None,
        })
    }

    /// The same where the first line of a CSV or TSV file is a row, and its columns are called so. Other forms name their columns
    /// themselves.
    pub fn with_header(self, names: Vec<String>) -> Self {
        Self { header: Some(names), ..self }
    }

    /// A table that a program hands over, in batches of rows. It is read once.
    #[cfg(feature = "parquet")]
    pub fn handed(batches: Batches) -> Self {
        let (path, handed) = (HANDED_OVER.into(), Some(batches::HandedBatches::new(batches)));
        Self { path, form: Some(TableForm::Arrow), header: None, handed }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Shows every row, in an order that depends on nothing but the data.
    ///
    /// # Errors
    /// When something cannot be read or has not these columns, and whatever `visit` returns.
    pub fn each_row(&self, columns: &[&str], visit: &mut VisitRow<'_>) -> Result<(), DataError> {
        let header = self.header.as_deref();
        #[cfg(feature = "parquet")]
        if let Some(handed) = &self.handed {
            let place = Place { file: HANDED_OVER.into(), line: 0 };
            let read = Reading { name: HANDED_OVER, place, columns, header };
            return read.each_handed(handed, visit);
        }
        if self.path == Path::new("-") {
            let form = self.form.unwrap_or(TableForm::JsonLines);
            let place = Place { file: STANDARD_INPUT.into(), line: 0 };
            let read = Reading { name: STANDARD_INPUT, place, columns, header };
            return read.each_row(form, &mut stdin().lock(), visit);
        }
        for file in files(&self.path)? {
            let form = self.form_of(&file)?;
            let name = inner_name(&self.path, &file);
            let mut open = File::open(&file).map_err(DataError::read(&file))?;
            let stage = reading(&file, &name, form.needs_a_file());
            let place = Place { file, line: 0 };
            let read = Reading { name: &name, place, columns, header };
            #[cfg(feature = "parquet")]
            if form.needs_a_file() {
                read.each_batch(form, open, visit)?;
                continue;
            }
            read.each_row(form, &mut Reader::new(&mut open, stage), visit)?;
        }
        Ok(())
    }

    fn form_of(&self, file: &Path) -> Result<TableForm, DataError> {
        let form = self.form.or_else(|| TableForm::of(file));
        form.ok_or_else(|| {
            let problem = "its name does not say what table it is: say so with --format csv, tsv, json, parquet or arrow";
            DataError::table(file, problem)
        })
    }
}

/// The names of the columns of a file. Those of JSON lines stand in the first: they are *not private*.
///
/// # Errors
/// When it cannot be read.
pub fn header(file: &Path, form: TableForm) -> Result<Vec<String>, DataError> {
    let mut open = File::open(file).map_err(DataError::read(file))?;
    match form {
        TableForm::JsonLines => json_lines::header(&mut open, file),
        TableForm::Commas | TableForm::Tabs => {
            separated::Separated::new(&mut open, file, form, None).map(|it| it.header)
        }
        #[cfg(feature = "parquet")]
        TableForm::Parquet | TableForm::Arrow => batches::header(open, file, form),
        #[cfg(not(feature = "parquet"))]
        TableForm::Parquet | TableForm::Arrow => Err(unreadable_form(file)),
    }
}

/// A file as it is read.
struct Reading<'a> {
    name: &'a str,
    place: Place,
    columns: &'a [&'a str],
    /// The names of the columns, where the file does not say them.
    header: Option<&'a [String]>,
}

impl Reading<'_> {
    fn each_row(
        self,
        form: TableForm,
        input: &mut dyn Read,
        visit: &mut VisitRow<'_>,
    ) -> Result<(), DataError> {
        match form {
            TableForm::JsonLines => self.each_object(input, visit),
            TableForm::Commas | TableForm::Tabs => self.each_record(form, input, visit),
            TableForm::Parquet | TableForm::Arrow => Err(unreadable_form(&self.place.file)),
        }
    }

    /// Where each column stands in a header.
    fn places(&self, header: &[String]) -> Result<Vec<usize>, DataError> {
        let find = |column: &&str| {
            let mut found = header.iter().enumerate().filter(|(_, name)| name == column);
            match (found.next(), found.next()) {
                (Some((place, _)), None) => Ok(place),
                (None, _) => {
                    Err(format!("there is no column `{column}`, but {}", header.join(", ")))
                }
                (Some(_), Some(_)) => Err(format!("two columns are called `{column}`")),
            }
        };
        let places = self.columns.iter().map(find).collect::<Result<_, _>>();
        places.map_err(|problem| DataError::table(&self.place.file, problem))
    }
}

fn unreadable_form(file: &Path) -> DataError {
    DataError::table(
        file,
        "this build reads no Parquet and no Arrow: build it with the feature `parquet`",
    )
}

#[cfg(test)]
mod tests;
