//! JSON lines: an object a line, plain or packed.

use super::{Reading, TableRow, VisitRow};
use crate::source::{Named, each_line, unpacked};
use crate::{DataError, LineProblem};
use serde_json::{Map, Value};
use std::io::{BufRead, Read};
use std::path::Path;

/// The first line is no longer than this where its names are shown.
const LONGEST_HEADER: u64 = 1 << 20;

type Object = Map<String, Value>;

/// The names in the first object.
pub(super) fn header(input: &mut dyn Read, file: &Path) -> Result<Vec<String>, DataError> {
    let mut first = Vec::new();
    let open = unpacked(input).map_err(DataError::read(file))?;
    open.take(LONGEST_HEADER).read_until(b'\n', &mut first).map_err(DataError::read(file))?;
    let object: Option<Object> = serde_json::from_slice(&first).ok();
    Ok(object.map(|object| object.keys().cloned().collect()).unwrap_or_default())
}

impl Reading<'_> {
    /// Shows every object; a column that one does not have holds nothing.
    pub(super) fn each_object(
        self,
        input: &mut dyn Read,
        visit: &mut VisitRow<'_>,
    ) -> Result<(), DataError> {
        let Self { name, place, columns } = self;
        each_line(input, Named { file: &place.file, name }, &mut |line| {
            let row = |fields| TableRow { name, place: line.place, fields };
            if let Some(problem) = line.problem {
                return visit(row(Err(problem.clone())));
            }
            let Ok(object) = serde_json::from_str::<Object>(line.text) else {
                return visit(row(Err(LineProblem::NoObject)));
            };
            let text = |column: &&str| match object.get(*column) {
                None | Some(Value::Null) => None,
                Some(Value::String(text)) => Some(text.clone()),
                Some(other) => Some(other.to_string()),
            };
            let texts: Vec<Option<String>> = columns.iter().map(text).collect();
            visit(row(Ok(texts.iter().map(Option::as_deref).collect())))
        })
    }
}
