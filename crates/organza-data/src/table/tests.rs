#![allow(clippy::unwrap_used)]

use super::*;
use flate2::{Compression, write::GzEncoder};
use std::fs;
use std::io::Write;

type Fields = Vec<Option<String>>;

/// The fields of every row, and what is wrong with the others.
fn read(
    path: &Path,
    form: Option<TableForm>,
    columns: &[&str],
) -> Result<(Vec<Fields>, Vec<String>), DataError> {
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    Table::open(path, form)?.each_row(columns, &mut |row| {
        match row.fields {
            Ok(fields) => rows.push(fields.iter().map(|it| it.map(str::to_owned)).collect()),
            Err(problem) => problems.push(format!("{}: {problem}", row.place.line)),
        }
        Ok(())
    })?;
    Ok((rows, problems))
}

const CSV: &str =
    "id,day,note\r\n1,2024-03-01,\"a, \"\"b\"\"\"\r\n2,2024-03-02,\r\n9007199254740993,,é\r\n";
const JSON: &str = "{\"id\": 1, \"day\": \"2024-03-01\", \"note\": \"a, \\\"b\\\"\"}\n\
                    {\"id\": 2, \"note\": \"\", \"day\": \"2024-03-02\"}\n\
                    {\"note\": \"é\", \"id\": 9007199254740993, \"day\": null}\n";

fn written(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Empty is what a text file has for nothing.
fn plain(rows: Vec<Fields>) -> Vec<Vec<String>> {
    rows.into_iter().map(|row| row.into_iter().map(Option::unwrap_or_default).collect()).collect()
}

#[test]
fn one_table_in_any_form_has_the_same_fields() {
    let tabs = CSV
        .replace("\"a, \"\"b\"\"\"", "a; b")
        .replace(',', "\t")
        .replace("a; b", "\"a, \"\"b\"\"\"");
    let bars = format!("\u{feff}{}", tabs.replace('\t', "|"));
    let expected =
        [["a, \"b\"", "1", "2024-03-01"], ["", "2", "2024-03-02"], ["é", "9007199254740993", ""]];
    let packed = gzip(JSON.as_bytes());
    for (name, bytes) in [
        ("t.csv", CSV.as_bytes()),
        ("t.tsv", tabs.as_bytes()),
        ("bars.csv", bars.as_bytes()),
        ("t.jsonl", JSON.as_bytes()),
        ("t.jsonl.gz", &packed[..]),
    ] {
        let (_folder, path) = written(name, bytes);
        let (rows, problems) = read(&path, None, &["note", "id", "day"]).unwrap();
        assert_eq!(
            (plain(rows), problems.len()),
            (expected.map(|row| row.map(str::to_owned).to_vec()).to_vec(), 0),
            "{name}"
        );
    }
    let (_folder, path) = written("t.data", CSV.as_bytes());
    assert!(read(&path, None, &["id"]).unwrap_err().to_string().contains("say so with --format"));
    assert_eq!(read(&path, Some(TableForm::Commas), &["id"]).unwrap().0.len(), 3);
    assert!(
        Table::open(Path::new("-"), None).is_err()
            && Table::open(Path::new("-"), Some(TableForm::Parquet)).is_err()
    );
}

#[test]
fn a_row_that_makes_no_sense_takes_no_other_with_it() {
    let bytes = b"a,b\n1,2\n1\n1,\xff\n1,2,3\n3,4\n";
    let (_folder, path) = written("t.csv", bytes);
    let (rows, problems) = read(&path, None, &["b"]).unwrap();
    assert_eq!(plain(rows), [["2"], ["4"]]);
    let starts =
        ["3: 1 fields, but the header has 2", "4: byte 1 of the line is not valid", "5: 3 fields"];
    assert!(
        problems.iter().zip(starts).all(|(said, start)| said.starts_with(start)),
        "{problems:?}"
    );
    // Bad bytes in a column that nobody reads are nobody's business.
    assert_eq!(read(&path, None, &["a"]).unwrap().1.len(), 2);
    let (_folder, path) = written("t.jsonl", b"{\"a\": 1}\n[1]\nno\n{\"b\": 1}\n");
    let (rows, problems) = read(&path, None, &["a"]).unwrap();
    assert_eq!((plain(rows), problems.len()), (vec![vec!["1".to_owned()], vec![String::new()]], 2));
}

/// The twin is CSV, where a quote has to take along what stands up to the next one.
#[test]
fn a_quote_in_a_table_of_tabs_takes_no_other_row_with_it() {
    let text = "who\tsaid\nmallory\t\"hello\nann\tgood\nbob\t\"very \"\"bad\"\"\"\neve\t\"\n";
    let (_folder, path) = written("t.tsv", text.as_bytes());
    let (rows, problems) = read(&path, None, &["said"]).unwrap();
    assert_eq!(plain(rows), [["\"hello"], ["good"], ["very \"bad\""], ["\""]]);
    assert!(problems.is_empty());
    let (_folder, path) = written("t.csv", text.replace('\t', ",").as_bytes());
    let (rows, _) = read(&path, None, &["said"]).unwrap();
    assert!(!plain(rows).contains(&vec!["good".to_owned()]), "ann is gone");
}

#[test]
fn what_is_written_is_read_again() {
    let texts = ["a, b", "\"é\"", ""].map(str::to_owned);
    let columns = [
        ("name, or not".to_owned(), Values::Texts(texts.to_vec())),
        ("share".to_owned(), Values::Numbers(vec![0.1, -1e300, 3.0])),
    ];
    let mut names = vec!["t.csv", "t.tsv", "t.jsonl"];
    if cfg!(feature = "parquet") {
        names.extend(["t.parquet", "t.arrow"]);
    }
    for name in names {
        let mut bytes = Vec::new();
        let form = TableForm::of(Path::new(name)).unwrap();
        write_table(&columns, form, Path::new(name), &mut bytes).unwrap();
        let (_folder, path) = written(name, &bytes);
        let (rows, problems) = read(&path, None, &["name, or not", "share"]).unwrap();
        let rows: Vec<(String, Option<f64>)> =
            plain(rows).into_iter().map(|row| (row[0].clone(), number(&row[1]))).collect();
        let numbers = [Some(0.1), Some(-1e300), Some(3.0)];
        assert_eq!(
            (rows, problems.len()),
            (texts.clone().into_iter().zip(numbers).collect(), 0),
            "{name}"
        );
    }
}

#[test]
fn columns_are_found_or_refused_by_name() {
    let (_folder, path) = written("t.csv", b"a,b,a\n1,2,3\n");
    let said = |columns: &[&str]| read(&path, None, columns).unwrap_err().to_string();
    assert!(said(&["c"]).ends_with("there is no column `c`, but a, b, a"), "{}", said(&["c"]));
    assert!(said(&["a"]).ends_with("two columns are called `a`"));
    assert_eq!(plain(read(&path, None, &["b"]).unwrap().0), [["2"]]);
}

/// A record without an end, some megabytes packed, is one that is too long, and fills no memory.
#[test]
fn a_quotation_mark_that_is_never_closed_ends_the_table() {
    let mut text = b"a,b\n1,2\n3,\"".to_vec();
    text.resize(3 * crate::source::LONGEST_LINE, b'x');
    let (_folder, path) = written("t.csv.gz", &gzip(&text));
    let (rows, problems) = read(&path, None, &["b"]).unwrap();
    assert_eq!((plain(rows), problems.len()), (vec![vec!["2".to_owned()]], 1));
    assert!(problems[0].starts_with("3: the line is longer than"), "{problems:?}");
}

#[cfg(feature = "parquet")]
mod batches {
    use super::*;
    use arrow_array::{
        ArrayRef, BinaryArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
    };
    use arrow_ipc::writer::FileWriter;
    use parquet::arrow::ArrowWriter;
    use parquet::basic::{Compression as Codec, ZstdLevel};
    use parquet::file::properties::WriterProperties;
    use std::sync::Arc;

    fn batch() -> RecordBatch {
        let columns: [(&str, ArrayRef); 5] = [
            ("id", Arc::new(Int64Array::from(vec![1, 2, 9_007_199_254_740_993]))),
            ("day", Arc::new(Date32Array::from(vec![Some(19_783), Some(19_784), None]))),
            ("note", Arc::new(StringArray::from(vec!["a, \"b\"", "", "é"]))),
            ("bytes", Arc::new(BinaryArray::from(vec![&b"x"[..], b"y", b"\xff"]))),
            ("share", Arc::new(Float64Array::from(vec![0.1, 1e300, f64::NAN]))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn parquet(codec: Codec) -> Vec<u8> {
        let properties = WriterProperties::builder().set_compression(codec).build();
        let mut writer =
            ArrowWriter::try_new(Vec::new(), batch().schema(), Some(properties)).unwrap();
        writer.write(&batch()).unwrap();
        writer.into_inner().unwrap()
    }

    fn arrow() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = FileWriter::try_new(&mut bytes, &batch().schema()).unwrap();
        writer.write(&batch()).unwrap();
        writer.finish().unwrap();
        drop(writer);
        bytes
    }

    #[test]
    fn files_of_batches_have_the_same_fields() {
        let expected = [
            ["a, \"b\"", "1", "2024-03-01"],
            ["", "2", "2024-03-02"],
            ["é", "9007199254740993", ""],
        ];
        let gzip = Codec::GZIP(Default::default());
        let codecs = [
            Codec::UNCOMPRESSED,
            Codec::SNAPPY,
            Codec::ZSTD(ZstdLevel::default()),
            gzip,
            Codec::LZ4_RAW,
        ];
        let files = codecs.map(|codec| ("t.parquet", parquet(codec))).into_iter();
        for (name, bytes) in
            files.chain([("t.arrow", arrow()), ("t", arrow()), ("t", parquet(Codec::SNAPPY))])
        {
            let (_folder, path) = written(name, &bytes);
            let (rows, problems) = read(&path, None, &["note", "id", "day"]).unwrap();
            let expected = expected.map(|row| row.map(str::to_owned).to_vec()).to_vec();
            assert_eq!((plain(rows), problems.len()), (expected, 0), "{name}");
            let (rows, _) = read(&path, None, &["share", "bytes"]).unwrap();
            let known =
                |row: &Fields| (number(row[0].as_deref().unwrap_or_default()), row[1].clone());
            assert_eq!(known(&rows[0]), (Some(0.1), Some("x".to_owned())));
            assert_eq!(known(&rows[1]), (Some(1e300), Some("y".to_owned())));
            assert_eq!(known(&rows[2]), (None, None), "no number, and no text");
            assert!(
                read(&path, None, &["nobody"])
                    .unwrap_err()
                    .to_string()
                    .contains("no column `nobody`")
            );
        }
    }

    #[test]
    fn zstd_is_known_by_its_first_bytes() {
        let (_folder, path) = written("t.csv.zst", &zstd::encode_all(CSV.as_bytes(), 0).unwrap());
        assert_eq!(read(&path, None, &["id"]).unwrap().0.len(), 3);
    }

    /// Whatever one byte of a file says, or wherever it ends, there are rows or an error.
    #[test]
    fn a_damaged_file_is_an_error() {
        for (name, bytes) in [("t.parquet", parquet(Codec::SNAPPY)), ("t.arrow", arrow())] {
            let mut refused = 0;
            for place in (0..bytes.len()).step_by(5) {
                let mut broken = bytes.clone();
                broken[place] ^= 0xff;
                let (_folder, path) = written(name, &broken);
                refused += usize::from(read(&path, None, &["note", "id"]).is_err());
            }
            assert!(refused > bytes.len() / 100, "{name}: {refused} of {}", bytes.len());
            for length in (0..bytes.len()).step_by(7) {
                let (_folder, path) = written(name, &bytes[..length]);
                assert!(read(&path, None, &["note"]).is_err(), "{name}: {length}");
            }
        }
    }
}
