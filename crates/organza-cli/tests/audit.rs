//! `organza audit`: what it finds in runs with canaries, and what it says of others.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use organza_data::{Canaries, CanarySettings};
use organza_train::metrics::Point;
use organza_train::{Observer, RunFolder};
use organza_words::settings::{Method, Settings};
use organza_words::{Ended, Session};
use serde_json::Value;
use std::fs;
use support::{json, organza_in};
use tempfile::tempdir;

/// A run without privacy that learns its canaries in a second or two.
const LEARNS: &str = "train --method none --seed 3 --steps 800 --batch 200 --dimensions 16 \
                      --canaries 200 --canary-repeats 30 --tossed-canaries 400";

#[test]
fn canaries_of_a_run_without_privacy_are_found_and_controls_are_not() {
    let place = tempdir().unwrap();
    let run = organza_in(place.path(), LEARNS);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let private: Vec<_> =
        fs::read_dir(place.path().join("organza-run/private")).unwrap().flatten().collect();
    assert_eq!(private.len(), 1, "of the private part only the canaries are kept");

    let found = organza_in(place.path(), "audit organza-run");
    assert_eq!(found.code, Some(0), "{}", found.stderr);
    for said in [
        "the run is without privacy",
        "200 phrases, inserted 30 times each",
        "The model has kept something",
        "The paper's heuristic",
        "neither from above nor from below",
        "epsilon is at least ",
        "95 % confidence",
        "no upper bound to hold it against",
        "* not private: ranks, lower_bound, gap",
    ] {
        assert!(found.stdout.contains(said), "{said}: {}", found.stdout);
    }
    let report = json(&place.path().join("organza-run/audit.json"));
    let ranks = &report["ranks"];
    assert!(ranks["inserted"]["p_value"].as_f64().unwrap() < 1e-6, "{ranks}");
    // The seed is fixed; a p-value below 1e-6 would be a false alarm of that rate.
    assert!(ranks["control"]["p_value"].as_f64().unwrap() > 1e-6, "{ranks}");
    let sum = |which: &str| {
        let bins = ranks[which]["histogram"].as_array().unwrap();
        bins.iter().map(|bin| bin.as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(sum("inserted"), 200);
    assert!(sum("control") > 990);
    assert_eq!(ranks["among"]["sampled"], 10_000);
    assert_eq!(report["lower_bound"]["guesses"], 80);

    let page = fs::read_to_string(place.path().join("organza-run/audit.html")).unwrap();
    for part in ["Ranks of canaries", "A lower bound on epsilon", "without privacy", "<svg"] {
        assert!(page.contains(part), "{part}");
    }
    for file in ["figures/audit-ranks.svg", "tables/audit-chi-squared.csv"] {
        assert!(place.path().join("organza-run").join(file).exists(), "{file}");
    }

    // The same run gives the same report, and enumeration agrees with sampling.
    let again = organza_in(place.path(), "audit organza-run --json");
    assert_eq!(serde_json::from_str::<Value>(&again.stdout).unwrap(), report);
    let exact = organza_in(place.path(), "audit organza-run --exact --json");
    let exact: Value = serde_json::from_str(&exact.stdout).unwrap();
    assert_eq!(exact["ranks"]["among"], "all");
    // A sampled position is off by at most a few hundredths, so few phrases change their bin.
    let top = |report: &Value| report["ranks"]["inserted"]["histogram"][9].as_u64().unwrap();
    assert!(top(&exact).abs_diff(top(&report)) <= 20, "{} {}", top(&exact), top(&report));
    // Sampling cannot see beyond its sample: there are more bits among all phrases.
    let most = |report: &Value| report["ranks"]["inserted"]["largest_exposure"].as_f64().unwrap();
    assert!(most(&report) <= 10_001_f64.log2() + 1e-9);
}

#[test]
fn a_private_run_is_held_against_its_promise() {
    let place = tempdir().unwrap();
    let line = "train --method dpsgd --steps 60 --batch 200 --dimensions 8 --epsilon 2 --canaries 50 \
                --canary-repeats 2 --tossed-canaries 500";
    let run = organza_in(place.path(), line);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let certificate = json(&place.path().join("organza-run/certificate.json"));
    let public = certificate["public"].to_string();
    assert!(public.contains("350 more units (line)"), "{public}");
    let found = organza_in(place.path(), "audit organza-run --continuations 500 --json");
    let report: Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(report["not_private"], serde_json::json!(["gap"]));
    assert_eq!(report["promise"]["unit"], "line");
    let bound = &report["lower_bound"];
    assert_eq!(bound["promised"], certificate["epsilon"]);
    // 30 of the 100 guesses would have to be wrong by luck for a bound above 2.
    assert_eq!((&bound["refutes_promise"], &bound["guesses"]), (&false.into(), &100.into()));
    let words = organza_in(place.path(), "audit organza-run --continuations 500");
    assert!(words.stdout.contains("do not contradict each other"), "{}", words.stdout);
}

/// Stops a run after some steps.
struct StopsAt(u64, bool);

impl Observer for StopsAt {
    fn step(&mut self, done: u64, _: u64) {
        self.1 = done >= self.0;
    }

    fn point(&mut self, _: &Point) {}

    fn interrupted(&self) -> bool {
        self.1
    }
}

/// Canaries come from the key of the run, so a run that goes on has the same ones and is not refused. One
/// that was killed before they were written has them too.
#[test]
fn a_run_with_canaries_goes_on() {
    let place = tempdir().unwrap();
    let path = place.path().join("run");
    let mut settings = Settings::standard().suited_to(Method::Dpsgd);
    settings.training.steps = Some(20);
    settings.canaries = Some(CanarySettings { repeated: 10, repeats: 2, tossed: 20 });
    let session = Session::begin(settings, &path).unwrap();
    let kept: Canaries = RunFolder::open(&path).unwrap().canaries().unwrap().unwrap();
    let stopped = session.train(false, &mut StopsAt(7, false)).unwrap();
    assert!(matches!(stopped, Ended::Interrupted { steps: 7 }));
    fs::remove_file(path.join("private/canaries.json")).unwrap();
    let session = Session::resume(&path).unwrap();
    let ended = session.train(false, &mut StopsAt(99, false)).unwrap();
    assert!(matches!(ended, Ended::Finished(_)));
    let folder = RunFolder::open(&path).unwrap();
    assert_eq!(folder.canaries().unwrap(), Some(kept));
    assert!(!folder.private("state.json").exists());
}

#[test]
fn what_cannot_be_audited_is_said() {
    let place = tempdir().unwrap();
    let small = "train --steps 3 --dimensions 4 --batch 50";
    assert_eq!(organza_in(place.path(), &format!("{small} --out plain")).code, Some(0));
    let refused = organza_in(place.path(), "audit plain");
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    assert!(refused.stderr.contains("--canaries"), "{}", refused.stderr);
    let refused = organza_in(place.path(), "audit nowhere");
    assert!(refused.stderr.contains("no finished run"), "{}", refused.stderr);
    for (flags, said) in [
        ("--canaries 5 --canary-repeats 0", "--canary-repeats"),
        ("--tossed-canaries 50 --unit pair", "--unit"),
        ("--tossed-canaries 50 --neighbouring replace-one", "--neighbouring"),
    ] {
        let refused = organza_in(place.path(), &format!("{small} {flags} --out refused"));
        assert_eq!(refused.code, Some(2), "{flags}");
        assert!(refused.stderr.contains(said), "{flags}: {}", refused.stderr);
    }
    let canaries = "--canaries 20 --canary-repeats 2 --unit pair --units 100000";
    let line = format!("{small} {canaries} --out pairs");
    let run = organza_in(place.path(), &line);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let public = json(&place.path().join("pairs/certificate.json"))["public"].to_string();
    assert!(public.contains("240 more units (pair)"), "{public}");
    assert_eq!(organza_in(place.path(), "audit pairs --continuations 3").code, Some(1));
    fs::write(place.path().join("pairs/private/canaries.json"), "{}").unwrap();
    let damaged = organza_in(place.path(), "audit pairs");
    assert!(damaged.stderr.contains("canaries.json"), "{}", damaged.stderr);
}

/// A typeahead has writers for units: a canary is all that one of them wrote.
#[test]
fn a_typeahead_is_audited_by_writers() {
    let place = tempdir().unwrap();
    let text: String = (0..600)
        .map(|line| {
            format!("user{}\tone two three four five six seven word{}\n", line % 200, line % 30)
        })
        .collect();
    fs::write(place.path().join("text.txt"), text).unwrap();
    fs::write(place.path().join("rows"), "1 1:1 3:1\n0 2:1\n".repeat(50)).unwrap();
    let line = "typeahead --data text.txt --vocabulary declared-public";
    let canaries = "--canaries 100 --canary-repeats 9 --tossed-canaries 200";
    let run =
        organza_in(place.path(), &format!("{line} --method none --seed 3 {canaries} --out plain"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let private: Vec<_> =
        fs::read_dir(place.path().join("plain/private")).unwrap().flatten().collect();
    assert_eq!(private.len(), 1, "of the private part only the canaries are kept");
    let found = organza_in(place.path(), "audit plain --continuations 500");
    assert_eq!(found.code, Some(0), "{}", found.stderr);
    for said in [
        "100 phrases, inserted 9 times each",
        "The model has kept something",
        "each phrase is 9 units of privacy (writers) here",
        "epsilon is at least ",
        "* not private: ranks, lower_bound;",
    ] {
        assert!(found.stdout.contains(said), "{said}: {}", found.stdout);
    }
    assert!(!found.stdout.contains("Gap"), "{}", found.stdout);
    let report = json(&place.path().join("plain/audit.json"));
    assert_eq!(
        (&report["model"], &report["promise"]["unit"]),
        (&"typeahead".into(), &"user".into())
    );
    let page = fs::read_to_string(place.path().join("plain/audit.html")).unwrap();
    assert!(page.contains("as all that one more writer wrote each time"));

    let run = organza_in(place.path(), &format!("{line} --epsilon 2 {canaries} --out held"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let public = json(&place.path().join("held/certificate.json"))["public"].to_string();
    assert!(public.contains("each insertion is a writer of its own"), "{public}");
    let found = organza_in(place.path(), "audit held --continuations 500");
    assert!(
        found.stdout.contains("at delta 1e-6 for each writer (add-remove)"),
        "{}",
        found.stdout
    );
    let report = json(&place.path().join("held/audit.json"));
    assert_eq!(report["not_private"], serde_json::json!([]));
    // 39 of the 40 guesses would have to be right for a bound above 2: by luck, once in 10^10 runs.
    assert_eq!(report["lower_bound"]["refutes_promise"], false);

    for (line, said) in [
        (format!("{line} --out none"), ""),
        ("audit none".to_owned(), "organza typeahead --canaries 1000 --canary-repeats 9"),
        (format!("{line} {canaries} --neighbouring replace-one --out no"), "--neighbouring"),
        ("linear --data rows --features 4 --out linear".to_owned(), ""),
        ("audit linear".to_owned(), "not a run of word embeddings or of a typeahead"),
    ] {
        let run = organza_in(place.path(), &line);
        assert_eq!(run.code == Some(0), said.is_empty(), "{line}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{line}: {}", run.stderr);
    }
}
