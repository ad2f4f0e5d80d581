//! What cannot be trained on is refused, with a reason, before anything is written.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::fs;
use std::path::Path;
use support::Run;
use tempfile::{TempDir, tempdir};

/// Refused with this exit code and these words, and no folder is there afterwards.
fn refused(place: &Path, line: &str, code: i32, reasons: &[&str]) {
    let before = fs::read_dir(place).unwrap().count();
    let run = Run::new(line).in_folder(place).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(code), ""), "{line}: {}", run.stderr);
    for reason in reasons {
        assert!(run.stderr.contains(reason), "{line}: no {reason:?} in {}", run.stderr);
    }
    assert!(run.stderr.starts_with("error: "), "{line}: {}", run.stderr);
    assert_eq!(fs::read_dir(place).unwrap().count(), before, "{line} left something");
}

fn text(bytes: &[u8]) -> TempDir {
    let place = tempdir().unwrap();
    fs::write(place.path().join("text.txt"), bytes).unwrap();
    place
}

const TRAIN: &str = "train --data text.txt --vocabulary declared-public";

#[test]
fn text_that_is_none() {
    let cases: [(&[u8], &[&str]); 2] = [(b"", &["0 word"]), (b"word\n", &["1 word"])];
    for (bytes, reasons) in cases {
        refused(text(bytes).path(), TRAIN, 1, reasons);
    }
    // What one unit can bring about is refused without privacy alone: see the tests of refusals.
    let cases: [(&[u8], &[&str]); 4] = [
        (b"", &["text.txt", "holds no text"]),
        (b"one\ntwo\nthree\n", &["no line has two words"]),
        (b"good words here\n\x00\x01\x02\x7fELF\n", &["text.txt", "line 2", "zero byte"]),
        (b"good words\ncaf\xe9 au lait\n", &["text.txt", "line 2", "byte 4", "UTF-8"]),
    ];
    for (bytes, reasons) in cases {
        refused(text(bytes).path(), &format!("{TRAIN} --method none"), 1, reasons);
    }
}

#[test]
fn text_that_is_not_there() {
    let place = tempdir().unwrap();
    refused(place.path(), TRAIN, 1, &["cannot read `text.txt`"]);
}

#[test]
fn words_that_are_not_said_or_not_there() {
    let place = text(&b"one two three four\n".repeat(100));
    let place = place.path();
    // A private vocabulary is paid for before anybody sees that it is too small: the ledger stays.
    let hidden = Run::new("train --data text.txt --out hidden").in_folder(place).run();
    assert_eq!(hidden.code, Some(1), "{}", hidden.stderr);
    for said in ["error: ", "private vocabulary", "--vocabulary-file", "declared-public"] {
        assert!(hidden.stderr.contains(said), "{said}: {}", hidden.stderr);
    }
    assert!(place.join("hidden/ledger.jsonl").exists());
    let line = format!("{TRAIN} --vocabulary-size 50");
    refused(place, &line, 1, &["50 words was asked for", "only 4 distinct"]);
    let line = format!("{TRAIN} --vocabulary-file words.txt");
    refused(place, &line, 2, &["--vocabulary", "--vocabulary-file"]);
    let line = "train --data text.txt --vocabulary-file words.txt";
    refused(place, line, 1, &["words.txt"]);
    refused(place, &format!("{line} --vocabulary-size 9"), 2, &["--vocabulary-size", "private"]);
    refused(place, &format!("{line} --words-per-unit 9"), 2, &["--words-per-unit", "private"]);
    refused(place, "train --data text.txt --tokens [a-", 2, &["`[a-` is not a regular expression"]);
    refused(place, "train --data text.txt --stop-words none.txt", 1, &["none.txt"]);
}

#[test]
fn settings_that_make_no_sense() {
    let place = text(&b"one two three four\n".repeat(100));
    let place = place.path();
    let cases: [(&str, i32, &[&str]); 19] = [
        ("--epsilon 0", 2, &["--epsilon is 0"]),
        ("--epsilon=-1", 2, &["--epsilon is -1"]),
        ("--epsilon nan", 2, &["--epsilon is NaN"]),
        ("--delta 1", 2, &["--delta is 1"]),
        ("--delta 0", 2, &["--delta is 0"]),
        ("--batch 0", 2, &["--batch is 0"]),
        ("--method none --batch 5000", 1, &["--batch is 5000", "number of training units"]),
        ("--method dpsgd --units 90 --batch 91", 1, &["--batch is 91", "number of training units"]),
        ("--clip 0", 2, &["--clip is 0"]),
        ("--steps 0", 2, &["--steps is 0"]),
        ("--steps 5 --epochs 3", 2, &["--steps", "--epochs"]),
        ("--epsilon 3 --noise-multiplier 1", 2, &["--epsilon", "--noise-multiplier"]),
        ("--method dpsgd --noise-multiplier 1", 2, &["--units is not given", "--epsilon in place"]),
        ("--select uniform", 2, &["add --method sparse"]),
        ("--method none --epsilon 3", 2, &["--epsilon has no meaning with --method none"]),
        ("--method sparse --gamma 2", 2, &["--gamma is 2"]),
        ("--method sparse --gamma .1 --draws 3", 2, &["--gamma", "--draws"]),
        ("--preset paper --settings x.json", 2, &["--preset", "--settings"]),
        ("--window 0", 2, &["--window is 0"]),
    ];
    for (flags, code, reasons) in cases {
        refused(place, &format!("{TRAIN} {flags}"), code, reasons);
    }
    refused(place, "train --preset paper", 2, &["--data"]);
    refused(place, "train --settings no.json", 1, &["cannot read no.json"]);
    fs::write(place.join("old.json"), "{\"version\": 1}").unwrap();
    refused(place, "train --settings old.json", 1, &["old.json is not a settings file"]);
}

/// Whether a run is refused tells nothing about how many units there are, unless that was declared: with a
/// batch above their number every unit joins every batch.
#[test]
fn a_batch_larger_than_the_data_is_not_refused() {
    for lines in [60, 100] {
        let place = text(&b"one two three four\n".repeat(lines));
        let flags = "--method dpsgd --batch 80 --steps 2 --quiet";
        let run = Run::new(&format!("{TRAIN} {flags} --out run")).in_folder(place.path()).run();
        assert_eq!(run.code, Some(0), "{lines}: {}", run.stderr);
    }
}

#[test]
fn a_folder_that_cannot_be_used() {
    let place = text(&b"one two three four\n".repeat(100));
    let place = place.path();
    let small = format!("{TRAIN} --method dpsgd --batch 20 --steps 2");
    refused(place, &format!("{small} --out text.txt"), 1, &["text.txt"]);
    refused(place, &format!("{small} --out text.txt/run"), 1, &["text.txt/run"]);
    refused(place, &format!("{small} --out ."), 1, &["not empty", "organza resume ."]);
    refused(place, "resume .", 1, &["holds no run"]);
    refused(place, "nearest . word", 1, &["holds no finished run"]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_read_only() {
    use std::os::unix::fs::PermissionsExt;
    let place = text(&b"one two three four\n".repeat(100));
    let shut = place.path().join("shut");
    fs::create_dir(&shut).unwrap();
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o555)).unwrap();
    // The system's administrator may write anywhere.
    if fs::write(shut.join("try"), "").is_err() {
        let line = format!("{TRAIN} --method dpsgd --batch 20 --steps 2 --out shut/run");
        refused(place.path(), &line, 1, &["cannot create the folder shut/run"]);
    }
}
