//! Membership attacks on everything that a command can reach, and on twins that must be caught.
//!
//! False alarms: each attack refutes a promise that holds with probability at most 1e-6, and is made once.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr)]

mod clicks;
mod combinations;
mod found;
mod linear;
mod outside;
mod pairwise;
mod recommender;
mod runs;
mod texts;
mod twins;
mod typeahead;
mod words;

use combinations::{Target, checked, found_once};

/// Attacks targets one after another and returns the verdicts that refute a promise.
fn refuted(targets: Vec<Target>) -> Vec<String> {
    let verdicts = targets.into_iter().map(|target| {
        let verdict = target.attack(&|| ()).unwrap();
        eprintln!("{verdict}");
        verdict
    });
    verdicts.filter(|verdict| verdict.refutes()).map(|verdict| verdict.to_string()).collect()
}

#[test]
fn no_combination_gives_membership_away() {
    assert_eq!(refuted(checked()), Vec::<String>::new());
}

#[test]
fn nothing_that_was_found_once_comes_back() {
    assert_eq!(refuted(found_once()), Vec::<String>::new());
}
