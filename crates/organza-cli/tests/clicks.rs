//! Whole runs of `organza clicks`, and of `organza predict` on what they made.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use serde_json::Value;
use std::fmt::Write;
use std::fs;
use support::{names_in, organza_in};
use tempfile::tempdir;

/// Numbers that look random.
fn state(number: u32) -> u32 {
    (number ^ (number >> 15)).wrapping_mul(0x2c1b_3c6d).rotate_left(11).wrapping_mul(0x297a_2d39)
        >> 7
}

/// Rows in Criteo's format: a label that follows the first category, numbers of which some are missing, categories in
/// hexadecimal.
fn criteo(rows: u32) -> String {
    let mut text = String::new();
    for row in 0..rows {
        let first = state(row) % 4;
        let clicked = u32::from(state(row + 100_000) % 10 < 1 + 2 * first);
        write!(text, "{clicked}").unwrap();
        for number in 0..13 {
            match state(row * 13 + number) % 5 {
                0 => text.push('\t'),
                amount => write!(text, "\t{}", i64::from(amount * number * 37) - 2).unwrap(),
            }
        }
        write!(text, "\t{:08x}", first.wrapping_mul(0x9e37_79b9)).unwrap();
        for column in 1..26 {
            match state(row * 26 + column) % 9 {
                0 => text.push('\t'),
                value => write!(text, "\t{:08x}", value * 0x0101_0101).unwrap(),
            }
        }
        text.push('\n');
    }
    text
}

/// Rows of users with a header.
fn table(users: u32) -> String {
    let mut text = "user,ad,site,seen,clicked\n".to_owned();
    for row in 0..users * 5 {
        let (ad, site) = (state(row) % 5, state(row + 7_000) % 3);
        let clicked = if state(row + 90_000) % 10 < 1 + 2 * ad { "yes" } else { "no" };
        writeln!(text, "u{},ad{ad},s{site},{},{clicked}", row / 5, row % 40).unwrap();
    }
    text
}

#[test]
fn rows_in_the_format_of_criteo_are_learned_and_predicted() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("train.txt"), criteo(3_000)).unwrap();
    fs::write(place.path().join("test.txt"), criteo(500)).unwrap();
    let line =
        "clicks --data train.txt --test test.txt --criteo --buckets 50 --epsilon 8 --out run";
    let made = organza_in(place.path(), line);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert!(made.stderr.contains("each row is protected alone"), "{}", made.stderr);
    for said in
        ["for each record (add-remove)", "test AUC", "expected over observed", "* not private"]
    {
        assert!(made.stdout.contains(said), "{said}: {}", made.stdout);
    }
    let files = names_in(&place.path().join("run"));
    let expected = [
        "certificate.json",
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
    let page = fs::read_to_string(place.path().join("run/report.html")).unwrap();
    for part in ["Click model by one-shot", "Expected and observed clicks", "second moments"] {
        assert!(page.contains(part), "{part}");
    }
    let said = organza_in(place.path(), "predict run --data test.txt");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let said: Vec<f64> = said.stdout.lines().map(|line| line.parse().unwrap()).collect();
    let labels = criteo(500).lines().map(|line| line.starts_with('1')).collect::<Vec<_>>();
    let mean = |clicked: bool| {
        let of: Vec<f64> =
            said.iter().zip(&labels).filter(|it| *it.1 == clicked).map(|it| *it.0).collect();
        of.iter().sum::<f64>() / of.len() as f64
    };
    assert!(said.len() == 500 && mean(true) > mean(false) + 0.05, "{} {}", mean(true), mean(false));
    let written = organza_in(place.path(), "predict run --data test.txt --out said.csv");
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    let lines = fs::read_to_string(place.path().join("said.csv")).unwrap();
    assert_eq!((lines.lines().next(), lines.lines().count()), (Some("prediction"), 501));
}

#[test]
fn every_method_keeps_its_budget_for_users_and_threads_change_nothing() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("rows.csv"), table(800)).unwrap();
    let rows = "--data rows.csv --test rows.csv --label-column clicked --user-column user --category ad --category site --number \
                seen=40 --buckets 20 --epsilon 4 --seed 3";
    for (method, more) in [
        ("one-shot", ""),
        ("one-shot-dpsgd", "--model factorisation-machine --batch 200 --epochs 5"),
        ("dpsgd", "--batch 200 --epochs 5"),
        ("sparse", "--select uniform --gamma 0.5 --batch 200 --epochs 5 --per-unit 3"),
        ("none", "--batch 200"),
    ] {
        let rows = match method {
            "none" => rows.replace("--epsilon 4 ", ""),
            _ => rows.to_owned(),
        };
        let run = |threads: u32| {
            let line = format!(
                "--json -q clicks {rows} --method {method} {more} --threads {threads} --out {method}{threads}"
            );
            let made = organza_in(place.path(), line.trim());
            assert_eq!((made.code, made.stderr.as_str()), (Some(0), ""), "{method}");
            let model = place.path().join(format!("{method}{threads}/model.safetensors"));
            (serde_json::from_str::<Value>(&made.stdout).unwrap(), fs::read(model).unwrap())
        };
        let ((summary, model), (_, again)) = (run(1), run(2));
        assert!(model == again, "{method}: other bits with other threads");
        for field in ["auc", "log_loss", "expected_over_observed", "seconds"] {
            assert!(summary[field].is_number(), "{method} {field}");
            assert!(summary["not_private"].as_array().unwrap().contains(&field.into()), "{field}");
        }
        assert!(summary["auc"].as_f64().unwrap() > 0.6, "{method}: {}", summary["auc"]);
        match summary["epsilon"].as_f64() {
            Some(epsilon) => assert!((3.8..=4.0).contains(&epsilon), "{method}: {epsilon}"),
            None => assert_eq!(method, "none"),
        }
        let folder = place.path().join(format!("{method}1"));
        let certificate = fs::read(folder.join("certificate.json")).unwrap();
        let certificate: Value = serde_json::from_slice(&certificate).unwrap();
        assert_eq!(certificate["unit"], "user", "{method}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_written() {
    let place = tempdir().unwrap();
    fs::write(place.path().join("rows.csv"), table(20)).unwrap();
    for (line, code, said) in [
        ("clicks --data rows.csv --category ad", 2, "`--label-column` is missing"),
        ("clicks --data rows.csv --label-column clicked", 2, "no column of categories"),
        (
            "clicks --data rows.csv --label-column clicked --category ad --number seen=0",
            2,
            "COLUMN=MOST",
        ),
        ("clicks --method one-shot --model factorisation-machine", 2, "one-shot-dpsgd"),
        ("clicks --method none --epsilon 1", 2, "a budget has no meaning"),
        ("clicks --method dpsgd --noise-multiplier 1", 2, "--noise-multiplier is 1"),
        (
            "clicks --data rows.csv --label-column clicked --category city",
            1,
            "there is no column `city`",
        ),
        ("clicks --data rows.csv --criteo --category ad", 2, "cannot be used with"),
    ] {
        let made = organza_in(place.path(), line);
        assert_eq!(made.code, Some(code), "{line}: {}", made.stderr);
        assert!(made.stderr.contains(said), "{line}: {}", made.stderr);
        assert!(!place.path().join("organza-clicks").exists(), "{line}");
    }
}
