//! JSON lines: an object a line, plain or packed.

use super::{Reading, TableRow, VisitRow};
use crate::source::{NamedFile, each_line, unpacked};
use crate::{DataError, LineProblem};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::io::{BufRead, Read};
use std::path::Path;

/// The first line is no longer than this where its names are shown.
const LONGEST_HEADER: u64 = 1 << 20;

/// The names in the first object.
pub(super) fn header(input: &mut dyn Read, file: &Path) -> Result<Vec<String>, DataError> {
    let mut first = Vec::new();
    let open = unpacked(input).map_err(DataError::read(file))?;
    open.take(LONGEST_HEADER).read_until(b'\n', &mut first).map_err(DataError::read(file))?;
    let object: Option<Map<String, Value>> = serde_json::from_slice(&first).ok();
    Ok(object.map(|object| object.keys().cloned().collect()).unwrap_or_default())
}

impl Reading<'_> {
    /// Shows every object; a column that one does not have holds nothing.
    pub(super) fn each_object(
        self,
        input: &mut dyn Read,
        visit: &mut VisitRow<'_>,
    ) -> Result<(), DataError> {
        let Self { name, place, columns, .. } = self;
        each_line(input, NamedFile { file: &place.file, name }, &mut |line| {
            let row = |fields| TableRow { name, place: line.place, fields };
            if let Some(problem) = line.problem {
                return visit(row(Err(problem.clone())));
            }
            let Some(texts) = Texts(columns).read(line.text) else {
                return visit(row(Err(LineProblem::NoObject)));
            };
            visit(row(Ok(texts.iter().map(Option::as_deref).collect())))
        })
    }
}

/// The texts of some columns of an object. What stands in others is passed over.
#[derive(Clone, Copy)]
struct Texts<'a>(&'a [&'a str]);

impl Texts<'_> {
    fn read(self, line: &str) -> Option<Vec<Option<String>>> {
        let mut input = serde_json::Deserializer::from_str(line);
        let texts = self.deserialize(&mut input).ok()?;
        input.end().ok().map(|()| texts)
    }
}

impl<'de> DeserializeSeed<'de> for Texts<'_> {
    type Value = Vec<Option<String>>;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Self::Value, D::Error> {
        input.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Texts<'_> {
    type Value = Vec<Option<String>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    /// Where a name stands twice, the last one counts.
    fn visit_map<M: MapAccess<'de>>(self, mut object: M) -> Result<Self::Value, M::Error> {
        let mut texts = vec![None; self.0.len()];
        while let Some(name) = object.next_key::<String>()? {
            if !self.0.contains(&name.as_str()) {
                object.next_value::<IgnoredAny>()?;
                continue;
            }
            let text = match object.next_value()? {
                Value::Null => None,
                Value::String(text) => Some(text),
                other => Some(other.to_string()),
            };
            let columns = texts.iter_mut().zip(self.0).filter(|(_, column)| **column == name);
            columns.for_each(|(place, _)| place.clone_from(&text));
        }
        Ok(texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_among_others_and_anything_but_an_object_is_none() {
        let read = |line: &str| Texts(&["text", "who", "text"]).read(line);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            read(r#"{"id": [1, {"text": 2}], "text": "a\"b", "who": null}"#),
            Some(vec![some("a\"b"), None, some("a\"b")])
        );
        let twice = r#"{"text": 1.50, "who": "x", "text": {"a": true}}"#;
        assert_eq!(
            read(twice),
            Some(vec![some(r#"{"a":true}"#), some("x"), some(r#"{"a":true}"#)])
        );
        assert_eq!(read("{}"), Some(vec![None, None, None]));
        for line in ["", "[1]", "3", r#"{"text": "a"} {}"#, r#"{"text": "a""#, r#"{"id": }"#] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
