//! `organza reproduce` and `organza tune`: from the flags to the pages, stopped and gone on with.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use organza_data::{Synthetic, TextSource};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use support::{json, organza_in};
use tempfile::tempdir;

/// A text with enough words and pairs for the paper's split: the built-in corpus, with each of its words
/// in five spellings.
fn write_text(path: &Path) {
    let mut text = String::new();
    let mut number = 0_usize;
    let letters = ["a", "b", "c", "d", "e"];
    Synthetic::new(1, 12_000)
        .each_line(&mut |line| {
            for word in line.text.split(' ') {
                number += 1;
                write!(text, "{word}{} ", letters[number % letters.len()]).unwrap();
            }
            text.push('\n');
            Ok(())
        })
        .unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn the_paper_in_short_is_written_and_goes_on_where_it_was_stopped() {
    let place = tempdir().unwrap();
    write_text(&place.path().join("text.txt"));
    let line = "reproduce --data text.txt --out paper --quick";
    let first = organza_in(place.path(), &format!("{line} --only figure1,hyper-parameters"));
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    for said in ["shortened by --quick", "sparse-exponential", "* not private", "report.html"] {
        assert!(first.stdout.contains(said), "{said}: {}", first.stdout);
    }
    let paper = place.path().join("paper");
    let page = fs::read_to_string(paper.join("report.html")).unwrap();
    for part in ["Figure 1", "Hyper-parameters", "sparse-vector", "not private", "<svg"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("Figure 2"));

    // What a stop leaves behind: a run without an outcome is made again, finished ones are read.
    let kept = paper.join("figure1-dp-sgd-0.5/model.safetensors");
    let before = fs::metadata(&kept).unwrap().modified().unwrap();
    fs::remove_dir_all(paper.join("figure1-sparse-uniform")).unwrap();
    let again = organza_in(place.path(), &format!("{line} --json"));
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(fs::metadata(&kept).unwrap().modified().unwrap(), before, "it was trained again");

    let whole: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(whole, json(&paper.join("reproduction.json")));
    assert_eq!(whole["figure1"].as_array().unwrap().len(), 6);
    assert_eq!(whole["claims"].as_array().unwrap().len(), 10);
    let canaries = whole["figure2"].as_array().unwrap();
    assert_eq!(canaries.len(), 9);
    for canary in canaries {
        let bins = canary["inserted"]["histogram"].as_array().unwrap();
        assert_eq!(bins.iter().map(|bin| bin.as_u64().unwrap()).sum::<u64>(), 100);
    }
    assert_eq!(canaries[8]["printed"]["distance"], 0.026);
    assert_eq!(whole["nearest"]["tried"].as_array().unwrap().len(), 3);
    for run in whole["tight"].as_array().unwrap() {
        let epsilon = run["epsilon"].as_f64().unwrap();
        assert!((20.0..=30.0).contains(&epsilon), "the budget is spent: {run}");
    }
    let compared = &whole["compared"];
    let runs = compared["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 8);
    for run in runs {
        let (epsilon, budget) = (run["epsilon"].as_f64().unwrap(), run["budget"].as_f64().unwrap());
        assert!(epsilon <= budget && epsilon > 0.6 * budget, "{run}");
        let selective = run["method"] == "selective-sgd";
        assert_eq!(run["per_parameter"].is_f64(), selective, "{run}");
        if selective {
            // What is printed of them is a hundredth of what a step costs.
            let (step, printed) =
                (run["step_epsilon"].as_f64().unwrap(), run["per_parameter"].as_f64().unwrap());
            assert!((step / printed - 100.0).abs() < 1e-9, "{run}");
        }
    }
    let projected = json(&paper.join("compared-3-projected/certificate.json"));
    let dp_sgd = json(&paper.join("compared-3-dp-sgd/certificate.json"));
    assert_eq!(projected["events"], dp_sgd["events"], "a projection is charged for nothing");
    assert!(projected.to_string().contains("100 samples of the validation part"));
    assert!(!dp_sgd.to_string().contains("validation part"));
    let page = fs::read_to_string(paper.join("report.html")).unwrap();
    for part in ["selective-sgd", "declared public", "per parameter"] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(whole["not_private"].as_array().unwrap().len(), 6);
    for file in ["figures/figure-1.svg", "figures/figure-2.svg", "tables/chi-squared.csv"] {
        assert!(paper.join(file).exists(), "{file}");
    }
    assert!(paper.join("figure2-9-sparse/audit.html").exists());

    // Other settings do not silently reuse what is there.
    let other = organza_in(place.path(), &format!("{line} --seed 2 --only figure1"));
    assert_eq!(other.code, Some(1));
    assert!(other.stderr.contains("other settings"), "{}", other.stderr);
}

#[test]
fn wrong_usage_is_named() {
    let place = tempdir().unwrap();
    for (line, code, said) in [
        ("reproduce", 2, "--data"),
        ("reproduce --data x --only figure3", 2, "figure3"),
        ("reproduce --data nowhere.txt --quick --only figure1", 1, "nowhere.txt"),
        ("tune", 2, "--try"),
        ("tune --try batch", 2, "learning-rate=0.001,0.01"),
        ("tune --try data=a,b", 2, "cannot be tried"),
        ("tune --try batch=some --data-public", 2, "batch"),
        ("tune --try batch=20,50", 2, "--validation-public"),
        ("tune --try batch=20,50 --rank-by chi-squared", 2, "--canaries"),
    ] {
        let run = organza_in(place.path(), line);
        assert_eq!(run.code, Some(code), "{line}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{line}: {}", run.stderr);
    }
}

const SMALL: &str =
    "tune --method dpsgd --units 1000 --steps 20 --dimensions 4 --epsilon 1 --out tuned";

#[test]
fn the_best_of_several_costs_as_much_as_all() {
    let place = tempdir().unwrap();
    let line = format!("{SMALL} --try batch=100,200 --try learning-rate=0.01,0.1 --json");
    let run = organza_in(place.path(), &format!("{line} --validation-public"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let tuned: Value = serde_json::from_str(&run.stdout).unwrap();
    let trials = tuned["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 4);
    let score = |at: usize| trials[at]["score"].as_f64().unwrap();
    assert!(score(0) <= score(1) && score(1) <= score(2) && score(2) <= score(3));
    let price = tuned["price"]["composed"]["epsilon"].as_f64().unwrap();
    let one = trials[0]["epsilon"].as_f64().unwrap();
    assert!(one <= 1.0 && price > 1.1 * one && price < 4.0, "{one} {price}");
    let page = fs::read_to_string(place.path().join("tuned/tuning.html")).unwrap();
    assert!(page.contains("price of tuning") && page.contains("not private"));

    // Declared public, the same runs are read again and cost nothing.
    let free = organza_in(place.path(), &format!("{line} --data-public"));
    assert_eq!(serde_json::from_str::<Value>(&free.stdout).unwrap()["price"], "free");
}

#[test]
fn canaries_rank_settings_without_validation_data() {
    let place = tempdir().unwrap();
    let canaries = "--rank-by chi-squared --canaries 50 --canary-repeats 2 --try clip=0.1,1";
    let run = organza_in(place.path(), &format!("{SMALL} {canaries}"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for said in
        ["tuning costs epsilon", "chi-squared distance", "--clip=0.1", "organza train --settings"]
    {
        assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
    }
    let seeded = SMALL.replace("tuned", "seeded") + " --seed 1 --data-public --try clip=0.1";
    let run = organza_in(place.path(), &seeded);
    assert!(run.stderr.contains("NOT private"), "{}", run.stderr);
    let seeded = seeded.replace("--data-public", "--validation-public");
    let run = organza_in(place.path(), &seeded);
    assert!(run.stdout.contains("nothing is promised"), "{}", run.stdout);
}

#[test]
fn help_of_reproduce_and_tune() {
    let reproduce = organza_in(Path::new("/"), "reproduce --help");
    for said in ["figure1", "nearest", "tight", "compared", "--quick", "nothing here is private"] {
        assert!(reproduce.stdout.contains(said), "{said}");
    }
    let tune = organza_in(Path::new("/"), "tune --help");
    for said in
        ["--rank-by", "--validation-public", "--data-public", "Picking the best of N models"]
    {
        assert!(tune.stdout.contains(said), "{said}");
    }
}
