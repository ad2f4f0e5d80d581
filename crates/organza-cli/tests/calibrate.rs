//! Trainings that meet a target, asked for as a person would.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use insta::assert_snapshot;
use serde_json::Value;
use support::organza;

const RUN: &str = "--rate 1e-4 --steps 200000";
const TARGET: &str = "--epsilon 3 --delta 1e-5";
const SCORES: &str = "--candidates 100000 --score-cap 0.1 --score-l2 0.75";

fn json(line: &str) -> Value {
    let run = organza(&format!("--json {line}"));
    assert_eq!(run.code, Some(0), "{line}: {}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn what_is_found_costs_no_more_than_the_target_and_hardly_less() {
    let draws = "--select exponential --draws 100";
    for (question, selection) in [
        (RUN.to_owned(), String::new()),
        (format!("{RUN} --share 0.1"), draws.to_owned()),
        (format!("{RUN} --share 0.1"), format!("{draws} {SCORES}")),
        (RUN.to_owned(), "--select uniform --draws 100 --candidates 100000".to_owned()),
        ("--find steps --rate 1e-4 --noise-multiplier 0.5".to_owned(), String::new()),
        ("--find rate --steps 200000 --noise-multiplier 0.5".to_owned(), String::new()),
        (format!("--find selection-epsilon {RUN} --deviation 0.375"), format!("{draws} {SCORES}")),
        (format!("{RUN} --share 0.1"), format!("{draws} {SCORES} --second-clip 0.1")),
    ] {
        let found = json(&format!("calibrate {TARGET} {question} {selection}"));
        let range = match found["selection_epsilon"].as_f64() {
            Some(range) => format!("--selection-epsilon {range}"),
            None => String::new(),
        };
        let noise = match found["deviation"].as_f64() {
            Some(deviation) => format!("--deviation {deviation}"),
            None => format!("--noise-multiplier {}", found["noise_multiplier"]),
        };
        let priced = json(&format!(
            "account --delta 1e-5 --rate {} --steps {} {noise} {selection} {range}",
            found["rate"], found["steps"]
        ));
        for epsilon in [&found["epsilon"], &priced["epsilon"]] {
            let epsilon = epsilon.as_f64().unwrap();
            assert!((3.0 * (1.0 - 1e-3)..=3.0).contains(&epsilon), "{question}: {epsilon}");
        }
    }
}

#[test]
fn the_plain_gaussian_mechanism() {
    // The analytic Gaussian mechanism (Balle and Wang 2018) at epsilon 1, delta 1e-5.
    let found = json("calibrate --rate 1 --steps 1 --epsilon 1 --delta 1e-5");
    let multiplier = found["noise_multiplier"].as_f64().unwrap();
    assert!((3.7306..3.7306 * 1.001).contains(&multiplier), "{multiplier}");
}

#[test]
fn noise_in_words() {
    assert_snapshot!(organza(&format!("calibrate {RUN} {TARGET}")).show());
}

#[test]
fn selection_and_noise_in_words_and_as_json() {
    let line = format!(
        "calibrate {RUN} {TARGET} --select exponential --draws 100 --share 0.1 --neighbouring \
         replace-one"
    );
    let line = line.replace("--rate 1e-4 --steps 200000", "--rate 1 --steps 100");
    let shown = [organza(&line).show(), organza(&format!("--json {line}")).show()];
    assert_snapshot!(shown.join("\n"));
}

#[test]
fn help_of_calibrate() {
    assert_snapshot!(organza("calibrate --help").show());
}

#[test]
fn wrong_combinations_name_the_flag_that_mends_them() {
    let shown: Vec<String> = [
        format!("calibrate {RUN} {TARGET} --noise-multiplier 1"),
        format!("calibrate {RUN} {TARGET} --deviation 1 --select exponential --draws 9 {SCORES}"),
        format!("calibrate {RUN} {TARGET} --select exponential --draws 100"),
        format!("calibrate {RUN} {TARGET} --share 0.1"),
        format!("calibrate {RUN} {TARGET} --find steps --noise-multiplier 1"),
        format!("calibrate {RUN} {TARGET} --find selection-epsilon --noise-multiplier 1"),
        format!("calibrate {RUN} {TARGET} --select sparse-vector --hits 3"),
        format!("calibrate --rate 1e-4 {TARGET}"),
        format!("calibrate {RUN} --epsilon 0 --delta 1e-5"),
        format!("calibrate {RUN} --epsilon 3 --delta 1"),
        format!("calibrate {RUN} --epsilon 3"),
    ]
    .map(|line| {
        let run = organza(&line);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{line}");
        run.show()
    })
    .into();
    assert_snapshot!(shown.join("\n"));
}

#[test]
fn what_cannot_be_met_is_an_error_with_a_reason() {
    let line = "calibrate --find steps --rate 1 --noise-multiplier 0.5 --epsilon 1 --delta 1e-5";
    let run = organza(line);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(
        run.stderr.starts_with("error: no number of steps meets the target: "),
        "{}",
        run.stderr
    );
}
