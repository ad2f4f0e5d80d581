//! libsvm and svmlight: `label index:value index:value ... # comment`, with `qid:name` for the group.

use super::{LabelKind, MOST_FEATURES, RowProblem, SparseRows};
use crate::DataError;
use crate::source::{TextSource, open};
use std::path::Path;

/// Whether rows name the group that they belong to, which is declared: what the first row has must not decide for the
/// others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouped {
    /// By `qid:`; a row without it cannot be used.
    ByName,
    /// They do not; a `qid:` is passed over.
    No,
}

/// Reads a file (gzip too), a folder of files, or `-` for standard input, line by line. Lines that make no sense are
/// left out ([`SparseRows::left_out`]).
///
/// # Errors
/// When it cannot be read.
pub fn read_libsvm(
    path: &Path,
    features: Option<u64>,
    labels: LabelKind,
    grouped: Grouped,
) -> Result<SparseRows, DataError> {
    read(open(path)?.as_ref(), features, labels, grouped)
}

fn read(
    source: &dyn TextSource,
    features: Option<u64>,
    labels: LabelKind,
    grouped: Grouped,
) -> Result<SparseRows, DataError> {
    let mut rows = SparseRows::new(features);
    let mut entries = Vec::new();
    source.each_line(&mut |line| {
        if let Some(problem) = line.problem {
            rows.take(Err(problem.clone()), line.place);
            return Ok(());
        }
        let text = line.text.split('#').next().unwrap_or_default();
        if text.trim().is_empty() {
            return Ok(());
        }
        let outcome = add(text, labels, grouped, &mut entries, &mut rows);
        rows.take(outcome.map_err(Into::into), line.place);
        Ok(())
    })?;
    Ok(rows)
}

fn add(
    text: &str,
    labels: LabelKind,
    grouped: Grouped,
    entries: &mut Vec<(u32, f32)>,
    rows: &mut SparseRows,
) -> Result<(), RowProblem> {
    entries.clear();
    let mut words = text.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    let label: f64 = first.parse().map_err(|_| RowProblem::LabelNumber(first.to_owned()))?;
    let label = labels.accept(label)?;
    let mut group = None;
    for word in words {
        let (index, value) =
            word.split_once(':').ok_or_else(|| RowProblem::Pair(word.to_owned()))?;
        if index == "qid" {
            group = Some(value);
            continue;
        }
        let index: u64 = index.parse().map_err(|_| RowProblem::Index(word.to_owned()))?;
        if index == 0 {
            return Err(RowProblem::IndexZero);
        }
        let features = rows.declared_features().unwrap_or(MOST_FEATURES).min(MOST_FEATURES);
        if index > features {
            return Err(RowProblem::Beyond { index, features });
        }
        let number: f32 = value.parse().map_err(|_| RowProblem::Value(word.to_owned()))?;
        if !number.is_finite() {
            return Err(RowProblem::Value(word.to_owned()));
        }
        entries.push(((index - 1) as u32, number));
    }
    match (grouped, group) {
        (Grouped::ByName, None) => Err(RowProblem::NoGroup),
        (Grouped::ByName, group) => rows.push(label, entries, group),
        (Grouped::No, _) => rows.push(label, entries, None),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    /// The rows, or what is wrong with the first that is left out.
    fn read_text(
        text: &str,
        features: Option<u64>,
        grouped: Grouped,
    ) -> Result<SparseRows, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.libsvm");
        std::fs::write(&path, text).unwrap();
        let shown = path.display().to_string();
        let rows = read_libsvm(&path, features, LabelKind::Binary, grouped);
        rows.and_then(|rows| rows.left_out().refuse().map(|()| rows))
            .map_err(|error| error.to_string().replace(&shown, "rows.libsvm"))
    }

    #[test]
    fn lines_become_rows() {
        let rows =
            read_text("+1 3:1 1:.5 # a comment\n-1\n\n# nothing\n0 2:-1e-2\n", None, Grouped::No);
        let rows = rows.unwrap();
        assert_eq!(rows.len(), 3);
        assert_eq!((rows.row(0).columns, rows.row(0).label), (&[0, 2][..], 1.0));
        assert_eq!((rows.row(1).columns.len(), rows.row(1).label), (0, 0.0));
        assert_eq!(rows.row(2).values, [-0.01]);
        let text = "1 qid:7 1:1\n0 qid:ann 1:1\n0 qid:7\n";
        let grouped = read_text(text, None, Grouped::ByName).unwrap();
        assert_eq!(grouped.groups(), Some(&[0, 1, 0][..]));
        assert_eq!(read_text(text, None, Grouped::No).unwrap().groups(), None);
        assert!(read_text("", None, Grouped::ByName).unwrap().is_empty());
    }

    /// Which rows are left out depends on each of them alone. The broken twin, in which the first row says whether
    /// there are groups, loses all others with it.
    #[test]
    fn a_bad_row_takes_no_other_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.libsvm");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_libsvm(&path, Some(2), LabelKind::Binary, Grouped::ByName).unwrap()
        };
        let good = "1 qid:a 1:1\n0 qid:b 2:1\n";
        for bad in ["1 1:1\n", "7 qid:a 1:1\n", "1 qid:a 3:1\n", "1 qid:a 1:x\n", "1 qid: 1:1\n"] {
            let rows = read(&format!("{bad}{good}"));
            assert_eq!((rows.len(), rows.left_out().count), (2, 1), "{bad}");
            assert_eq!(rows.groups(), read(good).groups(), "{bad}");
        }
        let mut twin = SparseRows::new(Some(2));
        twin.push(1.0, &mut [(0, 1.0)], None).unwrap();
        assert!(twin.push(1.0, &mut [(0, 1.0)], Some("a")).is_err());
    }

    #[test]
    fn gzip_is_read_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.gz");
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(b"1 1:1\n0 2:1\n").unwrap();
        std::fs::write(&path, encoder.finish().unwrap()).unwrap();
        assert_eq!(read_libsvm(&path, Some(2), LabelKind::Binary, Grouped::No).unwrap().len(), 2);
    }

    #[test]
    fn a_bad_line_is_named_with_file_and_line() {
        for (line, said) in [
            ("1 2", "`2` is not `index:value`"),
            ("one 1:1", "the label `one` is not a number"),
            ("1 x:1", "the index of `x:1` is not a whole number"),
            ("1 1:x", "the value of `1:x` is not a finite number"),
            ("1 1:inf", "the value of `1:inf` is not a finite number"),
            ("1 -3:1", "the index of `-3:1` is not a whole number"),
            ("2 1:1", "the label 2 is out of range: a class is 1 or 0"),
            ("1 0:1", "index 0: features are counted from 1"),
            ("1 11:1", "index 11 is beyond the 10 features"),
            ("1 3:1 4:1 3:2", "index 3 stands twice"),
        ] {
            let error = read_text(&format!("1 1:1\n{line}\n"), Some(10), Grouped::No).unwrap_err();
            let start = format!("`rows.libsvm` line 2: {said}");
            assert!(error.starts_with(&start), "{line}: {error}");
        }
        let error = read_text("1 qid: 1:1\n", None, Grouped::ByName).unwrap_err();
        assert!(error.starts_with("`rows.libsvm` line 1: the group is empty"), "{error}");
    }
}
