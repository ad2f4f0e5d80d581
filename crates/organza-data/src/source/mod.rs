//! Where text comes from: a file, a folder, standard input, the Brown corpus, or a generator.

mod brown;
mod lines;
mod path;
mod table;

pub use brown::{BROWN_PACKAGE, Brown, BrownCounts};
pub use lines::LONGEST_LINE;
pub(crate) use lines::{NamedFile, each_line, unpacked};
pub(crate) use path::{TextPath, files, inner_name, reading};
pub use path::{of_table, open, open_columns};
pub use table::{TextColumns, refuse_table};

use crate::{DataError, LineProblem, Place};

/// One line of a source.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The text, without its line end, and never blank.
    pub text: &'a str,
    /// The name of the text that the line belongs to: a file's name, or `ca01` in Brown.
    pub name: &'a str,
    /// Where the line stands.
    pub place: &'a Place,
    /// Whether white space already parts the tokens, as in a tagged corpus; otherwise the text runs.
    pub tokenised: bool,
    /// Whose text it is, where a column says so; empty if it does not say.
    pub user: Option<&'a str>,
    /// Why there is no text, if something is wrong with the line.
    pub problem: Option<&'a LineProblem>,
}

impl<'a> Line<'a> {
    /// Running text of nobody in particular.
    pub fn of(text: &'a str, name: &'a str, place: &'a Place) -> Self {
        Self { text, name, place, tokenised: false, user: None, problem: None }
    }
}

/// What a source calls with each line; an error stops the reading.
pub type Visit<'a> = dyn FnMut(Line<'_>) -> Result<(), DataError> + 'a;

/// A source of lines. Blank lines are passed over: they are form, not data.
pub trait TextSource {
    /// Shows every line to `visit`, in an order that depends on nothing but the data.
    ///
    /// # Errors
    /// When something cannot be read, and whatever `visit` returns; that there is no line is no error.
    /// A source may find out at its end that it is not what it should be, so nothing is to be kept of
    /// what was shown if there is an error.
    fn each_line(&self, visit: &mut Visit<'_>) -> Result<(), DataError>;
}
