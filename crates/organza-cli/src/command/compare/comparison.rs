//! What a comparison came to, as a table, a picture, a page and JSON.

use crate::files;
use organza_ledger::SharedTotal;
use organza_report::chart::{Axis, Chart, Line, picture};
use organza_report::digits::{cost, near};
use organza_report::page::{Cell, Fact, Figure, Page, Section, Table};
use organza_words::settings::Method;
use organza_words::suite::{OUTCOME, Outcome, Total};
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// Why losses are marked.
const FROM_DATA: &str = "from the data without noise";

/// One run among others.
#[derive(Clone, Debug, Serialize)]
struct Row {
    method: Method,
    /// The budget; none without privacy.
    epsilon: Option<f64>,
    /// What was spent of it.
    spent: Option<f64>,
    delta: Option<f64>,
    test_loss: f64,
    /// (frequency loss - loss) / (frequency loss - best loss).
    share_of_signal: Option<f64>,
    seconds: f64,
}

/// All runs. Losses, shares and seconds are *not private*.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    frequency_loss: f64,
    /// The lowest test loss of all runs. What a private method learned can be learned without privacy, so
    /// no run has more than all of the signal.
    best_loss: f64,
    runs: Vec<Row>,
    /// What all runs in the folder cost together.
    total: Total,
    #[serde(skip_serializing_if = "Option::is_none")]
    dataset: Option<SharedTotal>,
    not_private: [&'static str; 5],
}

impl Comparison {
    pub(super) fn new(outcomes: &[Outcome], total: Total, dataset: Option<SharedTotal>) -> Self {
        let exposed = outcomes.iter().find(|it| it.settings.method == Method::None);
        // Of the run without privacy, so that all are measured with one ruler.
        let frequency_loss = exposed.or(outcomes.first()).map_or(f64::NAN, |it| it.frequency_loss);
        let best_loss = outcomes.iter().map(|it| it.losses().test).fold(f64::NAN, f64::min);
        let runs = outcomes.iter().map(|outcome| {
            let test_loss = outcome.losses().test;
            let share = (frequency_loss - test_loss) / (frequency_loss - best_loss);
            Row {
                method: outcome.settings.method,
                epsilon: outcome.settings.privacy.epsilon,
                spent: outcome.epsilon,
                delta: outcome.delta,
                test_loss,
                // Where nothing beats word frequencies, nothing shows what there is to learn.
                share_of_signal: Some(share).filter(|_| best_loss < frequency_loss),
                seconds: outcome.seconds,
            }
        });
        let not_private =
            ["frequency_loss", "best_loss", "test_loss", "share_of_signal", "seconds"];
        Self { frequency_loss, best_loss, runs: runs.collect(), total, dataset, not_private }
    }

    /// Writes `comparison.json`, `comparison.svg` and `comparison.html`.
    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        files::write_json(&folder.join("comparison.json"), self)?;
        files::write(&folder.join("comparison.svg"), picture(&self.charts()))?;
        self.page().write(folder, "comparison.html")?;
        Ok(())
    }

    fn page(&self) -> Page {
        let [signal, loss] = self.charts();
        let marked = |value: f64| Cell::from(value).not_private(FROM_DATA);
        let columns = ["method", "epsilon", "spent", "test loss", "share of signal", "seconds"];
        let mut table = Table::new("comparison", columns);
        for row in &self.runs {
            table = table.row([
                row.method.to_string().into(),
                Cell::from(row.epsilon.unwrap_or(f64::NAN)),
                Cell::cost(row.spent),
                marked(row.test_loss),
                marked(row.share_of_signal.unwrap_or(f64::NAN)),
                marked(row.seconds),
            ]);
        }
        let frequencies = Fact::new("word frequencies alone", near(self.frequency_loss));
        let mut page = Page::new("Methods at equal privacy")
            .lead(
                "Each method at each budget, and without privacy. The share of signal is how much of what \
                 there is to learn beyond word frequencies was learned.",
            )
            .fact(frequencies.note("test loss").not_private(FROM_DATA));
        if self.best_loss.is_finite() {
            let fact = Fact::new("best of all runs", near(self.best_loss)).note("test loss");
            page = page.fact(fact.not_private(FROM_DATA));
        }
        if let Some(price) = self.total.price {
            let fact = Fact::new("all private runs together", cost(price.epsilon));
            page = page.fact(fact.note(format!("epsilon at delta {}", cost(price.delta))));
        }
        page.section(
            Section::new("What was learned")
                .figure(
                    Figure::new("comparison", signal)
                        .panel(loss)
                        .caption("`none` is without privacy and stands at every budget.")
                        .not_private(FROM_DATA),
                )
                .table(table)
                .note(
                    "Choosing a method by these losses on private data is a release without a charge: \
                     compare on public data that resembles yours.",
                )
                .note(format!(
                    "Not private: `{OUTCOME}` and `metrics.jsonl` in the folder of each run hold exact losses."
                ))
                .text(format!("In this folder: {}.", self.total.in_words()))
                .links([("comparison.json", "all of it for programs")]),
        )
    }

    fn charts(&self) -> [Chart; 2] {
        let chart = |title: &str, vertical: Axis, value: fn(&Row) -> Option<f64>| Chart {
            title: title.to_owned(),
            horizontal: Axis::logarithmic("epsilon"),
            vertical,
            lines: self.lines(value),
            mark: None,
        };
        [
            chart("Share of signal", Axis::linear("share"), |row| row.share_of_signal),
            chart("Test loss", Axis::fitted("loss"), |row| Some(row.test_loss)),
        ]
    }

    /// A line for each method; the one without privacy is level.
    fn lines(&self, value: fn(&Row) -> Option<f64>) -> Vec<Line> {
        let budgets = || self.runs.iter().filter_map(|row| row.epsilon);
        let ends = [budgets().fold(f64::INFINITY, f64::min), budgets().fold(0.0, f64::max)];
        let mut lines: Vec<Line> = Vec::new();
        for row in &self.runs {
            let Some(value) = value(row) else { continue };
            let points = match row.epsilon {
                Some(epsilon) => vec![(epsilon, value)],
                None => ends.map(|epsilon| (epsilon, value)).to_vec(),
            };
            let name = row.method.to_string();
            match lines.iter_mut().find(|line| line.name == name) {
                Some(line) => line.points.extend(points),
                None => lines.push(Line { name, points }),
            }
        }
        for line in &mut lines {
            line.points.sort_by(|one, other| one.0.total_cmp(&other.0));
        }
        lines
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{:10}{:>10}{:>12}{:>12}{:>12}",
            "method", "epsilon", "test loss*", "signal*", "seconds*"
        )?;
        for row in &self.runs {
            let epsilon = row.epsilon.map_or("-".to_owned(), |it| it.to_string());
            let share = row.share_of_signal.map_or("-".to_owned(), |it| format!("{it:.3}"));
            let Row { method, test_loss, seconds, .. } = row;
            let method = method.to_string();
            writeln!(
                formatter,
                "{method:10}{epsilon:>10}{test_loss:>12.4}{share:>12}{seconds:>12.1}"
            )?;
        }
        writeln!(formatter, "\nword frequencies alone: {:.4}*", self.frequency_loss)?;
        writeln!(formatter, "* not private: from the data without noise, for your eyes only")?;
        writeln!(formatter, "  not private either: {OUTCOME} and metrics.jsonl of each run\n")?;
        writeln!(formatter, "{}", self.total.in_words())?;
        match &self.dataset {
            Some(total) => writeln!(formatter, "{total}"),
            None => Ok(()),
        }
    }
}
