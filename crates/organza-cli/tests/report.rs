//! The page of a run, made from its files, and certificates against their published schema.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use serde_json::{Value, json};
use std::fs;
use support::{documented_events, organza, organza_in};
use tempfile::{TempDir, tempdir};

/// A run that takes a fraction of a second.
const SMALL: &str = "train --steps 20 --dimensions 4 --batch 100 --quiet --out run";

fn trained(flags: &str) -> TempDir {
    let place = tempdir().unwrap();
    let method = if flags.contains("--method") { "" } else { "--method dpsgd" };
    let run = organza_in(place.path(), &format!("{SMALL} {method} {flags}"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    place
}

fn certificate(place: &TempDir) -> Value {
    let text = fs::read(place.path().join("run/certificate.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// Whether the published schema accepts `certificate`.
fn is_valid(certificate: &Value) -> bool {
    let schema = include_str!("../../../docs/reference/certificate.schema.json");
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("certificate.json", serde_json::from_str(schema).unwrap()).unwrap();
    let mut schemas = boon::Schemas::new();
    let index = compiler.compile("certificate.json", &mut schemas).unwrap();
    schemas.validate(certificate, index).is_ok()
}

#[test]
fn a_run_that_shares_a_budget_has_a_certificate_of_the_schema() {
    let place = tempdir().unwrap();
    let create = "ledger create shared --dataset words --epsilon 8";
    assert_eq!(organza_in(place.path(), create).code, Some(0));
    let run = organza_in(place.path(), &format!("{SMALL} --method dpsgd --ledger shared"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let certificate = certificate(&place);
    assert_eq!(certificate["dataset"]["epsilon_budget"], 8.0);
    assert!(is_valid(&certificate), "{certificate}");
    let report = organza_in(place.path(), "report run");
    assert_eq!(report.code, Some(0), "{}", report.stderr);
}

#[test]
fn help_of_report() {
    insta::assert_snapshot!(organza("report --help").show());
}

#[test]
fn the_page_is_made_again_from_the_files_of_the_run() {
    let place = trained("");
    let files = ["report.html", "figures/learning-curve.svg", "figures/budget.svg"];
    let more = ["figures/epsilon-over-steps.svg", "tables/ledger.csv", "tables/neighbours.csv"];
    let read = || {
        let all = files.iter().chain(&more);
        all.map(|file| fs::read_to_string(place.path().join("run").join(file)).unwrap())
            .collect::<Vec<_>>()
    };
    let first = read();
    fs::remove_file(place.path().join("run/report.html")).unwrap();
    fs::remove_dir_all(place.path().join("run/figures")).unwrap();
    fs::remove_dir_all(place.path().join("run/tables")).unwrap();
    let run = organza_in(place.path(), "--json report run");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let written: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(written["private"], false, "it shows losses");
    assert!(first == read(), "the same files make the same page");
    let page = &first[0];
    for part in ["What this promises", "number of units", "A map of the words", "training.batch"] {
        assert!(page.contains(part), "{part}");
    }
    let shown = organza_in(place.path(), "report run");
    assert!(shown.stdout.contains("not private"), "{}", shown.stdout);
}

#[test]
fn without_losses_and_timings_the_page_has_no_mark() {
    let place = trained("");
    for file in ["metrics.jsonl", "summary.json"] {
        fs::remove_file(place.path().join("run").join(file)).unwrap();
    }
    let run = organza_in(place.path(), "--json report run");
    assert_eq!(serde_json::from_str::<Value>(&run.stdout).unwrap()["private"], true);
    let page = fs::read_to_string(place.path().join("run/report.html")).unwrap();
    assert!(!page.contains(">not private<") && page.contains("Where the budget went"));
    // The broken twin: a run from a seed shows no losses either, and is still not private.
    let seeded = trained("--seed 1");
    for file in ["metrics.jsonl", "summary.json"] {
        fs::remove_file(seeded.path().join("run").join(file)).unwrap();
    }
    let run = organza_in(seeded.path(), "--json report run");
    assert_eq!(serde_json::from_str::<Value>(&run.stdout).unwrap()["private"], false);
}

#[test]
fn a_certificate_that_says_less_than_the_ledger_is_called_out() {
    let place = trained("");
    let warns = || {
        assert_eq!(organza_in(place.path(), "report run").code, Some(0));
        let page = fs::read_to_string(place.path().join("run/report.html")).unwrap();
        page.contains("do not rely on it")
    };
    assert!(!warns());
    let mut forged = certificate(&place);
    forged["epsilon"] = json!(forged["epsilon"].as_f64().unwrap() * 0.99);
    fs::write(place.path().join("run/certificate.json"), forged.to_string()).unwrap();
    assert!(warns());
}

#[test]
fn what_is_missing_is_named_with_what_to_do() {
    let place = trained("");
    let refused = |file: &str, said: &str| {
        let (path, aside) = (place.path().join("run").join(file), place.path().join("aside"));
        fs::rename(&path, &aside).unwrap();
        let run = organza_in(place.path(), "report run");
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{file}");
        assert!(run.stderr.contains(said), "{file}: {}", run.stderr);
        fs::rename(&aside, &path).unwrap();
    };
    refused("settings.json", "organza train --out run");
    refused("certificate.json", "organza resume run");
    refused("ledger.jsonl", "has no ledger.jsonl");
    refused("model.safetensors", "has no model.safetensors");
    refused("vocabulary.txt", "has no vocabulary.txt");
    fs::write(place.path().join("run/certificate.json"), "{").unwrap();
    let damaged = organza_in(place.path(), "report run");
    assert!(
        damaged.stderr.contains("certificate.json in run cannot be read"),
        "{}",
        damaged.stderr
    );
    let nothing = organza_in(place.path(), "report nowhere");
    assert_eq!(nothing.code, Some(1));
    assert!(nothing.stderr.contains("holds no run"), "{}", nothing.stderr);
}

#[test]
fn certificates_follow_the_published_schema() {
    let flags = [
        "--method counts",
        "--method none",
        "--seed 1",
        "--units 20000 --neighbouring replace-one",
        "--method sparse --select exponential",
        "--method sparse --select uniform",
        "--method sparse --by row --select noisy-max --draws 5",
    ];
    for flags in flags {
        let certificate = certificate(&trained(flags));
        assert!(is_valid(&certificate), "{flags}: {certificate}");
    }
}

#[test]
fn the_schema_knows_every_event_and_refuses_what_is_no_certificate() {
    let mut good = certificate(&trained(""));
    let events = documented_events().into_iter();
    let read = |(event, _): (String, String)| serde_json::from_str::<Value>(&event).unwrap();
    good["events"] = events.map(read).collect();
    assert!(is_valid(&good));
    let masked_twice = json!({"uniform_mask": {"share": 0.1, "event": {"repeat": {
        "times": 2, "event": {"gaussian": {"noise_multiplier": 1}}}}}});
    let selected = |by: Value, noise: Value| json!({"selected": {"by": by, "noise": noise}});
    let uncapped = json!({"exponential": {"epsilon": 0.1, "draws": 3}});
    let noise = json!({"gaussian": {"noise_multiplier": 1}});
    let changes: [(&str, Value); 13] = [
        ("version", json!(1)),
        ("method", json!("magic")),
        ("epsilon", json!(-1)),
        ("epsilon", Value::Null),
        ("delta", json!(1)),
        ("unit", json!("village")),
        ("steps", json!(1.5)),
        ("events", json!([{"gaussian": {"noise": 1}}])),
        ("events", json!([{"repeat": {"times": 2, "event": {"fog": {}}}}])),
        ("events", json!([masked_twice])),
        ("events", json!([selected(uncapped, noise.clone())])),
        ("events", json!([selected(noise.clone(), noise)])),
        ("novelty", json!(true)),
    ];
    for (field, value) in changes {
        let mut broken = good.clone();
        broken[field] = value.clone();
        assert!(!is_valid(&broken), "{field}: {value}");
    }
    for field in good.as_object().unwrap().keys() {
        let mut broken = good.clone();
        broken.as_object_mut().unwrap().remove(field);
        assert!(!is_valid(&broken), "without {field}");
    }
}
