//! Text in a column of a table.

use super::path::files;
use super::{Line, TextSource, Visit};
use crate::DataError;
use crate::table::{Table, TableForm, header};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Names by which a column of text is guessed.
const TEXTS: [&str; 8] =
    ["text", "review", "body", "content", "message", "comment", "sentence", "description"];

/// The columns of a table that are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextColumns {
    /// The column that holds the text.
    pub text: String,
    /// The column that names whose text it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The form of the table, if the names of its files do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TableForm>,
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

/// A table with text in one of its columns.
#[derive(Clone, Debug)]
pub(crate) struct TextTable {
    pub(crate) table: Table,
    pub(crate) columns: TextColumns,
}

impl TextSource for TextTable {
    /// Shows every row; one without text is passed over, as a blank line is.
    ///
    /// # Privacy
    /// Where no column names users, a row is nobody's: what stands before a tab in its text is text, and must not pass for
    /// the person whose rows are to be protected as one.
    fn each_line(&self, visit: &mut Visit<'_>) -> Result<(), DataError> {
        let TextColumns { text, user, .. } = &self.columns;
        let columns: Vec<&str> =
            [Some(text), user.as_ref()].into_iter().flatten().map(|it| it.as_str()).collect();
        self.table.each_row(&columns, &mut |row| {
            let fields = match row.fields {
                Ok(fields) => fields,
                Err(problem) => {
                    return visit(Line {
                        problem: Some(&problem),
                        ..Line::of("", row.name, row.place)
                    });
                }
            };
            let field = |place: usize| fields.get(place).copied().flatten();
            let Some(text) = field(0).filter(|text| !text.trim().is_empty()) else { return Ok(()) };
            let user = Some(field(1).unwrap_or_default().trim());
            visit(Line { user, ..Line::of(text, row.name, row.place) })
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::{TextPath, open_columns};
    use super::*;
    use crate::{Layout, TokenisedText, Tokeniser};
    use std::fs;

    type Said = (String, Option<String>);

    /// (text, user) of every row, and how many rows are no text.
    fn rows(path: &Path, user: Option<&str>) -> Result<(Vec<Said>, usize), DataError> {
        let user = user.map(str::to_owned);
        let columns = TextColumns { text: "text".into(), user, format: None };
        let (mut rows, mut problems) = (Vec::new(), 0);
        open_columns(path, columns)?.each_line(&mut |line| {
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
                refused.contains("say which holds the text with --text-column (perhaps `text`)"),
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
        let columns = TextColumns { text: "text".into(), user: None, format: None };
        let users = |source: &dyn TextSource| {
            let tokeniser = Tokeniser::default();
            let text = TokenisedText::read(source, &tokeniser, Layout::Users).unwrap();
            (text.lines().user_count(), text.left_out().is_empty())
        };
        assert_eq!(users(open_columns(&path, columns).unwrap().as_ref()), (Some(0), false));
        let plain = folder.path().join("plain.txt");
        fs::write(&plain, "one\ttwo three\n").unwrap();
        assert_eq!(users(&TextPath::new(plain)), (Some(1), true));
    }
}
