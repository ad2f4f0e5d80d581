//! Every example runs, and what it asserts holds.
#![allow(clippy::unwrap_used)]

#[path = "../examples/accountant.rs"]
mod accountant;
#[path = "../examples/counts.rs"]
mod counts;
#[path = "../examples/ledger.rs"]
mod ledger;
#[path = "../examples/linear.rs"]
mod linear;
#[path = "../examples/train.rs"]
mod train;

#[test]
fn accountant() {
    accountant::main().unwrap();
}

#[test]
fn counts() {
    counts::main().unwrap();
}

#[test]
fn ledger() {
    ledger::main().unwrap();
}

#[test]
fn linear() {
    linear::main().unwrap();
}

#[test]
fn train() {
    train::main().unwrap();
}

/// Short enough to be read at once.
#[test]
fn no_example_has_more_than_forty_lines() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(files.len(), 5, "each is a test above");
    for file in files {
        assert!(std::fs::read_to_string(&file).unwrap().lines().count() <= 40, "{file:?}");
    }
}
