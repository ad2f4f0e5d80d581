//! Neighbours end alike: whether a private run is refused tells nothing of one unit.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::Path;
use support::Run;
use tempfile::tempdir;

/// What everybody sees of a run: its exit code, the names of its files and all that it says, but for what it marks as not
/// private.
#[derive(Debug, PartialEq)]
struct Seen {
    code: Option<i32>,
    files: Vec<String>,
    said: Vec<String>,
}

fn names(folder: &Path, before: &str, all: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
        let name = format!("{before}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            names(&entry.path(), &name, all);
        }
        all.push(name);
    }
}

/// Runs `line` on a file with this text, in a folder with the other `files`.
fn seen(line: &str, text: &str, files: &[(&str, &str)]) -> (Seen, String) {
    let place = tempdir().unwrap();
    fs::write(place.path().join("data"), text).unwrap();
    for (name, text) in files {
        fs::write(place.path().join(name), text).unwrap();
    }
    let line = format!("{line} --data data --out run");
    let run = Run::new(&line).in_folder(place.path()).run();
    let mut files = Vec::new();
    names(&place.path().join("run"), "run", &mut files);
    files.sort();
    let whole = run.stdout + &run.stderr;
    // Of figures, which were released with noise, only the names.
    let name = |line: &str| line.split("  ").next().unwrap_or_default().to_owned();
    let said = whole.lines().filter(|line| !line.contains('*') && !line.is_empty());
    (Seen { code: run.code, files, said: said.map(name).collect() }, whole)
}

/// What both of two neighbours let see, and what the first of them says in all.
fn alike(line: &str, texts: [&str; 2], files: &[(&str, &str)]) -> String {
    let [(one, whole), (other, _)] = texts.map(|text| seen(line, text, files));
    assert_eq!(one, other, "{line}");
    assert_eq!(one.code, Some(0), "{line}: {whole}");
    whole
}

const WORDS: [(&str, &str); 1] = [("words", "a\nb\n")];
const TRAIN: &str = "train --vocabulary-file words --epsilon 0.1 --threads 1";

/// Fifty lines without a word of the vocabulary, with and without one that has two. The broken twin, a run without
/// privacy, refuses the one and not the other.
#[test]
fn a_text_with_nothing_to_learn_from_is_trained_on() {
    let nothing = "x y z\n".repeat(50);
    let something = format!("{nothing}a b\n");
    let steps = "--steps 2 --batch 20";
    for flags in [
        "--method counts",
        &format!("--method dpsgd {steps}"),
        &format!("--method dpsgd --unit pair {steps}"),
        &format!("--method dpsgd --optimizer sgd --learning-rate 0.1 {steps}"),
        &format!("--method sparse --draws 2 {steps}"),
    ] {
        let said = alike(&format!("{TRAIN} {flags}"), [&nothing, &something], &WORDS);
        assert!(said.contains("* no line has two words of the vocabulary"), "{said}");
    }
    let line = "train --vocabulary-file words --method none --steps 2 --batch 1";
    let [one, other] = [&nothing, &something].map(|text| seen(line, text, &WORDS).0);
    assert_ne!(one.code, other.code);
    assert_ne!((one.files, one.said), (other.files, other.said));
}

#[test]
fn an_empty_text_and_a_short_one_are_trained_on() {
    for flags in ["--method counts", "--method dpsgd --steps 2 --batch 20"] {
        let said = alike(&format!("{TRAIN} {flags}"), ["", "a b\n"], &WORDS);
        assert!(said.contains("* `data` holds no text"), "{said}");
    }
    // The paper's split takes half a million pairs.
    let line = "train --vocabulary-file words --preset brown-1k --threads 1";
    let said = alike(line, ["a b a\n", "a b\n"], &WORDS);
    assert!(said.contains("* the split needs 500000 samples"), "{said}");
}

#[test]
fn a_line_without_a_user_is_left_out() {
    let good = "ann\ta b\nbob\tb a b\n".repeat(20);
    let line = format!("{TRAIN} --unit user --method dpsgd --steps 2 --batch 20");
    for bad in ["nobody's\n", " \ta b\n"] {
        let said = alike(&line, [&format!("{bad}{good}"), &good], &WORDS);
        assert!(said.contains("* 1 of the lines could not be used and were left out"), "{said}");
    }
    let line = format!("{line} --neighbouring replace-one");
    let (refused, said) = seen(&line, &format!("nobody's\n{good}"), &WORDS);
    assert_eq!(refused.code, Some(1));
    assert!(said.contains("`data` line 1: no tab"), "{said}");
}

/// One row, one that cannot be used, and none.
#[test]
fn rows_that_cannot_be_used_are_left_out() {
    let erm = "erm --format csv --label y --numeric x --epsilon 0.5 --delta 1e-5";
    let row = "y,x,u\n1,0.5,ann\n";
    let more = |row: &str| format!("y,x,u\n1,0.5,ann\n{row}\n");
    for method in ["objective", "dpsgd --steps 5", "poisson-groups --group u --steps 5"] {
        let line = format!("{erm} --method {method}");
        for bad in ["maybe,0.5,bob", "7,0.5,bob", ",0.5,bob", "1,old,bob", "1,0.5"] {
            let said = alike(&line, [&more(bad), row], &[]);
            assert!(said.contains("* 1 of the lines could not be used"), "{said}");
            assert!(said.contains("line 3: "), "{said}");
        }
        let said = alike(&line, ["y,x,u\n", row], &[]);
        assert!(said.contains("* there were no rows to fit"), "{said}");
    }
    let erm = "erm --features 2 --epsilon 0.5 --delta 1e-5";
    for (method, group) in [("objective", ""), ("poisson-groups --group qid --steps 5", "qid:a ")] {
        let row = format!("1 {group}1:1\n");
        for bad in ["", &format!("1 {group}3:1\n{row}"), &format!("one {group}1:1\n{row}")] {
            alike(&format!("{erm} --method {method}"), [bad, &row], &[]);
        }
    }
    // The broken twin.
    let line = "erm --format csv --label y --numeric x --method none";
    assert_ne!(seen(line, &more("maybe,0.5,bob"), &[]).0, seen(line, row, &[]).0);
}

/// One line that is no text, or one row that is no object, ends no private run: it is left out, and so it is told, marked.
/// The broken twin, a run without privacy, names it.
#[test]
fn a_line_that_is_no_text_is_left_out() {
    let text = "a b a b\n".repeat(50);
    let broken = format!("{text}\0\n");
    let flags = "--method dpsgd --steps 2 --batch 20";
    let said = alike(&format!("{TRAIN} {flags}"), [&broken, &text], &WORDS);
    assert!(said.contains("* 1 of the lines could not be used"), "{said}");
    let line = "train --vocabulary-file words --method none --steps 2 --batch 1";
    let (twin, whole) = seen(line, &broken, &WORDS);
    assert!(twin.code == Some(1) && whole.contains("zero byte"), "{whole}");

    let rows = "{\"text\": \"a b a b\", \"who\": \"x\"}\n".repeat(50);
    let torn = format!("{rows}{{\"text\": \"a b\n");
    let columns = "--text-column text --user-column who --format json";
    let said = alike(&format!("{TRAIN} {flags} {columns}"), [&torn, &rows], &WORDS);
    assert!(said.contains("not a JSON object"), "{said}");
}
