//! What is tried: values for flags of `organza train`, and all their combinations.

use crate::command::train::{BudgetAndMethod, Options};
use crate::usage::UsageError;
use clap::{Args, FromArgMatches};
use organza_words::settings::Settings;
use std::str::FromStr;

/// Flags that leave data, vocabulary and the measure of loss as they are, so that losses compare.
const MAY_BE_TRIED: [&str; 25] = [
    "method",
    "epsilon",
    "noise-multiplier",
    "select",
    "by",
    "draws",
    "gamma",
    "selection-epsilon",
    "share",
    "score-cap",
    "threshold",
    "word-share",
    "fine-tuning-share",
    "pair-clip",
    "layout",
    "dimensions",
    "initial-deviation",
    "batch",
    "epochs",
    "steps",
    "clip",
    "candidate-clip",
    "second-clip",
    "optimizer",
    "learning-rate",
];
/// Flags that change what a loss is measured on: compared by how far it is below that of word frequencies.
const CHANGE_THE_MEASURE: [&str; 4] =
    ["vocabulary-share", "vocabulary-size", "minimum-count", "window"];
/// More than anybody waits for.
const MOST: usize = 1_000;

/// A flag and the values to try: `learning-rate=0.001,0.01`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Try {
    flag: String,
    values: Vec<String>,
}

impl FromStr for Try {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = "it must be of the form learning-rate=0.001,0.01";
        let (flag, values) = text.split_once('=').ok_or(form)?;
        let flag = flag.trim_start_matches("--");
        if !MAY_BE_TRIED.contains(&flag) && !CHANGE_THE_MEASURE.contains(&flag) {
            let all = [&MAY_BE_TRIED[..], &CHANGE_THE_MEASURE].concat().join(", ");
            return Err(format!("`{flag}` cannot be tried; what can: {all}"));
        }
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        if values.iter().any(String::is_empty) {
            return Err(form.to_owned());
        }
        Ok(Self { flag: flag.to_owned(), values })
    }
}

impl Try {
    /// The flag, if losses of its values are not measured alike.
    pub(super) fn changes_the_measure(&self) -> Option<&str> {
        Some(self.flag.as_str()).filter(|flag| CHANGE_THE_MEASURE.contains(flag))
    }
}

/// One combination.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// The flags, as they would stand on a command line.
    pub(super) flags: Vec<String>,
    pub(super) settings: Settings,
}

impl Point {
    /// The name of its folder.
    pub(super) fn name(&self) -> String {
        let name: Vec<&str> = self.flags.iter().map(|it| it.trim_start_matches("--")).collect();
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
        name.join("_").chars().map(|it| if is_plain(it) { it } else { '-' }).collect()
    }
}

/// Every combination of the values, as changes of `settings`.
pub(super) fn grid(settings: &Settings, tries: &[Try]) -> Result<Vec<Point>, UsageError> {
    for (number, one) in tries.iter().enumerate() {
        if tries[..number].iter().any(|other| other.flag == one.flag) {
            return Err(UsageError::new(
                format!("`{}` is tried twice", one.flag),
                format!("give all its values at once: --try {}=A,B", one.flag),
            ));
        }
    }
    let number: usize = tries.iter().map(|one| one.values.len()).product();
    if number > MOST {
        return Err(UsageError::new(
            format!("these are {number} combinations, more than {MOST}"),
            "try fewer values at a time",
        ));
    }
    let mut combinations: Vec<Vec<String>> = vec![Vec::new()];
    for Try { flag, values } in tries {
        combinations = combinations
            .iter()
            .flat_map(|before| {
                values.iter().map(move |value| {
                    let mut flags = before.clone();
                    flags.push(format!("--{flag}={value}"));
                    flags
                })
            })
            .collect();
    }
    combinations.into_iter().map(|flags| point(settings, flags)).collect()
}

fn point(settings: &Settings, flags: Vec<String>) -> Result<Point, UsageError> {
    let help = "values are those that `organza train` takes";
    let parser = BudgetAndMethod::augment_args(Options::augment_args(clap::Command::new("try")));
    let words = std::iter::once("try").chain(flags.iter().map(String::as_str));
    let parsed = parser.try_get_matches_from(words).and_then(|matches| {
        Ok((BudgetAndMethod::from_arg_matches(&matches)?, Options::from_arg_matches(&matches)?))
    });
    let wrong = |problem: &str| UsageError::new(format!("{}: {problem}", flags.join(" ")), help);
    let (asked, options) = parsed.map_err(|error| {
        let said = error.to_string();
        wrong(said.lines().next().unwrap_or_default().trim_start_matches("error: "))
    })?;
    let mut settings = settings.clone();
    options.change(&asked, &mut settings);
    settings.check().map_err(|problem| wrong(&problem.to_string()))?;
    Ok(Point { flags, settings })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use organza_train::OptimizerSettings;

    #[test]
    fn all_combinations_change_what_they_name() {
        let tries: Vec<Try> = ["learning-rate=0.001,0.01", "--batch=20,500,1000"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        let base = Settings::paper();
        let points = grid(&base, &tries).unwrap();
        assert_eq!(points.len(), 6);
        assert_eq!(points[4].flags, ["--learning-rate=0.01", "--batch=500"]);
        assert_eq!(points[4].name(), "learning-rate-0.01_batch-500");
        let mut expected = base.clone();
        expected.training.optimizer = OptimizerSettings::adam(0.01);
        expected.training.batch = 500.0;
        assert_eq!(points[4].settings, expected);
        assert_eq!(grid(&base, &[]).unwrap()[0].settings, base);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in ["learning-rate", "data=other.txt", "negatives=1,2", "batch=1,,2", "seed=1,2"] {
            assert!(text.parse::<Try>().is_err(), "{text}");
        }
        let base = Settings::standard();
        for tries in [&["batch=many"][..], &["batch=-1"], &["batch=1", "batch=2"], &["method=best"]]
        {
            let tries: Vec<Try> = tries.iter().map(|text| text.parse().unwrap()).collect();
            assert!(grid(&base, &tries).is_err(), "{tries:?}");
        }
        let many: Vec<String> = (1..=40).map(|it| it.to_string()).collect();
        let tries =
            ["batch", "epochs"].map(|it| format!("{it}={}", many.join(",")).parse().unwrap());
        assert!(grid(&base, &tries).is_err());
    }
}
