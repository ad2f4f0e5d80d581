//! `organza compare`: the table, the picture and the page.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::fs;
use support::Run;
use tempfile::tempdir;

#[test]
fn methods_stand_beside_each_other_and_losses_are_marked() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("text.txt"), "one two three\n".repeat(50)).unwrap();
    let own = Run::new("compare --data text.txt").in_folder(place.path()).run();
    assert_eq!(own.code, Some(2), "{}", own.stdout);
    assert!(own.stderr.contains("losses over different words do not compare"), "{}", own.stderr);
    let line = "compare --epsilon 2,8 --methods dpsgd,none --steps 20 --dimensions 4 --batch 100";
    let run = Run::new(line).in_folder(place.path()).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("* not private"), "{}", run.stdout);
    let folder = place.path().join("organza-compare");
    let page = fs::read_to_string(folder.join("comparison.html")).unwrap();
    for part in ["share of signal", "test loss", "word frequencies alone", "not private", "<svg"] {
        assert!(page.contains(part), "{part}");
    }
    let table = fs::read_to_string(folder.join("tables/comparison.csv")).unwrap();
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(table.lines().next().unwrap().ends_with("not private"), "{table}");
    assert!(folder.join("figures/comparison.svg").exists());
}
