//! Whole runs of `organza linear` and `organza predict`.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use serde_json::Value;
use std::cell::Cell;
use std::fmt::Write;
use std::fs;
use support::{names_in, organza_in};
use tempfile::tempdir;

/// 4,000 rows of four features, two of which make the label.
fn rows(form: impl Fn(u32, [u32; 4]) -> String) -> String {
    let mut text = String::new();
    let mut state = 7_u32;
    for _ in 0..4_000 {
        let bits = [0; 4].map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 30) & 1
        });
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let noisy = state >> 28 == 0;
        let label = u32::from((bits[0] >= bits[1]) != noisy);
        writeln!(text, "{}", form(label, bits)).unwrap();
    }
    text
}

fn libsvm(label: u32, bits: [u32; 4]) -> String {
    let entries = bits.iter().enumerate().filter(|(_, bit)| **bit == 1);
    entries.fold(label.to_string(), |line, (place, _)| format!("{line} {}:1", place + 1))
}

fn csv(label: u32, bits: [u32; 4]) -> String {
    format!("{label},{},{},{},{}", bits[0], bits[1], ["red", "green"][bits[2] as usize], bits[3])
}

#[test]
fn a_fit_leaves_its_files_and_predicts() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("rows"), rows(libsvm)).unwrap();
    let fit = organza_in(place.path(), "erm --data rows --test rows --features 4 --out run");
    assert_eq!(fit.code, Some(0), "{}", fit.stderr);
    assert!(fit.stderr.contains("method objective: the best private one"), "{}", fit.stderr);
    for said in ["epsilon 1.0000", "for each record (add-remove)", "test AUC", "* not private"] {
        assert!(fit.stdout.contains(said), "{said}: {}", fit.stdout);
    }
    let files = names_in(&place.path().join("run"));
    let expected = [
        "certificate.json",
        "coefficients.csv",
        "figures",
        "ledger.jsonl",
        "metrics.jsonl",
        "model.safetensors",
        "reader.json",
        "report.html",
        "settings.json",
        "summary.json",
        "tables",
    ];
    assert_eq!(files, expected, "and no private part");
    let read = || fs::read_to_string(place.path().join("run/report.html")).unwrap();
    let page = read();
    for part in ["Logistic model by objective", "How good predictions are", "Where the budget went"]
    {
        assert!(page.contains(part), "{part}");
    }
    let report = organza_in(place.path(), "report run");
    assert_eq!(report.code, Some(0), "{}", report.stderr);
    assert_eq!(read(), page, "the same files make the same page");
    for file in ["metrics.jsonl", "summary.json"] {
        fs::remove_file(place.path().join("run").join(file)).unwrap();
    }
    let report = organza_in(place.path(), "--json report run");
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report["private"], true, "without what is not private");
    assert!(!read().contains("How good predictions are"));
    let again = organza_in(place.path(), "resume run");
    assert!(again.stderr.contains("the run is finished"), "{}", again.stderr);
    fs::write(place.path().join("new"), "0 1:1\n0 2:1\n").unwrap();
    let said = organza_in(place.path(), "predict run --data new");
    let said: Vec<f64> = said.stdout.lines().map(|line| line.parse().unwrap()).collect();
    assert!(said.len() == 2 && said[0] > said[1], "{said:?}");
    let beyond = organza_in(place.path(), "predict run --data rows --json");
    assert_eq!(beyond.code, Some(0));
    fs::write(place.path().join("new"), "0 1:1\n0 5:1\n").unwrap();
    let beyond = organza_in(place.path(), "predict run --data new");
    assert!(beyond.stderr.contains("`new` line 2: index 5 is beyond the 4 features"));
}

#[test]
fn every_method_has_its_fields_and_keeps_its_budget() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("rows"), rows(libsvm)).unwrap();
    let number = Cell::new(0);
    let grouped = rows(|label, bits| {
        number.set(number.get() + 1);
        format!("{} qid:{}", libsvm(label, bits), number.get() / 10)
    });
    fs::write(place.path().join("grouped"), grouped).unwrap();
    let methods =
        ["objective", "dpsgd", "sparse", "corrected", "poisson-groups", "printed", "none"];
    for method in methods {
        let (data, more) = match method {
            "printed" => ("rows", "--groups 20 --steps 50"),
            "poisson-groups" => ("grouped", "--group qid"),
            _ => ("rows", ""),
        };
        let line = format!(
            "--json -q erm --data {data} --test {data} --features 4 --method {method} --epsilon 2 --delta \
             1e-5 --seed 1 --hits 2 --out {method} {more}"
        );
        let fit = organza_in(place.path(), line.trim());
        assert_eq!((fit.code, fit.stderr.as_str()), (Some(0), ""), "{method}");
        let summary: Value = serde_json::from_str(&fit.stdout).unwrap();
        for field in ["train_loss", "test_loss", "test_accuracy", "test_auc", "seconds"] {
            assert!(summary[field].is_number(), "{method} {field}");
            assert!(summary["not_private"].as_array().unwrap().contains(&field.into()), "{field}");
        }
        assert_eq!(summary["method"], method);
        let certificate = fs::read(place.path().join(method).join("certificate.json")).unwrap();
        let certificate: Value = serde_json::from_slice(&certificate).unwrap();
        assert_eq!(certificate["private"], false, "with a seed");
        match method {
            "none" => assert!(summary["epsilon"].is_null()),
            "printed" => assert_eq!(summary["claimed_epsilon"], 2.0),
            _ => {
                let epsilon = summary["epsilon"].as_f64().unwrap();
                assert!((1.9..=2.0).contains(&epsilon), "{method}: {epsilon}");
            }
        }
        if ["objective", "dpsgd", "none"].contains(&method) {
            assert!(summary["test_auc"].as_f64().unwrap() > 0.8, "{method}: {summary}");
        }
    }
}

#[test]
fn tables_with_declared_columns_are_read_and_their_features_have_names() {
    let place = tempdir().unwrap();
    let text = format!("label,a,b,color,size\n{}", rows(csv));
    fs::write(place.path().join("rows.csv"), text).unwrap();
    fs::write(place.path().join("colors"), "red\ngreen\n").unwrap();
    let line = "erm --data rows.csv --label label --numeric a=0:1 --numeric b --categories color=colors \
                --categorical size --buckets 8 --method none --out run -q";
    let fit = organza_in(place.path(), line);
    assert_eq!(fit.code, Some(0), "{}", fit.stderr);
    let table = fs::read_to_string(place.path().join("run/coefficients.csv")).unwrap();
    for name in ["1,a,", "2,b,", "11,color=red,", "12,color=green,"] {
        assert!(table.contains(name), "{name}: {table}");
    }
    fs::write(place.path().join("new.csv"), "size,color,b,a\n1,red,0,1\n0,blue,1,0\n").unwrap();
    let said = organza_in(place.path(), "predict run --data new.csv");
    assert_eq!(said.stdout.lines().count(), 2, "{}", said.stderr);
}

#[test]
fn private_categories_are_released_first_and_serve_new_rows() {
    let place = tempdir().unwrap();
    let text = format!("label,a,b,color,size\n{}1,1,1,octarine,0\n", rows(csv));
    fs::write(place.path().join("rows.csv"), text).unwrap();
    let line = "erm --data rows.csv --test rows.csv --label label --numeric a --numeric b \
                --private-categories color --delta 1e-5 --out run -q";
    let fit = organza_in(place.path(), line);
    assert_eq!(fit.code, Some(0), "{}", fit.stderr);
    let table = fs::read_to_string(place.path().join("run/coefficients.csv")).unwrap();
    for name in [",color=red,", ",color=green,", "5,color=(other),"] {
        assert!(table.contains(name), "{name}: {table}");
    }
    let folders = ["run", "run/figures", "run/tables"].map(|name| place.path().join(name));
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    for file in entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        let bytes = fs::read(file).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("octarine"), "of one record alone");
    }
    let ledger = fs::read_to_string(place.path().join("run/ledger.jsonl")).unwrap();
    assert!(ledger.lines().nth(1).unwrap().contains("categories"), "{ledger}");
    fs::write(place.path().join("new.csv"), "color,b,a\nred,0,1\noctarine,1,0\nblue,1,0\n")
        .unwrap();
    let said = organza_in(place.path(), "predict run --data new.csv");
    let said: Vec<&str> = said.stdout.lines().collect();
    assert!(said.len() == 3 && said[1] == said[2], "{said:?}");
}

#[test]
fn a_width_from_the_data_is_said_on_the_certificate() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("rows"), rows(libsvm)).unwrap();
    let fit = organza_in(place.path(), "erm --data rows --out run");
    assert_eq!(fit.code, Some(0), "{}", fit.stderr);
    assert!(fit.stderr.contains("4 features, the largest index of the data"), "{}", fit.stderr);
    let certificate = fs::read_to_string(place.path().join("run/certificate.json")).unwrap();
    assert!(certificate.contains("4, the largest index of the data"), "{certificate}");
}

#[test]
fn what_makes_no_sense_says_where_and_what_to_do() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("rows"), "1 1:1\n1 0:1\n").unwrap();
    for (line, code, said) in [
        ("erm --data rows --method none", 1, "`rows` line 2: index 0: features are counted from 1"),
        ("erm --data rows --method corrected", 1, "`rows` line 2: index 0: features are counted"),
        ("erm", 2, "`--data` is missing"),
        ("erm --data rows --epsilon 0", 2, "--epsilon is 0, but must be above 0"),
        ("erm --data rows --model linear --method objective", 2, "dpsgd fits any model"),
        (
            "erm --data rows --method poisson-groups --groups 5",
            2,
            "--groups is 5, but must be left out if the unit is a group",
        ),
        ("erm --data rows --method poisson-groups", 2, "`--user-column` is missing"),
        ("erm --data rows --group qid --method objective", 2, "promise something for each group"),
        ("erm --data rows --group qid --method none", 2, "corrected and printed visit groups"),
        ("erm --data rows --format csv", 2, "is a table with the columns 1 1:1"),
        ("erm --data rows --radius 1 --box 1", 2, "cannot be used with"),
        ("erm bounds --records 10 --groups 20 --coordinates 5 --sparsity 2", 2, "--groups"),
        ("predict nothing --data rows", 1, "is this a folder of `organza linear`?"),
    ] {
        let outcome = organza_in(place.path(), line);
        assert_eq!(outcome.code, Some(code), "{line}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(said), "{line}: {}", outcome.stderr);
    }
}

#[test]
fn the_bounds_say_that_the_printed_theorem_fails() {
    let line = "erm bounds --records 10000 --groups 1000 --coordinates 1000000 --sparsity 20 --steps 10000";
    let told = support::organza(line);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert!(told.stdout.contains("as printed") && told.stdout.contains("fails"), "{}", told.stdout);
    let told = support::organza(&format!("--json {line}"));
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    assert!(told["printed"]["worst_epsilon"].as_f64().unwrap() > 19.0, "{told}");
    assert!(told["corrected"]["worst_epsilon"].as_f64().unwrap() <= 1.0, "{told}");
}
