//! Whole runs of `organza train`: what they write, and that the same is the same.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use serde_json::Value;
use std::fs;
use support::{json, names_in, organza_in};
use tempfile::tempdir;

/// A run that takes a fraction of a second.
const SMALL: &str = "train --steps 40 --dimensions 8 --batch 100";

#[test]
fn a_run_leaves_its_files_and_can_be_asked() {
    let place = tempdir().unwrap();
    let run = organza_in(place.path(), &format!("{SMALL} --method dpsgd"));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let said =
        ["epsilon 3.0000", "for each line", "test loss", "* not private", "nothing was learned"];
    for said in said {
        assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
    }
    assert!(!run.stdout.contains("Next:"), "{}", run.stdout);
    let files = names_in(&place.path().join("organza-run"));
    let expected = [
        "certificate.json",
        "figures",
        "ledger.jsonl",
        "metrics.jsonl",
        "model.safetensors",
        "report.html",
        "settings.json",
        "summary.json",
        "tables",
        "vectors.bin",
        "vectors.txt",
        "vocabulary.txt",
    ];
    assert_eq!(files, expected, "and no private part");
    let report = fs::read_to_string(place.path().join("organza-run/report.html")).unwrap();
    for part in ["<svg", "epsilon 3", "not private", "word frequencies", "Poisson batch"] {
        assert!(report.contains(part), "{part}");
    }

    let words = fs::read_to_string(place.path().join("organza-run/vocabulary.txt")).unwrap();
    let words: Vec<&str> = words.lines().collect();
    let near = organza_in(place.path(), &format!("nearest organza-run {} --count 3", words[0]));
    assert_eq!((near.code, near.stdout.lines().count()), (Some(0), 3), "{}", near.stderr);
    let line = format!("--json analogy organza-run {} {} {}", words[0], words[1], words[2]);
    let like = organza_in(place.path(), &line);
    let like: Value = serde_json::from_str(&like.stdout).unwrap();
    assert!(like[0]["cosine"].as_f64().unwrap() <= 1.0 && like[4]["word"].is_string());
    let pairs: String =
        (0..6).map(|at| format!("{}\t{}\t{at}\n", words[at], words[at + 1])).collect();
    fs::write(place.path().join("pairs.tsv"), pairs).unwrap();
    let agreement = organza_in(place.path(), "similarity organza-run pairs.tsv");
    assert!(agreement.stdout.ends_with("over 6 of 6 pairs\n"), "{}", agreement.stderr);
    let unknown = organza_in(place.path(), "nearest organza-run xyzzy");
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("not in the vocabulary"), "{}", unknown.stderr);
}

#[test]
fn the_summary_for_programs_has_its_fields_and_says_what_is_not_private() {
    let place = tempdir().unwrap();
    let line = format!("{SMALL} --json --method sparse --select uniform --epsilon 2");
    let run = organza_in(place.path(), &line);
    assert_eq!(run.stderr, "");
    let summary: serde_json::Map<String, Value> = serde_json::from_str(&run.stdout).unwrap();
    let mut fields: Vec<&str> = summary.keys().map(String::as_str).collect();
    fields.sort_unstable();
    let expected = [
        "date",
        "delta",
        "epsilon",
        "frequency_loss",
        "method",
        "ms_step",
        "not_private",
        "organza",
        "peak_rss_mb",
        "released",
        "remarks",
        "seconds",
        "select",
        "steps",
        "test_loss",
        "train_loss",
        "validation_loss",
        "version",
    ];
    assert_eq!(fields, expected);
    assert_eq!((&summary["method"], &summary["select"]), (&"sparse".into(), &"uniform".into()));
    let epsilon = summary["epsilon"].as_f64().unwrap();
    assert_eq!(epsilon, 2.0, "a released number decides, so the budget is promised");
    let marked = summary["not_private"].as_array().unwrap();
    assert_eq!(marked.len(), 8);
    for field in marked {
        assert!(summary.contains_key(field.as_str().unwrap()), "{field}");
    }
    for line in fs::read_to_string(place.path().join("organza-run/metrics.jsonl")).unwrap().lines()
    {
        let point: Value = serde_json::from_str(line).unwrap();
        for field in point["not_private"].as_array().unwrap() {
            assert!(point[field.as_str().unwrap()].is_number(), "{line}");
        }
    }
}

#[test]
fn without_privacy_everything_says_so() {
    let place = tempdir().unwrap();
    let run = organza_in(place.path(), &format!("{SMALL} --method none --json"));
    let summary: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(summary["epsilon"].is_null() && summary["delta"].is_null());
    assert!(summary["not_private"].as_array().unwrap().contains(&"steps".into()));
    let folder = place.path().join("organza-run");
    assert!(!folder.join("ledger.jsonl").exists());
    assert_eq!(json(&folder.join("certificate.json"))["private"], false);
    assert!(fs::read_to_string(folder.join("report.html")).unwrap().contains("without privacy"));
}

#[test]
fn a_seed_repeats_a_run_on_any_number_of_threads_and_is_not_private() {
    let place = tempdir().unwrap();
    let model = |line: &str, out: &str| {
        let run = organza_in(place.path(), &format!("{line} --out {out}"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        fs::read(place.path().join(out).join("model.safetensors")).unwrap()
    };
    // Batches that are large enough to be shared among threads.
    let large = SMALL.replace("--batch 100", "--batch 500 --method dpsgd");
    let one = model(&format!("{large} --seed 5 --threads 1"), "one");
    let two = model(&format!("{large} --seed 5 --threads 2"), "two");
    assert!(one == two, "threads change the result");
    let again = model("train --settings one/settings.json", "again");
    assert!(one == again, "the settings file does not repeat the run");
    assert!(one != model(&format!("{large} --seed 6"), "other"), "the seed changes nothing");
    assert!(one != model("train --settings one/settings.json --epsilon 8", "more"));
    let certificate = json(&place.path().join("one/certificate.json"));
    assert_eq!(certificate["private"], false);
    let first = organza_in(place.path(), &format!("{SMALL} --out fresh"));
    let second = organza_in(place.path(), &format!("{SMALL} --out fresher"));
    assert_eq!((first.code, second.code), (Some(0), Some(0)));
    let vectors = |out: &str| fs::read(place.path().join(out).join("vectors.bin")).unwrap();
    assert!(vectors("fresh") != vectors("fresher"), "without a seed two runs have their own noise");
}

#[cfg(unix)]
#[test]
fn the_private_part_is_kept_on_demand_for_the_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempdir().unwrap();
    assert_eq!(organza_in(place.path(), &format!("{SMALL} --keep-private")).code, Some(0));
    let private = place.path().join("organza-run/private");
    assert_eq!(fs::metadata(&private).unwrap().permissions().mode() & 0o777, 0o700);
    for entry in fs::read_dir(&private).unwrap() {
        assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn flags_change_a_preset() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("words.txt"), "a b c d e f g h\n".repeat(300)).unwrap();
    fs::write(place.path().join("list.txt"), "a\nb\nc\nd\n").unwrap();
    let line = "train --data words.txt --preset brown-1k --vocabulary-file list.txt --unit line";
    let refused = organza_in(place.path(), line);
    assert!(refused.stderr.contains("--unit pair"), "{}", refused.stderr);
    let line = "train --data words.txt --vocabulary-file list.txt --method sparse --by row \
                --draws 2 --noise-multiplier 2 --selection-epsilon 0.5 --steps 5 --batch 20 \
                --units 250 --delta 1e-5 --optimizer sgd --learning-rate 0.1 --layout tied \
                --architecture cbow --average false --dimensions 4 --neighbouring replace-one";
    let run = organza_in(place.path(), line);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let settings = json(&place.path().join("organza-run/settings.json"));
    assert_eq!(settings["privacy"]["epsilon"], Value::Null);
    assert_eq!(settings["privacy"]["noise_multiplier"], 2.0);
    assert_eq!(settings["selection"]["by"], "row");
    assert_eq!(settings["training"]["optimizer"]["kind"], "sgd");
    assert_eq!(
        (&settings["model"]["layout"], &settings["model"]["architecture"]),
        (&"tied".into(), &"cbow".into())
    );
    let certificate = json(&place.path().join("organza-run/certificate.json"));
    assert!(certificate["epsilon"].as_f64().unwrap() > 0.0);
    let public = certificate["public"].to_string();
    assert!(public.contains("list.txt") && public.contains("250"), "{public}");
}

/// A table is read by its columns, in any form to the same model, and never as if it were text.
#[test]
fn the_same_table_in_any_form_gives_the_same_model() {
    let place = tempdir().unwrap();
    let words = ["bread", "milk", "tea", "salt", "rice", "corn", "fish", "meat", "soup", "cake"];
    let said = |row: usize| {
        let word = |at: usize| words[(row * 7 + at * at + at) % words.len()];
        (0..6).map(word).collect::<Vec<_>>().join(" ")
    };
    let (mut csv, mut tsv, mut json_lines) =
        ("id,text,who\n".to_owned(), "who\ttext\n".to_owned(), String::new());
    for row in 0..400 {
        let (text, who) = (said(row), format!("u{}", row % 80));
        csv += &format!("{row},\"{text}\",{who}\n");
        tsv += &format!("{who}\t{text}\n");
        json_lines += &serde_json::json!({ "who": who, "text": text }).to_string();
        json_lines.push('\n');
    }
    fs::create_dir(place.path().join("documents")).unwrap();
    for document in 0..60 {
        let text = [said(document), said(document + 3)].join("\n");
        fs::write(place.path().join(format!("documents/{document}.txt")), text).unwrap();
    }
    fs::write(place.path().join("words.txt"), words.join("\n")).unwrap();
    let common =
        "--vocabulary-file words.txt --method dpsgd --steps 20 --dimensions 4 --batch 20 --seed 1";
    let mut models = Vec::new();
    for (name, text) in [("t.csv", csv), ("t.tsv", tsv), ("t.jsonl", json_lines)] {
        fs::write(place.path().join(name), text).unwrap();
        let refused = organza_in(place.path(), &format!("train --data {name} --out none {common}"));
        assert_eq!(refused.code, Some(1), "{name}");
        assert!(refused.stderr.contains("--text-column (perhaps `text`)"), "{}", refused.stderr);
        let nobody =
            format!("train --data {name} --text-column text --unit user --out none {common}");
        let refused = organza_in(place.path(), &nobody);
        assert!(refused.code == Some(2) && refused.stderr.contains("--user-column"), "{name}");
        let columns = "--text-column text --user-column who";
        let run = organza_in(
            place.path(),
            &format!("train --data {name} {columns} --out {name}.run {common}"),
        );
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let run = place.path().join(format!("{name}.run"));
        assert_eq!(json(&run.join("certificate.json"))["unit"], "user");
        models.push(fs::read(run.join("vectors.bin")).unwrap());
    }
    assert!(models[0] == models[1] && models[1] == models[2]);
    let run = organza_in(
        place.path(),
        &format!("train --data documents --unit document --out documents.run {common}"),
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("for each document"), "{}", run.stdout);
}
