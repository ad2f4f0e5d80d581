//! Runs that are made of shards: the bits of one machine, whatever the shards; and everything that is not all of them is refused.
#![allow(clippy::unwrap_used, missing_docs)]

mod killed;
mod sealed;
#[path = "../support/mod.rs"]
mod support;

use organza_cli::shard::join;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use support::{Outcome, done, organza_in};
use tempfile::tempdir;

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
        let end = if row.is_multiple_of(2) { "Thank you very much!" } else { "See you then." };
        format!("w{writer},\"See you on {day}. {end}\"\n")
    };
    let rows: String = (0..1_500).map(line).collect();
    fs::write(folder.join("messages.csv"), format!("who,message\n{rows},nobody\n")).unwrap();
    let words = "see\nyou\non\nmonday\nfriday\ntuesday\nthank\nvery\nmuch\nthen\n";
    fs::write(folder.join("words.txt"), words).unwrap();
}

const TYPEAHEAD: &str = "typeahead --text-column message --user-column who --vocabulary-file words.txt --epsilon 2 --seed 5";

/// The same for a session of this process, which is in another folder.
fn anywhere(folder: &Path) -> String {
    TYPEAHEAD.replace("words.txt", &folder.join("words.txt").display().to_string())
}

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

/// Events of persons who have some of the items, in an order that parts nobody's rows.
fn events(folder: &Path) {
    let row = |row: u32| {
        let (person, place) = (row * 11 % 800, row / 800);
        let item = (person % 4 * 5 + (person / 4 + place * (1 + person % 2)) % 5) % 20;
        format!("p{person},item{item}\n")
    };
    let rows: String = (0..2_400).map(row).collect();
    fs::write(folder.join("events.csv"), format!("who,what\n{rows}p3,only p3\n")).unwrap();
    let items: String = (0..20).map(|item| format!("item{item}\n")).collect();
    fs::write(folder.join("items.txt"), items).unwrap();
}

const RECOMMENDER: &str =
    "recommender --user-column who --item-column what --noise-multiplier 0.8 --seed 6";

#[test]
fn a_recommender_of_shards_has_the_bits_of_one_machine() {
    let place = tempdir().unwrap();
    let folder = place.path();
    events(folder);
    let flags = format!("{RECOMMENDER} --items items.txt");
    done(folder, &format!("{flags} --data events.csv --out whole"));
    for shards in [1, 2, 5] {
        let run = format!("run-{shards}");
        assert_eq!(of_shards(folder, &flags, "events.csv", shards, &run), 2);
        are_the_same(folder, "whole", &run);
    }
}

/// Names that are released in sixteen looks, of items that no shard has all of.
#[test]
fn private_items_of_shards_have_the_bits_of_one_machine() {
    let place = tempdir().unwrap();
    let folder = place.path();
    events(folder);
    done(folder, &format!("{RECOMMENDER} --data events.csv --out whole"));
    let items = fs::read_to_string(folder.join("whole/items.txt")).unwrap();
    assert!(items.contains("item7") && !items.contains("only p3"), "{items}");
    assert_eq!(of_shards(folder, RECOMMENDER, "events.csv", 3, "run"), 17);
    are_the_same(folder, "whole", "run");
}

/// Rows of what users were shown; some name nobody, some make no sense.
fn shown(folder: &Path) {
    let row = |row: u32| {
        let (user, ad) = (row * 17 % 700, row * 7 % 9);
        let clicked = u32::from((row + ad * ad + user % 3) % 5 < 2);
        format!("u{user},ad{ad},s{},{},{clicked}\n", row % 4, row % 50)
    };
    let rows: String = (0..2_100).map(row).collect();
    let wrong = ",ad1,s1,1,1\nu3,ad1,s1,1,perhaps\nu3,ad1\n";
    fs::write(folder.join("shown.csv"), format!("who,ad,site,seen,clicked\n{rows}{wrong}"))
        .unwrap();
}

const CLICKS: &str = "clicks --label-column clicked --category ad --category site --number seen=50 --buckets 20 \
                      --epsilon 2 --seed 8";

#[test]
fn clicks_of_shards_have_the_bits_of_one_machine() {
    let place = tempdir().unwrap();
    let folder = place.path();
    shown(folder);
    let flags = format!("{CLICKS} --user-column who");
    done(folder, &format!("{flags} --data shown.csv --out whole"));
    for shards in [1, 2, 5] {
        let run = format!("run-{shards}");
        assert_eq!(of_shards(folder, &flags, "shown.csv", shards, &run), 2);
        are_the_same(folder, "whole", &run);
    }
    refused(folder, &format!("shard begin {CLICKS} --out rows"), "--user-column");
    refused(folder, &format!("shard begin {flags} --method dpsgd --out steps"), "without steps");
}

/// Lines of users, in which some words stand together more often than others.
fn lines(folder: &Path) {
    let words = ["bread", "soup", "cheese", "piano", "violin", "choir"];
    let line = |row: u32| {
        let (user, kind) = (row * 13 % 500, row as usize / 2 % 2 * 3);
        let word = |place: u32| words[kind + (row + place) as usize % 3];
        format!("u{user}\t{} {} {} {}\n", word(0), word(1), word(2), word(row % 3))
    };
    let lines: String = (0..1_500).map(line).collect();
    fs::write(folder.join("lines.txt"), lines).unwrap();
    fs::write(folder.join("words.txt"), words.map(|word| format!("{word}\n")).concat()).unwrap();
}

const WORDS: &str = "train --epsilon 4 --dimensions 8 --seed 7";

#[test]
fn words_of_shards_have_the_bits_of_one_machine() {
    let place = tempdir().unwrap();
    let folder = place.path();
    lines(folder);
    for (unit, shards) in [("user", 3), ("line", 2)] {
        let flags = format!("{WORDS} --unit {unit} --vocabulary-file words.txt");
        done(folder, &format!("{flags} --data lines.txt --out whole-{unit}"));
        let run = format!("run-{unit}");
        assert_eq!(of_shards(folder, &flags, "lines.txt", shards, &run), 3);
        are_the_same(folder, &format!("whole-{unit}"), &run);
    }
}

/// A vocabulary that is released in sixteen looks; users have more words than count.
#[test]
fn private_words_of_shards_have_the_bits_of_one_machine() {
    let place = tempdir().unwrap();
    let folder = place.path();
    lines(folder);
    let flags = format!("{WORDS} --unit user --vocabulary private --words-per-unit 4");
    done(folder, &format!("{flags} --data lines.txt --out whole"));
    assert_eq!(of_shards(folder, &flags, "lines.txt", 2, "run"), 19);
    are_the_same(folder, "whole", "run");
}

fn ledger(folder: &Path, run: &str) -> Vec<u8> {
    fs::read(folder.join(run).join("ledger.jsonl")).unwrap()
}

#[test]
fn what_is_not_all_of_the_shards_is_refused_and_charges_nothing() {
    let place = tempdir().unwrap();
    let folder = place.path();
    messages(folder);
    let begin = |run: &str, flags: &str| done(folder, &format!("shard begin {flags} --out {run}"));
    assert_eq!(begin("run", TYPEAHEAD).stdout, "round 1 of 4: word counts\n");
    begin("other", &TYPEAHEAD.replace("--seed 5", "--seed 6"));
    count(folder, "other", "messages.csv", 2);
    fs::rename(folder.join("part-1"), folder.join("foreign")).unwrap();
    count(folder, "run", "messages.csv", 3);
    fs::rename(folder.join("part-1"), folder.join("third")).unwrap();
    count(folder, "run", "messages.csv", 2);
    let whole = fs::read(folder.join("part-1")).unwrap();
    fs::write(folder.join("short"), &whole[..whole.len() - 1]).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    fs::write(folder.join("changed"), &changed).unwrap();
    fs::write(folder.join("key"), [7; 32]).unwrap();
    let before = ledger(folder, "run");
    for (parts, said) in [
        ("part-0", "shard 1 of 2 is missing"),
        ("part-0 part-1 part-0", "shard 0 is there twice"),
        ("part-0 third", "another number of shards"),
        ("part-0 foreign", "another run"),
        ("part-0 short", "damaged or cut short"),
        ("part-0 changed", "damaged or cut short"),
        ("part-0 words.txt", "is not a partial"),
        ("part-0 part-1 --key-file key", "not sealed"),
    ] {
        refused(folder, &format!("shard merge run {parts}"), said);
        assert_eq!(ledger(folder, "run"), before, "{parts}");
        assert!(folder.join("part-0").exists());
    }
    refused(folder, "shard merge nothing part-0 part-1", "holds no run of shards");
    refused(folder, "resume run", "organza shard merge");
    let no_task =
        "shard count --task words.txt --data messages.csv --shard 0 --shards 2 --out part";
    refused(folder, no_task, "is not a task");
    let count = "shard count --task run/task --data messages.csv --out part";
    refused(folder, &format!("{count} --shard 2 --shards 2"), "no shard 2 of 2");
    refused(folder, &format!("{count} --shard 1 --shards 2 --strict"), "this row is of shard 0");

    // A merge of the round before is refused in the next one, unless it is the same, which is done.
    done(folder, "shard merge run part-0 part-1 --keep");
    let charged = ledger(folder, "run");
    assert!(charged.len() > before.len());
    let again = done(folder, "shard merge run part-1 part-0 --keep");
    assert_eq!(again.stdout, "round 2 of 4: counts after endings\n");
    assert_eq!(ledger(folder, "run"), charged);
    refused(folder, "shard merge run part-0", "on other partials before");

    for wrong in [
        "shard begin typeahead --method dpsgd --vocabulary-file words.txt --out new",
        "shard begin typeahead --vocabulary declared-public --out new",
        "shard begin recommender --user-column who --item-column what --method als --out new",
    ] {
        let outcome = organza_in(folder, wrong);
        assert_ne!(outcome.code, Some(0), "{wrong}: {}", outcome.stdout);
        assert!(!folder.join("new").exists(), "{wrong}");
    }
}

/// Partials are joined in steps, anywhere.
#[test]
fn partials_are_joined_as_a_tree() {
    let place = tempdir().unwrap();
    let folder = place.path();
    messages(folder);
    for run in ["one", "tree"] {
        done(folder, &format!("shard begin {TYPEAHEAD} --out {run}"));
    }
    assert_eq!(
        fs::read(folder.join("one/task")).unwrap(),
        fs::read(folder.join("tree/task")).unwrap()
    );
    count(folder, "one", "messages.csv", 5);
    let part = |number: usize| fs::read(folder.join(format!("part-{number}"))).unwrap();
    let some = join(&[part(4), part(1)]).unwrap();
    let most = join(&[part(0), some, part(3)]).unwrap();
    assert!(join(&[most.clone(), part(1)]).is_err());
    fs::write(folder.join("most"), most).unwrap();
    done(folder, "shard merge tree part-2 most --keep");
    done(folder, "shard merge one part-0 part-1 part-2 part-3 part-4");
    assert_eq!(
        fs::read(folder.join("one/task")).unwrap(),
        fs::read(folder.join("tree/task")).unwrap()
    );
}
