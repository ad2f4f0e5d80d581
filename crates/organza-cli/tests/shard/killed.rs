//! Whoever begins, merges or ends a run may be killed at any point, and two may merge at one time: nothing is charged or reserved twice,
//! and no noise is drawn on two sums.

use super::{
    TYPEAHEAD, anywhere, are_the_same, count, done, ledger, messages, organza_in, progress,
    refused, results,
};
use organza_mechanism::Partial;
use organza_train::Session;
use organza_train::shard::{Merge, Merging};
use organza_typeahead::TypeaheadRun;
use serde_json::json;
use std::fs;
use std::path::Path;
use tempfile::{TempDir, tempdir};

/// Copies a run with all that is in it.
fn copy(folder: &Path, from: &str, to: &str) {
    fs::create_dir_all(folder.join(to)).unwrap();
    for entry in fs::read_dir(folder.join(from)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        match entry.path().is_dir() {
            true => copy(folder, &format!("{from}/{name}"), &format!("{to}/{name}")),
            false => {
                fs::copy(entry.path(), folder.join(to).join(name)).unwrap();
            }
        }
    }
}

/// Sums of other rows than those of `part-0` and `part-1`, for the same task: `other-0` and `other-1`.
fn others(folder: &Path, run: &str) {
    let text = fs::read_to_string(folder.join("messages.csv")).unwrap();
    fs::write(folder.join("fewer.csv"), text.replacen("w0,", "w1,", 1)).unwrap();
    for shard in 0..2 {
        let shard = format!("--shard {shard} --shards 2 --out other-{shard}");
        done(folder, &format!("shard count --task {run}/task --data fewer.csv {shard}"));
    }
}

/// A merge that is killed after its charge, after the sums were noted, after the noise, or before the task is where workers find it: made
/// again it has the same bits, charges nothing more, and draws on no other sums.
#[test]
fn a_merge_that_was_killed_is_made_again() {
    let place = tempdir().unwrap();
    let folder = place.path();
    messages(folder);
    done(folder, &format!("shard begin {TYPEAHEAD} --out run"));
    count(folder, "run", "messages.csv", 2);
    copy(folder, "run", "begun");
    done(folder, "shard merge run part-0 part-1 --keep");
    let task = fs::read(folder.join("run/private/task")).unwrap();
    assert_eq!(task, fs::read(folder.join("run/task")).unwrap());
    others(folder, "begun");
    let states: [&[&str]; 4] = [
        &[],
        &["ledger.jsonl"],
        &["ledger.jsonl", "private/sums.txt"],
        &["ledger.jsonl", "private/sums.txt", "private/task"],
    ];
    for (number, written) in states.iter().enumerate() {
        let run = format!("killed-{number}");
        copy(folder, "begun", &run);
        for file in *written {
            fs::copy(folder.join("run").join(file), folder.join(&run).join(file)).unwrap();
        }
        if number >= 2 {
            let other = format!("shard merge {run} other-0 other-1 --keep");
            refused(folder, &other, "on other partials before");
        }
        done(folder, &format!("shard merge {run} part-1 part-0 --keep"));
        assert_eq!(fs::read(folder.join(&run).join("task")).unwrap(), task, "{number}");
        assert_eq!(ledger(folder, &run), ledger(folder, "run"), "{number}");
    }
}

/// A run whose first round was counted, of two kinds of rows.
fn counted() -> TempDir {
    let place = tempdir().unwrap();
    let folder = place.path();
    messages(folder);
    done(folder, &format!("shard begin {} --out run", anywhere(folder)));
    count(folder, "run", "messages.csv", 2);
    others(folder, "run");
    place
}

fn merge(folder: &Path, parts: &str) -> Box<Merge> {
    let part = |number: u32| {
        Partial::from_bytes(&fs::read(folder.join(format!("{parts}-{number}"))).unwrap()).unwrap()
    };
    match Merge::of(&folder.join("run"), vec![part(0), part(1)], None).unwrap() {
        Merging::Now(merge) => merge,
        other => panic!("{other:?}"),
    }
}

/// Draws the noise of a merge, and says whether it did or why not.
fn drawn(folder: &Path, merge: &Merge) -> Result<(), String> {
    let session = Session::<TypeaheadRun>::merging(&folder.join("run"), merge.shards());
    let outcome = session.and_then(|session| session.train(true, &mut ()).map(drop));
    match merge.is_waiting() {
        true => Ok(()),
        false => Err(outcome.unwrap_err().to_string()),
    }
}

/// Two merges have both looked at what is there before either draws. Whichever comes second draws nothing on other sums, whether the first has
/// gone on by then or not; on the same sums it draws the same. The twin, which finds no note under the lock, draws the same noise on both.
#[test]
fn merges_at_one_time_draw_on_one_sum() {
    for has_gone_on in [false, true] {
        let place = counted();
        let folder = place.path();
        let [one, same, other] = ["part", "part", "other"].map(|parts| merge(folder, parts));
        drawn(folder, &one).unwrap();
        if has_gone_on {
            one.go_on(&folder.join("run")).unwrap();
        }
        let charged = ledger(folder, "run");
        let refused = drawn(folder, &other).unwrap_err();
        let said =
            if has_gone_on { "another merge has gone on" } else { "on other partials before" };
        assert!(refused.contains(said), "{refused}");
        // One that somebody makes of it all the same changes nothing.
        assert!(other.go_on(&folder.join("run")).is_err());
        match has_gone_on {
            true => drop(drawn(folder, &same).unwrap_err()),
            false => drawn(folder, &same).unwrap(),
        }
        let task = one.go_on(&folder.join("run")).unwrap();
        if !has_gone_on {
            assert_eq!(same.go_on(&folder.join("run")).unwrap(), task);
        }
        assert_eq!(ledger(folder, "run"), charged);
        assert_eq!(fs::read(folder.join("run/task")).unwrap(), task.to_bytes());
    }
    let place = counted();
    let folder = place.path();
    let [one, other] = ["part", "other"].map(|parts| merge(folder, parts));
    drawn(folder, &one).unwrap();
    fs::remove_file(folder.join("run/private/sums.txt")).unwrap();
    drawn(folder, &other).unwrap();
}

/// A merge that was overtaken by all the rest of the run takes nothing back: the task that is there stays.
#[test]
fn a_merge_that_is_late_takes_nothing_back() {
    let place = counted();
    let folder = place.path();
    let late = merge(folder, "part");
    drawn(folder, &late).unwrap();
    done(folder, "shard merge run part-0 part-1");
    count(folder, "run", "messages.csv", 2);
    done(folder, "shard merge run part-0 part-1");
    let third = fs::read(folder.join("run/task")).unwrap();
    assert_eq!(late.go_on(&folder.join("run")).unwrap().number(), 3);
    assert_eq!(fs::read(folder.join("run/task")).unwrap(), third);
    for _ in [3, 4] {
        count(folder, "run", "messages.csv", 2);
        done(folder, "shard merge run part-0 part-1");
    }
    let error = late.go_on(&folder.join("run")).unwrap_err().to_string();
    assert!(error.contains("holds no run of shards"), "{error}");
    assert!(!folder.join("run/task").exists() && !folder.join("run/private").exists());
}

/// Where rounds were released and the notes are gone, or an older state of them is back, nothing shows on which sums the noise of this round was
/// drawn, if it was.
#[test]
fn notes_that_are_lost_stop_the_run() {
    let place = counted();
    let folder = place.path();
    done(folder, "shard merge run part-0 part-1");
    let older = fs::read(folder.join("run/private/sums.txt")).unwrap();
    count(folder, "run", "messages.csv", 2);
    done(folder, "shard merge run part-0 part-1");
    count(folder, "run", "messages.csv", 2);
    let (before, path) = (ledger(folder, "run"), folder.join("run/private/sums.txt"));
    let now = fs::read(&path).unwrap();
    let torn = now[..now.len() - 1].to_vec();
    for notes in [None, Some(Vec::new()), Some(older), Some(torn)] {
        match notes {
            None => fs::remove_file(&path).unwrap(),
            Some(notes) => fs::write(&path, notes).unwrap(),
        }
        refused(folder, "shard merge run part-0 part-1", "missing or not whole");
        assert_eq!(ledger(folder, "run"), before);
    }
    fs::write(&path, now).unwrap();
    done(folder, "shard merge run part-0 part-1");
}

/// Whoever begins a run on the ledger of a data set is killed before it is reserved, after that, or before the task is where workers find
/// it: begun again the run has the same key, and one place on that ledger.
#[test]
fn a_run_that_was_killed_when_it_began_is_begun_once() {
    let place = tempdir().unwrap();
    let folder = place.path();
    messages(folder);
    done(folder, "ledger create shared --dataset messages --epsilon 3 --unit user");
    let fresh = fs::read(folder.join("shared")).unwrap();
    let flags = TYPEAHEAD.replace(" --seed 5", " --ledger shared");
    let begin = |run: &str| format!("shard begin {flags} --out {run}");
    done(folder, &begin("run"));
    let reserved = fs::read(folder.join("shared")).unwrap();
    let task = fs::read(folder.join("run/task")).unwrap();
    let state: &[&str] = &["private/state.json", "ledger.jsonl", "settings.json", "private/task"];
    for (files, ledger_before, same) in [
        (&state[..2], &fresh, false),
        (&state[..3], &fresh, true),
        (&state[..3], &reserved, true),
        (state, &reserved, true),
    ] {
        let run = format!("killed-{}-{}", files.len(), ledger_before.len());
        fs::create_dir_all(folder.join(&run).join("private")).unwrap();
        for file in files {
            fs::copy(folder.join("run").join(file), folder.join(&run).join(file)).unwrap();
        }
        fs::write(folder.join("shared"), ledger_before).unwrap();
        let begun = done(folder, &begin(&run));
        assert_eq!(begun.stdout, "round 1 of 4: word counts\n", "{run}");
        let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(lines(&fs::read(folder.join("shared")).unwrap()), lines(&reserved), "{run}");
        assert_eq!(fs::read(folder.join(&run).join("task")).unwrap() == task, same, "{run}");
        // There is nothing left to begin, and other settings are another run.
        refused(folder, &begin(&run), "is not empty");
    }
    let other = flags.replace("--epsilon 2", "--epsilon 1");
    fs::remove_file(folder.join("run/task")).unwrap();
    refused(folder, &format!("shard begin {other} --out run"), "is not empty");
    // A run that has charged something was begun long ago.
    done(folder, &begin("run"));
    count(folder, "run", "messages.csv", 2);
    done(folder, "shard merge run part-0 part-1");
    fs::remove_file(folder.join("run/task")).unwrap();
    fs::remove_file(folder.join("run/private/task")).unwrap();
    refused(folder, &begin("run"), "is not empty");
}

/// Whoever makes the last merge is killed before the certificate, after it, while the private part is deleted, or before the task and the
/// partials are: the merge made again ends the run, and leaves neither key nor task nor partial.
#[test]
fn a_run_that_was_killed_when_it_ended_is_ended() {
    let place = tempdir().unwrap();
    let folder = place.path();
    messages(folder);
    let flags = format!("{TYPEAHEAD} --order 1");
    done(folder, &format!("shard begin {flags} --out run"));
    count(folder, "run", "messages.csv", 2);
    copy(folder, "run", "begun");
    done(folder, "shard merge run part-0 part-1 --keep --keep-private");
    assert!(folder.join("run/private/sums.txt").exists());
    let all: &[&str] = &["private/state.json", "private/sums.txt", "private/task", "task"];
    let states = [
        (&all[..3], "whoever deleted the task first"),
        (all, "after the certificate"),
        (&all[1..], "when the key is deleted"),
        (&all[2..], "and the notes"),
        (&all[3..], "and all that is private"),
        (&all[4..], "and the task"),
    ];
    for (number, (left, state)) in states.into_iter().enumerate() {
        let killed = format!("killed-{number}");
        copy(folder, "run", &killed);
        fs::remove_dir_all(folder.join(&killed).join("private")).unwrap();
        for file in left {
            fs::create_dir_all(folder.join(&killed).join("private")).unwrap();
            let from = if *file == "task" { "begun" } else { "run" };
            fs::copy(folder.join(from).join(file), folder.join(&killed).join(file)).unwrap();
        }
        for part in ["part-0", "part-1"] {
            fs::copy(folder.join(part), folder.join(format!("copy-{part}"))).unwrap();
        }
        let again = format!("shard merge {killed} copy-part-0 copy-part-1 --json");
        let ended = json!({"round": 1, "rounds": 1, "name": "word counts", "finished": true});
        assert_eq!(progress(&done(folder, &again)), ended, "{state}");
        let path = folder.join(&killed);
        assert!(!path.join("private").exists() && !path.join("task").exists(), "{state}");
        assert!(!folder.join("copy-part-0").exists(), "{state}");
        assert_eq!(ledger(folder, &killed), ledger(folder, "run"), "{state}");
    }
    done(folder, &format!("{flags} --data messages.csv --out whole"));
    are_the_same(folder, "whole", "killed-1");
    assert!(results(&folder.join("killed-5")).contains_key("certificate.json"));
    // Partials of another run are not its own to delete.
    done(folder, &format!("shard begin {} --out other", flags.replace("--seed 5", "--seed 6")));
    count(folder, "other", "messages.csv", 2);
    refused(folder, "shard merge killed-5 part-0 part-1", "another run");
    assert!(folder.join("part-0").exists());
    assert_ne!(organza_in(folder, "shard merge whole part-0 part-1").code, Some(0));
}
