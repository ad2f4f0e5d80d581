//! What the documentation shows is what the tool does.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
};
use support::{Run, root};

const PAPER_RUN: &str = "event check docs/guide/paper-run.json";

#[test]
fn the_first_command_of_the_readme_gives_what_it_shows() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.contains(&format!("cargo run --release -- {PAPER_RUN}\n")));
    let run = Run::new(PAPER_RUN).in_root().run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(readme.contains(&run.stdout), "the README does not show:\n{}", run.stdout);
}

#[test]
fn every_json_example_passes_the_check() {
    let mut examples = 0;
    for page in pages(&root().join("docs")) {
        let text = fs::read_to_string(&page).unwrap();
        for example in text.split("```json\n").skip(1) {
            let example = example.split("```").next().unwrap();
            let run = Run::new("event check -").input(example.as_bytes()).run();
            assert_eq!(run.code, Some(0), "{}: {example}{}", page.display(), run.stderr);
            examples += 1;
        }
    }
    assert!(examples >= 16, "only {examples} examples found");
}

#[test]
fn every_kind_of_event_has_its_section() {
    let reference = fs::read_to_string(root().join("docs/reference/events.md")).unwrap();
    let wrong = Run::new("event check -").input(b"{\"nothing\": {}}").run();
    let (_, kinds) = wrong.stderr.lines().next().unwrap().split_once("expected one of ").unwrap();
    for kind in kinds.split(", ") {
        assert!(reference.contains(&format!("\n### {kind}\n")), "{kind} has no section");
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut all = pages(&root().join("docs"));
    all.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name)));
    for page in all {
        let text = fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap();
            if !file.is_empty() && !file.contains("://") {
                let target = page.parent().unwrap().join(file);
                assert!(target.exists(), "{}: {link} leads nowhere", page.display());
            }
        }
    }
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}
