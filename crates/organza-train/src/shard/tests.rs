//! Tasks: what workers are told, and that it is all there.
#![allow(clippy::unwrap_used)]

use super::place::Place;
use super::*;
use crate::folder::RunFolder;
use organza_mechanism::{Round, SumsDigest, random::Origin};
use serde_json::json;

fn round(purpose: &str, look: u32) -> Round {
    Round { purpose: purpose.to_owned(), look }
}

fn task() -> Task {
    let source = RandomSource::from_seed(3);
    let noises = vec![("counts".to_owned(), 0.1 + 0.2)];
    let head = Head::new("typeahead", json!({"order": 2}), &source, noises, Some(3));
    let released = vec![(round("words", 0), vec![0, 7, 9]), (round("pairs", 0), Vec::new())];
    Task::of(head, round("threes", 0), released)
}

#[test]
fn a_task_is_the_same_on_every_machine() {
    let task = task();
    let bytes = task.to_bytes();
    assert_eq!(Task::from_bytes(&bytes).unwrap(), task);
    assert_eq!((task.number(), task.rounds(), task.application()), (3, Some(3), "typeahead"));
    for place in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[place] ^= 1;
        assert!(matches!(Task::from_bytes(&changed), Err(ShardError::NoTask)), "{place}");
        assert!(matches!(Task::from_bytes(&bytes[..place]), Err(ShardError::NoTask)), "{place}");
    }
}

/// It is known by its round and by all that was released before, and by the same name where it is cut to a shard.
#[test]
fn a_task_has_a_name_of_its_own() {
    let task = task();
    assert_eq!(task.for_shard(1).name(), task.name());
    let of = |of: Round, bytes: &[u8]| {
        let released = vec![(round("words", 0), bytes.to_vec())];
        Task::of(task.head.clone(), of, released).name()
    };
    let names = [of(round("a", 0), b"x"), of(round("a", 1), b"x"), of(round("a", 0), b"y")];
    assert!(names[0] != names[1] && names[0] != names[2] && names[1] != names[2]);
}

/// Nothing that a worker is given holds the key of the noise, nor gives it; the twin, the key of the run, does.
#[test]
fn a_worker_has_no_key_of_noise() {
    let run = RandomSource::from_seed(3);
    let key = |bytes: &[u8], key: &[u8; 32]| bytes.windows(32).any(|part| part == key);
    let (source, _) = task().source((0, 1));
    assert_eq!(source.key().expose(), run.choices().key().expose());
    assert_eq!(source.origin(), Origin::Seed(3));
    assert!(!key(&task().to_bytes(), run.key().expose()));
    assert_ne!(source.key().expose(), run.key().expose());
}

/// The first task of a run, in a folder as it is begun.
fn begun(path: &std::path::Path) -> (Place, Task) {
    let source = RandomSource::from_seed(3);
    let head = Head::new("typeahead", json!({}), &source, Vec::new(), Some(1));
    let first = Task::of(head, round("words", 0), Vec::new());
    let folder = RunFolder::create(path).unwrap();
    for file in
        [folder.private("state.json"), folder.file("ledger.jsonl"), folder.file("settings.json")]
    {
        folder.write(&file, b"{}").unwrap();
    }
    let place = Place::open(path, None).unwrap();
    place.go_on(None, first.clone()).unwrap();
    (place, first)
}

/// The end of a run deletes the key of its noise before anything else, so notes that are deleted are told from those of a run that begins. The
/// twin, in which the key is still there, takes other sums for the first.
#[test]
fn sums_of_a_run_that_ends_meanwhile_are_not_noted() {
    let holder = tempfile::tempdir().unwrap();
    let (place, first) = begun(&holder.path().join("run"));
    let sums = |digest: u8| SumsDigest { name: first.name(), digest: [digest; 32] };
    let note = |digest: u8| place.note(first.name(), 0, &sums(digest));
    assert!(note(1).unwrap() && note(1).unwrap() && !note(2).unwrap());
    let private = holder.path().join("run/private");
    std::fs::remove_file(private.join("sums.txt")).unwrap();
    let state = std::fs::read(private.join("state.json")).unwrap();
    std::fs::remove_file(private.join("state.json")).unwrap();
    assert!(matches!(note(2), Err(ShardError::NoRun(_))));
    assert!(!private.join("sums.txt").exists());
    std::fs::write(private.join("state.json"), state).unwrap();
    assert!(note(2).unwrap() && !note(1).unwrap());
    std::fs::remove_file(private.join("task")).unwrap();
    assert!(matches!(note(2), Err(ShardError::NoRun(_))));
}

/// A task is put in the place of the one before it, and of no other; of two merges of the same sums either may be first.
#[test]
fn tasks_follow_one_another() {
    let holder = tempfile::tempdir().unwrap();
    let (place, first) = begun(&holder.path().join("run"));
    let next = |bytes: u8| {
        let released = vec![(round("words", 0), vec![bytes])];
        Task::of(first.head.clone(), round("pairs", 0), released)
    };
    let names = |task: Task| task.name();
    assert_eq!(names(place.go_on(None, first.clone()).unwrap()), first.name());
    assert_eq!(names(place.go_on(Some(first.name()), next(1)).unwrap()), next(1).name());
    for late in [place.go_on(Some(first.name()), next(1)), place.go_on(None, first.clone())] {
        assert_eq!(names(late.unwrap()), next(1).name());
    }
    let source = RandomSource::from_seed(4);
    let head = Head::new("typeahead", json!({}), &source, Vec::new(), Some(1));
    let foreign = Task::of(head, round("words", 0), Vec::new());
    assert!(matches!(place.go_on(None, foreign), Err(ShardError::NoRun(_))));
    assert_eq!(place.task().unwrap().unwrap().name(), next(1).name());
    assert!(matches!(
        place.note(first.name(), 0, &SumsDigest { name: first.name(), digest: [0; 32] }),
        Err(ShardError::GoneOn)
    ));
    assert!(matches!(place.noted(1), Err(ShardError::NotesLost(_))));
}
