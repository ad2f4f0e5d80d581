//! What events cost, asked as a person would.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use insta::assert_snapshot;
use serde_json::Value;
use std::{fs, path::Path};
use support::{Run, organza};

const PAPER: &str = "account --rate 1e-4 --steps 200000 --noise-multiplier 0.5 --delta 1e-5";
const DRAWS: &str = "--select exponential --draws 100 --selection-epsilon 0.28379";
const SCORES: &str = "--candidates 100000 --score-cap 0.1 --score-l2 0.75";
/// As the paper's run, with its noise said as a deviation.
const CAPPED: &str = "account --rate 1e-4 --steps 200000 --deviation 0.375 --delta 1e-5";
const MASK: &str = "--select uniform --draws 100 --candidates 100000";

fn answer(line: &str) -> Value {
    let run = organza(&format!("--json {line}"));
    assert_eq!(run.code, Some(0), "{line}: {}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

fn epsilon(line: &str) -> f64 {
    answer(line)["epsilon"].as_f64().unwrap()
}

#[test]
fn the_figures_of_the_papers_run() {
    let between = |low: f64, high: f64, line: &str| {
        let found = epsilon(line);
        assert!(low <= found && found <= high, "{line}: {found}");
    };
    between(2.4175, 2.4185, PAPER);
    between(6.634, 6.75, &format!("{PAPER} {DRAWS}"));
    between(0.316, 0.33, &format!("{CAPPED} {DRAWS} {SCORES}"));
    between(0.2, 0.27, &format!("{PAPER} {MASK}"));
    between(22.345, 22.355, &PAPER.replace("0.5", "0.32"));
    let theorem = format!("{PAPER} {DRAWS} --accountant theorem");
    between(24.15, 24.25, &theorem);
    assert_eq!(answer(&theorem)["sound"], false);
    assert!(organza(&theorem).stderr.contains("as printed, not sound"));
}

#[test]
fn noise_alone_in_words() {
    assert_snapshot!(organza(PAPER).show());
}

#[test]
fn selection_with_all_that_is_known_in_words() {
    assert_snapshot!(organza(&format!("{CAPPED} {DRAWS} {SCORES} --unit review --group 3")).show());
}

#[test]
fn a_mask_under_replacement_in_words() {
    assert_snapshot!(organza(&format!("{PAPER} {MASK} --neighbouring replace-one")).show());
}

#[test]
fn delta_in_words() {
    assert_snapshot!(
        organza("account --rate 1 --steps 1 --noise-multiplier 2 --epsilon 1 --group 2").show()
    );
}

#[test]
fn help_of_account() {
    assert_snapshot!(organza("account --help").show());
}

#[test]
fn every_accountant_as_json() {
    let shown: Vec<String> = ["pld", "rdp", "theorem"]
        .map(|name| organza(&format!("--json {PAPER} {DRAWS} --accountant {name}")).show())
        .into();
    assert_snapshot!(shown.join("\n"));
}

#[test]
fn one_step_on_everyone_is_the_plain_gaussian_mechanism() {
    // Balle and Wang (2018), Theorem 8, at sigma = 1 and epsilon = 1.
    let found = answer("account --rate 1 --steps 1 --noise-multiplier 1 --epsilon 1");
    assert!((found["delta"].as_f64().unwrap() - 0.126_936_737_506_643_97).abs() < 1e-12);
    let there_and_back =
        format!("account --rate 1 --steps 1 --noise-multiplier 1 --delta {}", found["delta"]);
    assert!((epsilon(&there_and_back) - 1.0).abs() < 1e-9);
}

#[test]
fn a_group_says_where_its_figure_comes_from() {
    let once = "account --rate 1 --steps 1 --noise-multiplier 5 --delta 1e-5";
    for (line, epsilon, accountant) in [
        (format!("{PAPER} --group 10"), 19.456, "pld"),
        (format!("{PAPER} --group 2 --accountant rdp"), 10.44, "rule"),
        (format!("{once} --group 2 --neighbouring replace-one"), 2.3, "rule"),
    ] {
        let found = answer(&line);
        let group = &found["group"];
        assert_eq!(group["accountant"], accountant, "{line}");
        assert!(group["epsilon"].as_f64().unwrap() <= epsilon, "{line}: {group}");
    }
    // Ten records at delta 1e-5, asked the other way round.
    let back = PAPER.replace("--delta 1e-5", "--epsilon 19.456");
    let found = answer(&format!("{back} --group 10"));
    let delta = found["group"]["delta"].as_f64().unwrap();
    assert!((0.99e-5..1e-5).contains(&delta), "{delta}");
}

#[test]
fn a_file_and_its_short_form_agree() {
    let file = Run::new("--json account --file docs/guide/paper-run.json").in_root().run();
    assert_eq!(file.code, Some(0), "{}", file.stderr);
    let file: Value = serde_json::from_str(&file.stdout).unwrap();
    assert_eq!(file["epsilon"], answer(&format!("{CAPPED} {DRAWS} {SCORES}"))["epsilon"]);
}

/// C = 0.75, S2 = 0.1, deviation 0.1: no sound account lies below 0.831.
#[test]
fn a_second_clip_is_stated_with_the_deviation() {
    let clipped = format!("{} {DRAWS} {SCORES} --second-clip 0.1", CAPPED.replace("0.375", "0.1"));
    assert_snapshot!(organza(&clipped).show());
    let found = epsilon(&clipped);
    assert!((0.831..2.43).contains(&found), "{found}");
    // Without the clip the same deviation hides a larger change; a clip that never bites is none.
    assert!(epsilon(&clipped.replace(" --second-clip 0.1", "")) > 56.0);
    let wide = format!("{CAPPED} {DRAWS} {SCORES} --second-clip 0.375");
    assert_eq!(epsilon(&wide), epsilon(&format!("{CAPPED} {DRAWS} {SCORES}")));
    // Behind a mask that ignores the data too.
    let mask = format!("{MASK} --score-l2 0.75");
    let plain = epsilon(&format!("{CAPPED} {mask}"));
    assert_eq!(plain, epsilon(&format!("{PAPER} {MASK}")));
    let clipped = epsilon(&format!("{} {mask} --second-clip 0.1", CAPPED.replace("0.375", "0.1")));
    assert!(clipped > plain && clipped < epsilon(PAPER), "{clipped}");
}

/// Without a version it cannot be told what was meant: both ways to say it are shown.
#[test]
fn a_gaussian_after_a_capped_selection_is_refused_where_its_meaning_changed() {
    let selection = r#"{"exponential": {"epsilon": 0.28379, "draws": 100, "candidates": 100000, "cap": 0.1, "l2": 0.75}}"#;
    let noise = r#"{"gaussian": {"noise_multiplier": 0.5}}"#;
    let run = |step: &str| {
        format!(
            r#"{{"repeat": {{"times": 200000, "event": {{"poisson": {{"rate": 1e-4, "event": {step}}}}}}}}}"#
        )
    };
    let ask =
        |text: &str| Run::new("--json account --file - --delta 1e-5").input(text.as_bytes()).run();
    let old = run(&format!(r#"{{"compose": [{selection}, {noise}]}}"#));
    assert_eq!(ask(&old).code, Some(1));
    assert_snapshot!(ask(&old).show());
    let first = ask(&format!(r#"{{"version": 1, "event": {old}}}"#));
    assert_eq!(first.code, Some(1));
    assert!(first.stderr.contains(r#"{"selected": {"by": "#), "{}", first.stderr);
    let priced = |text: &str| -> f64 {
        let run = ask(text);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        serde_json::from_str::<Value>(&run.stdout).unwrap()["epsilon"].as_f64().unwrap()
    };
    for step in [
        format!(r#"{{"compose": [{noise}, {selection}]}}"#),
        format!(r#"{{"compose": [{selection}, {{"compose": [{noise}]}}]}}"#),
    ] {
        let found = priced(&run(&step));
        assert!((2.42..2.43).contains(&found), "{step}: {found}");
        assert_eq!(found, priced(&format!(r#"{{"version": 2, "event": {old}}}"#)));
    }
    let new = run(&format!(r#"{{"selected": {{"by": {selection}, "noise": {noise}}}}}"#));
    assert!((0.32..0.3202).contains(&priced(&new)));
}

/// Of two Gaussians behind one mask the second may aim at it.
#[test]
fn a_mask_hides_one_noise() {
    let two = br#"{"uniform_mask": {"share": 0.001, "event": {"compose": [
        {"gaussian": {"noise_multiplier": 1}}, {"gaussian": {"noise_multiplier": 1}}]}}}"#;
    let run = Run::new("account --file - --delta 1e-3").input(two).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.contains("one event of noise"), "{}", run.stderr);
}

#[test]
fn flags_win_over_the_file() {
    let event = br#"{"repeat": {"times": 100, "event": {"gaussian": {"noise_multiplier": 20}}}}"#;
    let unasked = Run::new("account --file -").input(event).run();
    assert_eq!(unasked.code, Some(2));
    assert!(unasked.stderr.contains("--delta"), "{}", unasked.stderr);
    let asked = Run::new("--json account --file - --delta 1e-6").input(event).run();
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    let other = answer("account --file question.json --epsilon 2 --neighbouring add-remove");
    assert_eq!(
        (&other["accountant"], &other["neighbouring"]),
        (&"rdp".into(), &"add-remove".into())
    );
    assert_eq!(other["epsilon"], 2.0);
}

#[test]
fn other_selections_are_priced_too() {
    for select in [
        "--select sparse-vector --hits 10 --threshold-epsilon 0.02 --query-epsilon 0.04",
        "--select noisy-max --draws 10 --selection-epsilon 0.05",
    ] {
        let found = epsilon(&format!("{PAPER} {select}"));
        assert!(found > epsilon(PAPER) && found < 4.0, "{select}: {found}");
    }
    let gumbel = "--draws 100 --selection-epsilon 0.28379";
    let peeled = epsilon(&format!("{PAPER} --select noisy-max {gumbel}"));
    assert_eq!(peeled, epsilon(&format!("{PAPER} --select exponential {gumbel}")));
}

#[test]
fn what_loss_distributions_refuse_falls_to_divergences_and_says_so() {
    let line = PAPER.replace("1e-5", "1e-60");
    assert_eq!(answer(&line)["accountant"], "rdp");
    assert_snapshot!(organza(&line).show());
    let insisted = organza(&format!("{line} --accountant pld"));
    assert_eq!((insisted.code, insisted.stdout.as_str()), (Some(1), ""));
    assert!(
        insisted.stderr.starts_with("error: pld: no account for this question: delta is 1e-60")
    );
}

#[test]
fn refusals_name_the_event() {
    let event = br#"{"discrete_gaussian": {"noise_multiplier": 3}}"#;
    let loose = Run::new("--json account --file - --delta 1e-5").input(event).run();
    assert_eq!(loose.code, Some(0), "{}", loose.stderr);
    assert!(loose.stdout.contains("\"rdp\"") && loose.stderr.contains("`discrete_gaussian`"));
    let run = Run::new("account --file - --delta 1e-5 --accountant pld").input(event).run();
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.starts_with("error: pld: ") && run.stderr.contains("`discrete_gaussian`"));
}

#[test]
fn wrong_combinations_name_the_flag_that_mends_them() {
    let shown: Vec<String> = [
        "account --rate 1e-4 --steps 10 --noise-multiplier 1".to_owned(),
        "account --rate 1e-4 --noise-multiplier 1 --delta 1e-5".to_owned(),
        format!("{PAPER} --draws 100"),
        format!("{PAPER} --select exponential --draws 100"),
        format!("{PAPER} {DRAWS} --score-cap 0.1"),
        format!("{PAPER} {DRAWS} {SCORES}"),
        format!("{PAPER} --select uniform --draws 5 --candidates 40 --second-clip 1"),
        format!("{CAPPED} {DRAWS}"),
        format!("{PAPER} --deviation 1"),
        format!("{CAPPED} {DRAWS} {SCORES} --second-clip 0"),
        format!("{PAPER} {DRAWS} --hits 3"),
        format!("{PAPER} --select uniform --draws 5 --candidates 4"),
        format!("{PAPER} --epsilon 1"),
        format!("{PAPER} --file question.json"),
        format!("{PAPER} --accountant theorem --group 2"),
        PAPER.replace("0.5", "0"),
        PAPER.replace("1e-4", "1.5"),
        format!("{PAPER} {}", DRAWS.replace("0.28379", "inf")),
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
fn extreme_questions_get_an_answer_or_a_reason() {
    for sigma in ["0.05", "1e4"] {
        for rate in ["1e-9", "1"] {
            for steps in ["1", "1000000000"] {
                for delta in ["1e-15", "0.5"] {
                    let line = format!(
                        "--json account --rate {rate} --steps {steps} --noise-multiplier {sigma} \
                         --delta {delta}"
                    );
                    let run = organza(&line);
                    if run.code == Some(0) {
                        let found: Value = serde_json::from_str(&run.stdout).unwrap();
                        assert!(found["epsilon"].as_f64().unwrap() >= 0.0, "{line}");
                    } else {
                        assert_eq!(run.code, Some(1), "{line}");
                        assert!(run.stderr.starts_with("error: "), "{line}: {}", run.stderr);
                    }
                }
            }
        }
    }
}

#[test]
fn the_plot_is_a_picture_of_the_answer() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("curve.svg");
    let run = organza(&format!("{PAPER} --plot {}", path.display()));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let svg = fs::read_to_string(&path).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    for part in ["epsilon over delta", "epsilon over steps", "2.418 at 200,000", "(2.418, 1e-5)"] {
        assert!(svg.contains(part), "{part} is missing");
    }
    let nowhere = organza(&format!("{PAPER} --plot missing/curve.svg"));
    assert_eq!((nowhere.code, nowhere.stdout.as_str()), (Some(1), ""));
    assert!(nowhere.stderr.starts_with("error: cannot write missing/curve.svg: "));
}
