//! Tables, with a file of their own.

use super::html::mark;
use crate::describe::number;
use crate::digits::{cost, near};
use crate::escape::{data_link, escaped, prose};

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    name: String,
    caption: String,
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

/// One value of a table.
#[derive(Clone, Debug)]
pub struct Cell {
    shown: String,
    /// What stands in the file: numbers with all their digits.
    filed: String,
    is_number: bool,
    not_private: Option<String>,
}

impl Cell {
    /// A number, shown as the caller has rounded it.
    pub fn number(value: f64, shown: impl Into<String>) -> Self {
        let filed = if value.is_finite() { number(value) } else { String::new() };
        Self { shown: shown.into(), filed, is_number: true, not_private: None }
    }

    /// An epsilon or a delta, rounded up; a dash where there is none.
    pub fn cost(value: Option<f64>) -> Self {
        value.map_or(f64::NAN.into(), |value| Self::number(value, cost(value)))
    }

    /// Marks it as not private, and says why.
    pub fn not_private<'a>(mut self, why: impl Into<Option<&'a str>>) -> Self {
        self.not_private = why.into().map(str::to_owned);
        self
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { shown: text.clone(), filed: text, is_number: false, not_private: None }
    }
}

impl From<f64> for Cell {
    /// Shown by four digits; what is no number by a dash.
    fn from(value: f64) -> Self {
        Self::number(value, if value.is_finite() { near(value) } else { "–".to_owned() })
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Self {
            shown: crate::describe::count(value),
            filed: value.to_string(),
            is_number: true,
            not_private: None,
        }
    }
}

impl Table {
    /// An empty table; `name` is that of its file, without an ending.
    pub fn new(
        name: impl Into<String>,
        columns: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            name: name.into(),
            caption: String::new(),
            columns: columns.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// One more row. Cells beyond the columns are dropped, missing ones are empty.
    pub fn row(mut self, cells: impl IntoIterator<Item = Cell>) -> Self {
        let empty = std::iter::repeat_with(|| Cell::from(""));
        self.rows.push(cells.into_iter().chain(empty).take(self.columns.len()).collect());
        self
    }

    /// What to see in it.
    pub fn caption(mut self, text: impl Into<String>) -> Self {
        self.caption = text.into();
        self
    }

    pub(super) fn is_marked(&self) -> bool {
        self.rows.iter().flatten().any(|cell| cell.not_private.is_some())
    }

    /// The name of its file.
    pub(super) fn file(&self) -> String {
        format!("{}.csv", super::files::safe(&self.name))
    }

    /// Its file. Where a cell is not private, a last column names the columns that are not.
    pub(super) fn csv(&self) -> String {
        let is_marked = self.is_marked();
        let names = self.columns.iter().map(String::as_str);
        let mut text = line(names.chain(is_marked.then_some("not private")));
        for row in &self.rows {
            let marked: Vec<&str> = row
                .iter()
                .zip(&self.columns)
                .filter(|(cell, _)| cell.not_private.is_some())
                .map(|(_, column)| column.as_str())
                .collect();
            let marked = marked.join("; ");
            let cells = row.iter().map(|cell| cell.filed.as_str());
            text += &line(cells.chain(is_marked.then_some(marked.as_str())));
        }
        text
    }

    pub(super) fn html(&self) -> String {
        let is_number = |column: usize| self.rows.iter().any(|row| row[column].is_number);
        // A column that is not private throughout is marked once, above.
        let why = |column: usize| {
            let reasons = self.rows.iter().map(|row| row[column].not_private.as_deref());
            let mut all: Vec<&str> = reasons.collect::<Option<_>>()?;
            all.dedup();
            (!all.is_empty()).then(|| all.join("; "))
        };
        let reasons: Vec<Option<String>> = (0..self.columns.len()).map(why).collect();
        let class = |numeric: bool| if numeric { " class=\"number\"" } else { "" };
        let head: String = self
            .columns
            .iter()
            .enumerate()
            .map(|(index, name)| {
                let mark = mark(reasons[index].as_deref());
                let gap = if mark.is_empty() { "" } else { " " };
                format!(
                    "<th scope=\"col\"{}>{}{gap}{mark}</th>",
                    class(is_number(index)),
                    escaped(name)
                )
            })
            .collect();
        let cell = |(cell, above): (&Cell, &Option<String>)| {
            let mark = mark(cell.not_private.as_deref().filter(|_| above.is_none()));
            let gap = if mark.is_empty() { "" } else { " " };
            format!("<td{}>{}{gap}{mark}</td>", class(cell.is_number), prose(&cell.shown))
        };
        let rows: String = self
            .rows
            .iter()
            .map(|row| {
                format!("<tr>{}</tr>\n", row.iter().zip(&reasons).map(cell).collect::<String>())
            })
            .collect();
        let caption = match self.caption.as_str() {
            "" => String::new(),
            caption => format!("<p class=\"caption\">{}</p>\n", prose(caption)),
        };
        format!(
            "<div class=\"table\">\n<div class=\"scroll\" tabindex=\"0\">\n<table>\n\
             <thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n{caption}\
             <a class=\"save\" download=\"{}\" href=\"{}\">CSV</a>\n</div>\n",
            escaped(&self.file()),
            data_link("text/csv", &self.csv())
        )
    }
}

/// One line of comma-separated values, by RFC 4180.
fn line<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    let quoted = |field: &str| {
        if field.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.to_owned()
        }
    };
    fields.map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_keep_every_digit_and_say_what_is_not_private() {
        let table = Table::new("losses", ["part", "loss"])
            .row(["test, \"held out\"".into(), Cell::from(0.612_345_678)])
            .row(["training".into(), Cell::from(f64::NAN).not_private("from the data")])
            .row([Cell::from(200_000)]);
        assert_eq!(
            table.csv(),
            "part,loss,not private\n\"test, \"\"held out\"\"\",0.612345678,\ntraining,,loss\n\
             200000,,\n"
        );
        let html = table.html();
        for shown in [">0.6123<", "–", "data-tip=\"from the data\"", ">200,000<"] {
            assert!(html.contains(shown), "{shown}: {html}");
        }
    }

    #[test]
    fn a_column_that_is_not_private_throughout_is_marked_once() {
        let marked = |value: f64, why| Cell::from(value).not_private(why);
        let table = |last| {
            let table =
                Table::new("t", ["part", "loss"]).row(["training".into(), marked(0.6, "a")]);
            table.row(["test".into(), last]).html()
        };
        let both = table(marked(0.7, "b"));
        assert_eq!(both.matches("class=\"mark\"").count(), 1, "{both}");
        assert!(both.contains("loss <span") && both.contains("data-tip=\"a; b\""), "{both}");
        let one = table(Cell::from(0.7));
        assert!(one.contains("0.6 <span") && !one.contains("loss <span"), "{one}");
    }

    #[test]
    fn a_table_without_marks_has_no_column_of_marks() {
        let table = Table::new("t", ["a"]).row(["b".into(), "beyond".into()]);
        assert_eq!(table.csv(), "a\nb\n");
        assert!(!table.is_marked());
    }
}
