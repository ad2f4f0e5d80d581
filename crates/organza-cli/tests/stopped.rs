//! Runs that are killed, interrupted or out of room, and go on.
#![allow(clippy::unwrap_used, missing_docs)]
#![cfg(unix)]

mod support;

use serde_json::Value;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use support::{Outcome, Run, organza_in};
use tempfile::{TempDir, tempdir};

const KILLS: u32 = 8;
/// The files that must be the same, to the bit, as those of an unbroken run.
const RESULTS: [&str; 6] = [
    "model.safetensors",
    "vectors.bin",
    "vectors.txt",
    "certificate.json",
    "metrics.jsonl",
    "ledger.jsonl",
];

/// A folder with some text to train on, and the line that does.
fn place() -> (TempDir, &'static str) {
    let place = tempdir().unwrap();
    let words = ["red", "green", "blue", "one", "two", "three", "four", "sun", "moon", "star"];
    let line = |at: usize| {
        let word = |of: usize| words[(at * 7 + of * of + at / 3 * of) % words.len()];
        (0..12).map(word).collect::<Vec<_>>().join(" ")
    };
    let text: String = (0..2_000).map(|at| line(at) + "\n").collect();
    fs::write(place.path().join("text.txt"), text).unwrap();
    let train = "train --data text.txt --vocabulary declared-public --method dpsgd --steps 400 \
                 --dimensions 16 --batch 80 --seed 3 --threads 1";
    (place, train)
}

fn assert_same_results(place: &Path, left: &str, right: &str) {
    for file in RESULTS {
        let bytes = |run: &str| fs::read(place.join(run).join(file)).unwrap();
        assert!(bytes(left) == bytes(right), "{file} of {right} is not that of {left}");
    }
}

#[test]
fn killed_anywhere_a_run_ends_as_if_unbroken_and_pays_for_nothing_twice() {
    let (place, train) = place();
    let place = place.path();
    let begun = Instant::now();
    let whole = organza_in(place, &format!("{train} --out whole"));
    assert_eq!(whole.code, Some(0), "{}", whole.stderr);
    let length = begun.elapsed();

    let (mut kills, mut round, mut moments) = (0, 0, Vec::new());
    while kills < KILLS {
        round += 1;
        let out = format!("run-{round}");
        let report = place.join(&out).join("report.html");
        loop {
            // A run that was killed before its settings were there begins anew.
            let resumes = place.join(&out).join("settings.json").exists();
            let line =
                if resumes { format!("resume {out}") } else { format!("{train} --out {out}") };
            let mut child = Run::new(&line).in_folder(place).command().spawn().unwrap();
            if kills < KILLS {
                let share = (RandomState::new().hash_one(kills) % 1_000) as f64 / 1_000.0;
                let moment = length.mul_f64(0.8 * share);
                std::thread::sleep(moment);
                moments.push(moment);
                child.kill().unwrap();
            }
            let ended = child.wait_with_output().unwrap();
            match ended.status.code() {
                None => kills += 1,
                Some(0) => {}
                Some(_) => {
                    let said = String::from_utf8_lossy(&ended.stderr);
                    assert!(report.exists(), "after {moments:?}: {said}");
                }
            }
            if report.exists() {
                break;
            }
        }
        assert_same_results(place, "whole", &out);
        charges_cover_each_step_once(&place.join(&out));
    }
}

/// The ledger's own account: no step twice, none left out.
fn charges_cover_each_step_once(run: &Path) {
    let ledger = fs::read_to_string(run.join("ledger.jsonl")).unwrap();
    let mut next = 0;
    for line in ledger.lines().filter(|line| line.contains("\"training\"")) {
        let line: Value = serde_json::from_str(line).unwrap();
        let charge = if line["charge"].is_object() { &line["charge"] } else { &line };
        assert_eq!(charge["from_step"].as_u64(), Some(next), "{line}");
        next += charge["steps"].as_u64().unwrap();
    }
    assert_eq!(next, 400);
    let certificate: Value =
        serde_json::from_slice(&fs::read(run.join("certificate.json")).unwrap()).unwrap();
    assert!(certificate["epsilon"].as_f64().unwrap() <= 3.0);
}

/// Starts a run and hands it over once its first point is there, some of its steps made.
fn interrupted(place: &Path, line: &str, out: &str) -> Outcome {
    let run = Run::new(line).in_folder(place);
    let child = run.command().spawn().unwrap();
    let metrics = place.join(out).join("metrics.jsonl");
    let patience = Instant::now();
    while fs::read_to_string(&metrics).unwrap_or_default().lines().count() < 2 {
        assert!(patience.elapsed() < Duration::from_secs(60), "no step is made");
        std::thread::sleep(Duration::from_millis(1));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    Outcome {
        line: line.to_owned(),
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn an_interrupted_run_saves_says_how_to_go_on_and_goes_on() {
    let (place, train) = place();
    let place = place.path();
    assert_eq!(organza_in(place, &format!("{train} --out whole")).code, Some(0));
    let run = interrupted(place, &format!("{train} --out run"), "run");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{}", run.stderr);
    assert!(run.stderr.contains("go on with `organza resume run`"), "{}", run.stderr);

    let again = organza_in(place, &format!("{train} --out run"));
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("organza resume run"), "{}", again.stderr);
    let early = organza_in(place, "nearest run red");
    assert!(early.stderr.contains("organza resume run"), "{}", early.stderr);

    let text = fs::read_to_string(place.join("text.txt")).unwrap();
    fs::write(place.join("text.txt"), text.replacen("red", "blue", 1)).unwrap();
    let changed = organza_in(place, "resume run");
    assert_eq!(changed.code, Some(1));
    assert!(changed.stderr.contains("the data is not what it was"), "{}", changed.stderr);
    fs::write(place.join("text.txt"), text).unwrap();

    let settings = fs::read_to_string(place.join("run/settings.json")).unwrap();
    let weaker = settings.replace("\"epsilon\": 3.0", "\"epsilon\": 30.0");
    assert_ne!(weaker, settings);
    fs::write(place.join("run/settings.json"), weaker).unwrap();
    let changed = organza_in(place, "resume run");
    assert_eq!(changed.code, Some(1), "{}", changed.stdout);
    assert!(changed.stderr.contains("settings"), "{}", changed.stderr);
    fs::write(place.join("run/settings.json"), settings).unwrap();

    let resumed = organza_in(place, "resume run");
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_same_results(place, "whole", "run");
    let finished = organza_in(place, "resume run");
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains("finished"), "{}", finished.stderr);
}

#[test]
fn where_there_is_no_room_nothing_is_left_half_written_and_the_run_goes_on_later() {
    let (place, train) = place();
    let place = place.path();
    assert_eq!(organza_in(place, &format!("{train} --out whole")).code, Some(0));
    // No file may grow beyond some kilobytes, which only settings and ledger can do with.
    let script = format!(
        "trap '' XFSZ; ulimit -f 8; exec {} {train} --out run",
        env!("CARGO_BIN_EXE_organza")
    );
    let output = Command::new("sh").args(["-c", &script]).current_dir(place).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write") && said.contains("checkpoint"), "{said}");
    let partial = |folder: &str| {
        let entries = fs::read_dir(place.join(folder)).unwrap();
        entries
            .filter(|it| {
                it.as_ref().unwrap().file_name().to_string_lossy().starts_with(".organza-")
            })
            .count()
    };
    assert_eq!((partial("run"), partial("run/private")), (0, 0));
    let resumed = organza_in(place, "resume run");
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_same_results(place, "whole", "run");
}
