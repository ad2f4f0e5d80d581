//! What was tried, the best first, and what the choice costs.

use super::Score;
use super::grid::Point;
use super::price::Price;
use crate::files;
use crate::output::{DOUBT, GOOD};
use organza_ledger::SharedTotal;
use organza_report::digits::{cost, near};
use organza_report::page::{Cell, Fact, Page, Section, Table};
use organza_words::suite::{OUTCOME, Outcome, Total, counted};
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// Why scores and losses are marked.
const FROM_DATA: &str = "from the data without noise";

/// One setting that was tried.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Trial {
    flags: Vec<String>,
    folder: PathBuf,
    score: f64,
    /// What this trial alone costs.
    epsilon: Option<f64>,
    delta: Option<f64>,
    /// *Not private.*
    test_loss: f64,
    /// *Not private.*
    seconds: f64,
}

impl Trial {
    pub(super) fn new(point: &Point, folder: &Path, outcome: &Outcome, score: f64) -> Self {
        Self {
            flags: point.flags.clone(),
            folder: folder.to_owned(),
            score,
            epsilon: outcome.epsilon,
            delta: outcome.delta,
            test_loss: outcome.losses().test,
            seconds: outcome.seconds,
        }
    }
}

/// All trials, the best first.
#[derive(Debug, Serialize)]
pub(super) struct Ranking {
    by: Score,
    price: Price,
    /// All runs in the folder.
    total: Total,
    #[serde(skip_serializing_if = "Option::is_none")]
    dataset: Option<SharedTotal>,
    trials: Vec<Trial>,
    not_private: Vec<&'static str>,
}

impl Ranking {
    /// # Privacy
    /// A score is computed from a model and from what is synthetic or declared public, so it is private
    /// if the models are.
    pub(super) fn new(by: Score, mut trials: Vec<Trial>, price: Price, total: Total) -> Self {
        // NaN comes last.
        trials.sort_by(|one, other| one.score.total_cmp(&other.score));
        let mut not_private = vec!["test_loss", "seconds"];
        if price == Price::NoGuarantee {
            not_private.insert(0, "score");
        }
        Self { by, price, total, dataset: None, trials, not_private }
    }

    /// With what is taken of the budget of the data set.
    pub(super) fn on(self, dataset: Option<SharedTotal>) -> Self {
        Self { dataset, ..self }
    }

    /// Writes `tuning.json` and `tuning.html`.
    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        files::write_json(&folder.join("tuning.json"), self)?;
        self.page().write(folder, "tuning.html")?;
        Ok(())
    }

    /// What the choice costs, in a sentence.
    fn cost_in_words(&self) -> String {
        match self.price {
            Price::Free => "tuning is free: all of the data is declared public".to_owned(),
            Price::Composed { epsilon, delta } => format!(
                "tuning costs epsilon {} at delta {}: all {}{}, and so the best of them",
                cost(epsilon),
                cost(delta),
                counted(self.total.runs, "run"),
                self.total.earlier_in_words()
            ),
            Price::NoGuarantee => {
                format!("nothing is promised of the best: {}", self.total.in_words())
            }
        }
    }

    fn page(&self) -> Page {
        let score = self.by.to_string();
        let mut table = Table::new(
            "tuning",
            ["setting", score.as_str(), "epsilon of this trial", "test loss", "seconds"],
        );
        for trial in &self.trials {
            let mark = |cell: Cell, field: &str| match self.not_private.contains(&field) {
                true => cell.not_private(FROM_DATA),
                false => cell,
            };
            table = table.row([
                trial.flags.join(" ").into(),
                mark(trial.score.into(), "score"),
                Cell::cost(trial.epsilon),
                mark(trial.test_loss.into(), "test_loss"),
                mark(trial.seconds.into(), "seconds"),
            ]);
        }
        let mut page = Page::new("Settings, the best first").lead(format!(
            "Ranked by {score}; less is better. {}.",
            capital(&self.cost_in_words())
        ));
        if let Price::Composed { epsilon, delta } = self.price {
            let fact = Fact::new("the price of tuning", cost(epsilon));
            page = page.fact(fact.note(format!("epsilon at delta {}", cost(delta))));
        }
        if self.price == Price::NoGuarantee {
            page = page.warning("Nothing is promised: not all trials are private.");
        }
        page.section(
            Section::new("Trials")
                .table(table)
                .note(format!(
                    "Not private: `{OUTCOME}` and `metrics.jsonl` in the folder of each trial hold exact losses."
                ))
                .links([("tuning.json", "all of it for programs")]),
        )
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

impl fmt::Display for Ranking {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = if self.price == Price::NoGuarantee { DOUBT } else { GOOD };
        writeln!(formatter, "{style}{}{style:#}\n", self.cost_in_words())?;
        let mark = |field: &str| if self.not_private.contains(&field) { "*" } else { "" };
        let (by, star) = (self.by, mark("score"));
        writeln!(
            formatter,
            "{:>24}{:>12}{:>12}  setting",
            format!("{by}{star}"),
            "test loss*",
            "epsilon"
        )?;
        for trial in &self.trials {
            let epsilon = trial.epsilon.map_or("-".to_owned(), cost);
            writeln!(
                formatter,
                "{:>24}{:>12}{epsilon:>12}  {}",
                near(trial.score),
                near(trial.test_loss),
                trial.flags.join(" ")
            )?;
        }
        writeln!(formatter, "\n* not private: from the data without noise, for your eyes only")?;
        writeln!(formatter, "  not private either: {OUTCOME} and metrics.jsonl of each trial")?;
        if let Some(total) = &self.dataset {
            writeln!(formatter, "{total}")?;
        }
        if let Some(best) = self.trials.first() {
            let file = best.folder.join("settings.json");
            writeln!(formatter, "\nNext: organza train --settings {}", file.display())?;
        }
        Ok(())
    }
}
