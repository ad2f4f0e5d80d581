//! Tables of every form, as people have them.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use organza_data::table::{TableForm, Values, write_table};
use serde_json::Value;
use std::fs;
use std::path::Path;
use support::{Run, organza_in};
use tempfile::tempdir;

const FORMS: [&str; 5] = ["csv", "tsv", "jsonl", "parquet", "arrow"];

/// 3,000 people: what they wrote, when they came, what they earn.
fn columns() -> Vec<(String, Values)> {
    let rows = 0..3_000_u32;
    let texts = |text: &dyn Fn(u32) -> String| Values::Texts(rows.clone().map(text).collect());
    let written = |row: u32| {
        let first = ["good", "bad", "fine"][row as usize % 3];
        format!(
            "a {first}, \"really {first}\" day; we were in the {} again",
            ["park", "sea"][row as usize % 2]
        )
    };
    vec![
        ("who".into(), texts(&|row| format!("person {}", row / 3))),
        ("text".into(), texts(&written)),
        ("since".into(), texts(&|row| format!("20{:02}-0{}-01", row % 20, 1 + row % 9))),
        ("city".into(), texts(&|row| ["Köln", "?", "Ulm"][row as usize % 3].into())),
        (
            "age".into(),
            Values::Numbers(rows.clone().map(|row| f64::from(20 + row % 3 * 20)).collect()),
        ),
        ("income".into(), texts(&|row| ["<=50K", ">50K", ">200K"][row as usize % 3].into())),
    ]
}

/// The table in every form.
fn write_all(folder: &Path) {
    for form in FORMS {
        let path = folder.join(format!("people.{form}"));
        let mut bytes = Vec::new();
        write_table(&columns(), TableForm::of(&path).unwrap(), &path, &mut bytes).unwrap();
        fs::write(&path, bytes).unwrap();
    }
}

const COLUMNS: &str = "--label-column income --classes <=50K,>50K,>200K --numeric age=0:100 --numeric \
                       since=2000-01-01:2020-01-01 --categorical city --buckets 16 --missing ?";

#[test]
fn one_table_in_any_form_gives_one_model() {
    let place = tempdir().unwrap();
    write_all(place.path());
    let (mut fits, mut trained) = (Vec::new(), Vec::new());
    for form in FORMS {
        let fit =
            format!("erm --data people.{form} {COLUMNS} --steps 40 --seed 1 --out fit-{form}");
        let fit = organza_in(place.path(), &fit);
        assert_eq!(fit.code, Some(0), "{form}: {}", fit.stderr);
        fits.push(fs::read(place.path().join(format!("fit-{form}/model.safetensors"))).unwrap());
        let train = format!(
            "train --data people.{form} --text-column text --user-column who --epsilon 8 --seed 1 --out words-{form}"
        );
        let train = organza_in(place.path(), &train);
        assert_eq!(train.code, Some(0), "{form}: {}", train.stderr);
        trained
            .push(fs::read(place.path().join(format!("words-{form}/model.safetensors"))).unwrap());
    }
    assert!(fits.iter().all(|fit| *fit == fits[0]) && fits[0].len() > 400);
    assert!(trained.iter().all(|model| *model == trained[0]) && trained[0].len() > 400);
    let piped = fs::read(place.path().join("people.csv")).unwrap();
    let line = format!("erm --data - --format csv {COLUMNS} --steps 40 --seed 1 --out piped");
    let piped = Run::new(&line).in_folder(place.path()).input(&piped).run();
    assert_eq!(piped.code, Some(0), "{}", piped.stderr);
    assert!(fs::read(place.path().join("piped/model.safetensors")).unwrap() == fits[0]);
}

#[test]
fn classes_by_name_are_learned_and_predicted_in_any_form() {
    let place = tempdir().unwrap();
    write_all(place.path());
    let line = format!("erm --data people.csv --test people.parquet {COLUMNS} --epsilon 3 --json");
    let fit = organza_in(place.path(), &line);
    assert_eq!(fit.code, Some(0), "{}", fit.stderr);
    let fit: Value = serde_json::from_str(&fit.stdout).unwrap();
    assert!(fit["test_accuracy"].as_f64().unwrap() > 0.9, "{fit}");
    assert_eq!(fit["test"]["confusion"].as_array().unwrap().len(), 3);
    for form in FORMS {
        let line = format!("predict organza-erm --data people.{form} --out said.{form}");
        let said = organza_in(place.path(), &line);
        assert_eq!(said.code, Some(0), "{form}: {}", said.stderr);
    }
    let said = fs::read_to_string(place.path().join("said.csv")).unwrap();
    let header = "class,probability of <=50K,probability of >50K,probability of >200K";
    assert_eq!((said.lines().next(), said.lines().count()), (Some(header), 3_001));
    let right = said
        .lines()
        .skip(1)
        .zip(0..)
        .filter(|(line, row)| line.starts_with(["<=50K,", ">50K,", ">200K,"][row % 3]));
    assert!(right.count() > 2_700);
    let lines = organza_in(place.path(), "predict organza-erm --data people.jsonl");
    assert!(
        lines.stdout.lines().count() == 3_000 && lines.stdout.contains(">50K\t0."),
        "{}",
        lines.stdout
    );
    let coefficients =
        fs::read_to_string(place.path().join("organza-erm/coefficients.csv")).unwrap();
    assert!(
        coefficients.starts_with("feature,name,class,coefficient\n0,(intercept),<=50K,"),
        "{coefficients}"
    );
}

#[test]
fn a_table_of_which_no_column_is_named_shows_its_columns() {
    let place = tempdir().unwrap();
    write_all(place.path());
    for form in FORMS {
        let refused = organza_in(place.path(), &format!("erm --data people.{form}"));
        assert_eq!(refused.code, Some(2), "{form}");
        assert!(refused.stderr.contains("is a table with the columns"), "{}", refused.stderr);
        assert!(refused.stderr.contains("--label-column (perhaps `income`)"), "{}", refused.stderr);
        let refused = organza_in(place.path(), &format!("train --data people.{form}"));
        assert_ne!(refused.code, Some(0), "{form}");
        assert!(refused.stderr.contains("--text-column (perhaps `text`)"), "{}", refused.stderr);
    }
}

/// A row that cannot be used ends a strict run, before anything is charged; any other goes on without it.
#[test]
fn strict_runs_refuse_what_others_leave_out() {
    let place = tempdir().unwrap();
    let good = "age,label\n".to_owned() + &"1,yes\n0,no\n".repeat(500);
    fs::write(place.path().join("rows.csv"), [good.as_bytes(), b"x,yes\n1,\xff\n3\n"].concat())
        .unwrap();
    let line = "erm --data rows.csv --label-column label --numeric age=0:1";
    let left = organza_in(place.path(), &format!("{line} --out left"));
    assert_eq!(left.code, Some(0), "{}", left.stderr);
    assert!(left.stdout.contains("3 of the lines could not be used"), "{}", left.stdout);
    let strict = organza_in(place.path(), &format!("{line} --strict --out strict"));
    assert_eq!(strict.code, Some(1), "{}", strict.stdout);
    assert!(strict.stderr.contains("line 1002: `x` in column `age`"), "{}", strict.stderr);
    assert!(!place.path().join("strict/ledger.jsonl").exists(), "nothing is charged");
    fs::write(place.path().join("rows.csv"), good).unwrap();
    let strict = organza_in(place.path(), &format!("{line} --strict --out strict"));
    assert_eq!(strict.code, Some(0), "{}", strict.stderr);
    let certificate = fs::read_to_string(place.path().join("strict/certificate.json")).unwrap();
    assert!(certificate.contains("(--strict)"), "{certificate}");
}

/// A Parquet file that lies about where its schema stands.
#[test]
fn a_lying_footer_is_an_error_with_nothing_charged() {
    let place = tempdir().unwrap();
    write_all(place.path());
    let mut bytes = fs::read(place.path().join("people.parquet")).unwrap();
    let footer = bytes.len() - 8;
    for length in [0_u32, 1, 7, u32::MAX, i32::MAX as u32] {
        bytes[footer..footer + 4].copy_from_slice(&length.to_le_bytes());
        fs::write(place.path().join("lies.parquet"), &bytes).unwrap();
        let line = "erm --data lies.parquet --label-column income --numeric age --out lies";
        let refused = organza_in(place.path(), line);
        assert_eq!(refused.code, Some(1), "{length}: {}", refused.stdout);
        assert!(refused.stderr.contains("not a readable Parquet file"), "{}", refused.stderr);
        assert!(!place.path().join("lies/ledger.jsonl").exists());
    }
}

/// Programs read on standard error what is being done, and the result alone on standard output; nobody who does not ask
/// for it sees anything. What only the data knows, such as the number of people, is in no line.
#[test]
fn stages_are_told_to_programs() {
    let place = tempdir().unwrap();
    write_all(place.path());
    let train = "--json train --data people.csv --text-column text --user-column who --unit user --vocabulary \
                 declared-public --seed 3 --out run";
    let told = organza_in(place.path(), &format!("--progress json {train}"));
    assert!(serde_json::from_str::<Value>(&told.stdout).unwrap().is_object());
    let lines: Vec<Value> = told
        .stderr
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |name: &str, ended: bool| {
        let found = lines.iter().find(|line| line["stage"] == name && line["ended"] == ended);
        found.unwrap_or_else(|| panic!("{name} is missing in {}", told.stderr))
    };
    let size = fs::metadata(place.path().join("people.csv")).unwrap().len();
    assert_eq!(of("reading people.csv", false)["of"], serde_json::json!([size, "bytes"]));
    assert_eq!(of("reading people.csv", true)["done"], size);
    for name in ["counting words", "counting pairs", "learning", "measuring losses"] {
        assert!(of(name, true)["seconds"].is_number() && of(name, false)["not_private"] == true);
    }
    assert!(
        of("counting pairs", true)["done"].is_null()
            && of("counting pairs", true)["part"].is_number()
    );
    let steps = organza_in(
        place.path(),
        "--progress json train --method dpsgd --steps 3 --seed 1 --out steps",
    );
    assert!(
        steps.stderr.contains(r#""stage":"training","part":1.0,"done":3,"of":[3,"steps"]"#),
        "{}",
        steps.stderr
    );
    let silent =
        organza_in(place.path(), &format!("{} --out other", train.replace(" --out run", "")));
    assert!(!silent.stderr.contains("stage"), "{}", silent.stderr);
}
