//! What the documentation shows is what the tool does.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
};
use support::{Run, root};

const PAPER_RUN: &str = "account --file docs/guide/paper-run.json";

#[test]
fn the_first_command_of_the_readme_gives_what_it_shows() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.contains(&format!("cargo run --release -- {PAPER_RUN}\n")));
    let run = Run::new(PAPER_RUN).in_root().run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(readme.contains(&run.stdout), "the README does not show:\n{}", run.stdout);
}

#[test]
fn the_guide_shows_what_its_commands_print() {
    let guide = fs::read_to_string(root().join("docs/guide/command-line.md")).unwrap();
    for line in [
        "account --rate 1e-4 --steps 200000 --noise-multiplier 0.5 --delta 1e-5",
        "calibrate --rate 1e-4 --steps 200000 --epsilon 3 --delta 1e-5",
    ] {
        let run = Run::new(line).run();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let shown = format!("```sh\norganza {line}\n```\n\n```text\n{}```\n", run.stdout);
        assert!(guide.contains(&shown), "the guide does not show:\n{shown}");
    }
}

/// The figures of the table of the paper's run, asked by the commands above it.
#[test]
fn the_figures_of_the_accounting_page_come_from_its_commands() {
    let page = fs::read_to_string(root().join("docs/concepts/accounting.md")).unwrap();
    let block = page.split("\n\n").find(|block| block.starts_with("    organza account ")).unwrap();
    let block = block.replace("\\\n", " ");
    let mut lines: Vec<&str> = block.lines().map(|line| line.trim()).collect();
    let stronger = lines[0].replace("0.5", "0.32");
    lines.push(&stronger);
    let rows = page
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip_while(|line| !line.starts_with("| noise on everything |"));
    assert_eq!(lines.len(), 5);
    for (line, row) in lines.iter().zip(rows) {
        let run = Run::new(line.strip_prefix("organza ").unwrap()).run();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let figures: Vec<&str> = row.split('|').skip(2).take(3).map(str::trim).collect();
        for (accountant, figure) in ["pld", "rdp", "theorem"].into_iter().zip(figures) {
            let answer = run.stdout.lines().find(|line| line.starts_with(accountant)).unwrap();
            assert_eq!(answer.split_whitespace().nth(1), Some(figure), "{line}: {answer}");
        }
    }
}

/// The commands of the guide from end to end, one after another in an empty folder.
#[test]
#[cfg(unix)]
fn the_guide_from_end_to_end_runs_as_it_stands() {
    let guide = fs::read_to_string(root().join("docs/guide/publishing.md")).unwrap();
    let blocks = |kind: &str| -> Vec<String> {
        let fence = format!("```{kind}\n");
        let blocks = guide.split(&fence).skip(1);
        blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
    };
    let tool = Path::new(env!("CARGO_BIN_EXE_organza")).parent().unwrap();
    let path = format!("{}:{}", tool.display(), std::env::var("PATH").unwrap());
    let place = tempfile::tempdir().unwrap();
    let run = std::process::Command::new("sh")
        .args(["-e", "-c", &blocks("sh").concat()])
        .env("PATH", path)
        .current_dir(place.path())
        .output()
        .unwrap();
    let (said, noted) =
        (String::from_utf8(run.stdout).unwrap(), String::from_utf8(run.stderr).unwrap());
    assert!(run.status.success(), "{said}{noted}");
    assert!(said.contains("epsilon 1.0000 at delta 1e-5 for each record"), "{said}");
    for shown in blocks("text") {
        assert!(said.contains(&shown), "it does not print {shown}: {said}");
    }
    assert!(noted.contains("budget of the data set `people` is too small"), "{noted}");
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
