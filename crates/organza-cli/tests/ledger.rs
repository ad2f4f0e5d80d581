//! One budget for all runs on a data set.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use support::{Run, json, organza_in};
use tempfile::{TempDir, tempdir};

const TRAIN: &str = "train --data text.txt --vocabulary declared-public --method dpsgd --steps 40 \
                     --dimensions 4 --batch 80 --units 800 --threads 1 --ledger shared";

/// A folder with some text to train on, and the ledger of it.
fn place(epsilon: f64) -> TempDir {
    let place = tempdir().unwrap();
    let words = ["red", "green", "blue", "one", "two", "three", "four", "sun", "moon", "star"];
    let line = |at: usize| {
        let word = |of: usize| words[(at * 7 + of * of + at / 3 * of) % words.len()];
        (0..12).map(word).collect::<Vec<_>>().join(" ")
    };
    let text: String = (0..1_000).map(|at| line(at) + "\n").collect();
    fs::write(place.path().join("text.txt"), text).unwrap();
    let create = format!("ledger create shared --dataset colours --epsilon {epsilon}");
    assert_eq!(organza_in(place.path(), &create).code, Some(0));
    place
}

/// The lines of the ledger below its header.
fn shares(place: &Path) -> usize {
    fs::read_to_string(place.join("shared")).unwrap().lines().count() - 1
}

/// All files below a folder, which need not be there.
fn files(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    let below = |path: std::path::PathBuf| match path.is_dir() {
        true => files(&path),
        false => vec![path.display().to_string()],
    };
    paths.flat_map(below).collect()
}

#[test]
fn two_runs_share_a_budget_and_the_third_releases_nothing() {
    let place = place(5.0);
    let place = place.path();
    let first = organza_in(place, &format!("{TRAIN} --epsilon 2 --dataset colours --out first"));
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let said = "data set `colours`: epsilon 2 of 5 and delta 1e-6 of 1e-5 are taken, by 1 run";
    assert!(first.stdout.contains(said), "{}", first.stdout);
    let certificate = json(&place.join("first/certificate.json"));
    assert_eq!(certificate["dataset"]["dataset"], "colours");
    assert_eq!(certificate["dataset"]["epsilon"], 2.0);
    let page = fs::read_to_string(place.join("first/report.html")).unwrap();
    assert!(page.contains("2 of 5") && page.contains("colours"));

    let second = organza_in(place, &format!("{TRAIN} --epsilon 2 --out second"));
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    let third = organza_in(place, &format!("{TRAIN} --epsilon 2 --out third"));
    assert_eq!((third.code, third.stdout.as_str()), (Some(1), ""));
    let said = "of epsilon 5 and delta 1e-5 only 1 and 8e-6 are left";
    assert!(third.stderr.contains(said), "{}", third.stderr);
    assert_eq!(files(&place.join("third")), Vec::<String>::new());
    assert_eq!(shares(place), 2);

    let shown = organza_in(place, "ledger show shared");
    let own = fs::read_to_string(place.join("first/ledger.jsonl")).unwrap();
    let (_, key) = own.split_once("\"key\":\"").unwrap();
    assert!(shown.stdout.contains(&format!("{}  train dpsgd", &key[..8])), "{}", shown.stdout);
    assert!(shown.stdout.contains("epsilon 4 of 5"), "{}", shown.stdout);
    let shown = organza_in(place, "--json ledger show shared");
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!((&shown["total"]["runs"], &shown["epsilon_left"]), (&2.into(), &1.0.into()));
}

#[test]
fn what_no_budget_covers_or_speaks_of_something_else_is_refused() {
    let place = place(5.0);
    let place = place.path();
    for (flags, code, said) in [
        ("--epsilon 2 --seed 1", 2, "which are not private"),
        ("--noise-multiplier 2", 2, "reserved before it begins"),
        ("--epsilon 2 --dataset numbers", 1, "the ledger of the data set `colours`"),
        ("--epsilon 2 --unit pair", 1, "to each line (add-remove)"),
        ("--epsilon 2 --neighbouring replace-one", 1, "to each line (replace-one)"),
        ("--epsilon 2 --delta 1e-4", 1, "give a smaller --delta"),
    ] {
        let run = organza_in(place, &format!("{TRAIN} --out run {flags}"));
        assert_eq!(run.code, Some(code), "{flags}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{flags}: {}", run.stderr);
        assert_eq!(files(&place.join("run")), Vec::<String>::new());
    }
    let none = organza_in(place, "train --data text.txt --method none --ledger shared --out run");
    assert!(none.stderr.contains("runs without privacy"), "{}", none.stderr);
    assert_eq!(shares(place), 0);
    // Whoever makes a run cheaper after the fact is found out by the checksum.
    let run = organza_in(place, &format!("{TRAIN} --epsilon 2 --out run"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let text = fs::read_to_string(place.join("shared")).unwrap();
    fs::write(place.join("shared"), text.replace("\"epsilon\":2.0", "\"epsilon\":0.2")).unwrap();
    let run = organza_in(place, &format!("{TRAIN} --epsilon 2 --out other"));
    assert!(run.stderr.contains("line 2 ends as a whole line does"), "{}", run.stderr);
    assert_eq!(files(&place.join("other")), Vec::<String>::new());
}

/// Killed at many moments, moved and gone on with, a run stands on the ledger once.
#[test]
fn a_run_that_was_killed_pays_once() {
    let place = place(5.0);
    let place = place.path();
    let line = format!("{TRAIN} --epsilon 2 --out run").replace("--steps 40", "--steps 400");
    let (mut kills, mut wait) = (0, Duration::from_millis(5));
    while !place.join("run/report.html").exists() {
        let begun = place.join("run/settings.json").exists();
        let moved = begun && kills % 2 == 1;
        if moved {
            fs::rename(place.join("shared"), place.join("moved")).unwrap();
        }
        let line = match (begun, moved) {
            (true, true) => "resume run --ledger moved",
            (true, false) => "resume run",
            (false, _) => &line,
        };
        let mut child = Run::new(line).in_folder(place).command().spawn().unwrap();
        if kills < 6 {
            std::thread::sleep(wait);
            child.kill().unwrap();
            wait *= 2;
        }
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code().is_none_or(|code| code == 0), "{line}: {said}");
        kills += 1;
        if moved {
            fs::rename(place.join("moved"), place.join("shared")).unwrap();
        }
    }
    assert_eq!(shares(place), 1);
    assert_eq!(json(&place.join("run/certificate.json"))["dataset"]["runs"], 1);
    let none = organza_in(place, "resume run --ledger shared");
    assert!(none.stderr.contains("the run is finished"), "{}", none.stderr);
}

#[test]
fn two_processes_at_the_same_time_do_not_overspend() {
    for _ in 0..3 {
        let place = place(3.0);
        let place = place.path();
        let begun = Instant::now();
        let start = |out: &str| {
            let line = format!("{TRAIN} --epsilon 2 --out {out}");
            Run::new(&line).in_folder(place).command().spawn().unwrap()
        };
        let runs = ["one", "two"].map(|out| (out, start(out)));
        let codes = runs.map(|(out, run)| (out, run.wait_with_output().unwrap().status.code()));
        let refused: Vec<&str> =
            codes.iter().filter(|(_, code)| *code == Some(1)).map(|(out, _)| *out).collect();
        assert_eq!((refused.len(), shares(place)), (1, 1), "{codes:?} in {:?}", begun.elapsed());
        assert_eq!(files(&place.join(refused[0])), Vec::<String>::new());
    }
}

#[test]
fn a_grid_is_refused_together_and_every_ledger_of_a_folder_is_priced() {
    let place = place(4.0);
    let place = place.path();
    let flags = TRAIN.strip_prefix("train ").unwrap();
    let tune = |rates: &str| {
        let line =
            format!("tune {flags} --epsilon 1 --validation-public --try learning-rate={rates}");
        organza_in(place, &line)
    };
    let many = tune("0.1,0.2,0.3,0.4,0.5");
    assert_eq!(many.code, Some(1));
    assert!(many.stderr.contains("5 new runs: the budget of the data set"), "{}", many.stderr);
    assert_eq!((shares(place), files(&place.join("organza-tune")).len()), (0, 0));

    let two = tune("0.1,0.2");
    assert_eq!(two.code, Some(0), "{}", two.stderr);
    assert!(two.stdout.contains("epsilon 2 of 4"), "{}", two.stdout);
    assert!(two.stdout.contains("outcome.json and metrics.jsonl"), "{}", two.stdout);
    let price = |of: &str| {
        let tuning = json(&place.join("organza-tune/tuning.json"));
        tuning["price"]["composed"][of].as_f64().unwrap()
    };
    let first = price("epsilon");
    assert!(first > 1.0 && price("delta") == 1e-6);
    // One more, chosen after the results: it is added to what the two have cost.
    let three = tune("0.1,0.2,0.3");
    assert_eq!(three.code, Some(0), "{}", three.stderr);
    assert!(three.stdout.contains("2 of them from earlier commands"), "{}", three.stdout);
    assert!((price("delta") / 2e-6 - 1.0).abs() < 1e-9);
    assert!((first + 0.98..=first + 1.0).contains(&price("epsilon")), "{}", price("epsilon"));
    assert_eq!(shares(place), 3);
    let outcome = json(&place.join("organza-tune/learning-rate-0.1/outcome.json"));
    assert!(outcome["note"].as_str().unwrap().starts_with("not private: curve"));
    let certificate = json(&place.join("organza-tune/learning-rate-0.1/certificate.json"));
    assert!(certificate["not_private"].to_string().contains("outcome.json"));

    let flags = flags.replace("--method dpsgd ", "");
    let compare = format!("compare {flags} --epsilon 0.5 --methods dpsgd,sparse");
    let plain = organza_in(place, &format!("{compare},none"));
    assert!(plain.stderr.contains("`none` among --methods"), "{}", plain.stderr);
    let compared = organza_in(place, &compare);
    assert_eq!(compared.code, Some(0), "{}", compared.stderr);
    assert!(compared.stdout.contains("2 private runs together: epsilon 0."), "{}", compared.stdout);
    assert!(compared.stdout.contains("epsilon 4 of 4"), "{}", compared.stdout);
    assert!(compared.stdout.contains("outcome.json and metrics.jsonl"), "{}", compared.stdout);
    let page = fs::read_to_string(place.join("organza-compare/comparison.html")).unwrap();
    assert!(page.contains("all private runs together") && page.contains("outcome.json"));
}

#[test]
fn linear_models_share_it_too() {
    let place = tempdir().unwrap();
    let place = place.path();
    let rows: String = (0..500).map(|row| format!("{} 1:{}\n", row % 2, row % 2)).collect();
    fs::write(place.join("rows"), rows).unwrap();
    let create = "ledger create shared --dataset rows --epsilon 3 --unit record";
    assert_eq!(organza_in(place, create).code, Some(0));
    let erm = "erm --data rows --format libsvm --features 1 --epsilon 2 --ledger shared";
    let first = organza_in(place, &format!("{erm} --out first"));
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert!(first.stdout.contains("epsilon 2 of 3"), "{}", first.stdout);
    assert_eq!(json(&place.join("first/certificate.json"))["dataset"]["dataset"], "rows");
    assert!(fs::read_to_string(place.join("first/report.html")).unwrap().contains("2 of 3"));
    let second = organza_in(place, &format!("{erm} --out second"));
    assert_eq!((second.code, second.stdout.as_str()), (Some(1), ""));
    assert!(second.stderr.contains("only 1 and 9e-6 are left"), "{}", second.stderr);
    assert_eq!(files(&place.join("second")), Vec::<String>::new());
    for (flags, code) in [("--seed 1", 2), ("--method none", 2), ("--method corrected", 1)] {
        let run = organza_in(place, &format!("{erm} --out second --groups 5 {flags}"));
        assert_eq!(run.code, Some(code), "{flags}: {}", run.stderr);
    }
    assert_eq!(shares(place), 1);
}
