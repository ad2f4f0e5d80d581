//! Files under a key that the machines of a run share.

use super::{TYPEAHEAD, anywhere, are_the_same, done, ledger, messages, progress, refused};
use organza_train::Session;
use organza_train::shard::{Merge, SealKey};
use organza_typeahead::TypeaheadRun;
use serde_json::json;
use std::fs;
use std::path::Path;
use tempfile::tempdir;

/// Sealed files are for their key alone; all that belongs to others is for its owner alone.
#[test]
fn tasks_and_partials_are_sealed_and_for_their_owner() {
    let place = tempdir().unwrap();
    let folder = place.path();
    messages(folder);
    fs::write(folder.join("key"), [7; 32]).unwrap();
    fs::write(folder.join("wrong"), [8; 32]).unwrap();
    done(folder, &format!("shard begin --key-file key {TYPEAHEAD} --order 1 --out run"));
    let count = "shard count --task run/task --data messages.csv --shard 0 --shards 1 --out part";
    refused(folder, count, "--key-file");
    refused(folder, &format!("{count} --key-file wrong"), "another key");
    done(folder, &format!("{count} --key-file key"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        for file in ["part", "run/task"] {
            let mode = fs::metadata(folder.join(file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file}");
        }
    }
    let whole = fs::read(folder.join("part")).unwrap();
    assert!(whole.starts_with(b"organza sealed 1\n"));
    let before = ledger(folder, "run");
    let mut changed = whole.clone();
    changed[whole.len() - 1] ^= 1;
    fs::write(folder.join("changed"), changed).unwrap();
    refused(folder, "shard merge run part", "--key-file");
    refused(folder, "shard merge run changed --key-file key", "changed since");
    refused(folder, "shard merge run part --key-file wrong", "another key");
    assert_eq!(ledger(folder, "run"), before);
    let last = progress(&done(folder, "shard merge run part --key-file key --json"));
    assert_eq!(last, json!({"round": 1, "rounds": 1, "name": "word counts", "finished": true}));
    done(folder, &format!("{TYPEAHEAD} --order 1 --data messages.csv --out whole"));
    are_the_same(folder, "whole", "run");
}

/// Whether a task lies open in some file below a folder.
fn lies_open(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        let task = b"organza task 1\n";
        match path.is_dir() {
            true => lies_open(&path),
            false => fs::read(&path).unwrap().windows(task.len()).any(|part| part == task),
        }
    })
}

/// Whenever whoever begins or merges is killed: a task is sealed before its first byte is written. The twin is a run without a key.
#[test]
fn no_byte_of_a_task_is_written_before_it_is_sealed() {
    let place = tempdir().unwrap();
    let folder = place.path();
    messages(folder);
    fs::write(folder.join("key"), [7; 32]).unwrap();
    let key = SealKey::new(&[7; 32]).unwrap();
    done(folder, &format!("shard begin {} --out open", anywhere(folder)));
    assert!(lies_open(&folder.join("open")));
    // What begins a run, and nothing that comes after it.
    let settings = fs::read(folder.join("open/settings.json")).unwrap();
    let settings: organza_typeahead::Settings = serde_json::from_slice(&settings).unwrap();
    let run = folder.join("run");
    let merge = Merge::beginning(Some(&key));
    let begun = Session::<TypeaheadRun>::of_shards(settings, &run, merge.shards());
    let begun = begun.and_then(|session| session.train(true, &mut ()).map(drop));
    assert!(begun.is_err() && merge.is_waiting());
    merge.go_on(&run).unwrap();
    assert!(run.join("task").exists() && !lies_open(&run));
    let count = "shard count --task run/task --data messages.csv --shard 0 --shards 1 --out part";
    done(folder, &format!("{count} --key-file key"));
    done(folder, "shard merge run part --key-file key --keep");
    assert!(run.join("task").exists() && !lies_open(&run));
    // A merge that was killed before the task was published needs the key as well.
    fs::remove_file(run.join("task")).unwrap();
    done(folder, "shard merge run part --key-file key");
    assert!(run.join("task").exists() && !lies_open(&run));
}

/// A run remembers that it is sealed, and with which key: no merge publishes its next task in another way.
#[test]
fn a_sealed_run_goes_on_with_its_key_alone() {
    let place = tempdir().unwrap();
    let folder = place.path();
    messages(folder);
    fs::write(folder.join("key"), [7; 32]).unwrap();
    fs::write(folder.join("wrong"), [8; 32]).unwrap();
    let begin = |key: &str| format!("shard begin {key} {TYPEAHEAD} --order 1 --out run");
    done(folder, &begin("--key-file key"));
    let sealed = fs::read(folder.join("run/task")).unwrap();
    let count = "shard count --task run/task --data messages.csv --shard 0 --shards 1 --out part";
    done(folder, &format!("{count} --key-file key"));
    let part = fs::read(folder.join("part")).unwrap();
    let opened = organza_train::shard::open(part, Some(&SealKey::new(&[7; 32]).unwrap())).unwrap();
    fs::write(folder.join("open"), &opened).unwrap();
    let other = SealKey::new(&[8; 32]).unwrap().seal(&opened).unwrap();
    fs::write(folder.join("other"), other).unwrap();
    let before = ledger(folder, "run");
    refused(folder, "shard merge run open", "--key-file");
    refused(folder, "shard merge run other --key-file wrong", "another key");
    fs::remove_file(folder.join("run/task")).unwrap();
    refused(folder, &begin(""), "--key-file");
    refused(folder, &begin("--key-file wrong"), "another key");
    assert!(!folder.join("run/task").exists() && ledger(folder, "run") == before);
    done(folder, &begin("--key-file key"));
    assert_eq!(fs::read(folder.join("run/task")).unwrap(), sealed);
}
