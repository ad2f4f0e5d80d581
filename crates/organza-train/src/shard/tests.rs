//! Tasks: what workers are told, and that it is all there.
#![allow(clippy::unwrap_used)]

use super::*;
use organza_mechanism::{Round, random::Origin};
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
