//! Every example runs, and what it asserts holds.
#![allow(clippy::unwrap_used)]

#[path = "../examples/accountant.rs"]
mod accountant;
#[path = "../examples/counts.rs"]
mod counts;
#[path = "../examples/factorisation.rs"]
#[allow(dead_code)]
mod factorisation;
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
fn factorisation() {
    let folder = tempfile::tempdir().unwrap();
    factorisation::train(&folder.path().join("films")).unwrap();
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

/// Short enough to be read at once; a model of one's own takes a little more.
#[test]
fn examples_are_short_and_each_is_a_test() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    for file in std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let lines = std::fs::read_to_string(&file).unwrap().lines().count();
        let most = if name == "factorisation.rs" { 60 } else { 40 };
        assert!(lines <= most, "{name} has {lines} lines");
        let run = format!("examples/{name}\"]");
        assert!(include_str!("examples.rs").contains(&run), "{name} is not run");
    }
}
