//! Runs that are made of shards: the bits of one machine, whatever the shards; and everything that is not all of them is refused.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use organza_cli::shard::join;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use support::{Outcome, Run};
use tempfile::tempdir;

fn organza_in(folder: &Path, line: &str) -> Outcome {
    Run::new(line).in_folder(folder).run()
}

fn done(folder: &Path, line: &str) -> Outcome {
    let outcome = organza_in(folder, line);
    assert_eq!(outcome.code, Some(0), "{line}: {}", outcome.stderr);
    outcome
}

fn refused(folder: &Path, line: &str, said: &str) {
    let outcome = organza_in(folder, line);
    assert_eq!(outcome.code, Some(1), "{line}: {}", outcome.stdout);
    assert!(outcome.stderr.contains(said), "{line}: {}", outcome.stderr);
}

fn progress(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap()
}

/// Messages of writers whose rows stand between those of others, and the words they may have.
fn messages(folder: &Path) {
    let line = |row: u32| {
        let (writer, day) = (row * 7 % 600, ["Monday", "Friday", "Tuesday"][row as usize % 3]);
        let end = if row % 2 == 0 { "Thank you very much!" } else { "See you then." };
        format!("w{writer},\"See you on {day}. {end}\"\n")
    };
    let rows: String = (0..1_500).map(line).collect();
    fs::write(folder.join("messages.csv"), format!("who,message\n{rows},nobody\n")).unwrap();
    let words = "see\nyou\non\nmonday\nfriday\ntuesday\nthank\nvery\nmuch\nthen\n";
    fs::write(folder.join("words.txt"), words).unwrap();
}

const TYPEAHEAD: &str = "typeahead --text-column message --user-column who --vocabulary-file words.txt --epsilon 2 --seed 5";

/// Counts the shards of the current round into the files `part-0`, `part-1` and so on.
fn count(folder: &Path, run: &str, data: &str, shards: u32) {
    for shard in 0..shards {
        done(
            folder,
            &format!(
                "shard count --task {run}/task --data {data} --shard {shard} --shards {shards} --out part-{shard}"
            ),
        );
    }
}

/// Makes a run of shards to its end, and says how many rounds it took.
fn of_shards(folder: &Path, flags: &str, data: &str, shards: u32, run: &str) -> u64 {
    let mut next = progress(&done(folder, &format!("shard begin {flags} --out {run} --json")));
    loop {
        let round = next["round"].as_u64().unwrap();
        assert!(round < 40);
        count(folder, run, data, shards);
        // In another order each time.
        let order = (0..shards).map(|place| (place + round as u32) % shards);
        let parts: String = order.map(|shard| format!(" part-{shard}")).collect();
        next = progress(&done(folder, &format!("shard merge {run}{parts} --json")));
        assert!((0..shards).all(|shard| !folder.join(format!("part-{shard}")).exists()));
        if next["finished"] == true {
            assert!(!folder.join(run).join("private").exists());
            assert!(!folder.join(run).join("task").exists());
            return round;
        }
    }
}

/// What a run leaves, but for what is measured, drawn for people, or says where the data lies.
fn results(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let open =
        ["summary.json", "report.html", "settings.json", "metrics.jsonl", "figures", "tables"];
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(run).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if !open.contains(&name.as_str()) {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

fn are_the_same(folder: &Path, one: &str, other: &str) {
    let (one, other) = (results(&folder.join(one)), results(&folder.join(other)));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (name, bytes) in &one {
        let texts = [bytes, &other[name]].map(|bytes| String::from_utf8_lossy(bytes));
        assert!(bytes == &other[name], "{name}:\n{:.2000}\n{:.2000}", texts[0], texts[1]);
    }
}

#[test]
fn a_typeahead_of_shards_has_the_bits_of_one_machine() {
    let place = tempdir().unwrap();
    let folder = place.path();
    messages(folder);
    done(folder, &format!("{TYPEAHEAD} --data messages.csv --out whole"));
    for shards in [1, 2, 5] {
        let run = format!("run-{shards}");
        assert_eq!(of_shards(folder, TYPEAHEAD, "messages.csv", shards, &run), 4);
        are_the_same(folder, "whole", &run);
    }
}
